//! A run: a vault is made, opened, used and crashed repeatedly, and checked in the end.

use super::callers::{Caller, Model, SharedModel};
use super::checked_store::CheckedStore;
use super::killable::KillableFuture;
use super::registers::Registers;
use super::rows::RowsModel;
use super::run_log;
use super::scenario::Scenario;
use super::summary::Summary;
use super::violation::Violation;
use super::watcher::Watcher;
use crate::support::fragile_disk::{Crash, FragileDisk};
use crate::support::intercepted::Intercepted;
use crate::support::network::{Network, NetworkLink};
use crate::support::rng::TestRng;
use crate::support::{header, open_elsewhere, setup};
use ameles_core::types::{BlockId, Bytes};
use ameles_store::{FaultRates, Faults, Provider, ProviderControl, ProviderLimits, Retry, VersionedMemory};
use ameles_vault::{Call, Receipt, TrustedDisk, Vault, VaultError, VaultHeader, read_header};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::{LocalSet, spawn_local};

/// The environment's faults. Some exceed what a vault must survive, and test the simulation itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    /// The environment behaves as promised.
    Sound,
    /// The store has a provider's limits: lists in pages, a maximum size of a put, bursts of refusals.
    Provider,
    /// The trusted disk acknowledges syncs and forgets them.
    LyingDisk,
    /// The store acknowledges writes and forgets some.
    ForgetfulStore,
}

/// Runs a seed.
///
/// # Panics
/// If a promise is broken.
pub fn run(seed: u64, kind: Environment) -> Summary {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime can be made");
    let local = LocalSet::new();
    local.block_on(&runtime, Run::new(seed, kind).run())
}

type Store = Intercepted<Retry<Provider<Faults<Network<CheckedStore>>>>, Watcher>;

pub(super) struct Run {
    pub(super) rng: TestRng,
    pub(super) kind: Environment,
    scenario: Scenario,
    header: VaultHeader,
    pub(super) disk: FragileDisk,
    /// The copies of the disk, made after openings that failed.
    pub(super) disk_copies: Vec<FragileDisk>,
    violation: Violation,
    pub(super) checked_store: CheckedStore,
    watcher: Watcher,
    link: NetworkLink,
    model: SharedModel,
    providers: Vec<ProviderControl>,
    pub(super) summary: Summary,
}

/// The way in which an opening will end, unless it ends otherwise before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The driver is dropped after this many waits.
    Waits(u64),
    /// The power fails in the middle of a change of the disk.
    Changes(u64),
    /// The disk is full after this many changes.
    Full(u64),
    /// The vault is dropped when the callers are done.
    Late,
    /// The vault is closed, by a call or by dropping the last handle.
    Close { by_call: bool },
}

/// The result of opening a vault.
enum Opened<F> {
    Vault(Vault, F, TrustedDisk),
    Refused(VaultError),
    Crashed,
}

impl Run {
    fn new(seed: u64, kind: Environment) -> Self {
        let mut rng = TestRng::of(seed);
        let scenario = Scenario::draw(&mut rng);
        let header = header(scenario.parameters.clone(), rng.seed());
        let violation = Violation::default();
        let checked_store = CheckedStore::new(header.clone(), violation.clone());
        let link = NetworkLink::new(scenario.slowest, rng.fork());
        let scheme = &scenario.parameters.scheme;
        let model = Model {
            has_planned_stash: scenario.has_planned_stash(),
            registers: Registers::new(scheme.capacity(), scheme.block_bytes() as usize),
            rows: RowsModel::new(scenario.parameters.rows_bytes),
            status: Default::default(),
            receipt: None,
            acknowledged: 0,
            committing: Rc::default(),
        };
        Run {
            kind,
            disk: FragileDisk::default(),
            disk_copies: Vec::new(),
            watcher: Watcher::new(checked_store.clone(), violation.clone()),
            model: SharedModel(Rc::new(RefCell::new(model))),
            providers: Vec::new(),
            summary: Summary::default(),
            rng,
            scenario,
            header,
            violation,
            checked_store,
            link,
        }
    }

    async fn run(mut self) -> Summary {
        if self.kind == Environment::LyingDisk {
            self.disk.drop_syncs();
        }
        while !self.create().await {
            self.after_crash();
        }
        for _ in 0..self.scenario.openings {
            self.one_opening().await;
        }
        self.settle_network().await;
        self.check_everything().await;
        self.violation.assert_none();
        self.summary.acknowledged = self.model.0.borrow().acknowledged;
        self.summary.repeated = self.watcher.repeated();
        self.providers.iter().for_each(|provider| self.summary.provider += provider.counts());
        self.summary
    }

