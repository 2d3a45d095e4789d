//! Rules about the ends of a container's objects and unfinished uploads, as S3 has them.

use super::object::Object;
use super::unix_millis::UnixMillis;
use minicbor::{Decode, Encode};
use std::collections::BTreeMap;

/// A day, in milliseconds.
pub(crate) const DAY_MILLIS: u64 = 24 * 60 * 60 * 1000;

/// A rule. An item that several rules remove goes by the earliest of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct LifecycleRule {
    /// Its name, of which the container has one.
    #[n(0)]
    #[cbor(default)]
    pub id: String,
    /// The switch of the rule: a rule that is off removes nothing.
    #[n(1)]
    #[cbor(default)]
    pub is_enabled: bool,
    /// The filter that objects and uploads must pass.
    #[n(2)]
    #[cbor(default)]
    pub filter: LifecycleFilter,
    /// The end of objects that keys stand for.
    #[n(3)]
    pub expiry: Option<Expiry>,
    /// The end of old versions.
    #[n(4)]
    pub old: Option<OldVersions>,
    /// So many days after its begin an unfinished upload ends.
    #[n(5)]
    pub abort_after_days: Option<u32>,
}

/// Conditions on keys and objects, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct LifecycleFilter {
    /// The form in which its owner wrote it.
    #[n(0)]
    #[cbor(default)]
    pub form: FilterForm,
    /// The prefix of the keys.
    #[n(1)]
    pub prefix: Option<String>,
    /// Tags that objects have.
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

/// The form in which a filter is written. It means the same in each form.
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
    /// `Prefix` alone, as older clients have it.
    #[n(2)]
    Prefix,
}

/// The end of objects that keys stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Expiry {
    /// Each goes so many days after it was put, at the midnight after.
    #[n(0)]
    Days(#[n(0)] u32),
    /// All go at this moment, and later ones as well.
    #[n(1)]
    Date(#[n(0)] UnixMillis),
    /// They stay. Whether delete markers go under which no version is left.
    #[n(2)]
    Markers(#[n(0)] bool),
}

/// The end of old versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct OldVersions {
    /// So many days after a newer one came.
    #[n(0)]
    pub days: u32,
    /// So many of the newest of them stay.
    #[n(1)]
    pub kept: Option<u32>,
}

/// The first midnight (UTC) when so many days are over.
fn midnight(from: UnixMillis, days: u32) -> UnixMillis {
    let over = from.0.saturating_add(u64::from(days) * DAY_MILLIS);
    UnixMillis(over.div_ceil(DAY_MILLIS).saturating_mul(DAY_MILLIS))
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
    /// The moment at which an object goes that its key stands for.
    pub(crate) fn object_expiry(&self, key: &str, object: &Object) -> Option<UnixMillis> {
        let end = match self.expiry? {
            Expiry::Days(days) => midnight(object.modified, days),
            Expiry::Date(time) => time,
            Expiry::Markers(_) => return None,
        };
        (self.is_enabled && self.filter.matches_object(key, object)).then_some(end)
    }

    /// The moment at which a delete marker goes under which no version is left.
    pub(crate) fn marker_expiry(&self, key: &str, marker: &Object) -> Option<UnixMillis> {
        match self.expiry? {
            Expiry::Markers(go) => {
                (go && self.is_enabled && self.filter.matches_object(key, marker)).then_some(marker.modified)
            }
            Expiry::Days(_) | Expiry::Date(_) => self.object_expiry(key, marker),
        }
    }

    /// The moment at which a version goes that is old since `since`, and after which `newer` objects are old too.
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

    /// The moment at which an unfinished upload ends.
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
