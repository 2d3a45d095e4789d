//! The time of the next checkpoint in the store. With the journal on the trusted disk, a lost machine takes along what
//! came after the last one. So another one is shipped when the store has lacked accesses for a given time.
//!
//! Only times and numbers of accesses count, which the store sees anyway. An idle vault ships its last accesses once.

mod steps;

use std::time::Duration;
use tokio::time::Instant;

/// The time for which the store lacks accesses at most, until a checkpoint with them is made, unless a [`Setup`] has
/// another.
///
/// [`Setup`]: crate::open::setup::Setup
pub const SHIP_AFTER: Duration = Duration::from_secs(5 * 60);

/// Tells when a checkpoint must be shipped.
pub(super) struct ShipTimer {
    after: Duration,
    /// The time of the first access after one at which the store lacked none; or of the opening.
    lacking_since: Instant,
}

impl ShipTimer {
    pub(super) fn new(after: Duration, opened: Instant) -> Self {
        ShipTimer { after, lacking_since: opened }
    }

    /// Records an access, before which the store lacked none.
    pub(super) fn on_first_access(&mut self, now: Instant) {
        self.lacking_since = now;
    }
}