    fn store(&mut self, is_faulty: bool) -> Store {
        let mut rates = if is_faulty { self.scenario.faults } else { FaultRates::default() };
        if self.kind == Environment::ForgetfulStore {
            rates.lost_write = 0.02;
        }
        let network = Network::new(self.checked_store.clone(), self.link.clone());
        let faults = Faults::new(network, rates, self.rng.seed());
        let provider = match self.kind {
            Environment::Provider => Provider::new(faults, self.draw_limits(is_faulty), self.rng.seed()),
            _ => Provider::new(faults, ProviderLimits::S3, 0),
        };
        self.providers.push(provider.control());
        self.watcher.wrap(Retry::new(provider, self.scenario.retry, self.rng.seed()))
    }

    /// Limits that a small vault reaches: what it plans to upload at most fits one put, and its lists have many pages.
    fn draw_limits(&mut self, is_faulty: bool) -> ProviderLimits {
        ProviderLimits {
            max_put: Bytes(self.header.parameters.shipped_bytes() + 128),
            page: self.rng.magnitude(4..=200) as usize,
            bursts: if is_faulty { self.rng.one_of(&[0.0, 0.002, 0.01]) } else { 0.0 },
            longest_burst: self.rng.magnitude(1..=20) as u32,
        }
    }

    /// Makes the vault; returns whether it is there.
    async fn create(&mut self) -> bool {
        if self.rng.percent(self.scenario.crashes_in_recovery / 2) {
            self.disk.fail_after(Some(self.rng.magnitude(1..=60)));
        }
        let Ok(disk) = self.disk.mount_yielding() else {
            // The database itself was half made: nothing of the vault was there yet.
            self.disk = FragileDisk::default();
            return false;
        };
        let mut setup = setup(&disk, self.store(true), self.rng.seed());
        let waits = self.rng.percent(10).then(|| self.rng.within(0..=4));
        let created =
            KillableFuture::new(Vault::create(&mut setup, &self.header), self.disk.clone(), waits).await;
        self.disk.unplug();
        if matches!(created, Some(Ok(()))) {
            self.disk.fail_after(None);
            return true;
        }
        // Once its header is on the disk, it is opened, not made again.
        let there = read_header(&disk, &crate::support::master()).is_ok();
        there && !self.disk.has_failed()
    }

    /// Checks what is left when everything that ran is gone.
    fn after_crash(&mut self) {
        self.watcher.closed();
        self.disk.unplug();
        let how = self.rng.one_of(&[Crash::Kill, Crash::PowerLoss]);
        run_log::note(|| format!("crash: {how:?}"));
        self.disk.crash(how, &mut self.rng);
        self.disk.fill_after(None);
        self.link.crash();
        self.summary.crashes += 1;
    }

    async fn open(
        &mut self,
        is_faulty: bool,
        ending: Option<Ending>,
    ) -> Opened<impl Future<Output = ()> + use<>> {
        run_log::note(|| format!("opening, to end at {ending:?}"));
        self.watcher.opening();
        match ending {
            Some(Ending::Changes(changes)) => self.disk.fail_after(Some(changes)),
            Some(Ending::Full(changes)) => self.disk.fill_after(Some(changes)),
            _ => {}
        }
        let waits = match ending {
            Some(Ending::Waits(waits)) => Some(waits),
            _ => None,
        };
        let disk = match self.disk.mount_yielding() {
            Ok(disk) => disk,
            Err(_) if self.disk.has_failed() => return Opened::Crashed,
            Err(error) => return Opened::Refused(error),
        };
        let mut setup = setup(&disk, self.store(is_faulty), self.rng.seed());
        setup.pace = self.scenario.pace;
        match KillableFuture::new(Vault::start(setup), self.disk.clone(), waits).await {
            None => Opened::Crashed,
            Some(Err(error)) => {
                run_log::note(|| format!("refused: {error}"));
                Opened::Refused(error)
            }
            Some(Ok((vault, running))) => {
                run_log::note(|| "open".to_owned());
                self.watcher.in_service(&vault);
                self.model.0.borrow_mut().registers.settle();
                Opened::Vault(vault, running, disk)
            }
        }
    }

