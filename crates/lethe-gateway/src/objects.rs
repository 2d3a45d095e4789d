//! Buckets and objects: what the verbs of every face come down to.

use crate::catalogue::{Change, Details, Moment, Object};
use crate::checksums::hex;
use crate::conditions::WriteConditions;
use crate::device::Device;
use crate::error::Error;
use crate::gateway::Gateway;
use crate::listing::{self, ListRequest, Listing};
use crate::writer::Written;
use futures::StreamExt;
use std::ops::Range;
use std::sync::Arc;

impl<D: Device> Gateway<D> {
    /// Makes a bucket.
    ///
    /// # Errors
    /// [`Error::BucketExists`]; [`Error::Device`].
    pub async fn create_bucket(&self, name: &str) -> Result<(), Error> {
        let name = name.to_owned();
        self.inner
            .change(move |catalogue| {
                if catalogue.buckets.contains_key(&name) {
                    return Err(Error::BucketExists);
                }
                let created = Moment::now();
                Ok((vec![Change::AddBucket { name, created }], ()))
            })
            .await
    }

    /// Removes an empty bucket.
    ///
    /// # Errors
    /// [`Error::NoSuchBucket`]; [`Error::BucketNotEmpty`], also for unfinished uploads; [`Error::Device`].
    pub async fn delete_bucket(&self, name: &str) -> Result<(), Error> {
        let name = name.to_owned();
        self.inner
            .change(move |catalogue| {
                let objects = catalogue.bucket(&name)?.objects.len();
                let uploads = catalogue.uploads.values().filter(|upload| upload.bucket == name).count();
                if objects + uploads > 0 {
                    return Err(Error::BucketNotEmpty { objects, uploads });
                }
                Ok((vec![Change::DropBucket { name }], ()))
            })
            .await
    }

    /// When a bucket was made. Touches no block.
    ///
    /// # Errors
    /// [`Error::NoSuchBucket`].
    pub fn bucket(&self, name: &str) -> Result<Moment, Error> {
        Ok(self.inner.catalogue.read().bucket(name)?.created)
    }

    /// All buckets by name, and when they were made. Touches no block.
    pub fn buckets(&self) -> Vec<(String, Moment)> {
        let catalogue = self.inner.catalogue.read();
        let buckets = catalogue.buckets.iter();
        buckets.map(|(name, bucket)| (name.clone(), bucket.created)).collect()
    }

    /// What a key stands for now. Touches no block.
    ///
    /// # Errors
    /// [`Error::NoSuchBucket`]; [`Error::NoSuchKey`].
    pub fn object(&self, bucket: &str, key: &str) -> Result<Arc<Object>, Error> {
        self.inner.catalogue.read().object(bucket, key).cloned()
    }

    /// Lists keys of a bucket. Touches no block.
    ///
    /// # Errors
    /// [`Error::NoSuchBucket`].
    pub fn list(&self, bucket: &str, request: &ListRequest) -> Result<Listing<Arc<Object>>, Error> {
        let catalogue = self.inner.catalogue.read();
        Ok(listing::list(catalogue.bucket(bucket)?, request))
    }

    /// Checks whether a put could be linked now: worth asking before the body is written.
    ///
    /// # Errors
    /// Those of [`Gateway::link`] that need no device.
    pub fn check_put(&self, bucket: &str, key: &str, conditions: &WriteConditions) -> Result<(), Error> {
        let catalogue = self.inner.catalogue.read();
        let current = catalogue.bucket(bucket)?.objects.get(key);
        conditions.check(current.map(|object| &**object))
    }

    /// Makes a key stand for what was written, atomically: before it, readers get the old object, after it the new
    /// one, and who is reading the old one reads it to its end.
    ///
    /// # Errors
    /// [`Error::NoSuchBucket`]; those of the conditions; [`Error::Device`]. The old object is untouched then.
    pub async fn link(
        &self,
        bucket: &str,
        key: &str,
        written: Written,
        details: Details,
        conditions: WriteConditions,
    ) -> Result<Arc<Object>, Error> {
        let (bucket, key) = (bucket.to_owned(), key.to_owned());
        self.inner
            .change(move |catalogue| {
                let current = catalogue.bucket(&bucket)?.objects.get(&key);
                conditions.check(current.map(|object| &**object))?;
                let object = Arc::new(Object {
                    details,
                    etag: hex(&written.md5),
                    checksum: written.checksum,
                    modified: Moment::now(),
                    segments: vec![written.segment],
                });
                let change = Change::PutObject { bucket, key, object: Arc::clone(&object) };
                Ok((vec![change], object))
            })
            .await
    }

    /// Deletes keys, all in one commit, and says of each how that went; a key that stands for nothing is no error.
    /// Touches no block: the blocks are merely free afterwards.
    ///
    /// # Errors
    /// [`Error::NoSuchBucket`]; [`Error::Device`]. Nothing is deleted then.
    pub async fn delete(
        &self,
        bucket: &str,
        keys: Vec<(String, WriteConditions)>,
    ) -> Result<Vec<Result<(), Error>>, Error> {
        let bucket = bucket.to_owned();
        self.inner
            .change(move |catalogue| {
                let objects = &catalogue.bucket(&bucket)?.objects;
                let mut changes = Vec::new();
                let mut outcomes = Vec::new();
                for (key, conditions) in keys {
                    let current = objects.get(&key);
                    let allowed = conditions.check(current.map(|object| &**object));
                    if allowed.is_ok() && current.is_some() {
                        let bucket = bucket.clone();
                        changes.push(Change::DropObject { bucket, key });
                    }
                    outcomes.push(allowed);
                }
                Ok((changes, outcomes))
            })
            .await
    }

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
}
