//! A trusted disk in memory with a gate, which holds up the next work of one kind until the gate is opened.

use ameles_core::types::Bytes;
use ameles_vault::TrustedDisk;
use redb::StorageBackend;
use redb::backends::InMemoryBackend;
use std::io::Error;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// The size from which a read counts as large. In a small vault only the pages of large rows are this long.
pub const LARGE: usize = 64 << 10;
/// The time after which the gate gives up: the thread that should open it may itself be waiting for it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The work that is held up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    LargeRead,
    Sync,
}

/// The gate. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug, Default)]
struct State {
    shut: Option<Work>,
    is_reached: bool,
    has_given_up: bool,
}

impl Gate {
    /// A new disk behind the gate. It reads all requested bytes from the medium.
    pub fn disk(&self) -> TrustedDisk {
        let [database, journal] =
            [(); 2].map(|()| Gated { inner: InMemoryBackend::new(), gate: self.clone() });
        TrustedDisk::with_shared_backends(database, InMemoryBackend::new(), journal, Bytes(0))
            .expect("a new disk can be used")
    }

    /// Shuts the gate before the next work of this kind, which `held` does; runs `meanwhile` while it is held up, and
    /// opens the gate.
    pub async fn hold_up<T>(
        &self,
        work: Work,
        held: impl Future<Output = T>,
        meanwhile: impl Future<Output = ()>,
    ) -> T {
        self.lock().shut = Some(work);
        let passing = async {
            while !self.lock().is_reached {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            meanwhile.await;
            self.lock().is_reached = false;
            self.0.1.notify_all();
        };
        futures::join!(held, passing).0
    }

    /// Returns whether the gate gave up because nobody opened it.
    pub fn has_given_up(&self) -> bool {
        self.lock().has_given_up
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap()
    }

    fn pass(&self, work: Work) {
        let mut state = self.lock();
        if state.shut != Some(work) {
            return;
        }
        (state.shut, state.is_reached) = (None, true);
        let waited = self.0.1.wait_timeout_while(state, PATIENCE, |state| state.is_reached).unwrap();
        let (mut state, waited) = waited;
        state.has_given_up |= waited.timed_out();
    }
}

#[derive(Debug)]
struct Gated {
    inner: InMemoryBackend,
    gate: Gate,
}

impl StorageBackend for Gated {
    fn len(&self) -> Result<u64, Error> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        if out.len() >= LARGE {
            self.gate.pass(Work::LargeRead);
        }
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> Result<(), Error> {
        self.inner.set_len(len)
    }

    fn sync_data(&self) -> Result<(), Error> {
        self.gate.pass(Work::Sync);
        self.inner.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), Error> {
        self.inner.write(offset, data)
    }
}
