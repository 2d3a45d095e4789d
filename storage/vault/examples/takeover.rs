//! Measures how long clients wait after the loss of a gateway under load, behind links of 23.6 ms and 510 Mbit/s each way:
//! with a standby, and with a restore that is started at once.
//!
//!     cargo run --release -p ameles-vault --example takeover -- MIB ROUNDS CLIENTS SECONDS
//!
//! Every block is written before. CLIENTS clients read and write for SECONDS in each of the ROUNDS, and then the gateway
//! is killed. The time ends with the first answer. The restore gets a copy of the store as it was at the kill. The store
//! is in memory, and the trusted disks are folders.

#![allow(clippy::print_stdout, reason = "this is what the example is for")]
#![allow(clippy::disallowed_types, reason = "it measures time")]

mod support;

use ameles_core::schemes::ring::RingParameters;
use ameles_core::types::BlockId;
use ameles_store::{Link, VersionedMemory};
use ameles_vault::{
    Call, Entropy, JournalPlace, Restore, SchemeParameters, Standby, StandbyStage, TrustedDisk, Vault,
    VaultHeader, VaultParameters, draw_header, restore,
};
use futures::future::{join_all, select};
use std::error::Error;
use std::pin::pin;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use support::{BLOCK, SPEED, payload, setup};
use tempfile::TempDir;
use tokio::sync::oneshot;

const BATCH: u32 = 16;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Result<Vec<u64>, _> = std::env::args().skip(1).map(|number| number.parse()).collect();
    let [mib, rounds, clients, seconds] = numbers?[..] else {
        return Err("give MIB ROUNDS CLIENTS SECONDS".into());
    };
    let capacity = (mib << 20) / u64::from(BLOCK);
    let (header, store, mut folder) = create(capacity).await?;
    println!("round  accesses  accesses/s  standby, s  restore, s");
    for round in 0..rounds {
        let gateway = Gateway::start(&folder, &store)?;
        let (standby_folder, (report, stages)) = (tempfile::tempdir()?, mpsc::channel());
        let report = Box::new(move |stage: &StandbyStage| drop(report.send(stage.clone())));
        let link = Link::new(store.clone(), SPEED).precise();
        let standing_by =
            Vault::stand_by(setup(standby_folder.path(), link)?, Standby { expect: None, report });
        let standing_by = tokio::spawn(standing_by);
        let is_following = |stages: &mpsc::Receiver<StandbyStage>| {
            stages.try_iter().any(|stage| matches!(stage, StandbyStage::Following(_)))
        };
        while !is_following(&stages) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let before = gateway.vault.status().accesses;
        let began = Instant::now();
        load(&gateway.vault, clients, Duration::from_secs(seconds)).await;
        let accesses = gateway.vault.status().accesses - before;
        let rate = accesses as f64 / began.elapsed().as_secs_f64();
        let killed = gateway.kill();
        let copy = VersionedMemory::new(header.parameters.layout());
        copy.restore(&store.snapshot());
        let standby = standing_by.await??;
        standby.read(BlockId(0)).await?;
        let by_standby = killed.elapsed().as_secs_f64();
        standby.close().await?;
        let by_restore = time_of_restore(copy, &header).await?;
        println!("{round:<5}  {accesses:>8}  {rate:>10.1}  {by_standby:>10.1}  {by_restore:>10.1}");
        drop(standby);
        folder = standby_folder;
    }
    Ok(())
}

/// Creates a vault in which every block is written.
async fn create(capacity: u64) -> Result<(VaultHeader, VersionedMemory, TempDir), Box<dyn Error>> {
    let ring = RingParameters::for_capacity(capacity, BLOCK, capacity / 16, BATCH);
    let parameters = VaultParameters::with_defaults(SchemeParameters::Ring(ring));
    let header = draw_header(&mut Entropy::system(), parameters.with_journal(JournalPlace::Standby), None);
    let store = VersionedMemory::new(header.parameters.layout());
    let folder = tempfile::tempdir()?;
    Vault::create(&mut setup(folder.path(), store.clone())?, &header).await?;
    let vault = Vault::open(setup(folder.path(), store.clone())?).await?;
    for first in (0..capacity).step_by(BATCH as usize) {
        let write = |block| Call::Write(BlockId(block), payload(block));
        vault.access((first..capacity.min(first + u64::from(BATCH))).map(write).collect()).await?;
    }
    vault.close().await?;
    Ok((header, store, folder))
}

/// A gateway on a thread of its own, which can be killed.
struct Gateway {
    vault: Vault,
    stop: oneshot::Sender<()>,
    thread: std::thread::JoinHandle<()>,
}

impl Gateway {
    fn start(folder: &TempDir, store: &VersionedMemory) -> Result<Self, Box<dyn Error>> {
        let setup = setup(folder.path(), Link::new(store.clone(), SPEED).precise())?;
        let ((opened, is_open), (stop, stopped)) = (mpsc::channel(), oneshot::channel());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        // The future of a vault stays on its thread.
        let serve = async move || match Vault::start(setup).await {
            Ok((vault, running)) => {
                drop(opened.send(Ok(vault)));
                select(pin!(running), stopped).await;
            }
            Err(error) => drop(opened.send(Err(error))),
        };
        let thread = std::thread::spawn(move || runtime.block_on(serve()));
        Ok(Gateway { vault: is_open.recv()??, stop, thread })
    }

    /// Kills the gateway. Returns the time.
    fn kill(self) -> Instant {
        drop(self.stop);
        let killed = Instant::now();
        self.thread.join().expect("it does not panic");
        killed
    }
}

/// Reads and writes with these clients for this time.
async fn load(vault: &Vault, clients: u64, time: Duration) {
    let (began, capacity) = (Instant::now(), vault.capacity());
    let client = async |client: u64| {
        let mut nth = client;
        while began.elapsed() < time {
            let block = BlockId(nth.wrapping_mul(0x9e37_79b9_7f4a_7c15) % capacity);
            let done = match nth.is_multiple_of(2) {
                true => vault.read(block).await.map(drop),
                false => vault.write(block, payload(nth)).await,
            };
            done.expect("the gateway serves");
            nth += clients + 1;
        }
    };
    join_all((0..clients).map(client)).await;
}

/// Restores the vault from its store, opens it, and reads a block. Returns the seconds.
async fn time_of_restore(store: VersionedMemory, header: &VaultHeader) -> Result<f64, Box<dyn Error>> {
    let (folder, began) = (tempfile::tempdir()?, Instant::now());
    let over_link = |store: &VersionedMemory| setup(folder.path(), Link::new(store.clone(), SPEED).precise());
    let options = Restore {
        copy: VersionedMemory::new(header.parameters.layout()),
        scratch: TrustedDisk::open(&folder.path().join("scratch.redb"))?,
        expect: None,
        takeover: true,
        redraw: false,
        announce: Box::new(|_| {}),
        progress: Box::new(|_, _, _| {}),
    };
    restore(over_link(&store)?, options).await?;
    let vault = Vault::open(over_link(&store)?).await?;
    vault.read(BlockId(0)).await?;
    let seconds = began.elapsed().as_secs_f64();
    vault.close().await?;
    Ok(seconds)
}
