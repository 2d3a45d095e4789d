//! The verbs of an account for versions.

use super::draft::{CommitStamp, Draft};
use super::list::{self, VersionListing};
use crate::catalogue::{
    Catalogue, Change, ContainerSettings, Details, Object, ObjectName, UnixMillis, VersionId, Versioning,
};
use crate::error::Error;
use crate::objects::account::Account;
use crate::objects::archive;
use crate::objects::conditions::WriteConditions;
use crate::objects::gateway::{Gateway, Inner};
use crate::objects::listing::ListRequest;
use crate::objects::random::random_bytes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A request to delete.
#[derive(Clone, Debug)]
pub struct Removal {
    /// The key of the object.
    pub key: String,
    /// The version to remove permanently. Without it, the current object is deleted.
    pub version: Option<VersionId>,
    /// The conditions on the target.
    pub conditions: WriteConditions,
    /// True if a delete marker is put even where the key has no object.
    pub marks_missing: bool,
}

/// The outcome of a delete.
#[derive(Clone, Debug, Default)]
pub struct Deleted {
    /// The version that the request named, or the current object, if it existed.
    pub target: Option<Arc<Object>>,
    /// The delete marker that was put.
    pub marker: Option<Arc<Object>>,
}

impl Inner {
    /// Returns the present time, and randomness for the names of new versions.
    pub(crate) fn stamp(&self) -> Result<CommitStamp, Error> {
        Ok(CommitStamp { now: self.now(), salt: u64::from_be_bytes(random_bytes()?) })
    }
}

impl Account {
    /// Returns a version of an object; without a name, the current object. Touches no block.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::NoSuchKey`]; [`Error::NoSuchVersion`], also if it has expired;
    /// [`Error::DeleteMarker`] if it is one, or if the newest is one.
    pub fn version(&self, container: &str, key: &str, id: Option<VersionId>) -> Result<Arc<Object>, Error> {
        let inner = &self.gateway.inner;
        if let Some(counters) = &inner.options.counters {
            counters.name(&self.name, container, key, false);
        }
        let catalogue = inner.catalogue.read();
        find(&Draft::new(&catalogue, self.object_name(container, key))?, id, inner.now())
    }

    /// Changes the details of a version, and not its bytes: `change` gets the present details.
    ///
    /// # Errors
    /// The errors of [`version`](Self::version); the error of `change`; [`Error::Device`]. In this case nothing is
    /// changed.
    pub async fn update_version(
        &self,
        container: &str,
        key: &str,
        id: Option<VersionId>,
        change: impl FnOnce(&mut Details) -> Result<(), Error> + Send + 'static,
    ) -> Result<Arc<Object>, Error> {
        let (object_name, now) = (self.object_name(container, key), self.gateway.inner.now());
        self.change(move |catalogue| {
            let mut draft = Draft::new(catalogue, object_name)?;
            let mut object = Object::clone(&*find(&draft, id, now)?);
            change(&mut object.details)?;
            let object = Arc::new(object);
            draft.replace(Arc::clone(&object));
            Ok((draft.changes(), object))
        })
        .await
    }

    /// Lists versions and delete markers of a container by key, those of one key the newest first. Touches no block.
    ///
    /// With `after_version`, the list includes versions of the key `request.after` that come after that one.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`].
    pub fn list_versions(
        &self,
        container: &str,
        request: &ListRequest,
        after_version: Option<VersionId>,
    ) -> Result<VersionListing, Error> {
        let inner = &self.gateway.inner;
        let (catalogue, now) = (inner.catalogue.read(), inner.now());
        Ok(list::list(catalogue.container(&self.name, container)?, request, after_version, now))
    }

    /// Sets whether old versions are kept from now on. Existing ones stay.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::OtherVersions`]; [`Error::Device`].
    pub async fn set_versioning(&self, container: &str, versioning: Versioning) -> Result<(), Error> {
        let set = move |settings: &mut ContainerSettings| {
            if settings.archive.is_some() {
                return Err(Error::OtherVersions);
            }
            settings.versioning = Some(versioning);
            Ok(())
        };
        self.update_container(container, set).await
    }

