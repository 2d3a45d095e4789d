//! The times that the ciphers take, and those of the copies.

use core::sync::atomic::{AtomicU64, Ordering};

/// Adds up what sealing and opening take, on all threads. For measurements: each page costs some looks at the clock.
#[derive(Debug)]
pub struct PageMeter {
    clock: fn() -> u64,
    crypto: AtomicU64,
    copying: AtomicU64,
}

impl PageMeter {
    /// Makes a meter without counts. The clock tells nanoseconds since some moment.
    pub const fn new(clock: fn() -> u64) -> Self {
        PageMeter { clock, crypto: AtomicU64::new(0), copying: AtomicU64::new(0) }
    }

    /// Nanoseconds in ciphers so far, those of all threads together.
    pub fn crypto_nanos(&self) -> u64 {
        self.crypto.load(Ordering::Relaxed)
    }

    /// Nanoseconds so far in copies between private and shared memory, and to where a page is sealed.
    pub fn copying_nanos(&self) -> u64 {
        self.copying.load(Ordering::Relaxed)
    }
}

/// The steps of one page, one after the other; nothing without a meter.
pub(crate) struct Steps<'a> {
    metered: Option<(&'a PageMeter, u64)>,
}

impl<'a> Steps<'a> {
    pub(crate) fn begin(meter: Option<&'a PageMeter>) -> Self {
        Steps { metered: meter.map(|meter| (meter, (meter.clock)())) }
    }

    /// Counts the step that ends here as a copy.
    pub(crate) fn copied(&mut self) {
        self.ended(|meter| &meter.copying);
    }

    /// Counts the step that ends here as the cipher's.
    pub(crate) fn ciphered(&mut self) {
        self.ended(|meter| &meter.crypto);
    }

    fn ended(&mut self, sum: fn(&PageMeter) -> &AtomicU64) {
        if let Some((meter, since)) = &mut self.metered {
            let now = (meter.clock)();
            sum(meter).fetch_add(now.saturating_sub(*since), Ordering::Relaxed);
            *since = now;
        }
    }
}
