//! `Range` headers: the requested bytes of an object.

use http::{HeaderMap, header::RANGE};
use std::ops::Range;

/// The largest number of ranges of a request. Each is read by itself, and all together may be more than the object.
pub(super) const MAX_RANGES: usize = 50;

/// The requested bytes of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RequestedRanges {
    /// All bytes: there is no range, or no valid one.
    All,
    /// Ranges within the object, none of them empty; at least one.
    Ranges(Vec<Range<u64>>),
    /// No range lies within the object.
    Nothing,
}

/// Parses the header for an object of this many bytes (RFC 9110, section 14.2).
pub(super) fn requested(headers: &HeaderMap, bytes: u64) -> RequestedRanges {
    let mut values = headers.get_all(RANGE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return RequestedRanges::All };
    let Some(specs) = value.to_str().ok().and_then(parse) else { return RequestedRanges::All };
    if specs.len() > MAX_RANGES || exceeds_twice_the_object(&specs, bytes) {
        return RequestedRanges::Nothing;
    }
    let ranges: Vec<Range<u64>> = specs.into_iter().filter_map(|spec| spec.within(bytes)).collect();
    if ranges.is_empty() { RequestedRanges::Nothing } else { RequestedRanges::Ranges(ranges) }
}

#[derive(Clone, Copy, Debug)]
enum Spec {
    From(u64, Option<u64>),
    Last(u64),
}

impl Spec {
    fn within(self, bytes: u64) -> Option<Range<u64>> {
        let range = match self {
            Spec::From(first, last) => first..last.map_or(bytes, |last| last.saturating_add(1)).min(bytes),
            Spec::Last(count) => bytes.saturating_sub(count)..bytes,
        };
        (range.start < range.end).then_some(range)
    }
}

/// Returns whether the ranges are more than twice the object: a short request must not cause so many reads.
fn exceeds_twice_the_object(specs: &[Spec], bytes: u64) -> bool {
    let ranges = specs.iter().filter_map(|spec| spec.within(bytes));
    let sum = ranges.fold(0u64, |sum, range| sum.saturating_add(range.end - range.start));
    specs.len() > 1 && sum > bytes.saturating_mul(2)
}

/// Parses a list of ranges of bytes; `None` if it is not one.
fn parse(header: &str) -> Option<Vec<Spec>> {
    let (unit, list) = header.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let specs: Option<Vec<Spec>> =
        list.split(',').map(str::trim).filter(|item| !item.is_empty()).map(spec).collect();
    specs.filter(|specs| !specs.is_empty())
}

fn spec(item: &str) -> Option<Spec> {
    let (first, last) = item.split_once('-')?;
    match (first.trim(), last.trim()) {
        ("", count) => Some(Spec::Last(number(count)?)),
        (first, "") => Some(Spec::From(number(first)?, None)),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some(Spec::From(first, Some(last)))
        }
    }
}

/// Parses a decimal number; returns at most the largest there is.
fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn of(range: &str, bytes: u64) -> RequestedRanges {
        let mut headers = HeaderMap::new();
        headers.insert(RANGE, HeaderValue::try_from(range).unwrap());
        requested(&headers, bytes)
    }

    /// Returns ranges from their starts and ends.
    fn ranges(list: &[(u64, u64)]) -> RequestedRanges {
        RequestedRanges::Ranges(list.iter().map(|&(from, to)| from..to).collect())
    }

    #[test]
    fn ranges_are_exact_to_the_byte() {
        assert_eq!(requested(&HeaderMap::new(), 10), RequestedRanges::All);
        assert_eq!(of("bytes=0-0", 10), ranges(&[(0, 1)]));
        assert_eq!(of("bytes=3-5", 10), ranges(&[(3, 6)]));
        assert_eq!(of("Bytes = 3-", 10), ranges(&[(3, 10)]));
        assert_eq!(of("bytes=-3", 10), ranges(&[(7, 10)]));
        assert_eq!(of("bytes=-30", 10), ranges(&[(0, 10)]));
        assert_eq!(of("bytes=9-100", 10), ranges(&[(9, 10)]));
        assert_eq!(of("bytes=3-99999999999999999999", 10), ranges(&[(3, 10)]));
        assert_eq!(of("bytes=0-1, 4-5,-1", 10), ranges(&[(0, 2), (4, 6), (9, 10)]));
        assert_eq!(of("bytes=0-1,20-30", 10), ranges(&[(0, 2)]));
    }

    #[test]
    fn a_range_outside_of_the_object_is_nothing() {
        for (range, bytes) in [("bytes=10-", 10), ("bytes=-0", 10), ("bytes=0-0", 0), ("bytes=10-11,12-", 10)]
        {
            assert_eq!(of(range, bytes), RequestedRanges::Nothing, "{range}");
        }
    }

    #[test]
    fn what_is_no_range_of_bytes_is_ignored() {
        for range in
            ["bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-2", "bytes=+1-2", "lines=0-5", "bytes=0-1-2"]
        {
            assert_eq!(of(range, 10), RequestedRanges::All, "{range}");
        }
    }

    #[test]
    fn a_short_request_does_not_have_an_object_read_many_times() {
        assert_eq!(of("bytes=0-,0-,0-", 10), RequestedRanges::Nothing);
        let many = format!("bytes={}", (0..51).map(|at| format!("{at}-{at}")).collect::<Vec<_>>().join(","));
        assert_eq!(of(&many, 1000), RequestedRanges::Nothing);
    }
}