    async fn one_opening(&mut self) {
        let early = self.rng.percent(self.scenario.crashes_in_recovery).then(|| match self.rng.below(3) {
            0 => Ending::Waits(self.rng.magnitude(1..=40)),
            1 => Ending::Changes(self.rng.magnitude(1..=40)),
            _ => Ending::Full(self.rng.magnitude(1..=20)),
        });
        match self.open(true, early).await {
            Opened::Vault(vault, running, disk) => {
                drop(disk);
                self.disk.fail_after(None);
                self.disk.fill_after(None);
                self.check_copies_are_displaced().await;
                self.serve(vault, running).await;
            }
            Opened::Crashed => {
                self.summary.openings_cut_off += 1;
                self.after_crash();
                self.may_copy_disk();
            }
            Opened::Refused(error) => {
                self.expect_refusal(&error);
                self.after_crash();
                self.may_copy_disk();
            }
        }
        self.violation.assert_none();
        if self.rng.percent(6) {
            self.restore_a_copy().await;
        }
        if self.rng.percent(50) {
            self.settle_network().await;
        }
    }

    async fn serve(&mut self, vault: Vault, running: impl Future<Output = ()> + 'static) {
        self.summary.openings += 1;
        self.settle_rows(&vault);
        let ending = self.draw_ending();
        let waits = match ending {
            Ending::Waits(waits) => Some(waits),
            _ => None,
        };
        run_log::note(|| format!("in service, to end at {ending:?}"));
        match ending {
            Ending::Changes(changes) => self.disk.fail_after(Some(changes)),
            Ending::Full(changes) => self.disk.fill_after(Some(changes)),
            _ => {}
        }
        let driver = spawn_local(KillableFuture::new(running, self.disk.clone(), waits));
        self.run_callers(&vault).await;
        let close = matches!(ending, Ending::Close { .. });
        let mut closed = None;
        if close && vault.failure().is_none() && !driver.is_finished() {
            closed = self.close(&vault, ending).await;
        }
        let failure = vault.failure();
        if closed.is_some() && ending == (Ending::Close { by_call: false }) {
            self.watcher.left_alone();
        } else {
            self.watcher.closed();
        }
        drop(vault);
        run_log::note(|| format!("end of service: {failure:?}, {closed:?}"));
        match (&failure, closed) {
            (None, Some(())) => {
                let ended = joined(driver.await);
                assert_eq!(ended, Some(()), "a closed vault's driver ends");
                self.disk.unplug();
                self.summary.closed += 1;
                return;
            }
            (Some(error), _) => {
                joined(driver.await);
                if !self.disk.has_failed() {
                    self.expect_refusal(error);
                }
            }
            (None, None) => {
                self.disk.unplug();
                driver.abort();
                let _ = driver.await;
            }
        }
        self.summary.power_failures += u64::from(self.disk.has_failed());
        self.after_crash();
    }

    /// Decides, once and for all, whether a commit that failed in the crash had its effect.
    fn settle_rows(&self, vault: &Vault) {
        let rows = futures::executor::block_on(vault.load_rows()).expect("the disk is sound");
        let mut model = self.model.0.borrow_mut();
        let now = model.registers.tick();
        model.rows.settle(rows, now);
    }

    fn draw_ending(&mut self) -> Ending {
        match self.rng.below(10) {
            0..=3 => Ending::Waits(self.rng.magnitude(1..=600)),
            4..=5 => Ending::Changes(self.rng.magnitude(1..=600)),
            6 => Ending::Full(self.rng.magnitude(1..=300)),
            7 => Ending::Late,
            nth => Ending::Close { by_call: nth == 8 },
        }
    }

    /// Lets callers ask until each is done.
    async fn run_callers(&mut self, vault: &Vault) {
        let callers: Vec<_> = (0..self.scenario.callers)
            .map(|_| {
                let caller = Caller {
                    vault: vault.clone(),
                    model: self.model.clone(),
                    watcher: self.watcher.clone(),
                    requests: self.rng.within(1..=self.scenario.requests),
                    rng: self.rng.fork(),
                };
                spawn_local(caller.run())
            })
            .collect();
        for caller in callers {
            joined(caller.await);
        }
    }

    /// Closes the vault. Returns `None` if the vault was not closed.
    async fn close(&mut self, vault: &Vault, ending: Ending) -> Option<()> {
        let from = self.model.0.borrow_mut().registers.tick();
        if ending == (Ending::Close { by_call: true }) {
            let receipt: Receipt = vault.close().await.ok()?;
            self.model.note_receipt(vault, &self.watcher, receipt, from).await;
        }
        Some(())
    }

    /// Checks that a vault stops only because of what the simulation does to it.
    fn expect_refusal(&mut self, error: &VaultError) {
        let faulty = self.scenario.faults.error_before > 0.0 || self.kind == Environment::Provider;
        match error {
            VaultError::Unavailable(_) if faulty => self.summary.unavailable += 1,
            VaultError::DiskFull => self.summary.disk_full += 1,
            error => panic!("the vault refused: {error}"),
        }
    }

