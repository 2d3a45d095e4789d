//! A store of any kind behind one type, so that a vault is compiled once, here, and not in each crate that opens one.

use crate::store::VaultStore;
use crate::store_space::{LacksSpace, StoreSpace};
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError};
use ameles_core::tree::layout::Layout;
use ameles_core::types::Bytes;
use ameles_store::{Blob, BlobError, Blobs, Inventory};
use futures::future::LocalBoxFuture;
use std::rc::Rc;
use std::sync::Arc;

/// A store whose kind is known only at run time. Clones are the same store. Each call costs one boxed future more.
#[derive(Clone)]
pub struct AnyStore {
    store: Rc<dyn DynStore>,
    /// The space that writes wait for. Without it, writes fail if the store is full.
    space: Option<Arc<StoreSpace>>,
}

impl AnyStore {
    /// Wraps a store of any kind.
    pub fn new(store: impl VaultStore) -> Self {
        AnyStore { store: Rc::new(store), space: None }
    }

    /// This store, with writes that wait for this space.
    pub(crate) fn with_space(self, space: Arc<StoreSpace>) -> Self {
        AnyStore { space: Some(space), ..self }
    }

    async fn write_when_there_is_space<T, E: LacksSpace>(
        &self,
        write: impl AsyncFn() -> Result<T, E>,
    ) -> Result<T, E> {
        match &self.space {
            Some(space) => space.retry_until_space(write).await,
            None => write().await,
        }
    }
}

/// The calls of a store, each with a boxed future.
trait DynStore {
    fn layout(&self) -> &Layout;
    fn read<'a>(&'a self, places: &'a [Place], into: &'a mut [u8]) -> StoreResult<'a>;
    fn write<'a>(&'a self, buckets: &'a [BucketVersion], from: &'a [u8]) -> StoreResult<'a>;
    fn delete<'a>(&'a self, buckets: &'a [BucketVersion]) -> StoreResult<'a>;
    fn put<'a>(&'a self, name: &'a str, bytes: &'a [u8]) -> BlobResult<'a, ()>;
    fn put_if_absent<'a>(&'a self, name: &'a str, bytes: &'a [u8]) -> BlobResult<'a, bool>;
    fn get<'a>(&'a self, name: &'a str, max: usize) -> BlobResult<'a, Option<Vec<u8>>>;
    fn list<'a>(&'a self, prefix: &'a str) -> BlobResult<'a, Vec<Blob>>;
    fn remove<'a>(&'a self, name: &'a str) -> BlobResult<'a, ()>;
    fn list_bucket_versions<'a>(&'a self, found: &'a mut OnFound<'a>) -> StoreResult<'a, u64>;
    fn sweep_unfinished(&self) -> StoreResult<'_, u64>;
}

type StoreResult<'a, T = ()> = LocalBoxFuture<'a, Result<T, UntrustedError>>;
type BlobResult<'a, T> = LocalBoxFuture<'a, Result<T, BlobError>>;
type OnFound<'a> = dyn FnMut(BucketVersion, Bytes) + 'a;

impl<S: VaultStore> DynStore for S {
    fn layout(&self) -> &Layout {
        Untrusted::layout(self)
    }

    fn read<'a>(&'a self, places: &'a [Place], into: &'a mut [u8]) -> StoreResult<'a> {
        Box::pin(Untrusted::read(self, places, into))
    }

    fn write<'a>(&'a self, buckets: &'a [BucketVersion], from: &'a [u8]) -> StoreResult<'a> {
        Box::pin(Untrusted::write(self, buckets, from))
    }

    fn delete<'a>(&'a self, buckets: &'a [BucketVersion]) -> StoreResult<'a> {
        Box::pin(Untrusted::delete(self, buckets))
    }

    fn put<'a>(&'a self, name: &'a str, bytes: &'a [u8]) -> BlobResult<'a, ()> {
        Box::pin(Blobs::put(self, name, bytes))
    }

    fn put_if_absent<'a>(&'a self, name: &'a str, bytes: &'a [u8]) -> BlobResult<'a, bool> {
        Box::pin(Blobs::put_if_absent(self, name, bytes))
    }

    fn get<'a>(&'a self, name: &'a str, max: usize) -> BlobResult<'a, Option<Vec<u8>>> {
        Box::pin(Blobs::get(self, name, max))
    }

    fn list<'a>(&'a self, prefix: &'a str) -> BlobResult<'a, Vec<Blob>> {
        Box::pin(Blobs::list(self, prefix))
    }

    fn remove<'a>(&'a self, name: &'a str) -> BlobResult<'a, ()> {
        Box::pin(Blobs::remove(self, name))
    }

    fn list_bucket_versions<'a>(&'a self, found: &'a mut OnFound<'a>) -> StoreResult<'a, u64> {
        Box::pin(
            async move { Inventory::list_bucket_versions(self, &mut |of, bytes| found(of, bytes)).await },
        )
    }

    fn sweep_unfinished(&self) -> StoreResult<'_, u64> {
        Box::pin(Inventory::sweep_unfinished(self))
    }
}

impl Untrusted for AnyStore {
    fn layout(&self) -> &Layout {
        self.store.layout()
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        self.store.read(places, into).await
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        self.write_when_there_is_space(async || self.store.write(buckets, from).await).await
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        self.store.delete(buckets).await
    }
}

impl Blobs for AnyStore {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        self.write_when_there_is_space(async || self.store.put(name, bytes).await).await
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        self.write_when_there_is_space(async || self.store.put_if_absent(name, bytes).await).await
    }

    async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        self.store.get(name, max).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError> {
        self.store.list(prefix).await
    }

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        self.store.remove(name).await
    }
}

impl Inventory for AnyStore {
    async fn list_bucket_versions(
        &self,
        found: &mut dyn FnMut(BucketVersion, Bytes),
    ) -> Result<u64, UntrustedError> {
        self.store.list_bucket_versions(&mut |of, bytes| found(of, bytes)).await
    }

    async fn sweep_unfinished(&self) -> Result<u64, UntrustedError> {
        self.store.sweep_unfinished().await
    }
}
