//! Adds the limits of a real provider to a store that has none. They are a maximum size of a put, pages of lists and
//! deletions, and bursts of `SlowDown` answers.

use crate::blobs::{Blob, BlobError, Blobs, Inventory};
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError, split_buckets};
use ameles_core::tree::layout::Layout;
use ameles_core::types::Bytes;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::ops::AddAssign;
use std::sync::{Arc, Mutex, MutexGuard};

/// The request limits of a simulated provider.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProviderLimits {
    /// The maximum number of bytes of an object that is put with one request.
    pub max_put: Bytes,
    /// The maximum number of names in a page of a list, and in a request that deletes; at least 1.
    pub page: usize,
    /// The probability that a burst begins at a request.
    pub bursts: f64,
    /// The maximum number of requests that a burst refuses, one after the other.
    pub longest_burst: u32,
}

impl ProviderLimits {
    /// The limits of Amazon S3, without bursts.
    pub const S3: ProviderLimits =
        ProviderLimits { max_put: Bytes(5 << 30), page: 1000, bursts: 0.0, longest_burst: 0 };
}

/// The reason why a provider refused a request, inside of an [`UntrustedError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderRefusal {
    /// The object is larger than what one request may put. The same request will not succeed later.
    #[error("EntityTooLarge: {bytes} bytes are put at once, but at most {max} are allowed")]
    TooLarge {
        /// The number of bytes of the object.
        bytes: u64,
        /// The maximum number of bytes.
        max: u64,
    },
    /// There were too many requests for now (503).
    #[error("SlowDown: please reduce your request rate")]
    SlowDown,
}

impl From<ProviderRefusal> for UntrustedError {
    fn from(refusal: ProviderRefusal) -> Self {
        match refusal {
            ProviderRefusal::TooLarge { .. } => UntrustedError::Refused(Box::new(refusal)),
            ProviderRefusal::SlowDown => UntrustedError::Unavailable(Box::new(refusal)),
        }
    }
}

/// Counts of what a provider did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProviderCounts {
    /// The number of requests that were carried out.
    pub requests: u64,
    /// The number of pages of lists, without the first page of each list.
    pub further_pages: u64,
    /// The number of puts that were refused for their size.
    pub too_large: u64,
    /// The number of requests that a burst refused.
    pub slowed_down: u64,
    /// The number of bytes of the largest object that was put.
    pub largest: u64,
}

/// Adds the counts of another provider.
impl AddAssign for ProviderCounts {
    fn add_assign(&mut self, other: ProviderCounts) {
        self.requests += other.requests;
        self.further_pages += other.further_pages;
        self.too_large += other.too_large;
        self.slowed_down += other.slowed_down;
        self.largest = self.largest.max(other.largest);
    }
}

/// A handle that changes the limits and reads the counts.
#[derive(Clone, Debug)]
pub struct ProviderControl(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    limits: ProviderLimits,
    chance: ChaCha8Rng,
    /// The number of requests that the burst still refuses.
    refuses: u32,
    counts: ProviderCounts,
}

impl ProviderControl {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no holder of the limits panicked")
    }

    /// The counts so far.
    pub fn counts(&self) -> ProviderCounts {
        self.lock().counts
    }

    /// Changes the limits. A burst that has begun ends.
    pub fn set_limits(&self, limits: ProviderLimits) {
        let mut state = self.lock();
        (state.limits, state.refuses) = (limits, 0);
    }

    fn page(&self) -> usize {
        self.lock().limits.page.max(1)
    }

    /// Admits a request or refuses it. Draws once for each request that no burst refuses.
    fn admit(&self) -> Result<(), UntrustedError> {
        let mut state = self.lock();
        if state.refuses == 0 && state.unit() < state.limits.bursts {
            let max = u64::from(state.limits.longest_burst);
            state.refuses = ((u128::from(state.chance.next_u64()) * u128::from(max)) >> 64) as u32 + 1;
        }
        if state.refuses > 0 {
            state.refuses -= 1;
            state.counts.slowed_down += 1;
            return Err(ProviderRefusal::SlowDown.into());
        }
        state.counts.requests += 1;
        Ok(())
    }

    /// Admits a put or refuses it.
    fn admit_put(&self, bytes: usize) -> Result<(), UntrustedError> {
        self.admit()?;
        let mut state = self.lock();
        let (bytes, max) = (bytes as u64, state.limits.max_put.0);
        if bytes > max {
            state.counts.too_large += 1;
            return Err(ProviderRefusal::TooLarge { bytes, max }.into());
        }
        state.counts.largest = state.counts.largest.max(bytes);
        Ok(())
    }
}