    /// Waits until requests in flight have arrived or been lost.
    async fn settle_network(&self) {
        tokio::time::sleep(Duration::from_secs(3600)).await;
    }

    pub(super) fn has_journal_in_store(&self) -> bool {
        self.scenario.has_journal_in_store()
    }

    /// Restores after the machine is lost, from the key and a copy of the store. The owner gets back the state of the
    /// last receipt, or everything acknowledged if the journal is in the store.
    async fn restore_a_copy(&mut self) {
        let model = self.model.0.borrow().receipt;
        let (receipt, from) = match model {
            // No opening has got far enough to answer anybody.
            _ if self.has_journal_in_store() && !self.checked_store.has_journal().await => return,
            _ if self.has_journal_in_store() => {
                let expect = model.map(|(receipt, _)| receipt).filter(|_| self.rng.percent(50));
                (expect, self.model.0.borrow_mut().registers.tick())
            }
            Some((receipt, from)) => (Some(receipt), from),
            None => return,
        };
        let store = VersionedMemory::new(self.header.parameters.layout());
        store.restore(&self.checked_store.memory().snapshot());
        let as_standby = self.header.parameters.journal.has_heartbeats() && self.rng.percent(70);
        let opened = open_elsewhere(&self.header, store, receipt, (as_standby, self.rng.seed())).await;
        let (vault, running) =
            opened.unwrap_or_else(|error| panic!("the store's copy cannot be restored: {error}"));
        let reading = async {
            let blocks = all_blocks(&vault);
            let answers =
                vault.access(blocks.iter().copied().map(Call::Read).collect()).await.expect("it is open");
            let rows = vault.load_rows().await.expect("rows can be read");
            self.model.compare_copy(from, &blocks, &answers, rows);
            vault.close().await.expect("it can be closed");
        };
        futures::join!(reading, running);
        self.summary.restored += 1;
    }

    /// Checks everything in a last opening, with a sound store: everything acknowledged is there, and nothing else is.
    async fn check_everything(&mut self) {
        let (vault, running, disk) = match self.open(false, None).await {
            Opened::Vault(vault, running, disk) => (vault, running, disk),
            Opened::Refused(error) => panic!("the vault does not open: {error}"),
            Opened::Crashed => panic!("nothing crashes any more"),
        };
        drop(disk);
        let driver = spawn_local(running);
        let from = self.model.0.borrow_mut().registers.tick();
        let blocks = all_blocks(&vault);
        let answers = vault.access(blocks.iter().copied().map(Call::Read).collect()).await;
        let answers = answers.unwrap_or_else(|error| panic!("blocks cannot be read: {error}"));
        let rows = vault.load_rows().await.unwrap_or_else(|error| panic!("rows cannot be read: {error}"));
        {
            let mut model = self.model.0.borrow_mut();
            for (block, answer) in blocks.iter().zip(answers) {
                model.registers.read(block.0, from, &answer.expect("a read is answered"));
            }
            let now = model.registers.tick();
            model.rows.settle(rows, now);
        }
        self.model.check_status(&vault);
        self.watcher.checking(true);
        let report =
            vault.check(Box::new(|_, _| {})).await.unwrap_or_else(|error| panic!("no check: {error}"));
        self.watcher.checking(false);
        assert!(report.faults.is_empty(), "{:?}", report.faults);
        let receipt =
            vault.close().await.unwrap_or_else(|error| panic!("the vault cannot be closed: {error}"));
        self.model.note_receipt(&vault, &self.watcher, receipt, from).await;
        assert_eq!(vault.status().rows.used, self.model.0.borrow().rows.used());
        joined(driver.await);
        self.watcher.closed();
        drop(vault);
        self.disk.unplug();
        // Orphans, replaced versions and older checkpoints are gone.
        assert_eq!(self.checked_store.checkpoints(), [(receipt.epoch, receipt.checkpoint)]);
        let held = self.checked_store.memory().bucket_versions();
        let needed: Vec<_> = self.checked_store.needed().into_iter().collect();
        if self.header.parameters.journal.has_heartbeats() {
            let missing = needed.iter().find(|version| !held.contains(version));
            assert_eq!(missing, None, "a standby may need more than the last checkpoint, not less");
        } else {
            assert_eq!(held, needed, "the store holds what the last checkpoint needs, and no more");
        }
        self.restore_a_copy().await;
    }
}

fn all_blocks(vault: &Vault) -> Vec<BlockId> {
    (0..vault.capacity()).map(BlockId).collect()
}

/// Propagates a task's panic.
fn joined<T>(outcome: Result<T, tokio::task::JoinError>) -> T {
    match outcome {
        Ok(value) => value,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
