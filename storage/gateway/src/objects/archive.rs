//! Swift's archive of old versions: a container to which objects of another one go when they are replaced or deleted.
//!
//! No byte is moved: the same blocks get another name, in the commit that replaces them.

use crate::catalogue::{
    Archive, Catalogue, Change, Container, Details, Object, ObjectName, OnDelete, UnixMillis,
};
use crate::error::Error;
use crate::objects::listing::successor;
use crate::objects::versions::{CommitStamp, Draft};
use std::ops::Bound;
use std::sync::Arc;

/// The content type of the marker for a delete in an archive, as in Swift.
const DELETED: &str = "application/x-deleted;swift_versions_deleted=1";
/// The MD5 of no bytes.
const EMPTY: &str = "d41d8cd98f00b204e9800998ecf8427e";

/// Returns the changes that put an object. The replaced object goes to the archive, if there is one, or stays as an old
/// version.
///
/// # Errors
/// [`Error::NoSuchContainer`]; [`Error::NoArchive`].
pub(crate) fn put(
    catalogue: &Catalogue,
    object_name: ObjectName,
    object: Object,
    stamp: CommitStamp,
) -> Result<(Vec<Change>, Arc<Object>), Error> {
    let container = catalogue.container(&object_name.account, &object_name.container)?;
    let mut changes = Vec::new();
    if let (Some(archive), Some(old)) =
        (&container.settings.archive, container.object(&object_name.key, stamp.now))
    {
        changes.extend(archive_object(catalogue, &object_name, archive, old, stamp)?.1);
    }
    let mut draft = Draft::new(catalogue, object_name)?;
    let object = draft.put(object, stamp);
    changes.extend(draft.changes());
    Ok((changes, object))
}

/// Returns the changes that delete an object, in a container with an archive or without old versions.
///
/// # Errors
/// [`Error::NoSuchContainer`]; [`Error::NoArchive`].
pub(crate) fn delete(
    catalogue: &Catalogue,
    object_name: ObjectName,
    stamp: CommitStamp,
) -> Result<Vec<Change>, Error> {
    let container = catalogue.container(&object_name.account, &object_name.container)?;
    let (Some(archive), Some(old)) =
        (&container.settings.archive, container.object(&object_name.key, stamp.now))
    else {
        return Ok(vec![Change::SetObject { object_name, object: None }]);
    };
    match archive.on_delete {
        OnDelete::Restore => {
            let archive_container = archive_of(catalogue, &object_name, archive)?;
            let Some((key, newest)) = newest(archive_container, &object_name.key, stamp.now) else {
                return Ok(vec![Change::SetObject { object_name, object: None }]);
            };
            let mut from =
                Draft::new(catalogue, ObjectName::new(&object_name.account, &archive.container, key))?;
            from.remove(newest.version.order);
            let mut restored = Draft::new(catalogue, object_name)?;
            restored.put(Object::clone(newest), stamp);
            Ok(from.changes().into_iter().chain(restored.changes()).collect())
        }
        OnDelete::Keep => {
            let (kept, mut changes) = archive_object(catalogue, &object_name, archive, old, stamp)?;
            let marker = Object {
                details: Details { content_type: Some(DELETED.into()), ..Details::default() },
                etag: EMPTY.into(),
                modified: stamp.now,
                ..Object::default()
            };
            let free_name = free_name(catalogue, &object_name, archive, stamp.now, Some(&kept.key))?;
            let mut draft = Draft::new(catalogue, free_name)?;
            draft.put(marker, stamp);
            changes.extend(draft.changes());
            changes.push(Change::SetObject { object_name, object: None });
            Ok(changes)
        }
    }
}

/// Returns the name that an object gets in the archive, and the changes that give it.
fn archive_object(
    catalogue: &Catalogue,
    object_name: &ObjectName,
    archive: &Archive,
    old: &Arc<Object>,
    stamp: CommitStamp,
) -> Result<(ObjectName, Vec<Change>), Error> {
    let free_name = free_name(catalogue, object_name, archive, old.modified, None)?;
    let mut draft = Draft::new(catalogue, free_name.clone())?;
    draft.put(Object::clone(old), stamp);
    Ok((free_name, draft.changes()))
}

fn archive_of<'a>(
    catalogue: &'a Catalogue,
    object_name: &ObjectName,
    archive: &Archive,
) -> Result<&'a Container, Error> {
    catalogue.container(&object_name.account, &archive.container).map_err(|_| Error::NoArchive)
}

/// Returns a free name in the archive for an entry of `time`: the length of the key, the key, the time.
fn free_name(
    catalogue: &Catalogue,
    object_name: &ObjectName,
    archive: &Archive,
    time: UnixMillis,
    taken: Option<&str>,
) -> Result<ObjectName, Error> {
    let archive_container = archive_of(catalogue, object_name, archive)?;
    let mut hundredths = time.0.saturating_mul(100);
    loop {
        // Two versions of one millisecond differ in the digits after it, which Swift's clock would set.
        let key =
            format!("{}{:010}.{:05}", prefix(&object_name.key), hundredths / 100_000, hundredths % 100_000);
        if !archive_container.objects.contains_key(&key) && taken != Some(key.as_str()) {
            return Ok(ObjectName::new(&object_name.account, &archive.container, key));
        }
        hundredths += 1;
    }
}

fn prefix(key: &str) -> String {
    format!("{:03x}{key}/", key.len())
}

fn newest<'a>(
    archive_container: &'a Container,
    key: &str,
    now: UnixMillis,
) -> Option<(&'a str, &'a Arc<Object>)> {
    let from = prefix(key);
    let to = successor(&from).map_or(Bound::Unbounded, Bound::Excluded);
    let range = archive_container.objects.range((Bound::Included(from), to));
    let mut versions = range.rev().filter(|(_, object)| !object.has_expired(now));
    versions.next().map(|(key, object)| (key.as_str(), object))
}