    /// Deletes current objects, and versions permanently, in the order given, all in one commit. Returns the outcome of
    /// each. Touches no block: the blocks of removed versions only become free.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::NoArchive`]; [`Error::Device`]. In this case nothing is deleted.
    pub async fn remove(
        &self,
        container: &str,
        removals: Vec<Removal>,
    ) -> Result<Vec<Result<Deleted, Error>>, Error> {
        let (account, container) = (self.name.to_string(), container.to_owned());
        let stamp = self.gateway.inner.stamp()?;
        self.change(move |catalogue| {
            let holder = catalogue.container(&account, &container)?;
            let archives = holder.settings.archive.is_some();
            let mut drafts: BTreeMap<String, Draft<'_>> = BTreeMap::new();
            let mut archived = Vec::new();
            let mut outcomes = Vec::new();
            for Removal { key, version, conditions, marks_missing } in removals {
                let object_name = ObjectName::new(&account, &container, key.clone());
                if !drafts.contains_key(&key) {
                    drafts.insert(key.clone(), Draft::new(catalogue, object_name.clone())?);
                }
                let Some(draft) = drafts.get_mut(&key) else { continue };
                let target = match version {
                    Some(id) => draft.find(id).filter(|object| !object.has_expired(stamp.now)),
                    None => draft.current(stamp.now),
                };
                let target = target.cloned();
                let allowed = conditions.check(target.as_deref());
                let mut marker = None;
                match version {
                    _ if allowed.is_err() => {}
                    _ if archives => {
                        // A key that is listed twice has no object the second time.
                        if let Some(order) = draft.newest().map(|newest| newest.version.order) {
                            archived.extend(archive::delete(catalogue, object_name, stamp)?);
                            draft.remove(order);
                        }
                    }
                    Some(_) => target.iter().for_each(|target| draft.remove(target.version.order)),
                    None if target.is_some() || marks_missing => marker = draft.delete(stamp),
                    None => {}
                }
                outcomes.push(allowed.map(|()| Deleted { target, marker }));
            }
            let changes = match archives {
                true => archived,
                false => drafts.into_values().flat_map(Draft::changes).collect(),
            };
            Ok((changes, outcomes))
        })
        .await
    }
}

fn find(draft: &Draft<'_>, id: Option<VersionId>, now: UnixMillis) -> Result<Arc<Object>, Error> {
    let found = match id {
        None => draft.newest(),
        Some(id) => draft.find(id),
    };
    let found = found.filter(|object| !object.has_expired(now));
    let missing = if id.is_some() { Error::NoSuchVersion } else { Error::NoSuchKey };
    let object = found.ok_or(missing)?;
    if object.version.is_marker() {
        let (version, modified) = (object.version.id(), object.modified);
        return Err(Error::DeleteMarker { version, modified, is_named: id.is_some() });
    }
    Ok(Arc::clone(object))
}

impl Gateway {
    /// Removes expired versions, at most `max` of them, and returns their number. Readers do not see them any more;
    /// this frees their blocks and rows. Touches no block.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub async fn sweep_expired(&self, max: usize) -> Result<usize, Error> {
        let stamp = self.inner.stamp()?;
        self.inner.change(move |catalogue| expired(catalogue, max, stamp)).await
    }
}

fn expired(catalogue: &Catalogue, max: usize, stamp: CommitStamp) -> Result<(Vec<Change>, usize), Error> {
    let due = catalogue.expiring.iter().take_while(|(time, ..)| *time <= stamp.now).take(max);
    let mut drafts: BTreeMap<&ObjectName, Draft<'_>> = BTreeMap::new();
    let mut count = 0;
    for (_, object_name, order) in due {
        if !drafts.contains_key(object_name) {
            drafts.insert(object_name, Draft::new(catalogue, object_name.clone())?);
        }
        if let Some(draft) = drafts.get_mut(object_name) {
            draft.expire(*order, stamp);
            count += 1;
        }
    }
    Ok((drafts.into_values().flat_map(Draft::changes).collect(), count))
}
