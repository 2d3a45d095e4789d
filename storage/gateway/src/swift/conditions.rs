//! Conditional requests (RFC 9110, section 13), with ETags in quotes or without.

use super::dates::read_http_date;
use super::refusal::{Outcome, Refusal};
use crate::catalogue::UnixMillis;
use crate::objects::conditions::{HEADERS, TagMatch, WriteConditions};
use http::HeaderMap;

/// The outcome of a reader's conditions.
pub(super) enum Verdict {
    /// The conditions hold.
    Go,
    /// 304
    NotModified,
    /// 412
    Failed(&'static str),
}

/// Checks the conditions in the order of RFC 9110, section 13.2.2.
pub(super) fn check(headers: &HeaderMap, etag: &str, modified: UnixMillis) -> Verdict {
    let date = |name: &str| headers.get(name).and_then(|value| read_http_date(value.to_str().ok()?));
    let seconds = modified.seconds();
    match tags(headers, "if-match") {
        Some(expected) if !tag_matches(&expected, etag) => return Verdict::Failed("If-Match"),
        Some(_) => {}
        None => {
            if date("if-unmodified-since").is_some_and(|since| seconds > since.seconds()) {
                return Verdict::Failed("If-Unmodified-Since");
            }
        }
    }
    match tags(headers, "if-none-match") {
        Some(excluded) if tag_matches(&excluded, etag) => Verdict::NotModified,
        Some(_) => Verdict::Go,
        None => match date("if-modified-since") {
            Some(since) if seconds <= since.seconds() => Verdict::NotModified,
            _ => Verdict::Go,
        },
    }
}

/// Returns the conditions of a put. `If-None-Match` can only be `*`.
///
/// # Errors
/// 400 for an `If-None-Match` with ETags, and for a condition that a put does not support.
pub(super) fn of_put(headers: &HeaderMap) -> Outcome<WriteConditions> {
    refuse(headers, &["if-modified-since", "if-unmodified-since", "if-range", "content-range"])?;
    let mut conditions = WriteConditions::default();
    match tags(headers, "if-none-match").as_deref() {
        None => {}
        Some([tag]) if tag == "*" => conditions.if_none_match = Some(TagMatch::Any),
        Some(_) => {
            return Err(Refusal::bad_request(
                "On a put, If-None-Match can only be `*`: nothing is there yet.",
            ));
        }
    }
    match tags(headers, "if-match").as_deref() {
        None => {}
        Some([tag]) if tag == "*" => conditions.if_match = Some(TagMatch::Any),
        Some([tag]) => conditions.if_match = Some(TagMatch::Tag(tag.clone())),
        Some(_) => return Err(Refusal::bad_request("On a put, If-Match can only be one ETag or `*`.")),
    }
    Ok(conditions)
}

/// Refuses all conditions: a change that ignored one would change what the client wants to keep.
///
/// # Errors
/// 400, which names the header.
pub(super) fn refuse_all(headers: &HeaderMap) -> Outcome<()> {
    refuse(headers, &HEADERS)
}

fn refuse(headers: &HeaderMap, names: &[&str]) -> Outcome<()> {
    match names.iter().find(|name| headers.contains_key(**name)) {
        Some(name) => Err(Refusal::bad_request(format!(
            "This gateway does not support this request with the header {name}: leave it out."
        ))),
        None => Ok(()),
    }
}

/// Returns the refusal for a condition that does not hold.
pub(super) fn failed(condition: &str) -> Refusal {
    Refusal::precondition_failed(format!("The condition {condition} does not hold."))
}

/// Returns the ETags of a header, without quotes.
fn tags(headers: &HeaderMap, name: &str) -> Option<Vec<String>> {
    let values: Vec<&str> = headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
    if values.is_empty() {
        return None;
    }
    let tags = values.iter().flat_map(|value| value.split(',')).map(bare).filter(|tag| !tag.is_empty());
    Some(tags.map(str::to_owned).collect())
}

/// Returns an ETag without quotes and without the mark of a weak one.
pub(super) fn bare(tag: &str) -> &str {
    let tag = tag.trim();
    let tag = tag.strip_prefix("W/").unwrap_or(tag);
    tag.trim_matches('"')
}

fn tag_matches(tags: &[String], etag: &str) -> bool {
    tags.iter().any(|tag| tag == "*" || tag.eq_ignore_ascii_case(etag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    const OLD: &str = "Thu, 01 Jan 1970 00:00:09 GMT";
    const SAME: &str = "Thu, 01 Jan 1970 00:00:10 GMT";

    fn headers(list: &[(&str, &str)]) -> HeaderMap {
        let pair = |&(name, value): &(&str, &str)| {
            (name.parse::<HeaderName>().unwrap(), HeaderValue::try_from(value).unwrap())
        };
        list.iter().map(pair).collect()
    }

    fn verdict(list: &[(&str, &str)]) -> u16 {
        match check(&headers(list), "abc", UnixMillis(10_500)) {
            Verdict::Go => 200,
            Verdict::NotModified => 304,
            Verdict::Failed(_) => 412,
        }
    }

    #[test]
    fn tags_come_before_dates_and_dates_count_in_seconds() {
        for (list, expected) in [
            (&[][..], 200),
            (&[("if-match", "abc")], 200),
            (&[("if-match", "\"abc\"")], 200),
            (&[("if-match", "x, W/\"ABC\"")], 200),
            (&[("if-match", "*")], 200),
            (&[("if-match", "abd")], 412),
            (&[("if-match", "abc"), ("if-unmodified-since", OLD)], 200),
            (&[("if-none-match", "abc")], 304),
            (&[("if-none-match", "*")], 304),
            (&[("if-none-match", "abd"), ("if-modified-since", SAME)], 200),
            (&[("if-modified-since", SAME)], 304),
            (&[("if-modified-since", OLD)], 200),
            (&[("if-modified-since", "nonsense")], 200),
            (&[("if-unmodified-since", SAME)], 200),
            (&[("if-unmodified-since", OLD)], 412),
        ] {
            assert_eq!(verdict(list), expected, "{list:?}");
        }
    }

    #[test]
    fn a_put_can_ask_for_nothing_to_be_there() {
        let of = |list: &[(&str, &str)]| of_put(&headers(list));
        assert_eq!(of(&[("if-none-match", "*")]).unwrap().if_none_match, Some(TagMatch::Any));
        assert_eq!(of(&[("if-match", "\"a\"")]).unwrap().if_match, Some(TagMatch::Tag("a".into())));
        assert!(of(&[("if-none-match", "abc")]).is_err() && of(&[("if-match", "a,b")]).is_err());
        assert_eq!(of(&[]).unwrap(), WriteConditions::default());
    }
}
