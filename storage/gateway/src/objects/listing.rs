//! Lists of names: prefix, delimiter and paging, in both directions.

use std::collections::BTreeMap;
use std::ops::Bound;

/// A request for a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListRequest {
    /// The prefix of the keys.
    pub prefix: String,
    /// Keys that contain this after the prefix form a group, named by their beginning up to and including it. Empty
    /// means no groups.
    pub delimiter: String,
    /// The place to start after, in the order of the listing, which is that of UTF-8 bytes. A group that ends here
    /// counts as listed. Empty means from the beginning.
    pub after: String,
    /// The place to stop before, in the order of the listing. Empty means to the end.
    pub until: String,
    /// True for descending order.
    pub reverse: bool,
    /// The largest number of keys and groups together.
    pub limit: usize,
}

/// A page of a listing.
#[derive(Clone, Debug, Default)]
pub struct Listing<T> {
    /// The keys, in order.
    pub entries: Vec<(String, T)>,
    /// The groups, in order.
    pub prefixes: Vec<String>,
    /// The `after` of the next request, if there is more.
    pub next: Option<String>,
}

/// Lists the visible entries of any map by name. Each group costs one search, however many keys it has.
pub(crate) fn list_map<V, T>(
    map: &BTreeMap<String, V>,
    request: &ListRequest,
    visible: impl Fn(&V) -> bool,
    entry: impl Fn(&V) -> T,
) -> Listing<T> {
    let mut page = Listing { entries: Vec::new(), prefixes: Vec::new(), next: None };
    let (mut low, mut high) = bounds(request);
    let mut last = None;
    while !is_empty(&low, &high) {
        let mut range = map.range::<str, _>((as_str(&low), as_str(&high)));
        let Some((key, value)) = (if request.reverse { range.next_back() } else { range.next() }) else {
            break;
        };
        let group = if visible(value) { group(key, request) } else { None };
        // A group is skipped as a whole, in both directions.
        let (from, to) = match group {
            Some(group) => (successor(group).map(Bound::Included), Bound::Excluded(group.to_owned())),
            None => (Some(Bound::Excluded(key.clone())), Bound::Excluded(key.clone())),
        };
        if visible(value) {
            if page.entries.len() + page.prefixes.len() == request.limit {
                page.next = last;
                break;
            }
            last = Some(group.unwrap_or(key).to_owned());
            match group {
                Some(group) => page.prefixes.push(group.to_owned()),
                None => page.entries.push((key.clone(), entry(value))),
            }
        }
        match (request.reverse, from) {
            (true, _) => high = to,
            (false, Some(from)) => low = from,
            (false, None) => break,
        }
    }
    page
}

/// Returns the range of keys of a request.
pub(crate) fn bounds(request: &ListRequest) -> (Bound<String>, Bound<String>) {
    let excluded = |text: &String| (!text.is_empty()).then(|| Bound::Excluded(text.clone()));
    let (low, high) = if request.reverse {
        (excluded(&request.until), excluded(&request.after))
    } else {
        ((!request.after.is_empty()).then(|| start(request)), excluded(&request.until))
    };
    let first = Bound::Included(request.prefix.clone());
    let behind = successor(&request.prefix).map_or(Bound::Unbounded, Bound::Excluded);
    (later(low.unwrap_or(Bound::Unbounded), first), earlier(high.unwrap_or(Bound::Unbounded), behind))
}

/// Returns the larger lower bound.
fn later(one: Bound<String>, included: Bound<String>) -> Bound<String> {
    match (&one, &included) {
        (Bound::Unbounded, _) => included,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b)) if a < b => included,
        _ => one,
    }
}

/// Returns the smaller upper bound; both exclude if they bound.
fn earlier(one: Bound<String>, other: Bound<String>) -> Bound<String> {
    match (&one, &other) {
        (Bound::Unbounded, _) => other,
        (Bound::Excluded(a), Bound::Excluded(b)) if b < a => other,
        _ => one,
    }
}

