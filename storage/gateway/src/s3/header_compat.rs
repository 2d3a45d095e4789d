//! Headers that s3s refuses and S3 accepts: ranges that RFC 9110 says to ignore (section 14.2), and ETags without
//! quotes. Ranges with another unit, several ranges at once and malformed ranges are ignored, so that the answer is the
//! whole object.

use http::header::{HeaderName, IF_MATCH, IF_NONE_MATCH, RANGE};
use http::{HeaderMap, HeaderValue, Method};
use s3s::dto::Range;

/// The headers that hold ETags.
const TAGS: [HeaderName; 4] = [
    IF_MATCH,
    IF_NONE_MATCH,
    HeaderName::from_static("x-amz-copy-source-if-match"),
    HeaderName::from_static("x-amz-copy-source-if-none-match"),
];

/// Changes headers so that s3s accepts them.
pub(super) fn normalize(method: &Method, headers: &mut HeaderMap) {
    if *method == Method::GET || *method == Method::HEAD {
        let range = {
            let mut ranges = headers.get_all(RANGE).iter();
            ranges.next().filter(|_| ranges.next().is_none()).and_then(clamp_range)
        };
        match range {
            Some(range) => drop(headers.insert(RANGE, range)),
            None => drop(headers.remove(RANGE)),
        }
    }
    for name in TAGS {
        if let Some(tag) = headers.get(&name).and_then(quoted) {
            headers.insert(name, tag);
        }
    }
}

/// Adds quotes to an ETag without them; `None` for anything else.
fn quoted(tag: &HeaderValue) -> Option<HeaderValue> {
    let tag = tag.to_str().ok()?.trim();
    let is_unquoted = !tag.is_empty() && tag != "*" && !tag.contains(['"', ',']);
    is_unquoted.then(|| HeaderValue::try_from(format!("\"{tag}\"")).ok())?
}

fn is_valid_range(range: &HeaderValue) -> bool {
    range.to_str().is_ok_and(|text| Range::parse(text).is_ok())
}

/// Returns a single range of bytes with numbers that s3s can hold, which are larger than any object; `None` for a range
/// that is ignored.
fn clamp_range(range: &HeaderValue) -> Option<HeaderValue> {
    let (unit, range) = range.to_str().ok()?.split_once('=')?;
    if !unit.eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (first, last) = range.split_once('-')?;
    let text = match (first, last) {
        ("", length) => format!("bytes=-{}", number(length)?),
        (first, "") => format!("bytes={}-", number(first)?),
        (first, last) => format!("bytes={}-{}", number(first)?, number(last)?),
    };
    let range = HeaderValue::try_from(text).ok()?;
    is_valid_range(&range).then_some(range)
}

/// Parses a decimal number; returns at most the largest that s3s holds.
fn number(digits: &str) -> Option<u64> {
    const MAX: u64 = i64::MAX as u64;
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then(|| digits.parse().map_or(MAX, |number: u64| number.min(MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(range: &'static str) -> Option<String> {
        let range = HeaderValue::from_static(range);
        clamp_range(&range).map(|range| range.to_str().expect("text").to_owned())
    }

    #[test]
    fn what_is_no_range_of_bytes_is_ignored() {
        let nonsense = ["bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-2", "bytes=+1-2", "lines=0-5"];
        for range in nonsense.into_iter().chain(["bytes=0-1,4-5", "bytes=0-1-2", "0-5", ""]) {
            assert_eq!(read(range), None, "{range}");
        }
    }

    #[test]
    fn numbers_beyond_every_object_are_still_numbers() {
        assert_eq!(read("bytes=3-99999999999999999999"), Some(format!("bytes=3-{}", i64::MAX)));
        assert_eq!(read("bytes=99999999999999999999-"), Some(format!("bytes={}-", i64::MAX)));
        assert_eq!(read("bytes=-99999999999999999999"), Some(format!("bytes=-{}", i64::MAX)));
        assert_eq!(read("Bytes=0-4"), Some("bytes=0-4".into()));
    }

    #[test]
    fn an_etag_without_quotes_gets_them() {
        let quote = |tag: &'static str| quoted(&HeaderValue::from_static(tag));
        assert_eq!(quote("abc-2").expect("quoted"), "\"abc-2\"");
        for tag in ["*", "", "\"abc\"", "W/\"abc\"", "a, b"] {
            assert_eq!(quote(tag), None, "{tag}");
        }
    }
}
