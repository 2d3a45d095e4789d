//! Lists of versions: by key, those of one key the newest first.

use crate::catalogue::{Container, Object, UnixMillis, VersionId};
use crate::objects::listing::{self, ListRequest};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// A version in a list.
#[derive(Clone, Debug)]
pub struct ListedVersion {
    /// The key of the object.
    pub key: String,
    /// The version, which may be a delete marker.
    pub object: Arc<Object>,
    /// True if it is the newest of its key.
    pub is_latest: bool,
}

/// The place at which a list of versions continues: after a version of a key, or after a key or group.
pub type VersionMarker = (String, Option<VersionId>);

/// A page of versions.
#[derive(Clone, Debug, Default)]
pub struct VersionListing {
    /// The versions, in order.
    pub entries: Vec<ListedVersion>,
    /// The groups of keys, in order.
    pub prefixes: Vec<String>,
    /// The place to continue, if there is more.
    pub next: Option<VersionMarker>,
}

/// Lists versions, from after `request.after`; with `after_version` from after that version of the key `request.after`.
/// If that is the null version and it no longer exists, its key is listed from the start.
pub(super) fn list(
    container: &Container,
    request: &ListRequest,
    after_version: Option<VersionId>,
    now: UnixMillis,
) -> VersionListing {
    let mut page = VersionListing::default();
    let (mut low, high) = listing::bounds(request);
    let below = after_version.map(|id| below(container, &request.after, id));
    if below.is_some() && request.after.starts_with(&request.prefix) {
        low = Bound::Included(request.after.clone());
    }
    let mut last = None;
    while !listing::is_empty(&low, &high) {
        let Some(key) = next_key(container, &low, &high) else { break };
        let below = below.filter(|_| *key == request.after).unwrap_or(u64::MAX);
        let versions = container.versions(key).enumerate();
        let mut versions = versions
            .filter(|(_, object)| object.version.order < below && !object.has_expired(now))
            .peekable();
        let group = listing::group(key, request).filter(|_| versions.peek().is_some());
        low = Bound::Excluded(key.clone());
        if let Some(group) = group {
            if page.entries.len() + page.prefixes.len() == request.limit {
                page.next = last;
                return page;
            }
            page.prefixes.push(group.to_owned());
            last = Some((group.to_owned(), None));
            match listing::successor(group) {
                Some(next) => low = Bound::Included(next),
                None => break,
            }
            continue;
        }
        for (nth, object) in versions {
            if page.entries.len() + page.prefixes.len() == request.limit {
                page.next = last;
                return page;
            }
            last = Some((key.clone(), Some(object.version.id())));
            let object = Arc::clone(object);
            page.entries.push(ListedVersion { key: key.clone(), object, is_latest: nth == 0 });
        }
    }
    page
}

/// Returns the order below which the versions of a key come after this one.
fn below(container: &Container, key: &str, id: VersionId) -> u64 {
    let null = || container.versions(key).find(|object| object.version.id() == id);
    id.order().or_else(|| null().map(|object| object.version.order)).unwrap_or(u64::MAX)
}

/// Returns the first key between the bounds that has a version.
fn next_key<'a>(container: &'a Container, low: &Bound<String>, high: &Bound<String>) -> Option<&'a String> {
    let range = (listing::as_str(low), listing::as_str(high));
    let current = first(&container.objects, range);
    let old = first(&container.history, range);
    current.into_iter().chain(old).min()
}

fn first<'a, V>(map: &'a BTreeMap<String, V>, range: (Bound<&str>, Bound<&str>)) -> Option<&'a String> {
    map.range::<str, _>(range).next().map(|(key, _)| key)
}
