//! The canonical form of a document: no declaration, namespaces, comments, CDATA sections or attributes, and all text
//! escaped.

use super::schema::{Content, Count, DOCUMENTS, Part};
use quick_xml::escape::escape;
use roxmltree::{Document, Node, ParsingOptions};
use s3s::{S3Error, s3_error};
use std::borrow::Cow;

/// The minimum number of bytes of a long document for each of its elements, texts and comments. With it, its tree in
/// memory stays within [`TREE`]. Documents of clients have ten and more.
const BYTES_PER_NODE: usize = 8;
/// The number of elements, texts and comments that any document may have.
const FREE_NODES: usize = 2000;
/// The largest memory that a document and its canonical form take, in multiples of its bytes.
pub(in crate::s3) const TREE: u64 = 18;
/// The namespace of the attribute with the kind of a grantee.
const SCHEMA_INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";
/// The largest number of characters of a message that come from the document.
const MAX_REASON: usize = 200;

/// The reason why a document is refused, with its place.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::s3) enum XmlError {
    /// The document is not XML 1.0 in UTF-8, it has a DTD, or its parts do not fit its root.
    #[error("{0}")]
    Malformed(String),
    /// The document has a part that S3 supports and this gateway does not.
    #[error("{0}")]
    NotImplemented(String),
}

impl From<XmlError> for S3Error {
    fn from(error: XmlError) -> Self {
        match error {
            XmlError::Malformed(why) => s3_error!(
                MalformedXML,
                "The XML you provided was not well-formed or did not validate against our published schema: {why}."
            ),
            XmlError::NotImplemented(what) => {
                s3_error!(NotImplemented, "This gateway has no {what}. Leave it out.")
            }
        }
    }
}

fn malformed(why: impl Into<String>) -> XmlError {
    let mut why: String = why.into();
    if let Some((end, _)) = why.char_indices().nth(MAX_REASON) {
        why.truncate(end);
    }
    XmlError::Malformed(why)
}

/// Returns the canonical form of a document; the document itself if no verb reads one with its root.
///
/// # Errors
/// [`XmlError::Malformed`] has the line and the fault; [`XmlError::NotImplemented`] names the part.
pub(in crate::s3) fn canonical(bytes: &[u8]) -> Result<Cow<'_, [u8]>, XmlError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        malformed(format!("byte {} begins no character of UTF-8", error.valid_up_to() + 1))
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let nodes = FREE_NODES + text.len() / BYTES_PER_NODE;
    let nodes_limit = u32::try_from(nodes).unwrap_or(u32::MAX);
    let options = ParsingOptions { nodes_limit, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| match error {
        roxmltree::Error::DtdDetected => malformed("a document type declaration is not taken"),
        error => malformed(error.to_string()),
    })?;
    let root = document.root_element();
    let Some(part) = DOCUMENTS.iter().find(|part| part.name == root.tag_name().name()) else {
        return Ok(Cow::Borrowed(bytes));
    };
    let mut writer =
        Writer { namespace: root.tag_name().namespace(), text: String::with_capacity(text.len()) };
    writer.element(root, part)?;
    Ok(Cow::Owned(writer.text.into_bytes()))
}

struct Writer<'a> {
    /// The namespace of the root: its parts are in it, or in none.
    namespace: Option<&'a str>,
    text: String,
}