impl State {
    fn unit(&mut self) -> f64 {
        // A double holds 53 bits exactly.
        (self.chance.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Limits the requests to the store below. Each bucket version is a request of its own, as in an object store. A list
/// is a request for each page. An object that is written or removed between two pages may be listed or not. The same
/// seed and the same calls give the same refusals.
#[derive(Debug)]
pub struct Provider<S> {
    inner: S,
    control: ProviderControl,
}

impl<S> Provider<S> {
    /// Applies these limits to `inner`.
    pub fn new(inner: S, limits: ProviderLimits, seed: u64) -> Self {
        let (chance, counts) = (ChaCha8Rng::seed_from_u64(seed), ProviderCounts::default());
        let state = State { limits, chance, refuses: 0, counts };
        Provider { inner, control: ProviderControl(Arc::new(Mutex::new(state))) }
    }

    /// A handle on the limits.
    pub fn control(&self) -> ProviderControl {
        self.control.clone()
    }

    /// The store below.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// The part of a sorted list that comes on the page after `last`, and whether there are more pages.
    fn page_after<T: Ord>(&self, last: Option<&T>, listed: Vec<T>) -> (Vec<T>, bool) {
        let mut rest = listed.into_iter().filter(|one| last.is_none_or(|last| one > last));
        let page: Vec<T> = rest.by_ref().take(self.control.page()).collect();
        let is_last = rest.next().is_none();
        if !is_last {
            self.control.lock().counts.further_pages += 1;
        }
        (page, is_last)
    }
}

impl<S: Untrusted> Untrusted for Provider<S> {
    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        // All requests are made, though one of them is refused.
        let admitted: Vec<_> = crate::range_requests(places).iter().map(|_| self.control.admit()).collect();
        admitted.into_iter().collect::<Result<(), _>>()?;
        self.inner.read(places, into).await
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        let (mut some, mut bytes) = (Vec::new(), Vec::new());
        let mut refused = None;
        for (of, this) in split_buckets(self.layout(), buckets, from) {
            match self.control.admit_put(this.len()) {
                Ok(()) => {
                    some.push(of);
                    bytes.extend_from_slice(this);
                }
                Err(refusal) => refused = refused.or(Some(refusal)),
            }
        }
        if !some.is_empty() {
            self.inner.write(&some, &bytes).await?;
        }
        refused.map_or(Ok(()), Err)
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        for some in buckets.chunks(self.control.page()) {
            self.control.admit()?;
            self.inner.delete(some).await?;
        }
        Ok(())
    }
}

impl<S: Blobs> Blobs for Provider<S> {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        self.control.admit_put(bytes.len())?;
        self.inner.put(name, bytes).await
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        self.control.admit_put(bytes.len())?;
        self.inner.put_if_absent(name, bytes).await
    }

    async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        self.control.admit()?;
        self.inner.get(name, max).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError> {
        let mut all: Vec<Blob> = Vec::new();
        loop {
            self.control.admit()?;
            let (page, is_last) = self.page_after(all.last(), self.inner.list(prefix).await?);
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        self.control.admit()?;
        self.inner.remove(name).await
    }
}

impl<S: Inventory> Inventory for Provider<S> {
    /// A list that fails at a later page has reported those of the earlier ones.
    async fn list_bucket_versions(
        &self,
        found: &mut dyn FnMut(BucketVersion, Bytes),
    ) -> Result<u64, UntrustedError> {
        let mut last = None;
        loop {
            self.control.admit()?;
            let mut listed = Vec::new();
            let foreign = self.inner.list_bucket_versions(&mut |of, bytes| listed.push((of, bytes))).await?;
            listed.sort_unstable();
            let (page, is_last) = self.page_after(last.as_ref(), listed);
            page.iter().for_each(|(of, bytes)| found(*of, *bytes));
            last = page.last().copied().or(last);
            if is_last {
                return Ok(foreign);
            }
        }
    }

    async fn sweep_unfinished(&self) -> Result<u64, UntrustedError> {
        self.inner.sweep_unfinished().await
    }
}
