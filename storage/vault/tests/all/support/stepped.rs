//! Stores for openings that are looked at step by step: every request stops before and after its effect, or a claim has
//! a fate of the test's own.

use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError};
use ameles_core::tree::layout::Layout;
use ameles_core::types::Bytes;
use ameles_store::{Blob, BlobError, Blobs, Inventory, VersionedMemory, forward_inventory};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Takes a future one step on.
pub fn step<F: Future>(future: &mut Pin<Box<F>>) -> Option<F::Output> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// A store in which every request takes a step before its effect, and another before its answer.
pub struct Stepped<S>(S);

impl<S> Stepped<S> {
    pub fn over(inner: S) -> Self {
        Stepped(inner)
    }
}

async fn in_steps<T>(request: impl Future<Output = T>) -> T {
    pause().await;
    let answer = request.await;
    pause().await;
    answer
}

/// Ends a step. The runtime's own pause wakes when the runtime has its turn, which it never has between steps.
async fn pause() {
    let mut is_over = false;
    std::future::poll_fn(|context| {
        if is_over {
            return Poll::Ready(());
        }
        is_over = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl<S: Untrusted> Untrusted for Stepped<S> {
    fn layout(&self) -> &Layout {
        self.0.layout()
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        in_steps(self.0.read(places, into)).await
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        in_steps(self.0.write(buckets, from)).await
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        in_steps(self.0.delete(buckets)).await
    }
}

impl<S: Blobs> Blobs for Stepped<S> {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        in_steps(self.0.put(name, bytes)).await
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        in_steps(self.0.put_if_absent(name, bytes)).await
    }

    async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        in_steps(self.0.get(name, max)).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError> {
        in_steps(self.0.list(prefix)).await
    }

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        in_steps(self.0.remove(name)).await
    }
}

impl<S: Inventory> Inventory for Stepped<S> {
    async fn list_bucket_versions(
        &self,
        found: &mut dyn FnMut(BucketVersion, Bytes),
    ) -> Result<u64, UntrustedError> {
        in_steps(self.0.list_bucket_versions(found)).await
    }

    async fn sweep_unfinished(&self) -> Result<u64, UntrustedError> {
        in_steps(self.0.sweep_unfinished()).await
    }
}

/// A store that leaves what becomes of a claim to the test.
pub struct Claiming<F> {
    inner: VersionedMemory,
    fate: F,
}

impl<F: AsyncFn(&VersionedMemory, &str, &[u8]) -> Result<bool, BlobError>> Claiming<F> {
    pub fn over(inner: VersionedMemory, fate: F) -> Self {
        Claiming { inner, fate }
    }
}

impl<F> Untrusted for Claiming<F> {
    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        self.inner.read(places, into).await
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        Untrusted::write(&self.inner, buckets, from).await
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        self.inner.delete(buckets).await
    }
}

impl<F: AsyncFn(&VersionedMemory, &str, &[u8]) -> Result<bool, BlobError>> Blobs for Claiming<F> {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        self.inner.put(name, bytes).await
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        if name.starts_with("epoch/") {
            (self.fate)(&self.inner, name, bytes).await
        } else {
            self.inner.put_if_absent(name, bytes).await
        }
    }

    async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        self.inner.get(name, max).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError> {
        self.inner.list(prefix).await
    }

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        Blobs::remove(&self.inner, name).await
    }
}

forward_inventory!([F] Claiming<F>, inner);
