//! The canonical text of a request, which is signed.

use super::claim::Claim;
use crate::http::percent::{RESERVED, RESERVED_IN_PATH};
use base16ct::lower::encode_string as hex;
use http::header::HOST;
use http::request::Parts;
use percent_encoding::{percent_decode_str, percent_encode};
use sha2::{Digest as _, Sha256};

/// Returns the texts that a client may have signed: with the path in S3's encoding, and with the path as sent, which
/// some clients sign.
pub(super) fn requests(parts: &Parts, signed: &[String], payload: &str) -> impl Iterator<Item = Vec<u8>> {
    let path = parts.uri.path();
    let decoded: Vec<u8> = percent_decode_str(path).collect();
    let encoded = percent_encode(&decoded, RESERVED_IN_PATH).to_string();
    let other = (encoded != path).then(|| request(parts, path, signed, payload));
    [request(parts, &encoded, signed, payload)].into_iter().chain(other)
}

fn request(parts: &Parts, path: &str, signed: &[String], payload: &str) -> Vec<u8> {
    let mut text = format!("{}\n{path}\n{}\n", parts.method, query(parts)).into_bytes();
    for name in signed {
        text.extend_from_slice(name.as_bytes());
        text.push(b':');
        text.extend_from_slice(&value(parts, name));
        text.push(b'\n');
    }
    text.extend_from_slice(format!("\n{}\n{payload}", signed.join(";")).as_bytes());
    text
}

/// Returns the query with encoded names and values, sorted, and without the signature.
fn query(parts: &Parts) -> String {
    let encode = |text: &str| percent_encode(text.as_bytes(), RESERVED).to_string();
    let pairs = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
    let pairs = pairs.filter(|(name, _)| !name.eq_ignore_ascii_case("x-amz-signature"));
    let mut pairs: Vec<(String, String)> =
        pairs.map(|(name, value)| (encode(&name), encode(&value))).collect();
    pairs.sort();
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}

/// Returns the values of a header, with trimmed and single spaces.
fn value(parts: &Parts, name: &str) -> Vec<u8> {
    let mut value = Vec::new();
    for (nth, one) in parts.headers.get_all(name).iter().enumerate() {
        if nth > 0 {
            value.push(b',');
        }
        let words = one.as_bytes().split(|byte| *byte == b' ' || *byte == b'\t');
        value.extend_from_slice(&words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(&b' '));
    }
    let authority = parts.uri.authority().filter(|_| value.is_empty() && name == HOST.as_str());
    value.extend_from_slice(authority.map_or("", |authority| authority.as_str()).as_bytes());
    value
}

/// Returns the text that the key signs for a canonical request.
pub(super) fn string_to_sign(claim: &Claim, request: &[u8]) -> Vec<u8> {
    let digest = hex(&Sha256::digest(request));
    format!("AWS4-HMAC-SHA256\n{}\n{}\n{digest}", claim.date, claim.credential.scope()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn parts(target: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::get(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).expect("a request").into_parts().0
    }

    fn texts(parts: &Parts, signed: &[&str]) -> Vec<String> {
        let signed: Vec<String> = signed.iter().map(|name| (*name).to_owned()).collect();
        requests(parts, &signed, "UNSIGNED-PAYLOAD")
            .map(|text| String::from_utf8(text).expect("text"))
            .collect()
    }

    #[test]
    fn the_example_of_the_documentation_comes_out() {
        // AWS, "Authenticating Requests", the example of a GET.
        let empty = hex(&Sha256::digest(b""));
        let headers = [
            ("host", "examplebucket.s3.amazonaws.com"),
            ("range", "bytes=0-9"),
            ("x-amz-content-sha256", &empty),
            ("x-amz-date", "20130524T000000Z"),
        ];
        let parts = parts("/test.txt", &headers);
        let signed: Vec<String> = headers.iter().map(|(name, _)| (*name).to_owned()).collect();
        let text = requests(&parts, &signed, &empty).next().expect("a text");
        let digest = hex(&Sha256::digest(&text));
        assert_eq!(digest, "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972");
    }

    #[test]
    fn queries_are_encoded_and_sorted_and_spaces_in_headers_are_single() {
        let parts =
            parts("/a?b=%7e%2F&a&X-Amz-Signature=0&b=+", &[("host", " h  h "), ("x", "1"), ("x", "2")]);
        let expected = "GET\n/a\na=&b=%20&b=~%2F\nhost:h h\nx:1,2\n\nhost;x\nUNSIGNED-PAYLOAD";
        assert_eq!(texts(&parts, &["host", "x"]), [expected]);
    }

    #[test]
    fn a_path_may_be_signed_encoded_and_as_it_came() {
        let paths = |target: &str| -> Vec<String> {
            let texts = texts(&parts(target, &[]), &[]);
            texts.iter().map(|text| text.lines().nth(1).expect("a path").to_owned()).collect()
        };
        assert_eq!(paths("/b/a%20b~c"), ["/b/a%20b~c"]);
        assert_eq!(paths("/b/a+b@c"), ["/b/a%2Bb%40c", "/b/a+b@c"]);
        assert_eq!(paths("/b/%2f%2e"), ["/b//.", "/b/%2f%2e"]);
    }
}
