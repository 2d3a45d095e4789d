//! Listing the keys of a bucket: prefix, delimiter, paging.

use crate::catalogue::{Bucket, Object};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// What to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListRequest {
    /// Only keys that begin so.
    pub prefix: String,
    /// Keys that hold this after the prefix are listed as one, up to and with it. Empty means none.
    pub delimiter: String,
    /// Only what comes after this, in the order of UTF-8 bytes. A group that ends here counts as listed.
    pub after: String,
    /// The most keys and groups together.
    pub limit: usize,
}

/// A page of a listing.
#[derive(Clone, Debug, Default)]
pub struct Listing<T> {
    /// Keys, in order.
    pub entries: Vec<(String, T)>,
    /// Groups, in order.
    pub prefixes: Vec<String>,
    /// Where to go on, as the next request's `after`, if there is more.
    pub next: Option<String>,
}

pub(crate) fn list(bucket: &Bucket, request: &ListRequest) -> Listing<Arc<Object>> {
    list_map(&bucket.objects, request)
}

/// Lists any map by name. Each group costs one search, however many keys it holds.
pub(crate) fn list_map<T: Clone>(map: &BTreeMap<String, T>, request: &ListRequest) -> Listing<T> {
    let mut page = Listing { entries: Vec::new(), prefixes: Vec::new(), next: None };
    let mut from = start(request);
    let mut last = None;
    loop {
        let Some((key, value)) = map.range::<str, _>((as_str(&from), Bound::Unbounded)).next() else {
            return page;
        };
        if !key.starts_with(&request.prefix) {
            return page;
        }
        if page.entries.len() + page.prefixes.len() == request.limit {
            page.next = last;
            return page;
        }
        match group(key, request) {
            Some(group) => {
                page.prefixes.push(group.to_owned());
                last = Some(group.to_owned());
                match successor(group) {
                    Some(next) => from = Bound::Included(next),
                    None => return page,
                }
            }
            None => {
                page.entries.push((key.clone(), value.clone()));
                last = Some(key.clone());
                from = Bound::Excluded(key.clone());
            }
        }
    }
}

fn start(request: &ListRequest) -> Bound<String> {
    if request.after < request.prefix {
        return Bound::Included(request.prefix.clone());
    }
    match group(&request.after, request) {
        Some(group) if group == request.after => match successor(group) {
            Some(next) => Bound::Included(next),
            None => Bound::Excluded(request.after.clone()),
        },
        _ => Bound::Excluded(request.after.clone()),
    }
}

/// The group that a key belongs to: up to and with the first delimiter after the prefix.
pub(crate) fn group<'a>(key: &'a str, request: &ListRequest) -> Option<&'a str> {
    if request.delimiter.is_empty() {
        return None;
    }
    let rest = key.strip_prefix(request.prefix.as_str())?;
    let at = rest.find(&request.delimiter)?;
    Some(&key[..request.prefix.len() + at + request.delimiter.len()])
}

/// The least text that is greater than every text beginning with `prefix`.
fn successor(prefix: &str) -> Option<String> {
    let mut text = prefix.to_owned();
    while let Some(last) = text.pop() {
        let next = match u32::from(last) + 1 {
            0xD800 => Some('\u{E000}'),
            code => char::from_u32(code),
        };
        if let Some(next) = next {
            text.push(next);
            return Some(text);
        }
    }
    None
}

fn as_str(bound: &Bound<String>) -> Bound<&str> {
    match bound {
        Bound::Included(text) => Bound::Included(text),
        Bound::Excluded(text) => Bound::Excluded(text),
        Bound::Unbounded => Bound::Unbounded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The listing as its definition has it: all keys, one after the other, no paging.
    fn plain(keys: &BTreeSet<String>, request: &ListRequest) -> (Vec<String>, Vec<String>) {
        let mut entries = Vec::new();
        let mut prefixes = Vec::new();
        for key in keys.iter().filter(|key| key.starts_with(&request.prefix) && **key > request.after) {
            match group(key, request) {
                Some(group) => prefixes.push(group.to_owned()),
                None => entries.push(key.clone()),
            }
        }
        prefixes.dedup();
        prefixes.retain(|prefix| *prefix != request.after);
        (entries, prefixes)
    }

    proptest! {
        #[test]
        fn the_pages_together_are_the_listing(
            keys in prop::collection::btree_set("[ab/\u{10ffff}\u{d7ff}]{1,6}", 0..60),
            prefix in "[ab/]{0,2}",
            delimiter in "(/|a|/b|)",
            after in "[ab/]{0,3}",
            limit in 1usize..5,
        ) {
            let map: BTreeMap<String, ()> = keys.iter().map(|key| (key.clone(), ())).collect();
            let mut request = ListRequest { prefix, delimiter, after, limit };
            let expected = plain(&keys, &request);
            let (mut entries, mut prefixes) = (Vec::new(), Vec::new());
            loop {
                let page = list_map(&map, &request);
                prop_assert!(page.entries.len() + page.prefixes.len() <= limit);
                entries.extend(page.entries.into_iter().map(|(key, ())| key));
                prefixes.extend(page.prefixes);
                match page.next {
                    Some(next) => {
                        request.after = next;
                    }
                    None => break,
                }
            }
            prop_assert_eq!((entries, prefixes), expected);
        }
    }

    #[test]
    fn a_full_page_with_nothing_after_it_is_the_last() {
        let map = BTreeMap::from([("a".to_owned(), ()), ("b".to_owned(), ())]);
        let request = |limit| ListRequest { limit, ..ListRequest::default() };
        assert_eq!(list_map(&map, &request(2)).next, None);
        assert_eq!(list_map(&map, &request(1)).next.as_deref(), Some("a"));
        assert_eq!(list_map(&map, &request(0)).next, None);
    }
}
