//! Time as the catalogue keeps it, and the clock that it comes from.

use minicbor::{Decode, Encode};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A moment, in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct UnixMillis(#[n(0)] pub u64);

impl UnixMillis {
    /// The present, by the system's clock.
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        UnixMillis(since.map_or(0, |since| since.as_millis() as u64))
    }

    /// Whole seconds since the Unix epoch: as exact as HTTP dates are.
    pub fn seconds(self) -> u64 {
        self.0 / 1000
    }
}

impl From<UnixMillis> for SystemTime {
    fn from(time: UnixMillis) -> Self {
        SystemTime::UNIX_EPOCH + Duration::from_millis(time.0)
    }
}

/// Tells a gateway the time. The default one is the system's; tests bring their own.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> UnixMillis + Send + Sync>);

impl Clock {
    /// A clock that asks `now` each time.
    pub fn new(now: impl Fn() -> UnixMillis + Send + Sync + 'static) -> Self {
        Clock(Arc::new(now))
    }

    /// The present.
    pub fn now(&self) -> UnixMillis {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Clock::new(UnixMillis::now)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock(..)")
    }
}
