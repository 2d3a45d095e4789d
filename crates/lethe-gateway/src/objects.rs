//! Objects of an account: what the verbs of every face come down to.

use crate::account::Account;
use crate::archive;
use crate::catalogue::{Catalogue, Change, Details, Moment, Object, ObjectName};
use crate::checksums::hex;
use crate::conditions::WriteConditions;
use crate::device::Device;
use crate::error::Error;
use crate::gateway::Gateway;
use crate::listing::{self, ListRequest, Listing};
use crate::quota;
use crate::writer::Written;
use futures::StreamExt;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

impl Catalogue {
    /// What a key stands for now.
    fn object(&self, at: &ObjectName, now: Moment) -> Result<&Arc<Object>, Error> {
        self.container(&at.account, &at.container)?.object(&at.key, now).ok_or(Error::NoSuchKey)
    }
}

impl<D: Device> Account<D> {
    pub(crate) fn at(&self, container: &str, key: &str) -> ObjectName {
        ObjectName::new(&self.name, container, key)
    }

    /// What a key stands for now. Touches no block.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::NoSuchKey`], also if the object's time is over.
    pub fn object(&self, container: &str, key: &str) -> Result<Arc<Object>, Error> {
        let inner = &self.gateway.inner;
        if let Some(asked) = &inner.options.asked {
            asked.name(&self.name, container, key, false);
        }
        inner.catalogue.read().object(&self.at(container, key), inner.now()).cloned()
    }

    /// Lists keys of a container. Touches no block.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`].
    pub fn list(&self, container: &str, request: &ListRequest) -> Result<Listing<Arc<Object>>, Error> {
        let inner = &self.gateway.inner;
        let (catalogue, now) = (inner.catalogue.read(), inner.now());
        let objects = &catalogue.container(&self.name, container)?.objects;
        Ok(listing::list_map(objects, request, |object| !object.has_expired(now), Arc::clone))
    }

    /// Checks whether a put could be linked now: worth asking before the body is written.
    ///
    /// # Errors
    /// Those of [`Account::link`] that need no device.
    pub fn check_put(&self, container: &str, key: &str, conditions: &WriteConditions) -> Result<(), Error> {
        let inner = &self.gateway.inner;
        let catalogue = inner.catalogue.read();
        let current = catalogue.container(&self.name, container)?.object(key, inner.now());
        conditions.check(current.map(|object| &**object))
    }

    /// Makes a key stand for what was written, atomically: before it, readers get the old object, after it the new
    /// one, and who is reading the old one reads it to its end.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; those of the conditions; [`Error::OverQuota`]; [`Error::NoArchive`];
    /// [`Error::Device`]. The old object is untouched then.
    pub async fn link(
        &self,
        container: &str,
        key: &str,
        written: Written,
        details: Details,
        conditions: WriteConditions,
    ) -> Result<Arc<Object>, Error> {
        if let Some(asked) = &self.gateway.inner.options.asked {
            asked.name(&self.name, container, key, true);
        }
        let (at, now) = (self.at(container, key), self.gateway.inner.now());
        self.gateway
            .inner
            .change(move |catalogue| {
                let current = catalogue.container(&at.account, &at.container)?.object(&at.key, now);
                conditions.check(current.map(|object| &**object))?;
                let object = Arc::new(Object {
                    details,
                    etag: hex(&written.md5),
                    checksum: written.checksum,
                    modified: now,
                    segments: vec![written.segment],
                });
                quota::check(catalogue, &at, object.bytes())?;
                Ok((archive::put(catalogue, at, Arc::clone(&object), now)?, object))
            })
            .await
    }

    /// Changes what is said about an object, and nothing of its bytes: `change` gets the details as they stand.
    /// Touches no block. `touch` dates the object anew.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::NoSuchKey`]; what `change` returns; [`Error::Device`]. Nothing is changed
    /// then.
    pub async fn update_object(
        &self,
        container: &str,
        key: &str,
        touch: bool,
        change: impl FnOnce(&mut Details) -> Result<(), Error> + Send + 'static,
    ) -> Result<Arc<Object>, Error> {
        let (at, now) = (self.at(container, key), self.gateway.inner.now());
        self.gateway
            .inner
            .change(move |catalogue| {
                let mut object = Object::clone(catalogue.object(&at, now)?);
                change(&mut object.details)?;
                if touch {
                    object.modified = now;
                }
                let object = Arc::new(object);
                Ok((vec![Change::PutObject { at, object: Arc::clone(&object) }], object))
            })
            .await
    }

    /// Deletes keys, all in one commit, and says of each how that went: `true` if it stood for an object. Touches no
    /// block: the blocks are merely free afterwards.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::NoArchive`]; [`Error::Device`]. Nothing is deleted then.
    pub async fn delete(
        &self,
        container: &str,
        keys: Vec<(String, WriteConditions)>,
    ) -> Result<Vec<Result<bool, Error>>, Error> {
        let (account, container) = (self.name.to_string(), container.to_owned());
        let now = self.gateway.inner.now();
        self.gateway
            .inner
            .change(move |catalogue| {
                let holder = catalogue.container(&account, &container)?;
                let mut changes = Vec::new();
                let mut outcomes = Vec::new();
                let mut seen = BTreeSet::new();
                for (key, conditions) in keys {
                    // What is named twice is gone the second time.
                    let current = if seen.contains(&key) { None } else { holder.object(&key, now) };
                    let allowed = conditions.check(current.map(|object| &**object));
                    if allowed.is_ok() && holder.objects.contains_key(&key) && seen.insert(key.clone()) {
                        let at = ObjectName::new(&account, &container, key);
                        changes.extend(archive::delete(catalogue, at, now)?);
                    }
                    outcomes.push(allowed.map(|()| current.is_some()));
                }
                Ok((changes, outcomes))
            })
            .await
    }
}

impl<D: Device> Gateway<D> {
    /// Reads an object, or a range of it, and writes the same bytes into blocks of their own: the accesses of a get
    /// and a put. The checksum is of the algorithm asked for, else of the source's.
    ///
    /// # Errors
    /// [`Error::RangeNotSatisfiable`]; [`Error::Full`]; [`Error::Device`].
    pub async fn copy_blocks(
        &self,
        source: &Arc<Object>,
        range: Option<Range<u64>>,
        algorithm: Option<crate::checksums::Algorithm>,
    ) -> Result<Written, Error> {
        let bytes = match &range {
            Some(range) => range.end.saturating_sub(range.start),
            None => source.bytes(),
        };
        let algorithm = algorithm.or_else(|| source.checksum.as_ref().map(|checksum| checksum.algorithm));
        let mut writer = self.writer(Some(bytes), algorithm)?;
        let mut reader = self.read(source, range).await?;
        while let Some(piece) = reader.next().await {
            writer.push(piece?).await?;
        }
        writer.finish().await
    }

    /// Removes the objects whose time is over, at most `most` of them, and says how many there were. They are gone
    /// for readers before that; this gives their blocks and rows back. Touches no block.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub async fn sweep_expired(&self, most: usize) -> Result<usize, Error> {
        let now = self.inner.now();
        self.inner
            .change(move |catalogue| {
                let due = catalogue.expiring.iter().take_while(|(moment, _)| *moment <= now).take(most);
                let changes: Vec<Change> = due.map(|(_, at)| Change::DropObject { at: at.clone() }).collect();
                let count = changes.len();
                Ok((changes, count))
            })
            .await
    }

    /// When the next object goes by itself, if one does.
    pub fn next_expiry(&self) -> Option<Moment> {
        self.inner.catalogue.read().expiring.first().map(|(moment, _)| *moment)
    }
}
