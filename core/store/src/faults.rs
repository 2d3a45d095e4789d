//! Fault injection: seeded random errors, time-outs, torn and lost writes.

use crate::blobs::{Blob, BlobError, Blobs, Inventory};
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError, split_buckets};
use ameles_core::tree::layout::Layout;
use ameles_core::types::Bytes;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// The rates of the faults: probabilities per call, of which at most one happens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FaultRates {
    /// An error, and the call had no effect.
    pub error_before: f64,
    /// An error, although the call had its effect.
    pub error_after: f64,
    /// An error after [`time_out_after`](Self::time_out_after); in half of the cases the call had its effect.
    pub time_out: f64,
    /// An error of a call that writes buckets, of which some are written and at least one is not. Each bucket is
    /// whole: an object is written or it is not.
    pub torn_write: f64,
    /// A call that writes is acknowledged, but one of its buckets (or its blob) is missing.
    pub lost_write: f64,
    /// The length of a time-out, in tokio's time. If it is zero there is no wait, and no runtime is needed.
    pub time_out_after: Duration,
}

impl FaultRates {
    fn check(&self) -> bool {
        let rates = [self.error_before, self.error_after, self.time_out, self.torn_write, self.lost_write];
        rates.iter().all(|rate| (0.0..=1.0).contains(rate)) && rates.iter().sum::<f64>() <= 1.0 + 1e-9
    }
}

/// The faults that happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// The number of errors without effect.
    pub errors_before: u64,
    /// The number of errors with effect.
    pub errors_after: u64,
    /// The number of time-outs, with effect or without.
    pub time_outs: u64,
    /// The number of torn writes.
    pub torn_writes: u64,
    /// The number of lost writes.
    pub lost_writes: u64,
}

impl FaultCounts {
    /// The number of all faults.
    pub fn all(&self) -> u64 {
        self.errors_before + self.errors_after + self.time_outs + self.torn_writes + self.lost_writes
    }
}

/// An injected error, inside of [`UntrustedError::Unavailable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InjectedFault {
    /// The call had no effect.
    #[error("injected: an error before the effect")]
    Before,
    /// The call had its effect.
    #[error("injected: an error after the effect")]
    After,
    /// The caller does not learn whether the call had its effect.
    #[error("injected: a time-out")]
    TimedOut,
    /// Some buckets were written.
    #[error("injected: a torn write, {written} of {of} buckets are there")]
    Torn {
        /// The number of buckets that were written.
        written: usize,
        /// The number of buckets that should have been written.
        of: usize,
    },
}

impl From<InjectedFault> for UntrustedError {
    fn from(fault: InjectedFault) -> Self {
        UntrustedError::Unavailable(Box::new(fault))
    }
}

/// A handle that turns faults on and off, and reads their counts.
#[derive(Clone, Debug)]
pub struct FaultSwitch {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    on: bool,
    rates: FaultRates,
    chance: ChaCha8Rng,
    counts: FaultCounts,
}

impl FaultSwitch {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of the faults panicked")
    }

    /// Turns faults on or off. While they are off, no random number is drawn.
    pub fn set(&self, on: bool) {
        self.lock().on = on;
    }

    /// Changes the rates of faults.
    ///
    /// # Panics
    /// If a rate is not a probability, or all together exceed 1.
    pub fn set_rates(&self, rates: FaultRates) {
        assert!(rates.check(), "rates are probabilities that sum to at most 1: {rates:?}");
        self.lock().rates = rates;
    }

    /// The faults so far.
    pub fn counts(&self) -> FaultCounts {
        self.lock().counts
    }
}

/// Makes calls to the store below fail at random. The same seed and the same calls give the same faults.
#[derive(Debug)]
pub struct Faults<S> {
    inner: S,
    switch: FaultSwitch,
}

/// The outcome drawn for a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FaultOutcome {
    Fine,
    ErrorBefore,
    ErrorAfter,
    TimeOut { effect: bool },
    Torn,
    Lost,
}

/// The kind of a call: not every fault applies to every kind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallKind {
    /// Changes nothing, or removes.
    Other,
    /// Writes a whole object.
    WriteOne,
    /// Writes this many buckets.
    Write(usize),
}

impl State {
    fn chance(&mut self) -> f64 {
        // A double holds 53 bits exactly.
        (self.chance.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.chance.next_u64()) * bound as u128) >> 64) as usize
    }

    /// Draws once for each call of any kind, so that a rate of one fault does not shift the others.
    fn draw_outcome(&mut self, call: CallKind) -> FaultOutcome {
        if !self.on {
            return FaultOutcome::Fine;
        }
        let mut left = self.chance();
        let mut falls_in = |rate: f64| {
            let here = (0.0..rate).contains(&left);
            left -= rate;
            here
        };
        let rates = self.rates;
        if falls_in(rates.error_before) {
            self.counts.errors_before += 1;
            FaultOutcome::ErrorBefore
        } else if falls_in(rates.error_after) {
            self.counts.errors_after += 1;
            FaultOutcome::ErrorAfter
        } else if falls_in(rates.time_out) {
            self.counts.time_outs += 1;
            FaultOutcome::TimeOut { effect: self.chance() < 0.5 }
        } else if falls_in(rates.torn_write) && matches!(call, CallKind::Write(1..)) {
            self.counts.torn_writes += 1;
            FaultOutcome::Torn
        } else if falls_in(rates.lost_write) && matches!(call, CallKind::WriteOne | CallKind::Write(1..)) {
            self.counts.lost_writes += 1;
            FaultOutcome::Lost
        } else {
            FaultOutcome::Fine
        }
    }

    /// Draws which of `of` buckets a torn write writes: each with probability 1/2, but never all.
    fn torn(&mut self, of: usize) -> Vec<bool> {
        let mut written: Vec<bool> = (0..of).map(|_| self.chance() < 0.5).collect();
        let lost = self.below(of);
        written[lost] = false;
        written
    }
}

