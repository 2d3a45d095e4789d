//! A store whose requests all go through an interceptor.

use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError};
use ameles_core::tree::layout::Layout;
use ameles_core::types::Bytes;
use ameles_store::{Blob, BlobError, Blobs, Inventory};

/// A request to a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    Read(Vec<Place>),
    Write(Vec<BucketVersion>),
    Delete(Vec<BucketVersion>),
    Put { name: String, bytes: usize },
    PutIfAbsent { name: String, bytes: usize },
    Get(String),
    List(String),
    Remove(String),
    ListVersions,
    Sweep,
}

impl Request {
    /// Returns whether it creates an object of the journal.
    pub fn creates_log_object(&self) -> bool {
        matches!(self, Request::PutIfAbsent { name, .. } if name.starts_with("log/"))
    }

    /// Returns whether it is a lease check (a search for a newer claim), which depends on time only.
    pub fn is_lease_check(&self) -> bool {
        matches!(self, Request::Get(name) if name.starts_with("epoch/"))
    }
}

/// The hooks around every request.
pub trait Interceptor {
    /// Runs before a request, which may be refused. Returns a number for [`after`](Self::after).
    async fn before(&self, request: &Request) -> Result<usize, UntrustedError>;

    /// Runs after a request.
    async fn after(&self, _request: &Request, _nth: usize) {}
}

/// A store with an interceptor.
pub struct Intercepted<S, I> {
    pub inner: S,
    pub interceptor: I,
}

impl<S, I: Interceptor> Intercepted<S, I> {
    async fn carry_out<T, E: From<UntrustedError>>(
        &self,
        request: Request,
        inner: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let nth = self.interceptor.before(&request).await?;
        let answer = inner.await;
        self.interceptor.after(&request, nth).await;
        answer
    }
}

impl<S: Untrusted, I: Interceptor> Untrusted for Intercepted<S, I> {
    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        self.carry_out(Request::Read(places.to_vec()), self.inner.read(places, into)).await
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        self.carry_out(Request::Write(buckets.to_vec()), self.inner.write(buckets, from)).await
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        self.carry_out(Request::Delete(buckets.to_vec()), self.inner.delete(buckets)).await
    }
}

impl<S: Blobs, I: Interceptor> Blobs for Intercepted<S, I> {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        let request = Request::Put { name: name.to_owned(), bytes: bytes.len() };
        self.carry_out(request, self.inner.put(name, bytes)).await
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        let request = Request::PutIfAbsent { name: name.to_owned(), bytes: bytes.len() };
        self.carry_out(request, self.inner.put_if_absent(name, bytes)).await
    }

    async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        self.carry_out(Request::Get(name.to_owned()), self.inner.get(name, max)).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError> {
        self.carry_out(Request::List(prefix.to_owned()), self.inner.list(prefix)).await
    }

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        self.carry_out(Request::Remove(name.to_owned()), self.inner.remove(name)).await
    }
}

impl<S: Inventory, I: Interceptor> Inventory for Intercepted<S, I> {
    async fn list_bucket_versions(
        &self,
        found: &mut dyn FnMut(BucketVersion, Bytes),
    ) -> Result<u64, UntrustedError> {
        self.carry_out(Request::ListVersions, self.inner.list_bucket_versions(found)).await
    }

    async fn sweep_unfinished(&self) -> Result<u64, UntrustedError> {
        self.carry_out(Request::Sweep, self.inner.sweep_unfinished()).await
    }
}
