//! Objects of an account: the operations that the verbs of every protocol call.

use crate::catalogue::{Catalogue, Change, Details, Object, ObjectName, UnixMillis};
use crate::error::Error;
use crate::objects::account::Account;
use crate::objects::archive;
use crate::objects::conditions::WriteConditions;
use crate::objects::gateway::Gateway;
use crate::objects::listing::{self, ListRequest, Listing};
use crate::objects::quota;
use crate::objects::row_bound;
use crate::objects::versions::Removal;
use crate::objects::writer::Written;
use base16ct::lower::encode_string as hex;
use futures::StreamExt;
use std::ops::Range;
use std::sync::Arc;

impl Catalogue {
    /// Returns the current object of a key.
    fn object(&self, object_name: &ObjectName, now: UnixMillis) -> Result<&Arc<Object>, Error> {
        self.container(&object_name.account, &object_name.container)?
            .object(&object_name.key, now)
            .ok_or(Error::NoSuchKey)
    }
}

impl Account {
    pub(crate) fn object_name(&self, container: &str, key: &str) -> ObjectName {
        ObjectName::new(&self.name, container, key)
    }

    /// Returns the current object of a key. Touches no block.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::NoSuchKey`], also if the object has expired.
    pub fn object(&self, container: &str, key: &str) -> Result<Arc<Object>, Error> {
        let inner = &self.gateway.inner;
        if let Some(counters) = &inner.options.counters {
            counters.name(&self.name, container, key, false);
        }
        inner.catalogue.read().object(&self.object_name(container, key), inner.now()).cloned()
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

    /// Checks whether [`Account::link`] could succeed now, before the body is written.
    ///
    /// # Errors
    /// The errors of [`Account::link`] that need no device.
    pub fn check_put(&self, container: &str, key: &str, conditions: &WriteConditions) -> Result<(), Error> {
        let inner = &self.gateway.inner;
        let catalogue = inner.catalogue.read();
        let current = catalogue.container(&self.name, container)?.object(key, inner.now());
        conditions.check(current.map(|object| &**object))
    }

    /// Makes the written object the current one of a key, atomically. A reader that began earlier reads the old object
    /// to its end; later readers get the new one.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::MetadataTooLarge`]; the errors of the conditions; [`Error::OverQuota`];
    /// [`Error::NoArchive`]; [`Error::Device`]. In this case the old object is unchanged.
    pub async fn link(
        &self,
        container: &str,
        key: &str,
        written: Written,
        details: Details,
        conditions: WriteConditions,
    ) -> Result<Arc<Object>, Error> {
        row_bound::check(&details)?;
        if let Some(counters) = &self.gateway.inner.options.counters {
            counters.name(&self.name, container, key, true);
        }
        let (object_name, stamp) = (self.object_name(container, key), self.gateway.inner.stamp()?);
        self.change(move |catalogue| {
            let current = catalogue
                .container(&object_name.account, &object_name.container)?
                .object(&object_name.key, stamp.now);
            conditions.check(current.map(|object| &**object))?;
            let object = Object {
                details,
                etag: hex(&written.digests.md5),
                checksum: written.digests.checksum,
                modified: stamp.now,
                segments: vec![written.segment],
                ..Object::default()
            };
            quota::check(catalogue, &object_name, object.bytes())?;
            archive::put(catalogue, object_name, object, stamp)
        })
        .await
    }

    /// Changes the details of an object, and not its bytes: `change` gets the present details. Touches no block.
    /// `touch` sets the modification time.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::NoSuchKey`]; the error of `change`; [`Error::MetadataTooLarge`];
    /// [`Error::Device`]. In this case nothing is changed.
    pub async fn update_object(
        &self,
        container: &str,
        key: &str,
        touch: bool,
        change: impl FnOnce(&mut Details) -> Result<(), Error> + Send + 'static,
    ) -> Result<Arc<Object>, Error> {
        let (object_name, now) = (self.object_name(container, key), self.gateway.inner.now());
        self.change(move |catalogue| {
            let mut object = Object::clone(catalogue.object(&object_name, now)?);
            change(&mut object.details)?;
            row_bound::check(&object.details)?;
            if touch {
                object.modified = now;
            }
            let object = Arc::new(object);
            Ok((vec![Change::SetObject { object_name, object: Some(Arc::clone(&object)) }], object))
        })
        .await
    }

    /// Deletes keys, all in one commit, and returns for each whether it had an object. Touches no block: the blocks
    /// only become free. Where old versions are kept, a delete marker replaces the object.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::NoArchive`]; [`Error::Device`]. In this case nothing is deleted.
    pub async fn delete(
        &self,
        container: &str,
        keys: Vec<(String, WriteConditions)>,
    ) -> Result<Vec<Result<bool, Error>>, Error> {
        let removal = |(key, conditions)| Removal { key, version: None, conditions, marks_missing: false };
        let removals = keys.into_iter().map(removal);
        let outcomes = self.remove(container, removals.collect()).await?;
        Ok(outcomes.into_iter().map(|outcome| outcome.map(|deleted| deleted.target.is_some())).collect())
    }
}

impl Gateway {
    /// Reads an object, or a range of it, and writes the same bytes into new blocks: the accesses of a get and a put.
    /// Computes a checksum with this algorithm.
    ///
    /// # Errors
    /// [`Error::RangeNotSatisfiable`]; [`Error::Full`]; [`Error::Device`].
    pub async fn copy_blocks(
        &self,
        source: &Arc<Object>,
        range: Option<Range<u64>>,
        algorithm: Option<crate::objects::checksums::Algorithm>,
    ) -> Result<Written, Error> {
        let bytes = match &range {
            Some(range) => range.end.saturating_sub(range.start),
            None => source.bytes(),
        };
        let mut writer = self.writer(Some(bytes), algorithm)?;
        let mut reader = self.read(source, range).await?;
        while let Some(piece) = reader.next().await {
            writer.push(piece?).await?;
        }
        writer.finish().await
    }
}
