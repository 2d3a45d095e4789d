//! A gateway with its callers: it opens the vault in one way or another, serves, and ends by itself or on request.

use super::scheduler::{GatewayId, Scheduler};
use super::store::{Flaw, ScheduledStore, Shared};
use crate::simulation::registers::{Registers, Tick};
use crate::support::fragile_disk::FragileDisk;
use crate::support::rng::TestRng;
use crate::support::{host_named, restore_options, setup};
use ameles_core::types::BlockId;
use ameles_vault::AnyStore;
use ameles_vault::{Call, Setup, TrustedDisk, Vault, VaultError, VaultHeader, restore};
use std::cell::RefCell;
use std::rc::Rc;
use tokio::task::{JoinHandle, spawn_local};

/// The contents of the vault as the callers of one gateway know them. They share it.
pub type SharedRegisters = Rc<RefCell<Registers>>;

/// A gateway with its callers.
pub struct Gateway {
    pub gateway_id: GatewayId,
    pub disk: FragileDisk,
    pub registers: SharedRegisters,
    header: VaultHeader,
    shared: Shared,
    scheduler: Scheduler,
    flaw: Option<Flaw>,
    rng: TestRng,
    driven: Option<(Vault, JoinHandle<()>)>,
    pub refused: Option<VaultError>,
}

impl Gateway {
    pub fn new(
        gateway_id: GatewayId,
        disk: FragileDisk,
        header: &VaultHeader,
        (shared, scheduler, flaw): (&Shared, &Scheduler, Option<Flaw>),
        rng: TestRng,
    ) -> Self {
        let scheme = &header.parameters.scheme;
        let registers = Registers::new(scheme.capacity(), scheme.block_bytes() as usize);
        let registers = registers.numbered_after(if gateway_id == GatewayId::First { 0 } else { 1 << 32 });
        Gateway {
            gateway_id,
            disk,
            registers: Rc::new(RefCell::new(registers)),
            header: header.clone(),
            shared: shared.clone(),
            scheduler: scheduler.clone(),
            flaw,
            rng,
            driven: None,
            refused: None,
        }
    }

    fn setup(&mut self, disk: &TrustedDisk) -> Setup<AnyStore> {
        let store = ScheduledStore::new(&self.shared, &self.scheduler, self.gateway_id, self.flaw);
        let host = host_named(&format!("the machine of {:?}", self.gateway_id));
        Setup { host, ..setup(disk, store, self.rng.seed()) }
    }

    /// Restores the vault from the store onto this gateway's disk, as the owner of a lost machine does.
    pub async fn take_over(&mut self) {
        let disk = self.disk.mount().expect("the disk is sound");
        let options = restore_options(&self.header, None);
        let restored = restore(self.setup(&disk), options).await;
        drop(disk);
        self.disk.unplug();
        self.refused = restored.err();
    }

    /// Opens the vault, unless something has been refused before.
    pub async fn open(&mut self) {
        if self.refused.is_some() {
            return;
        }
        let disk = self.disk.mount().expect("the disk is sound");
        match Vault::start(self.setup(&disk)).await {
            Ok((vault, running)) => self.driven = Some((vault, spawn_local(running))),
            Err(error) => {
                drop(disk);
                self.disk.unplug();
                self.refused = Some(error);
            }
        }
    }

    /// The error that has ended this gateway, if any has.
    pub fn end(&self) -> Option<VaultError> {
        let failure = self.driven.as_ref().and_then(|(vault, _)| vault.failure());
        self.refused.clone().or(failure)
    }

    /// The vault, as long as it is served.
    pub fn vault(&self) -> Option<Vault> {
        self.driven.as_ref().map(|(vault, _)| vault.clone()).filter(|vault| vault.failure().is_none())
    }