/// Returns whether a range is empty; such a range must not be passed to a map.
pub(crate) fn is_empty(low: &Bound<String>, high: &Bound<String>) -> bool {
    match (low, high) {
        (Bound::Included(low) | Bound::Excluded(low), Bound::Excluded(high)) => low >= high,
        _ => false,
    }
}

/// Returns the lower bound of a listing that continues after `request.after`.
fn start(request: &ListRequest) -> Bound<String> {
    match group(&request.after, request) {
        Some(group) if group == request.after => match successor(group) {
            Some(next) => Bound::Included(next),
            None => Bound::Excluded(request.after.clone()),
        },
        _ => Bound::Excluded(request.after.clone()),
    }
}

/// Returns the group of a key: up to and including the first delimiter after the prefix.
pub(crate) fn group<'a>(key: &'a str, request: &ListRequest) -> Option<&'a str> {
    if request.delimiter.is_empty() {
        return None;
    }
    let rest = key.strip_prefix(request.prefix.as_str())?;
    let index = rest.find(&request.delimiter)?;
    Some(&key[..request.prefix.len() + index + request.delimiter.len()])
}

/// Returns the smallest text that is greater than every text with this prefix.
pub(crate) fn successor(prefix: &str) -> Option<String> {
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

pub(crate) fn as_str(bound: &Bound<String>) -> Bound<&str> {
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

    /// Lists keys by definition: all keys, one after the other, without paging.
    fn plain(keys: &BTreeSet<String>, request: &ListRequest) -> (Vec<String>, Vec<String>) {
        let mut entries = Vec::new();
        let mut prefixes = Vec::new();
        let is_after = |key: &str| match (request.after.as_str(), request.reverse) {
            ("", _) => true,
            (after, false) => key > after,
            (after, true) => key < after,
        };
        let is_before_end = |key: &str| match (request.until.as_str(), request.reverse) {
            ("", _) => true,
            (until, false) => key < until,
            (until, true) => key > until,
        };
        let wanted = |key: &&String| key.starts_with(&request.prefix) && is_after(key) && is_before_end(key);
        for key in keys.iter().filter(wanted).filter(|key| !hidden(key)) {
            match group(key, request) {
                Some(group) => prefixes.push(group.to_owned()),
                None => entries.push(key.clone()),
            }
        }
        prefixes.dedup();
        prefixes.retain(|prefix| *prefix != request.after);
        if request.reverse {
            entries.reverse();
            prefixes.reverse();
        }
        (entries, prefixes)
    }

    /// Hides some keys.
    fn hidden(key: &str) -> bool {
        key.ends_with('b')
    }

    fn list(map: &BTreeMap<String, bool>, request: &ListRequest) -> Listing<()> {
        list_map(map, request, |visible| *visible, |_| ())
    }

    proptest! {
        #[test]
        fn the_pages_together_are_the_listing(
            keys in prop::collection::btree_set("[ab/\u{10ffff}\u{d7ff}]{1,6}", 0..60),
            prefix in "[ab/]{0,2}",
            delimiter in "(/|a|/b|)",
            after in "[ab/]{0,3}",
            until in "[ab/]{0,3}",
            reverse in any::<bool>(),
            limit in 1usize..5,
        ) {
            let map: BTreeMap<String, bool> = keys.iter().map(|key| (key.clone(), !hidden(key))).collect();
            let mut request = ListRequest { prefix, delimiter, after, until, reverse, limit };
            let expected = plain(&keys, &request);
            let (mut entries, mut prefixes) = (Vec::new(), Vec::new());
            loop {
                let page = list(&map, &request);
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
        let map = BTreeMap::from([("a".to_owned(), true), ("b".to_owned(), true)]);
        let request = |limit| ListRequest { limit, ..ListRequest::default() };
        assert_eq!(list(&map, &request(2)).next, None);
        assert_eq!(list(&map, &request(1)).next.as_deref(), Some("a"));
        assert_eq!(list(&map, &request(0)).next, None);
    }
}
