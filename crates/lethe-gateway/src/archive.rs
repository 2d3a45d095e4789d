//! Old versions: a container whose objects go to another one when they are replaced or deleted.
//!
//! Going there moves no byte: the same blocks get another name, in the commit that replaces them.

use crate::catalogue::{
    Archive, Catalogue, Change, Container, Details, Moment, Object, ObjectName, OnDelete,
};
use crate::error::Error;
use crate::listing::successor;
use std::ops::Bound;
use std::sync::Arc;

/// The type of what stands in an archive for a delete, as Swift has it.
const DELETED: &str = "application/x-deleted;swift_versions_deleted=1";
/// MD5 of nothing.
const EMPTY: &str = "d41d8cd98f00b204e9800998ecf8427e";

/// What puts an object under a name: the old one goes to the archive, if there is one.
///
/// # Errors
/// [`Error::NoSuchContainer`]; [`Error::NoArchive`].
pub(crate) fn put(
    catalogue: &Catalogue,
    at: ObjectName,
    object: Arc<Object>,
    now: Moment,
) -> Result<Vec<Change>, Error> {
    let container = catalogue.container(&at.account, &at.container)?;
    let mut changes = Vec::new();
    if let (Some(archive), Some(old)) = (&container.settings.archive, container.object(&at.key, now)) {
        changes.push(keep(catalogue, &at, archive, old)?);
    }
    changes.push(Change::PutObject { at, object });
    Ok(changes)
}

/// What deletes an object that is there.
///
/// # Errors
/// [`Error::NoSuchContainer`]; [`Error::NoArchive`].
pub(crate) fn delete(catalogue: &Catalogue, at: ObjectName, now: Moment) -> Result<Vec<Change>, Error> {
    let container = catalogue.container(&at.account, &at.container)?;
    let (Some(archive), Some(old)) = (&container.settings.archive, container.object(&at.key, now)) else {
        return Ok(vec![Change::DropObject { at }]);
    };
    match archive.on_delete {
        OnDelete::Restore => {
            let holder = archive_of(catalogue, &at, archive)?;
            let Some((key, newest)) = newest(holder, &at.key, now) else {
                return Ok(vec![Change::DropObject { at }]);
            };
            let from = ObjectName::new(&at.account, &archive.container, key);
            let back = Change::PutObject { at, object: Arc::clone(newest) };
            Ok(vec![Change::DropObject { at: from }, back])
        }
        OnDelete::Keep => {
            let kept = keep(catalogue, &at, archive, old)?;
            let marker = Arc::new(Object {
                details: Details { content_type: Some(DELETED.into()), ..Details::default() },
                etag: EMPTY.into(),
                checksum: None,
                modified: now,
                segments: Vec::new(),
            });
            let taken = match &kept {
                Change::PutObject { at, .. } => Some(at.key.as_str()),
                _ => None,
            };
            let place = place(catalogue, &at, archive, now, taken)?;
            Ok(vec![kept, Change::PutObject { at: place, object: marker }, Change::DropObject { at }])
        }
    }
}

/// What gives an object its name in the archive.
fn keep(
    catalogue: &Catalogue,
    at: &ObjectName,
    archive: &Archive,
    old: &Arc<Object>,
) -> Result<Change, Error> {
    let place = place(catalogue, at, archive, old.modified, None)?;
    Ok(Change::PutObject { at: place, object: Arc::clone(old) })
}

fn archive_of<'a>(
    catalogue: &'a Catalogue,
    at: &ObjectName,
    archive: &Archive,
) -> Result<&'a Container, Error> {
    catalogue.container(&at.account, &archive.container).map_err(|_| Error::NoArchive)
}

/// A free name in the archive for what dates of `moment`: the length of the key, the key, the time.
fn place(
    catalogue: &Catalogue,
    at: &ObjectName,
    archive: &Archive,
    moment: Moment,
    taken: Option<&str>,
) -> Result<ObjectName, Error> {
    let holder = archive_of(catalogue, at, archive)?;
    let mut hundredths = moment.0.saturating_mul(100);
    loop {
        // Two versions of one millisecond differ in what a clock of Swift's would show after it.
        let key = format!("{}{:010}.{:05}", prefix(&at.key), hundredths / 100_000, hundredths % 100_000);
        if !holder.objects.contains_key(&key) && taken != Some(key.as_str()) {
            return Ok(ObjectName::new(&at.account, &archive.container, key));
        }
        hundredths += 1;
    }
}

fn prefix(key: &str) -> String {
    format!("{:03x}{key}/", key.len())
}

fn newest<'a>(holder: &'a Container, key: &str, now: Moment) -> Option<(&'a str, &'a Arc<Object>)> {
    let from = prefix(key);
    let to = successor(&from).map_or(Bound::Unbounded, Bound::Excluded);
    let range = holder.objects.range((Bound::Included(from), to));
    let mut versions = range.rev().filter(|(_, object)| !object.has_expired(now));
    versions.next().map(|(key, object)| (key.as_str(), object))
}
