//! Text in answers that XML 1.0 cannot represent, or that its readers would change.
//!
//! A key may have any character. A carriage return is written as a reference, because a reader takes a bare one for a
//! line feed. Most control characters cannot be written at all. A list with one of them is refused unless the request
//! has `encoding-type`. Elsewhere the element is omitted: its client knows the name that it asked about.

use http::header::CONTENT_LENGTH;
use http::{Response, StatusCode};
use s3s::{Body, S3Error, S3ErrorCode};

/// The verbs whose answers can have encoded names.
const LISTS: [&str; 4] = ["ListObjects", "ListObjectsV2", "ListObjectVersions", "ListMultipartUploads"];

/// Returns the answer in XML that its readers parse correctly.
pub(super) fn repair(mut response: Response<Body>, verb: &str) -> Response<Body> {
    // The bytes of an object must not change, even if they look like XML.
    if verb == "GetObject" {
        return response;
    }
    let Some(text) = response.body().bytes().and_then(|bytes| String::from_utf8(bytes.into()).ok()) else {
        return response;
    };
    let is_clean = !text.contains(|letter| letter == '\r' || is_forbidden(letter));
    if is_clean || !text.starts_with("<?xml") {
        return response;
    }
    if text.contains(is_forbidden) && LISTS.contains(&verb) {
        let refusal = S3Error::with_message(
            S3ErrorCode::InvalidRequest,
            "This page of the list has a name with a character that XML cannot hold. Ask for it with encoding-type=url.",
        );
        return refusal.to_http_response().unwrap_or_else(|_| {
            let mut answer = Response::default();
            *answer.status_mut() = StatusCode::BAD_REQUEST;
            answer
        });
    }
    response.headers_mut().remove(CONTENT_LENGTH);
    response.map(|_| Body::from(without_forbidden(&text).replace('\r', "&#13;")))
}

/// Returns whether XML 1.0 excludes a character (section 2.2), also as a reference.
fn is_forbidden(letter: char) -> bool {
    matches!(letter, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

/// Returns the text without the elements that cannot be written.
fn without_forbidden(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(index) = rest.find(is_forbidden) {
        let (Some(start), Some(end)) = (rest[..index].rfind('<'), rest[index..].find('>')) else { break };
        cleaned.push_str(&rest[..start]);
        rest = &rest[index + end + 1..];
    }
    cleaned.push_str(rest);
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(verb: &str, text: &str) -> (u16, String) {
        let answer = repair(Response::new(Body::from(text.to_owned())), verb);
        let status = answer.status().as_u16();
        (status, String::from_utf8(answer.into_body().bytes().expect("whole").into()).expect("UTF-8"))
    }

    #[test]
    fn a_carriage_return_is_written_so_that_a_reader_gets_one() {
        let (status, text) = answer("ListObjects", "<?xml?><Key>a\rb\n</Key>");
        assert_eq!((status, text.as_str()), (200, "<?xml?><Key>a&#13;b\n</Key>"));
    }

    #[test]
    fn a_list_that_cannot_be_written_is_refused_with_what_to_ask_for() {
        for letter in ['\0', '\u{1}', '\u{1f}', '\u{ffff}'] {
            let (status, text) = answer("ListObjectsV2", &format!("<?xml?><Key>{letter}</Key>"));
            assert_eq!(status, 400);
            assert!(text.contains("encoding-type=url"), "{text}");
        }
        assert_eq!(answer("ListObjectsV2", "<?xml?><Key>\t\n\u{7f}\u{fffd}</Key>").0, 200);
    }

    #[test]
    fn elsewhere_the_element_that_cannot_be_written_is_left_out() {
        let (status, text) = answer("ListParts", "<?xml?><R><Key>a\u{1}b\u{2}</Key><N>1</N><B>\u{3}</B></R>");
        assert_eq!((status, text.as_str()), (200, "<?xml?><R><N>1</N></R>"));
    }

    #[test]
    fn the_bytes_of_an_object_stay_as_they_are() {
        assert_eq!(answer("GetObject", "<?xml?>\r\u{1}").1, "<?xml?>\r\u{1}");
        assert_eq!(answer("HeadObject", "\r\u{1}").1, "\r\u{1}");
    }
}