impl Writer<'_> {
    fn element(&mut self, element: Node<'_, '_>, part: &Part) -> Result<(), XmlError> {
        let name = part.name;
        self.text += "<";
        self.text += name;
        for attribute in element.attributes() {
            let is_kind = attribute.namespace() == Some(SCHEMA_INSTANCE) && attribute.name() == "type";
            if name != "Grantee" || !is_kind {
                return Err(error_at(element, format!("<{name}> has no attribute {}", attribute.name())));
            }
            self.text += " xsi:type=\"";
            self.text += &escape(attribute.value());
            self.text += "\"";
        }
        self.text += ">";
        if let Content::Parts(parts) = &part.content {
            self.parts(element, name, parts)?;
        } else {
            let value = value(element, name)?;
            let value = check_value(&value, &part.content)
                .map_err(|why| error_at(element, format!("<{name}> {why}")))?;
            // A reader takes a bare carriage return for a line feed.
            self.text += &escape(value).replace('\r', "&#13;");
        }
        self.text += "</";
        self.text += name;
        self.text += ">";
        Ok(())
    }

    fn parts(&mut self, element: Node<'_, '_>, name: &str, parts: &[Part]) -> Result<(), XmlError> {
        let mut counts = vec![0usize; parts.len()];
        for child in element.children().filter(|child| !child.is_comment()) {
            if child.is_text() && child.text().is_some_and(is_space) {
                continue;
            }
            if !child.is_element() {
                let kind = if child.is_pi() { "a processing instruction" } else { "text beside its parts" };
                return Err(error_at(child, format!("<{name}> has {kind}")));
            }
            let tag = child.tag_name();
            let in_namespace = tag.namespace().is_none_or(str::is_empty) || tag.namespace() == self.namespace;
            let found = parts.iter().position(|part| in_namespace && part.name == tag.name());
            let Some(index) = found else {
                return Err(error_at(child, format!("<{name}> has no part <{}>", tag.name())));
            };
            let part = &parts[index];
            counts[index] += 1;
            match part.count {
                Count::NotImplemented => {
                    return Err(XmlError::NotImplemented(format!("<{}> in a <{name}>", part.name)));
                }
                Count::One | Count::AtMostOne if counts[index] > 1 => {
                    return Err(error_at(child, format!("<{name}> has a second <{}>", part.name)));
                }
                _ => self.element(child, part)?,
            }
        }
        let missing =
            parts.iter().zip(&counts).find(|(part, count)| part.count == Count::One && **count == 0);
        missing.map_or(Ok(()), |(part, _)| Err(error_at(element, format!("<{name}> has no <{}>", part.name))))
    }
}

fn error_at(node: Node<'_, '_>, why: String) -> XmlError {
    let position = node.document().text_pos_at(node.range().start);
    malformed(format!("line {}, column {}: {why}", position.row, position.col))
}

/// Returns whether a text has only XML's four white space characters.
fn is_space(text: &str) -> bool {
    trimmed(text).is_empty()
}

fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\r', '\n'])
}

/// Returns the text of an element without parts.
fn value(element: Node<'_, '_>, name: &str) -> Result<String, XmlError> {
    let mut value = String::new();
    for child in element.children().filter(|child| !child.is_comment()) {
        match child.text().filter(|_| child.is_text()) {
            Some(text) => value += text,
            None => return Err(error_at(child, format!("<{name}> holds text and nothing else"))),
        }
    }
    Ok(value)
}

