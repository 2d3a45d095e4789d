//! Times in the catalogue, and the clock that gives them.

use minicbor::{Decode, Encode};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A time, in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct UnixMillis(#[n(0)] pub u64);

impl UnixMillis {
    /// Returns the present time of the system's clock.
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        UnixMillis(since.map_or(0, |since| since.as_millis() as u64))
    }

    /// Returns whole seconds since the Unix epoch, the resolution of HTTP dates.
    pub fn seconds(self) -> u64 {
        self.0 / 1000
    }
}

impl From<UnixMillis> for SystemTime {
    fn from(time: UnixMillis) -> Self {
        SystemTime::UNIX_EPOCH + Duration::from_millis(time.0)
    }
}

/// A clock. The default is the clock of the system; tests use their own.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> UnixMillis + Send + Sync>);

impl Clock {
    /// Creates a clock that calls `now` each time.
    pub fn new(now: impl Fn() -> UnixMillis + Send + Sync + 'static) -> Self {
        Clock(Arc::new(now))
    }

    /// Returns the present time.
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
