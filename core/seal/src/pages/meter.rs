//! The time that ciphers and copies take.

use core::sync::atomic::{AtomicU64, Ordering};

/// The time of sealing and opening, summed over all threads. For measurements: each page costs a few reads of the
/// clock.
#[derive(Debug)]
pub struct PageMeter {
    clock: fn() -> u64,
    crypto: AtomicU64,
    copying: AtomicU64,
}

impl PageMeter {
    /// Makes a meter whose sums are 0. The clock returns nanoseconds since a fixed time.
    pub const fn new(clock: fn() -> u64) -> Self {
        PageMeter { clock, crypto: AtomicU64::new(0), copying: AtomicU64::new(0) }
    }

    /// Returns the nanoseconds in ciphers so far, of all threads together.
    pub fn crypto_nanos(&self) -> u64 {
        self.crypto.load(Ordering::Relaxed)
    }

    /// Returns the nanoseconds so far in copies between private and shared memory, and to the place where a page is
    /// sealed.
    pub fn copying_nanos(&self) -> u64 {
        self.copying.load(Ordering::Relaxed)
    }
}

/// Times the steps of one page, one after the other. Without a meter it does nothing.
pub(crate) struct StepTimer<'a> {
    started: Option<(&'a PageMeter, u64)>,
}

impl<'a> StepTimer<'a> {
    pub(crate) fn begin(meter: Option<&'a PageMeter>) -> Self {
        StepTimer { started: meter.map(|meter| (meter, (meter.clock)())) }
    }

    /// Adds the time of the step that ends now to the time of copying.
    pub(crate) fn end_copy(&mut self) {
        self.end_step(|meter| &meter.copying);
    }

    /// Adds the time of the step that ends now to the time of the ciphers.
    pub(crate) fn end_cipher(&mut self) {
        self.end_step(|meter| &meter.crypto);
    }

    fn end_step(&mut self, sum: fn(&PageMeter) -> &AtomicU64) {
        if let Some((meter, since)) = &mut self.started {
            let now = (meter.clock)();
            sum(meter).fetch_add(now.saturating_sub(*since), Ordering::Relaxed);
            *since = now;
        }
    }
}