/// Returns the value in canonical form, if it is valid.
fn check_value<'a>(value: &'a str, content: &Content) -> Result<&'a str, &'static str> {
    let number = trimmed(value);
    match content {
        Content::Text | Content::Parts(_) => Ok(value),
        Content::Name if value.is_empty() => Err("is empty"),
        Content::Name => Ok(value),
        Content::Integer if number.parse::<i64>().is_ok() => Ok(number),
        Content::Integer => Err("holds no whole number"),
        Content::Boolean if matches!(number, "true" | "TRUE" | "false" | "FALSE") => Ok(number),
        Content::Boolean => Err("holds neither true nor false"),
        Content::Date => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use s3s::dto::LifecycleRuleFilter;
    use s3s::xml::{DeserializeContent as _, Deserializer};

    const NAMESPACE: &str = "http://s3.amazonaws.com/doc/2006-03-01/";

    fn written(document: &str) -> String {
        let bytes = canonical(document.as_bytes()).unwrap_or_else(|error| panic!("{document}: {error}"));
        String::from_utf8(bytes.into_owned()).expect("UTF-8")
    }

    fn reason(document: impl AsRef<[u8]>) -> String {
        canonical(document.as_ref()).expect_err("refused").to_string()
    }

    /// Returns the reason for refusing a rule with this filter.
    fn refused_filter(filter: &str) -> String {
        let document = format!(
            "<LifecycleConfiguration><Rule><Status>Enabled</Status>{filter}</Rule></LifecycleConfiguration>"
        );
        reason(document)
    }

    fn tag(key: &str) -> String {
        format!("<Tagging><TagSet><Tag><Key>{key}</Key><Value></Value></Tag></TagSet></Tagging>")
    }

    #[test]
    fn the_same_text_is_read_in_every_form_that_xml_has_for_it() {
        for (key, meant) in [
            ("logs/", "logs/"),
            ("<![CDATA[logs/]]>", "logs/"),
            ("lo<![CDATA[g]]>s/", "logs/"),
            ("lo<!-- a comment -->gs/", "logs/"),
            ("lo&#103;s&#x2f;", "logs/"),
            ("<![CDATA[<&>]]>", "&lt;&amp;&gt;"),
            ("&lt;&amp;&gt;", "&lt;&amp;&gt;"),
            (" a\tb\r\nc ", " a\tb\nc "),
            ("a&#13;b", "a&#13;b"),
            ("&#x1F600;<![CDATA[]]>", "\u{1F600}"),
            ("<![CDATA[]]]]><![CDATA[>]]>", "]]&gt;"),
            ("<!-- only a comment -->", ""),
        ] {
            assert_eq!(written(&tag(key)), tag(meant), "{key}");
        }
    }

    #[test]
    fn declarations_namespaces_and_spaces_between_parts_mean_nothing() {
        let plain = tag("a");
        let spaced = plain.replace("><", ">\r\n\t <!-- here --><");
        for document in [
            format!("\u{feff}<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{plain}\n<!-- end -->\n"),
            plain.replace("<Tagging>", &format!("<Tagging xmlns=\"{NAMESPACE}\">")),
            plain.replace("<Tagging>", "<Tagging xmlns=\"urn:any\">").replace("<Key>", "<Key xmlns=\"\">"),
            spaced,
        ] {
            assert_eq!(written(&document).replace("\n\t ", ""), plain, "{document}");
        }
        let prefixed = plain.replace("</", "</s:").replace('<', "<s:").replace("<s:/s:", "</s:");
        let prefixed = prefixed.replacen("<s:Tagging>", "<s:Tagging xmlns:s=\"urn:any\">", 1);
        assert_eq!(written(&prefixed), plain, "{prefixed}");
    }

    #[test]
    fn s3s_still_skips_cdata_sections() {
        let mut reader = Deserializer::new(b"<Filter><Prefix><![CDATA[logs/]]></Prefix></Filter>");
        let filter = reader.named_element("Filter", LifecycleRuleFilter::deserialize_content).expect("read");
        assert_eq!(filter.prefix.as_deref(), Some(""), "docs/reference/s3-xml.md says otherwise");
    }

    #[test]
    fn nothing_is_skipped_in_silence() {
        for (filter, why) in [
            ("<Filter>logs/</Filter>", "<Filter> has text beside its parts"),
            ("<Filter><![CDATA[logs/]]></Filter>", "<Filter> has text beside its parts"),
            ("<Filter><prefix>logs/</prefix></Filter>", "<Filter> has no part <prefix>"),
            ("<Filter><Prefix><b>logs/</b></Prefix></Filter>", "<Prefix> holds text and nothing else"),
            ("<Filter><Prefix>a<?b c?></Prefix></Filter>", "<Prefix> holds text and nothing else"),
            ("<Filter><?b c?></Filter>", "<Filter> has a processing instruction"),
            ("<Filter><Prefix>a</Prefix><Prefix>b</Prefix></Filter>", "<Filter> has a second <Prefix>"),
            ("<Filter><Tag><Key>a</Key></Tag></Filter>", "<Tag> has no <Value>"),
            ("<Filter><Prefix a=\"b\">a</Prefix></Filter>", "<Prefix> has no attribute a"),
            ("<Filter><x:Prefix xmlns:x=\"urn:x\">a</x:Prefix></Filter>", "<Filter> has no part <Prefix>"),
            ("<Expiration><Days>3O</Days></Expiration>", "<Days> holds no whole number"),
            ("<Expiration><Days/></Expiration>", "<Days> holds no whole number"),
            (
                "<Expiration><ExpiredObjectDeleteMarker>yes</ExpiredObjectDeleteMarker></Expiration>",
                "<ExpiredObjectDeleteMarker> holds neither true nor false",
            ),
        ] {
            let message = refused_filter(filter);
            assert!(message.starts_with("line 1, column ") && message.ends_with(why), "{filter}: {message}");
        }
        assert!(reason("<Delete><Object><Key/></Object></Delete>").ends_with("<Key> is empty"));
        assert!(reason("<Delete><Object></Object></Delete>").ends_with("<Object> has no <Key>"));
    }

    #[test]
    fn what_is_no_xml_is_refused_with_its_place() {
        let entity = "<!DOCTYPE a [<!ENTITY b \"c\">]>";
        assert!(reason(format!("{entity}{}", tag("&b;"))).contains("document type declaration"));
        assert!(reason(tag("&b;")).contains("1:"), "{}", reason(tag("&b;")));
        for document in [tag("\u{1}"), tag("&#1;"), tag("a]]>b"), tag("<!-- -- -->"), tag("<")] {
            reason(document);
        }
        for document in ["", "a", "<Tagging>", "<Tagging></tagging>", "<Tagging/><Tagging/>", "{}"] {
            reason(document);
        }
        assert_eq!(reason(b"<Tagging>\xff"), "byte 10 begins no character of UTF-8");
    }

    #[test]
    fn a_part_that_s3_has_and_the_gateway_has_not_is_named() {
        let tags =
            "<CreateBucketConfiguration><Tags><Tag><Key>a</Key></Tag></Tags></CreateBucketConfiguration>";
        let expected = XmlError::NotImplemented("<Tags> in a <CreateBucketConfiguration>".into());
        assert_eq!(canonical(tags.as_bytes()), Err(expected));
    }

    #[test]
    fn a_document_of_a_verb_that_is_not_served_stays_as_it_is() {
        let document = "<BucketLoggingStatus><![CDATA[a]]></BucketLoggingStatus>";
        assert_eq!(written(document), document);
    }

    #[test]
    fn the_kind_of_a_grantee_is_kept_whatever_its_prefix() {
        let grantee = |attribute: &str| {
            format!(
                "<AccessControlPolicy><AccessControlList><Grant><Grantee {attribute}><ID>a</ID></Grantee>\
                 <Permission>READ</Permission></Grant></AccessControlList></AccessControlPolicy>"
            )
        };
        let other = format!("xmlns:i=\"{SCHEMA_INSTANCE}\" i:type=\"CanonicalUser\"");
        assert_eq!(written(&grantee(&other)), grantee("xsi:type=\"CanonicalUser\""));
    }

    #[test]
    fn a_tree_stays_within_the_memory_that_is_taken_for_it() {
        let deep = |levels: usize| format!("{}{}", "<a>".repeat(levels), "</a>".repeat(levels));
        assert!(canonical(deep(1000).as_bytes()).is_ok());
        assert!(reason(deep(100_000)).contains("limit"), "{}", reason(deep(100_000)));
        let part = "<Part>\n  <PartNumber>10000</PartNumber>\n  <ETag>&quot;0123456789abcdef0123456789abcdef&quot;\
                    </ETag>\n</Part>\n";
        let longest = format!("<CompleteMultipartUpload>{}</CompleteMultipartUpload>", part.repeat(10_000));
        assert!(written(&longest).len() < longest.len());
    }
}
