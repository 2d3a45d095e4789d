//! The machines of a lifecycle. A gateway is started again on its own machine, restored on another one, or replaced by a
//! standby.

use super::flaws::{Flaw, FlawedStore};
use crate::support::fragile_disk::FragileDisk;
use crate::support::network::{Network, NetworkLink};
use crate::support::recorder::{Recorder, TimedEvent, TraceEvent};
use crate::support::rng::TestRng;
use crate::support::{master, restore_options, setup};
use ameles_store::VersionedMemory;
use ameles_vault::{
    AnyStore, Setup, Standby, StandbyStage, TrustedDisk, Vault, VaultError, VaultHeader, is_unfinished,
    read_header, restore,
};
use futures::future::LocalBoxFuture;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::{JoinHandle, spawn_local};

/// The successor of a gateway that was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Successor {
    /// The same machine starts it again.
    Restart,
    /// The machine is lost. Another one restores the vault from its store.
    Restore,
    /// The machine is lost. The standby takes the vault over.
    Standby,
}

/// An open vault, and the future that drives it.
pub type OpenVault = (Vault, LocalBoxFuture<'static, ()>);

type Opening = LocalBoxFuture<'static, Result<OpenVault, VaultError>>;

/// A machine, as the store sees it.
#[derive(Clone)]
pub struct Machine {
    pub header: VaultHeader,
    pub memory: VersionedMemory,
    pub disk: FragileDisk,
    pub recorder: Recorder,
    pub link: NetworkLink,
    pub flaw: Option<Flaw>,
    /// True if a batch that requests a block of the previous batch has not read yet.
    pub hits: Rc<Cell<bool>>,
    /// True if the vault on this disk was restored and not opened yet.
    is_restored: Rc<Cell<bool>>,
}

impl Machine {
    pub fn new(header: VaultHeader, memory: VersionedMemory, flaw: Option<Flaw>) -> Self {
        Machine {
            header,
            memory,
            disk: FragileDisk::default(),
            recorder: Recorder::new(),
            link: NetworkLink::new(0, TestRng::of(0)),
            flaw,
            hits: Rc::default(),
            is_restored: Rc::default(),
        }
    }

    /// Another machine with an empty disk, whose requests are recorded by this recorder.
    pub fn another(&self, recorder: Recorder, link: NetworkLink) -> Self {
        let machine = Machine::new(self.header.clone(), self.memory.clone(), self.flaw);
        let machine = Machine { recorder, link, ..machine };
        machine.recorder.unplug_when_killed(&machine.disk);
        machine
    }

    /// Takes the events of a standby, which has repeated the reads since the checkpoint that it has started from: the empty
    /// vault, if the store had none.
    pub fn events_of_standby(&self) -> Vec<TimedEvent> {
        let checkpoint = self.recorder.fetched_checkpoints(true).last().copied().unwrap_or_default();
        let start = (Duration::ZERO, TraceEvent::Follows { checkpoint });
        [start].into_iter().chain(self.recorder.take_trace()).collect()
    }

    /// The setup of an opening.
    fn setup(&self, disk: &TrustedDisk, seed: u64) -> Setup<AnyStore> {
        let network = Network::new(self.memory.clone(), self.link.clone());
        let shown = self.recorder.over(network);
        let store = FlawedStore::new(shown, self.flaw, &self.recorder, &self.memory, &self.hits);
        let mut setup = setup(disk, store, seed);
        // A checkpoint in each time to settle would leave nothing to repeat.
        setup.ship_after = Duration::MAX;
        if let Some(entropy) = self.flaw.and_then(|flaw| flaw.entropy(seed)) {
            setup.entropy = entropy;
        }
        setup
    }

    /// Starts the gateway on this machine, after a restore if its disk has no vault. Everything is killed at the request
    /// with this number.
    ///
    /// # Errors
    /// The errors of the disk.
    pub fn start(&self, dies_after: Option<u64>, secret: &mut TestRng) -> Result<Opening, VaultError> {
        let disk = self.disk.mount()?;
        let has_vault = read_header(&disk, &master()).is_ok() && !is_unfinished(&disk)?;
        let (machine, opening) = (self.clone(), self.setup(&disk, secret.seed()));
        if has_vault {
            self.recorder.die_after(dies_after);
            return Ok(Box::pin(async move { machine.open(opening).await }));
        }
        let restoring = self.setup(&disk, secret.seed());
        let draws_again = !self.header.parameters.journal.announces();
        self.recorder.note_restore(draws_again, dies_after);
        self.is_restored.set(true);
        Ok(Box::pin(async move {
            restore(restoring, restore_options(&machine.header, None)).await?;
            machine.open(opening).await
        }))
    }

    async fn open(&self, setup: Setup<AnyStore>) -> Result<OpenVault, VaultError> {
        let restored_from = self.recorder.fetched_checkpoints(false).pop();
        self.recorder.note_start(restored_from.filter(|_| self.is_restored.get()));
        let (vault, running) = Vault::start(setup).await?;
        self.is_restored.set(false);
        Ok((vault, Box::pin(running)))
    }

    /// Lets a standby on this machine follow the vault.
    ///
    /// # Errors
    /// The errors of the disk.
    pub fn stand_by(self, secret: &mut TestRng) -> Result<FollowingStandby, VaultError> {
        let setup = self.setup(&self.disk.mount()?, secret.seed());
        let fetches = Arc::<AtomicUsize>::default();
        let counted = fetches.clone();
        let report = Box::new(move |stage: &StandbyStage| {
            if matches!(stage, StandbyStage::Fetching) {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        let taking_over = async move {
            let (vault, running) = Vault::start_standby(setup, Standby { expect: None, report }).await?;
            let running: LocalBoxFuture<'static, ()> = Box::pin(running);
            Ok((vault, running))
        };
        let taken = spawn_local(self.recorder.count_steps(taking_over));
        Ok(FollowingStandby { machine: self, fetches, taken })
    }
}

/// A standby that follows the vault.
pub struct FollowingStandby {
    machine: Machine,
    /// The number of times that it has started from a checkpoint.
    fetches: Arc<AtomicUsize>,
    taken: JoinHandle<Result<OpenVault, VaultError>>,
}

impl FollowingStandby {
    /// Waits until the standby has taken the vault over.
    ///
    /// # Errors
    /// The reason why it has ended.
    pub async fn take_over(self) -> Result<(Machine, OpenVault), VaultError> {
        let opened = self.taken.await.expect("the standby does not panic")?;
        let fetches = self.fetches.load(Ordering::Relaxed);
        assert_eq!(fetches, 1, "the standby follows from one checkpoint on");
        Ok((self.machine, opened))
    }

    /// Ends the standby, and returns its events.
    pub fn end(self) -> Vec<TimedEvent> {
        self.taken.abort();
        self.machine.events_of_standby()
    }
}
