//! Fuzz targets for the parsers of Swift requests: no input may cause a panic, and results are within their bounds.

use super::target::Target;
use super::{conditions, dates, listing, metadata, query::Query, range};
use crate::auth::rights::{Acl, AclUse};
use crate::catalogue::UnixMillis;
use http::{HeaderMap, HeaderName, HeaderValue};

#[test]
fn fuzz_swift_paths_and_queries() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        for path in [&*text, &format!("/v1/AUTH_{text}"), &format!("/v1/AUTH_a/{text}")] {
            let Some(target) = Target::read(path) else { continue };
            assert!(target.object.is_none() || target.container.is_some(), "{target:?}");
            let _ = target.check_lengths();
        }
        let _ = Target::read_within("a", &text);
        if let Ok(query) = Query::parse(Some(&text)) {
            let _ = listing::parse_query(&query);
            let _ = listing::ListingForm::of(&query, &HeaderMap::new());
        }
    });
}

#[test]
fn fuzz_swift_headers() {
    const NAMES: [&str; 8] = [
        "range",
        "if-match",
        "if-none-match",
        "if-modified-since",
        "if-unmodified-since",
        "x-object-meta-a",
        "x-remove-container-meta-b",
        "accept",
    ];
    bolero::check!().with_type::<(u64, Vec<u8>)>().for_each(|(size, bytes)| {
        let Ok(value) = HeaderValue::from_bytes(bytes) else { return };
        let headers: HeaderMap =
            NAMES.iter().map(|name| (HeaderName::from_static(name), value.clone())).collect();
        if let range::RequestedRanges::Ranges(ranges) = range::requested(&headers, *size) {
            assert!(!ranges.is_empty());
            assert!(ranges.iter().all(|range| range.start < range.end && range.end <= *size), "{ranges:?}");
        }
        let _ = conditions::check(&headers, "etag", UnixMillis(*size));
        let _ = conditions::of_put(&headers);
        let _ = metadata::changes(&headers, metadata::ResourceKind::Object);
    });
}

#[test]
fn fuzz_swift_lists_and_dates() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        for purpose in [AclUse::Reading, AclUse::Writing] {
            if let Ok(acl) = Acl::parse(&text, purpose) {
                let _ = acl.admits_referrer(Some(&text));
            }
        }
        let _ = dates::read_http_date(&text);
        let _ = dates::read_seconds_or_iso(&text);
    });
}
