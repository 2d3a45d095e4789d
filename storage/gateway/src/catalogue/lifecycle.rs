//! S3's lifecycle rules, which remove objects and abort unfinished uploads.

use super::object::Object;
use super::unix_millis::UnixMillis;
use minicbor::{Decode, Encode};
use std::collections::BTreeMap;

/// A day, in milliseconds.
pub(crate) const DAY_MILLIS: u64 = 24 * 60 * 60 * 1000;

/// A rule. If several rules remove an item, the earliest time counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct LifecycleRule {
    /// The name of the rule, unique in its container.
    #[n(0)]
    #[cbor(default)]
    pub id: String,
    /// False for a disabled rule: it removes nothing.
    #[n(1)]
    #[cbor(default)]
    pub is_enabled: bool,
    /// The filter that objects and uploads must match.
    #[n(2)]
    #[cbor(default)]
    pub filter: LifecycleFilter,
    /// The expiry of current objects.
    #[n(3)]
    pub expiry: Option<Expiry>,
    /// The expiry of old versions.
    #[n(4)]
    pub old: Option<OldVersions>,
    /// The age in days at which an unfinished upload is aborted.
    #[n(5)]
    pub abort_after_days: Option<u32>,
}

/// Conditions on keys and objects, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct LifecycleFilter {
    /// The form in which the owner wrote the filter.
    #[n(0)]
    #[cbor(default)]
    pub form: FilterForm,
    /// The prefix of the keys.
    #[n(1)]
    pub prefix: Option<String>,
    /// The tags that objects have.
    #[n(2)]
    #[cbor(default)]
    pub tags: BTreeMap<String, String>,
    /// Objects have more bytes than this.
    #[n(3)]
    pub more_than: Option<u64>,
    /// Objects have fewer bytes than this.
    #[n(4)]
    pub less_than: Option<u64>,
}

/// The form of a filter. All forms have the same meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum FilterForm {
    /// `Filter` with at most one condition.
    #[default]
    #[n(0)]
    Filter,
    /// `And` in a `Filter`.
    #[n(1)]
    And,
    /// Only a `Prefix`, as older clients write it.
    #[n(2)]
    Prefix,
}

/// The expiry of current objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Expiry {
    /// Each object expires this many days after its put, at the next midnight.
    #[n(0)]
    Days(#[n(0)] u32),
    /// All objects expire at this time, later ones at once.
    #[n(1)]
    Date(#[n(0)] UnixMillis),
    /// No object expires. If true, a delete marker without older versions is removed.
    #[n(2)]
    Markers(#[n(0)] bool),
}

/// The expiry of old versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct OldVersions {
    /// The number of days after a newer version was put.
    #[n(0)]
    pub days: u32,
    /// The number of the newest old versions that stay.
    #[n(1)]
    pub kept: Option<u32>,
}

/// Returns the first midnight (UTC) at which this many days are over.
fn midnight(from: UnixMillis, days: u32) -> UnixMillis {
    let end = from.0.saturating_add(u64::from(days) * DAY_MILLIS);
    UnixMillis(end.div_ceil(DAY_MILLIS).saturating_mul(DAY_MILLIS))
}

impl LifecycleFilter {
    fn matches_key(&self, key: &str) -> bool {
        self.prefix.as_ref().is_none_or(|prefix| key.starts_with(prefix))
    }

    /// A delete marker has neither tags nor a size.
    fn matches_object(&self, key: &str, object: &Object) -> bool {
        let has = |(name, value): (&String, &String)| object.details.tags.get(name) == Some(value);
        let is_sized = self.more_than.is_some() || self.less_than.is_some();
        let bytes = object.bytes();
        self.matches_key(key)
            && self.tags.iter().all(has)
            && !(is_sized && object.version.is_marker)
            && self.more_than.is_none_or(|min| bytes > min)
            && self.less_than.is_none_or(|max| bytes < max)
    }
}

impl LifecycleRule {
    /// Returns the time at which the current object of a key expires.
    pub(crate) fn object_expiry(&self, key: &str, object: &Object) -> Option<UnixMillis> {
        let end = match self.expiry? {
            Expiry::Days(days) => midnight(object.modified, days),
            Expiry::Date(time) => time,
            Expiry::Markers(_) => return None,
        };
        (self.is_enabled && self.filter.matches_object(key, object)).then_some(end)
    }

    /// Returns the time at which a delete marker without older versions expires.
    pub(crate) fn marker_expiry(&self, key: &str, marker: &Object) -> Option<UnixMillis> {
        match self.expiry? {
            Expiry::Markers(go) => {
                (go && self.is_enabled && self.filter.matches_object(key, marker)).then_some(marker.modified)
            }
            Expiry::Days(_) | Expiry::Date(_) => self.object_expiry(key, marker),
        }
    }

    /// Returns the time at which a version expires that is old since `since`, and has `newer` newer objects.
    pub(crate) fn old_version_expiry(
        &self,
        key: &str,
        object: &Object,
        since: UnixMillis,
        newer: usize,
    ) -> Option<UnixMillis> {
        let old = self.old?;
        let is_kept = old.kept.is_some_and(|kept| newer < kept as usize);
        let is_due = self.is_enabled && !is_kept && self.filter.matches_object(key, object);
        is_due.then(|| midnight(since, old.days))
    }

    /// Returns the time at which an unfinished upload is aborted.
    pub(crate) fn upload_expiry(&self, key: &str, started: UnixMillis) -> Option<UnixMillis> {
        let days = self.abort_after_days?;
        (self.is_enabled && self.filter.matches_key(key)).then(|| midnight(started, days))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_over_at_the_midnight_after() {
        for (from, days, end) in
            [(1, 1, 2), (DAY_MILLIS, 1, 2), (DAY_MILLIS + 1, 1, 3), (2 * DAY_MILLIS - 1, 3, 5), (0, 1, 1)]
        {
            assert_eq!(midnight(UnixMillis(from), days), UnixMillis(end * DAY_MILLIS), "{from} {days}");
        }
        assert_eq!(midnight(UnixMillis(u64::MAX), u32::MAX), UnixMillis(u64::MAX));
    }
}