impl<S> Faults<S> {
    /// Injects faults at these rates into calls of `inner`, switched on.
    ///
    /// # Panics
    /// If a rate is not a probability, or all together exceed 1.
    pub fn new(inner: S, rates: FaultRates, seed: u64) -> Self {
        assert!(rates.check(), "rates are probabilities that sum to at most 1: {rates:?}");
        let state = State {
            on: true,
            rates,
            chance: ChaCha8Rng::seed_from_u64(seed),
            counts: FaultCounts::default(),
        };
        Faults { inner, switch: FaultSwitch { state: Arc::new(Mutex::new(state)) } }
    }

    /// A handle on the switch.
    pub fn switch(&self) -> FaultSwitch {
        self.switch.clone()
    }

    /// The store below.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    fn draw_outcome(&self, call: CallKind) -> FaultOutcome {
        self.switch.lock().draw_outcome(call)
    }

    async fn timed_out(&self) -> InjectedFault {
        let after = self.switch.lock().rates.time_out_after;
        if !after.is_zero() {
            tokio::time::sleep(after).await;
        }
        InjectedFault::TimedOut
    }

    /// Makes a call whose effect cannot be torn, or fails it. A lost call returns `lost`.
    async fn whole<T, E: From<UntrustedError>>(
        &self,
        call: CallKind,
        lost: Option<T>,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let fault = match (self.draw_outcome(call), lost) {
            (FaultOutcome::Lost, Some(answer)) => return Ok(answer),
            (FaultOutcome::Fine | FaultOutcome::Torn | FaultOutcome::Lost, _) => return work.await,
            (FaultOutcome::ErrorBefore, _) => InjectedFault::Before,
            (FaultOutcome::ErrorAfter, _) => {
                work.await?;
                InjectedFault::After
            }
            (FaultOutcome::TimeOut { effect }, _) => {
                if effect {
                    work.await?;
                }
                self.timed_out().await
            }
        };
        Err(UntrustedError::from(fault).into())
    }
}

impl<S: Untrusted> Faults<S> {
    async fn write_some(
        &self,
        buckets: &[BucketVersion],
        from: &[u8],
        written: &[bool],
    ) -> Result<(), UntrustedError> {
        let mut some = Vec::new();
        let mut bytes = Vec::new();
        for ((bucket, this), written) in split_buckets(self.layout(), buckets, from).zip(written) {
            if *written {
                some.push(bucket);
                bytes.extend_from_slice(this);
            }
        }
        self.inner.write(&some, &bytes).await
    }
}

impl<S: Untrusted> Untrusted for Faults<S> {
    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        self.whole(CallKind::Other, None, self.inner.read(places, into)).await
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        let of = buckets.len();
        let fault = match self.draw_outcome(CallKind::Write(of)) {
            FaultOutcome::Fine => return self.inner.write(buckets, from).await,
            FaultOutcome::Lost => {
                let mut written = vec![true; of];
                let lost = self.switch.lock().below(of);
                written[lost] = false;
                return self.write_some(buckets, from, &written).await;
            }
            FaultOutcome::Torn => {
                let some = self.switch.lock().torn(of);
                self.write_some(buckets, from, &some).await?;
                let written = some.iter().filter(|written| **written).count();
                InjectedFault::Torn { written, of }
            }
            FaultOutcome::ErrorBefore => InjectedFault::Before,
            FaultOutcome::ErrorAfter => {
                self.inner.write(buckets, from).await?;
                InjectedFault::After
            }
            FaultOutcome::TimeOut { effect } => {
                if effect {
                    self.inner.write(buckets, from).await?;
                }
                self.timed_out().await
            }
        };
        Err(fault.into())
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        self.whole(CallKind::Other, None, self.inner.delete(buckets)).await
    }
}

impl<S: Blobs> Blobs for Faults<S> {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        self.whole(CallKind::WriteOne, Some(()), self.inner.put(name, bytes)).await
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        let work = self.inner.put_if_absent(name, bytes);
        self.whole(CallKind::WriteOne, Some(true), work).await
    }

    async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        self.whole(CallKind::Other, None, self.inner.get(name, max)).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError> {
        self.whole(CallKind::Other, None, self.inner.list(prefix)).await
    }

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        self.whole(CallKind::Other, None, self.inner.remove(name)).await
    }
}

impl<S: Inventory> Inventory for Faults<S> {
    async fn list_bucket_versions(
        &self,
        found: &mut dyn FnMut(BucketVersion, Bytes),
    ) -> Result<u64, UntrustedError> {
        self.whole(CallKind::Other, None, self.inner.list_bucket_versions(found)).await
    }

    async fn sweep_unfinished(&self) -> Result<u64, UntrustedError> {
        self.inner.sweep_unfinished().await
    }
}
