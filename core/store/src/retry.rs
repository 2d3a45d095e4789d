//! Retries: the identical request again after a wait, when the store is unavailable.

use crate::blobs::{Blob, BlobError, Blobs, Inventory};
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError};
use ameles_core::tree::layout::Layout;
use ameles_core::types::Bytes;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::sync::Mutex;
use std::time::Duration;

/// The limits of attempts and waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The maximum number of attempts of a call, the first included; at least 1.
    pub attempts: u32,
    /// The wait before the second attempt, on average; it doubles with each further one.
    pub first_wait: Duration,
    /// The longest wait.
    pub longest_wait: Duration,
}

impl Default for RetryPolicy {
    /// 8 attempts over about half a minute.
    fn default() -> Self {
        RetryPolicy {
            attempts: 8,
            first_wait: Duration::from_millis(250),
            longest_wait: Duration::from_secs(15),
        }
    }
}

/// Repeats calls that found the store unavailable: the same places, the same versions, the same bytes.
///
/// Any other error is the answer. The waits depend on a seed and on the store's failures, never on what is accessed.
/// They pass in tokio's time.
#[derive(Debug)]
pub struct Retry<S> {
    inner: S,
    policy: RetryPolicy,
    chance: Mutex<ChaCha8Rng>,
}

impl<S> Retry<S> {
    /// Retries of calls to `inner`, with the waits' jitter drawn from `seed`.
    pub fn new(inner: S, policy: RetryPolicy, seed: u64) -> Self {
        Retry { inner, policy, chance: Mutex::new(ChaCha8Rng::seed_from_u64(seed)) }
    }

    /// The store below.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// Waits before the next attempt, after `made` of them. Returns `false` if none is left.
    async fn wait_before_retry(&self, made: u32) -> bool {
        if made >= self.policy.attempts {
            return false;
        }
        let doubled = self.policy.first_wait.saturating_mul(1 << (made - 1).min(30));
        let wait = doubled.min(self.policy.longest_wait);
        // Between half and one and a half times the wait, so that many callers do not come back at once.
        let jitter =
            f64::from(self.chance.lock().expect("no holder panicked").next_u32()) / f64::from(u32::MAX);
        let wait = wait / 2 + wait.mul_f64(jitter);
        tokio::time::sleep(wait.min(self.policy.longest_wait)).await;
        true
    }
}

/// Repeats the call until the answer is not "unavailable", or no attempt is left.
macro_rules! retried {
    ($self:ident, $unavailable:pat, $call:expr) => {{
        let mut made = 0;
        loop {
            let answer = $call.await;
            made += 1;
            if !matches!(answer, Err($unavailable)) || !$self.wait_before_retry(made).await {
                break answer;
            }
        }
    }};
}

impl<S: Untrusted> Untrusted for Retry<S> {
    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        retried!(self, UntrustedError::Unavailable(_), self.inner.read(places, into))
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        retried!(self, UntrustedError::Unavailable(_), self.inner.write(buckets, from))
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        retried!(self, UntrustedError::Unavailable(_), self.inner.delete(buckets))
    }
}

impl<S: Blobs> Blobs for Retry<S> {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        retried!(self, BlobError::Store(UntrustedError::Unavailable(_)), self.inner.put(name, bytes))
    }

    /// An attempt that failed may have had its effect, and the next one then finds the blob there. So if the blob is
    /// there after a failed attempt, it is read and compared: the caller's own bytes mean that it was created here.
    /// For this the bytes must be unlike those of any other caller.
    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        let mut made = 0;
        loop {
            let answer = self.inner.put_if_absent(name, bytes).await;
            made += 1;
            match answer {
                Err(error) if error.is_unavailable() => {
                    if !self.wait_before_retry(made).await {
                        return Err(error);
                    }
                }
                Ok(false) if made > 1 => {
                    return match self.get(name, bytes.len()).await {
                        Ok(held) => Ok(held.as_deref() == Some(bytes)),
                        Err(BlobError::TooLarge { .. }) => Ok(false),
                        Err(error) => Err(error),
                    };
                }
                answer => return answer,
            }
        }
    }

    async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        retried!(self, BlobError::Store(UntrustedError::Unavailable(_)), self.inner.get(name, max))
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError> {
        retried!(self, BlobError::Store(UntrustedError::Unavailable(_)), self.inner.list(prefix))
    }

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        retried!(self, BlobError::Store(UntrustedError::Unavailable(_)), self.inner.remove(name))
    }
}

impl<S: Inventory> Inventory for Retry<S> {
    /// A list that fails half-way is repeated from its beginning, so `found` may be called twice for one version.
    async fn list_bucket_versions(
        &self,
        found: &mut dyn FnMut(BucketVersion, Bytes),
    ) -> Result<u64, UntrustedError> {
        retried!(self, UntrustedError::Unavailable(_), self.inner.list_bucket_versions(found))
    }

    async fn sweep_unfinished(&self) -> Result<u64, UntrustedError> {
        retried!(self, UntrustedError::Unavailable(_), self.inner.sweep_unfinished())
    }
}