    /// Reads every block, as it was on another gateway at some time since `from`; then rewrites every block. From
    /// then on it is known what this gateway must answer.
    pub async fn overwrite_all(&mut self, theirs: &SharedRegisters, from: Tick) -> Result<(), VaultError> {
        let Some(vault) = self.vault() else { return Ok(()) };
        let blocks: Vec<u64> = (0..vault.capacity()).collect();
        let calls = blocks.iter().map(|block| Call::Read(BlockId(*block)));
        let answers = vault.access(calls.collect()).await?;
        for (block, bytes) in blocks.iter().zip(answers.into_iter().flatten()) {
            theirs.borrow_mut().read_copy(*block, from, &bytes);
        }
        for some in blocks.chunks(vault.max_batch()) {
            write(&vault, &self.registers, some).await?;
        }
        Ok(())
    }

    /// Starts this many callers at once, with this many requests each. Those that the vault refuses stop asking.
    pub fn ask(&mut self, callers: u64, requests: u64) -> Vec<JoinHandle<()>> {
        let Some(vault) = self.vault() else { return Vec::new() };
        let caller = |_| {
            let (vault, registers, rng) = (vault.clone(), self.registers.clone(), self.rng.fork());
            spawn_local(async move {
                // The vault tells every caller why it has stopped, and keeps the reason.
                let _ = ask(&vault, &registers, rng, requests).await;
            })
        };
        (0..callers).map(caller).collect()
    }

    /// Lets the vault check the store: a checkpoint is uploaded, or [`end`](Self::end) says why not.
    pub async fn check_store(&self) {
        if let Some(vault) = self.vault() {
            let _ = vault.checkpoint().await;
        }
    }

    /// Reads all blocks and authenticates everything.
    pub async fn check_everything(&self) -> Result<(), VaultError> {
        let Some(vault) = self.vault() else { return Ok(()) };
        for block in 0..vault.capacity() {
            read(&vault, &self.registers, block).await?;
        }
        let report = vault.check(Box::new(|_, _| {})).await?;
        assert!(report.faults.is_empty(), "{:?}", report.faults);
        Ok(())
    }

    /// Asks the vault, which has ended, for everything that it would acknowledge.
    pub async fn acknowledges_nothing(&self) {
        let Some((vault, _)) = &self.driven else { return };
        assert!(vault.failure().is_some(), "it has ended");
        let written = vault.write(BlockId(0), vec![0; vault.block_bytes()]).await;
        assert!(written.is_err() && vault.read(BlockId(0)).await.is_err(), "it goes on answering");
        assert!(vault.checkpoint().await.is_err(), "it goes on shipping");
    }

    /// Closes the vault, if it is open.
    pub async fn close(&mut self) -> Result<(), VaultError> {
        let Some((vault, driver)) = self.driven.take() else { return Ok(()) };
        let closed = vault.close().await.map(drop);
        driver.await.expect("a driver does not panic");
        self.disk.unplug();
        closed
    }
}

async fn ask(
    vault: &Vault,
    registers: &SharedRegisters,
    mut rng: TestRng,
    requests: u64,
) -> Result<(), VaultError> {
    for _ in 0..requests {
        let block = rng.below(vault.capacity());
        match rng.below(20) {
            0 => drop(vault.checkpoint().await?),
            1..=10 => write(vault, registers, &[block]).await?,
            _ => read(vault, registers, block).await?,
        }
    }
    Ok(())
}

async fn write(vault: &Vault, registers: &SharedRegisters, blocks: &[u64]) -> Result<(), VaultError> {
    let begun: Vec<_> = blocks.iter().map(|block| registers.borrow_mut().begin_write(*block)).collect();
    let calls = blocks.iter().zip(&begun);
    let calls = calls.map(|(block, (_, payload))| Call::Write(BlockId(*block), payload.clone().into()));
    let has_ended = vault.failure().is_some();
    vault.access(calls.collect()).await?;
    assert!(!has_ended, "a gateway that has learned that it was displaced has acknowledged a write");
    for (block, (write, _)) in blocks.iter().zip(begun) {
        registers.borrow_mut().acknowledge(*block, write);
    }
    Ok(())
}

async fn read(vault: &Vault, registers: &SharedRegisters, block: u64) -> Result<(), VaultError> {
    let from = registers.borrow_mut().tick();
    let bytes = vault.read(BlockId(block)).await?;
    registers.borrow_mut().read(block, from, &bytes);
    Ok(())
}
