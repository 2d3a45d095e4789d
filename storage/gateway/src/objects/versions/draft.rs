//! The versions of one key, changed step by step, and the changes of the catalogue that follow.

use crate::catalogue::{
    Catalogue, Change, Container, MAX_ORDER, Object, ObjectName, UnixMillis, Version, VersionId, Versioning,
};
use crate::error::Error;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The time and the randomness of a change, which name the versions that it makes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommitStamp {
    pub(crate) now: UnixMillis,
    pub(crate) salt: u64,
}

/// The versions of a key as they will be when its changes are committed.
pub(crate) struct Draft<'a> {
    at: ObjectName,
    container: &'a Container,
    /// The differences from the container, by order.
    edits: BTreeMap<u64, Option<Arc<Object>>>,
}

impl<'a> Draft<'a> {
    /// The versions of a key as they are.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`].
    pub(crate) fn new(catalogue: &'a Catalogue, at: ObjectName) -> Result<Self, Error> {
        let container = catalogue.container(&at.account, &at.container)?;
        Ok(Draft { at, container, edits: BTreeMap::new() })
    }

    fn versioning(&self) -> Option<Versioning> {
        self.container.settings.versioning
    }

    /// The newest version, which may be a delete marker or have expired.
    pub(crate) fn newest(&self) -> Option<&Arc<Object>> {
        let mut stored = self.container.versions(&self.at.key);
        let stored = stored.find(|object| !self.edits.contains_key(&object.version.order));
        let edited = self.edits.values().rev().find_map(Option::as_ref);
        stored.into_iter().chain(edited).max_by_key(|object| object.version.order)
    }

    /// The object that the key stands for.
    pub(crate) fn current(&self, now: UnixMillis) -> Option<&Arc<Object>> {
        self.newest().filter(|object| !object.version.is_marker && !object.has_expired(now))
    }

    /// The version of this name, which may be a delete marker or have expired.
    pub(crate) fn find(&self, id: VersionId) -> Option<&Arc<Object>> {
        if let Some(order) = id.order()
            && !self.edits.contains_key(&order)
        {
            let current = self.container.objects.get(&self.at.key);
            let old = || self.container.old(&self.at.key, order);
            let found = current.filter(|object| object.version.order == order).or_else(old);
            return found.filter(|object| object.version.id() == id);
        }
        let edited = self.edits.values().rev().filter_map(Option::as_ref);
        let stored = self.container.versions(&self.at.key);
        let stored = stored.filter(|object| !self.edits.contains_key(&object.version.order));
        edited.chain(stored).find(|object| object.version.id() == id)
    }

    /// Larger than the order of all versions there are, and of those that this draft has removed.
    fn next_order(&self, now: UnixMillis) -> u64 {
        let stored = self.container.versions(&self.at.key).next().map(|object| object.version.order);
        let edited = self.edits.last_key_value().map(|(&order, _)| order);
        let last = stored.max(edited).unwrap_or(0);
        // The upper bits of a name are the milliseconds since 1970, as in a ULID.
        now.0.saturating_mul(1 << 16).min(MAX_ORDER / 2).max(last + 1)
    }

    /// Puts an object on top, and says which one it has become.
    pub(crate) fn put(&mut self, mut object: Object, stamp: CommitStamp) -> Arc<Object> {
        let is_marker = object.version.is_marker;
        object.version = match self.versioning() {
            None => Version::default(),
            Some(Versioning::Enabled) => {
                Version { order: self.next_order(stamp.now), salt: Some(stamp.salt), is_marker }
            }
            Some(Versioning::Suspended) => {
                Version { order: self.next_order(stamp.now), salt: None, is_marker }
            }
        };
        self.make_room(stamp.now);
        let object = Arc::new(object);
        self.edits.insert(object.version.order, Some(Arc::clone(&object)));
        object
    }

    /// Removes the version that a put replaces, and an object on top whose time is over.
    fn make_room(&mut self, now: UnixMillis) {
        let top = self.newest().filter(|object| object.has_expired(now)).map(|top| top.version.order);
        let replaced = match self.versioning() {
            None => self.newest().map(|top| top.version.order),
            Some(Versioning::Enabled) => None,
            Some(Versioning::Suspended) => self.find(VersionId::Null).map(|null| null.version.order),
        };
        self.edits.extend(top.into_iter().chain(replaced).map(|order| (order, None)));
    }

    /// Deletes the object that the key stands for: for good, or by a delete marker on top, which is the answer.
    pub(crate) fn delete(&mut self, stamp: CommitStamp) -> Option<Arc<Object>> {
        if self.versioning().is_some() {
            return Some(self.put(marker(stamp.now), stamp));
        }
        self.make_room(stamp.now);
        None
    }

    /// Removes a version for good. The key stands for the newest of the rest.
    pub(crate) fn remove(&mut self, order: u64) {
        self.edits.insert(order, None);
    }

    /// Removes a version whose time is over. No older one comes back: a delete marker takes its place.
    pub(crate) fn expire(&mut self, order: u64, stamp: CommitStamp) {
        self.remove(order);
        let comes_back = self.newest().is_some_and(|top| !top.version.is_marker && top.version.order < order);
        if comes_back {
            self.put(marker(stamp.now), stamp);
        }
    }

    /// Puts something else in place of the version of the same order.
    pub(crate) fn replace(&mut self, object: Arc<Object>) {
        self.edits.insert(object.version.order, Some(object));
    }

    /// The changes to commit.
    pub(crate) fn changes(self) -> Vec<Change> {
        let at = || self.at.clone();
        let current = self.newest().filter(|object| !object.version.is_marker);
        let order = current.map(|object| object.version.order);
        let before = self.container.objects.get(&self.at.key);
        let is_old = |order: u64| self.container.old(&self.at.key, order).is_some();
        let mut changes = Vec::new();
        // Versions leave the history first and enter it last: a version never stands in two rows.
        let dropped = self.edits.iter().filter(|(at, edit)| edit.is_none() || Some(**at) == order);
        let dropped = dropped.map(|(&order, _)| order).filter(|order| is_old(*order));
        let raised = order.filter(|order| is_old(*order) && !self.edits.contains_key(order));
        changes.extend(dropped.chain(raised).map(|order| Change::DropVersion { at: at(), order }));
        match (current, before) {
            (Some(current), Some(before)) if Arc::ptr_eq(current, before) => {}
            (Some(current), _) => changes.push(Change::PutObject { at: at(), object: Arc::clone(current) }),
            (None, Some(_)) => changes.push(Change::DropObject { at: at() }),
            (None, None) => {}
        }
        let edited = self.edits.values().filter_map(Option::as_ref);
        let unchanged = before.filter(|before| !self.edits.contains_key(&before.version.order));
        let old = edited.chain(unchanged).filter(|object| Some(object.version.order) != order);
        changes.extend(old.map(|object| Change::PutVersion { at: at(), object: Arc::clone(object) }));
        changes
    }
}

/// A delete marker, before it has a place among the versions of a key.
fn marker(now: UnixMillis) -> Object {
    let version = Version { is_marker: true, ..Version::default() };
    Object { modified: now, version, ..Object::default() }
}

/// The version that a put takes out of a container for good.
pub(crate) fn replaced<'a>(container: &'a Container, key: &str) -> Option<&'a Arc<Object>> {
    match container.settings.versioning {
        None => container.objects.get(key),
        Some(Versioning::Enabled) => None,
        Some(Versioning::Suspended) => {
            container.versions(key).find(|object| object.version.id() == VersionId::Null)
        }
    }
}
