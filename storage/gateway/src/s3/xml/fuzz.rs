//! Fuzz targets for documents: an accepted document means the same to two libraries.

use super::canonical;
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

/// The pieces of a value, with the text that they stand for; `None` for pieces that no value may have.
const PIECES: [(&str, Option<&str>); 26] = [
    ("a", Some("a")),
    ("/", Some("/")),
    (" ", Some(" ")),
    ("\t", Some("\t")),
    ("\r\n", Some("\n")),
    ("\n", Some("\n")),
    ("\u{e9}", Some("\u{e9}")),
    ("\u{1F600}", Some("\u{1F600}")),
    ("&amp;", Some("&")),
    ("&lt;", Some("<")),
    ("&gt;", Some(">")),
    ("&quot;", Some("\"")),
    ("&apos;", Some("'")),
    ("&#13;", Some("\r")),
    ("&#x1F600;", Some("\u{1F600}")),
    ("<![CDATA[]]>", Some("")),
    ("<![CDATA[a<b>&amp;]]>", Some("a<b>&amp;")),
    ("<!---->", Some("")),
    ("<!-- <Key>c</Key> -->", Some("")),
    ("<b/>", None),
    ("<?a b?>", None),
    ("&unknown;", None),
    ("&", None),
    ("&#0;", None),
    ("\u{1}", None),
    ("<!-- -- -->", None),
];

/// Returns all text within elements, and the names of the elements, as another library reads them.
fn read(document: &[u8]) -> Option<Vec<String>> {
    let mut reader = Reader::from_reader(document);
    let mut read = vec![String::new()];
    loop {
        let text = match reader.read_event().ok()? {
            Event::Start(start) => {
                read.push(String::from_utf8(start.local_name().as_ref().to_vec()).ok()?);
                read.push(String::new());
                continue;
            }
            Event::End(_) => {
                read.push(String::new());
                continue;
            }
            Event::Text(text) => text.xml10_content().ok()?.into_owned(),
            Event::CData(text) => text.xml10_content().ok()?.into_owned(),
            Event::GeneralRef(reference) => match reference.resolve_char_ref().ok()? {
                Some(character) => character.to_string(),
                None => resolve_predefined_entity(&reference.decode().ok()?)?.to_owned(),
            },
            Event::Comment(_) | Event::Decl(_) => continue,
            Event::Empty(_) | Event::PI(_) | Event::DocType(_) => return None,
            Event::Eof => return Some(read),
        };
        read.last_mut()?.push_str(&text);
    }
}

#[test]
fn fuzz_s3_documents_say_the_same_to_two_libraries() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let pieces: Vec<_> = bytes.iter().map(|byte| PIECES[usize::from(*byte) % PIECES.len()]).collect();
        let value: String = pieces.iter().map(|(piece, _)| *piece).collect();
        let meant: Option<String> = pieces.iter().map(|(_, meant)| *meant).collect();
        let document =
            format!("<Tagging><TagSet><Tag><Key>k</Key><Value>{value}</Value></Tag></TagSet></Tagging>");
        let canonical = canonical(document.as_bytes()).ok();
        assert_eq!(canonical.is_some(), meant.is_some(), "{document}");
        let (Some(canonical), Some(meant)) = (canonical, meant) else { return };
        let read_back = read(&canonical).expect("the canonical form is XML");
        assert_eq!(read(document.as_bytes()).expect("XML"), read_back, "{document}");
        assert!(read_back.contains(&meant), "{document}");
    });
}

#[test]
fn fuzz_s3_documents_of_any_bytes() {
    bolero::check!().for_each(|bytes: &[u8]| {
        for root in ["Delete", "Tagging", "LifecycleConfiguration"] {
            let document = [format!("<{root}>").as_bytes(), bytes, format!("</{root}>").as_bytes()].concat();
            if let Ok(once) = canonical(&document) {
                assert_eq!(canonical(&once).expect("canonical").as_ref(), once.as_ref());
            }
        }
        let _ = canonical(bytes);
    });
}
