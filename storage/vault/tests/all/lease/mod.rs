//! The lease. A displaced gateway answers nothing after its lease expires. A successor waits for that. The checks for a
//! newer claim come at public times.

mod displaced;
mod lease_checks;
mod opening_waits;
pub mod pausable;
mod unreachable;

use crate::promises::fixture::VaultFixture;
use ameles_vault::AnyStore;
use ameles_vault::{Host, Setup, VaultStore};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// The maximum time of anything about a lease, without the network: a lease and a check.
const LONG_ENOUGH: Duration = Duration::from_secs(100);

/// A machine in virtual time, which can be suspended: its own clock then runs on, and the runtime's does not.
#[derive(Clone)]
struct Machine {
    origin: Instant,
    suspended: Arc<AtomicU64>,
    mark: &'static str,
}

impl Machine {
    fn new(mark: &'static str) -> Self {
        Machine { origin: Instant::now(), suspended: Arc::default(), mark }
    }

    fn host(&self) -> Host {
        let (origin, suspended) = (self.origin, self.suspended.clone());
        let clock = move || origin.elapsed() + Duration::from_secs(suspended.load(Ordering::Relaxed));
        Host::of(clock, Some(self.mark.as_bytes().to_vec()))
    }

    fn suspend(&self, seconds: u64) {
        self.suspended.fetch_add(seconds, Ordering::Relaxed);
    }

    /// A setup of the vault on this machine.
    fn setup(&self, fixture: &VaultFixture, store: impl VaultStore) -> Setup<AnyStore> {
        let disk = fixture.disk.mount().expect("it is sound");
        Setup { host: self.host(), ..fixture.setup_over(&disk, store) }
    }
}

/// A flag that clones share.
#[derive(Clone, Default)]
struct Flag(Rc<Cell<bool>>);

impl Flag {
    fn set(&self, on: bool) {
        self.0.set(on);
    }

    fn is_on(&self) -> bool {
        self.0.get()
    }
}
