//! Stores for stepping through an opening: every request stops before and after its effect, or the test decides the
//! result of a claim.

use super::forward::forward_blob_reads;
use super::intercepted::{Intercepted, Interceptor, Request};
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError};
use ameles_core::tree::layout::Layout;
use ameles_store::{BlobError, Blobs, VersionedMemory, forward_inventory};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Polls a future once.
pub fn step<F: Future>(future: &mut Pin<Box<F>>) -> Option<F::Output> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// Makes every request pause before its effect and before its answer.
pub struct Steps;

impl Interceptor for Steps {
    async fn before(&self, _: &Request) -> Result<usize, UntrustedError> {
        pause().await;
        Ok(0)
    }

    async fn after(&self, _: &Request, _: usize) {
        pause().await;
    }
}

/// A store whose requests pause.
pub fn stepped<S>(inner: S) -> Intercepted<S, Steps> {
    Intercepted { inner, interceptor: Steps }
}

/// Ends a step. The runtime's own yield wakes at the runtime's next turn, which never comes between steps.
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

/// A store that lets the test decide what happens to a claim.
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

    forward_blob_reads!(inner);

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        Blobs::remove(&self.inner, name).await
    }
}

forward_inventory!([F] Claiming<F>, inner);
