//! A store whose blobs under one prefix are elsewhere.

use crate::blobs::{Blob, BlobError, Blobs};
use crate::forward_inventory;
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError};
use ameles_core::tree::layout::Layout;

/// A store whose blobs under one prefix may be elsewhere. Everything else goes to the store below.
#[derive(Debug)]
pub struct Routed<S, T> {
    inner: S,
    prefix: &'static str,
    elsewhere: Option<T>,
}

impl<S, T> Routed<S, T> {
    /// Sends the calls for blobs whose names start with `prefix` to `elsewhere`, if there is one.
    pub fn new(inner: S, prefix: &'static str, elsewhere: Option<T>) -> Self {
        Routed { inner, prefix, elsewhere }
    }

    /// Returns the place of a blob, if it is not the store below.
    fn elsewhere(&self, name: &str) -> Option<&T> {
        self.elsewhere.as_ref().filter(|_| name.starts_with(self.prefix))
    }
}

impl<S: Blobs, T: Blobs> Blobs for Routed<S, T> {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        match self.elsewhere(name) {
            Some(elsewhere) => elsewhere.put(name, bytes).await,
            None => self.inner.put(name, bytes).await,
        }
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        match self.elsewhere(name) {
            Some(elsewhere) => elsewhere.put_if_absent(name, bytes).await,
            None => self.inner.put_if_absent(name, bytes).await,
        }
    }

    async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        match self.elsewhere(name) {
            Some(elsewhere) => elsewhere.get(name, max).await,
            None => self.inner.get(name, max).await,
        }
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError> {
        if let Some(elsewhere) = self.elsewhere(prefix) {
            return elsewhere.list(prefix).await;
        }
        let mut listed = self.inner.list(prefix).await?;
        if self.prefix.starts_with(prefix)
            && let Some(elsewhere) = &self.elsewhere
        {
            listed.extend(elsewhere.list(self.prefix).await?);
            listed.sort();
        }
        Ok(listed)
    }

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        match self.elsewhere(name) {
            Some(elsewhere) => elsewhere.remove(name).await,
            None => self.inner.remove(name).await,
        }
    }
}

impl<S: Untrusted, T> Untrusted for Routed<S, T> {
    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        self.inner.read(places, into).await
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        self.inner.write(buckets, from).await
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        self.inner.delete(buckets).await
    }
}

forward_inventory!([S: crate::Inventory, T] Routed<S, T>, inner);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VersionedMemory;
    use ameles_core::tree::layout::Extent;
    use ameles_core::types::Bytes;

    fn memory() -> VersionedMemory {
        VersionedMemory::new(Layout::new(vec![Extent { buckets: 1, slots: 1, slot_bytes: 1 }]))
    }

    #[tokio::test]
    async fn only_blobs_under_the_prefix_are_elsewhere() {
        let (here, there) = (memory(), memory());
        let routed = Routed::new(&here, "log/", Some(&there));
        for name in ["header", "log/1", "log-payload/1"] {
            assert!(routed.put_if_absent(name, name.as_bytes()).await.unwrap());
            assert!(!routed.put_if_absent(name, b"other").await.unwrap());
            assert_eq!(routed.get(name, 20).await.unwrap().as_deref(), Some(name.as_bytes()));
        }
        let names = |listed: Vec<Blob>| -> Vec<String> { listed.into_iter().map(|blob| blob.name).collect() };
        assert_eq!(names(here.list("").await.unwrap()), ["header", "log-payload/1"]);
        assert_eq!(there.list("").await.unwrap(), [Blob { name: "log/1".to_owned(), size: Bytes(5) }]);
        assert_eq!(names(routed.list("log/").await.unwrap()), ["log/1"]);
        assert_eq!(names(routed.list("log-payload/").await.unwrap()), ["log-payload/1"]);
        assert_eq!(names(routed.list("").await.unwrap()), ["header", "log-payload/1", "log/1"]);
        routed.remove("log/1").await.unwrap();
        assert!(there.list("").await.unwrap().is_empty());
    }
}
