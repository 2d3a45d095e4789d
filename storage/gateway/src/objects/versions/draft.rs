//! Changes of the versions of one key, step by step, and the resulting changes of the catalogue.

use crate::catalogue::{
    Catalogue, Change, Container, MAX_ORDER, Object, ObjectName, UnixMillis, Version, VersionId, Versioning,
};
use crate::error::Error;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The time and the randomness of a change, from which new versions get their names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommitStamp {
    pub(crate) now: UnixMillis,
    pub(crate) salt: u64,
}

/// The versions of a key after the planned changes.
pub(crate) struct Draft<'a> {
    object_name: ObjectName,
    container: &'a Container,
    /// The differences from the container, by order.
    edits: BTreeMap<u64, Option<Arc<Object>>>,
}

impl<'a> Draft<'a> {
    /// Starts with the present versions of a key.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`].
    pub(crate) fn new(catalogue: &'a Catalogue, object_name: ObjectName) -> Result<Self, Error> {
        let container = catalogue.container(&object_name.account, &object_name.container)?;
        Ok(Draft { object_name, container, edits: BTreeMap::new() })
    }

    fn versioning(&self) -> Option<Versioning> {
        self.container.settings.versioning
    }

    /// Returns the newest version, which may be a delete marker or have expired.
    pub(crate) fn newest(&self) -> Option<&Arc<Object>> {
        let mut stored = self.container.versions(&self.object_name.key);
        let stored = stored.find(|object| !self.edits.contains_key(&object.version.order));
        let edited = self.edits.values().rev().find_map(Option::as_ref);
        stored.into_iter().chain(edited).max_by_key(|object| object.version.order)
    }

    /// Returns the current object of the key.
    pub(crate) fn current(&self, now: UnixMillis) -> Option<&Arc<Object>> {
        self.newest().filter(|object| !object.version.is_marker && !object.has_expired(now))
    }

    /// Returns the version of this name, which may be a delete marker or have expired.
    pub(crate) fn find(&self, id: VersionId) -> Option<&Arc<Object>> {
        if let Some(order) = id.order()
            && !self.edits.contains_key(&order)
        {
            let current = self.container.objects.get(&self.object_name.key);
            let old = || self.container.old(&self.object_name.key, order);
            let found = current.filter(|object| object.version.order == order).or_else(old);
            return found.filter(|object| object.version.id() == id);
        }
        let edited = self.edits.values().rev().filter_map(Option::as_ref);
        let stored = self.container.versions(&self.object_name.key);
        let stored = stored.filter(|object| !self.edits.contains_key(&object.version.order));
        edited.chain(stored).find(|object| object.version.id() == id)
    }

    /// Returns an order larger than the orders of all present versions, and of all versions that this draft has
    /// removed.
    fn next_order(&self, now: UnixMillis) -> u64 {
        let stored = self.container.versions(&self.object_name.key).next().map(|object| object.version.order);
        let edited = self.edits.last_key_value().map(|(&order, _)| order);
        let last = stored.max(edited).unwrap_or(0);
        // The upper bits of a name are the milliseconds since 1970, as in a ULID.
        now.0.saturating_mul(1 << 16).min(MAX_ORDER / 2).max(last + 1)
    }

    /// Puts an object on top, and returns it with its version.
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

    /// Removes the version that a put replaces, and an expired object on top.
    fn make_room(&mut self, now: UnixMillis) {
        let top = self.newest().filter(|object| object.has_expired(now)).map(|top| top.version.order);
        let replaced = match self.versioning() {
            None => self.newest().map(|top| top.version.order),
            Some(Versioning::Enabled) => None,
            Some(Versioning::Suspended) => self.find(VersionId::Null).map(|null| null.version.order),
        };
        self.edits.extend(top.into_iter().chain(replaced).map(|order| (order, None)));
    }

    /// Deletes the current object: permanently, or by a delete marker on top, which is returned.
    pub(crate) fn delete(&mut self, stamp: CommitStamp) -> Option<Arc<Object>> {
        if self.versioning().is_some() {
            return Some(self.put(marker(stamp.now), stamp));
        }
        self.make_room(stamp.now);
        None
    }

    /// Removes a version permanently. The newest of the rest becomes the current one.
    pub(crate) fn remove(&mut self, order: u64) {
        self.edits.insert(order, None);
    }

    /// Removes an expired version. No older one becomes current: a delete marker replaces it.
    pub(crate) fn expire(&mut self, order: u64, stamp: CommitStamp) {
        self.remove(order);
        let comes_back = self.newest().is_some_and(|top| !top.version.is_marker && top.version.order < order);
        if comes_back {
            self.put(marker(stamp.now), stamp);
        }
    }

    /// Replaces the version of the same order.
    pub(crate) fn replace(&mut self, object: Arc<Object>) {
        self.edits.insert(object.version.order, Some(object));
    }

    /// Returns the changes to commit.
    pub(crate) fn changes(self) -> Vec<Change> {
        let set = |object| Change::SetObject { object_name: self.object_name.clone(), object };
        let set_version = |order, object| {
            let object_name = self.object_name.clone();
            Change::SetVersion { object_name, order, object }
        };
        let current = self.newest().filter(|object| !object.version.is_marker);
        let order = current.map(|object| object.version.order);
        let before = self.container.objects.get(&self.object_name.key);
        let is_old = |order: u64| self.container.old(&self.object_name.key, order).is_some();
        let mut changes = Vec::new();
        // Versions leave the history first and enter it last: a version is never in two rows.
        let dropped = self.edits.iter().filter(|(edited, edit)| edit.is_none() || Some(**edited) == order);
        let dropped = dropped.map(|(&order, _)| order).filter(|order| is_old(*order));
        let raised = order.filter(|order| is_old(*order) && !self.edits.contains_key(order));
        changes.extend(dropped.chain(raised).map(|order| set_version(order, None)));
        match (current, before) {
            (Some(current), Some(before)) if Arc::ptr_eq(current, before) => {}
            (Some(current), _) => changes.push(set(Some(Arc::clone(current)))),
            (None, Some(_)) => changes.push(set(None)),
            (None, None) => {}
        }
        let edited = self.edits.values().filter_map(Option::as_ref);
        let unchanged = before.filter(|before| !self.edits.contains_key(&before.version.order));
        let old = edited.chain(unchanged).filter(|object| Some(object.version.order) != order);
        changes.extend(old.map(|object| set_version(object.version.order, Some(Arc::clone(object)))));
        changes
    }
}

/// Creates a delete marker that has no version yet.
fn marker(now: UnixMillis) -> Object {
    let version = Version { is_marker: true, ..Version::default() };
    Object { modified: now, version, ..Object::default() }
}

/// Returns the version that a put removes from a container permanently.
pub(crate) fn replaced<'a>(container: &'a Container, key: &str) -> Option<&'a Arc<Object>> {
    match container.settings.versioning {
        None => container.objects.get(key),
        Some(Versioning::Enabled) => None,
        Some(Versioning::Suspended) => {
            container.versions(key).find(|object| object.version.id() == VersionId::Null)
        }
    }
}
