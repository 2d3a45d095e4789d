//! Helpers that the vault's tests share.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses its share")]

pub mod disk_file;
pub mod effect_log;
pub mod forward;
pub mod fragile_disk;
pub mod gated_disk;
pub mod intercepted;
pub mod network;
pub mod recorder;
pub mod rng;
pub mod shape;
pub mod shipped_contents;
pub mod stepped;

use ameles_core::schemes::path::PathParameters;
use ameles_core::schemes::ring::{RingBucket, RingParameters};
use ameles_core::schemes::trivial::TrivialParameters;
use ameles_core::types::Level;
use ameles_seal::master_key::MasterKey;
use ameles_seal::parallel::SealThreads;
use ameles_store::VersionedMemory;
use ameles_vault::AnyStore;
use ameles_vault::{
    Entropy, Host, Receipt, Restore, RowChange, SHIP_AFTER, SchemeParameters, Setup, Standby, TreeTopPlace,
    TrustedDisk, Vault, VaultError, VaultHeader, VaultParameters, VaultStore, draw_header, restore,
};
use fragile_disk::FragileDisk;
use futures::future::{Either, LocalBoxFuture, select};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use redb::backends::InMemoryBackend;
use std::pin::pin;
use tokio::time::Instant;

/// A small vault that uses every mechanism with few bytes.
pub fn parameters(capacity: u64, block_bytes: u32, batch: u32, checkpoint_every: u64) -> VaultParameters {
    over_ring(RingParameters::for_capacity(capacity, block_bytes, capacity / 8, batch), checkpoint_every)
}

/// A vault over this Ring ORAM with few bytes of rows, which uploads every other checkpoint.
pub fn over_ring(ring: RingParameters, checkpoint_every: u64) -> VaultParameters {
    assert_eq!(ring.validate(), Ok(()));
    let scheme = SchemeParameters::Ring(ring);
    VaultParameters {
        checkpoint_every,
        ship_every: 2,
        rows_bytes: 4096,
        ..VaultParameters::with_defaults(scheme)
    }
}

/// The small vault with 64 blocks, a tree of four leaves and an eviction every fourth access, so that every kind of
/// work occurs. The planner would choose other parameters.
pub fn frequent_evictions() -> VaultParameters {
    let planned = parameters(64, 32, 4, 40);
    let SchemeParameters::Ring(ring) = planned.scheme else { unreachable!("it is planned for Ring ORAM") };
    let ring = RingParameters {
        leaf_level: Level(2),
        top: Level(1),
        eviction_rate: 4,
        reads: 11,
        inner: RingBucket { blocks: 9, slots: 12 },
        leaf: RingBucket { blocks: 28, slots: 29 },
        stash_bound: 64,
        ..ring
    };
    VaultParameters { scheme: SchemeParameters::Ring(ring), ..planned }
}

/// The vault with stash and tree top on the trusted disk.
pub fn with_top_on_disk(parameters: VaultParameters) -> VaultParameters {
    VaultParameters { tree_top: TreeTopPlace::Disk, ..parameters }
}

/// An empty trusted disk in memory.
pub fn memory_disk() -> TrustedDisk {
    let [database, slots, journal] = [(); 3].map(|()| InMemoryBackend::new());
    TrustedDisk::with_backends(database, slots, journal).expect("memory does not fail")
}

/// A new vault in memory: its header, its store and its trusted disk.
pub async fn new_vault(parameters: VaultParameters) -> (VaultHeader, VersionedMemory, TrustedDisk) {
    let (header, disk) = (header(parameters, 1), memory_disk());
    let store = VersionedMemory::new(header.parameters.layout());
    Vault::create(&mut setup(&disk, store.clone(), 2), &header).await.expect("memory takes a vault");
    (header, store, disk)
}

/// Commits rows: in one step where possible, so that no other thread decides the order of events. With its journal in the
/// store, the vault has to run meanwhile.
pub async fn commit_at_once(vault: &Vault, changes: Vec<RowChange>) -> Result<(), VaultError> {
    let committing = vault.commit_rows(changes);
    match vault.header().parameters.journal.is_in_store() {
        true => committing.await,
        false => futures::executor::block_on(committing),
    }
}

/// The faults that a check of the vault finds.
pub async fn faults_of(vault: &Vault) -> Vec<String> {
    vault.check(Box::new(|_, _| {})).await.expect("the vault is checked").faults
}

/// Works with an open vault, and kills it when the work is done.
pub async fn work_and_kill<T>(running: impl Future<Output = ()>, work: impl Future<Output = T>) -> T {
    match select(pin!(work), pin!(running)).await {
        Either::Left((done, _)) => done,
        // The vault has stopped; its callers get errors.
        Either::Right(((), working)) => working.await,
    }
}

/// The options of a restore that may displace a gateway, with a local copy and a stash in memory.
pub fn restore_options(header: &VaultHeader, expect: Option<Receipt>) -> Restore<VersionedMemory> {
    Restore {
        copy: VersionedMemory::new(header.parameters.layout()),
        scratch: memory_disk(),
        expect,
        takeover: true,
        redraw: false,
        announce: Box::new(|_| {}),
        progress: Box::new(|_, _, _| {}),
    }
}

/// Opens a vault on another machine, from its store alone: as a standby that takes over, or after a restore.
pub async fn open_elsewhere(
    header: &VaultHeader,
    store: VersionedMemory,
    expect: Option<Receipt>,
    (as_standby, seed): (bool, u64),
) -> Result<(Vault, LocalBoxFuture<'static, ()>), VaultError> {
    let disk = FragileDisk::default().mount()?;
    if as_standby {
        let standby = Standby { expect, report: Box::new(|_| {}) };
        let (vault, running) = Vault::start_standby(setup(&disk, store, seed), standby).await?;
        return Ok((vault, Box::pin(running)));
    }
    restore(setup(&disk, store.clone(), seed), restore_options(header, expect)).await?;
    let (vault, running) = Vault::start(setup(&disk, store, seed + 1)).await?;
    Ok((vault, Box::pin(running)))
}

/// A key for tests.
pub fn master() -> MasterKey {
    MasterKey::take(&mut [7; 32])
}

/// A header drawn from a seed.
pub fn header(parameters: VaultParameters, seed: u64) -> VaultHeader {
    draw_header(&mut Entropy::of(ChaCha20Rng::seed_from_u64(seed)), parameters, None)
}

/// The machine of all tests that need only one: its clock is the clock of the runtime, and every disk belongs to it.
pub fn host() -> Host {
    host_named("the only machine")
}

/// A machine with this name, for tests with several.
pub fn host_named(name: &str) -> Host {
    let origin = Instant::now();
    Host::of(move || origin.elapsed(), Some(name.into()))
}

/// A setup over a disk and a store.
pub fn setup(disk: &TrustedDisk, store: impl VaultStore, seed: u64) -> Setup<AnyStore> {
    Setup {
        disk: disk.clone(),
        store: AnyStore::new(store),
        master: master(),
        entropy: Entropy::of(ChaCha20Rng::seed_from_u64(seed)),
        workers: SealThreads::single(),
        pace: None,
        ship_after: SHIP_AFTER,
        host: host(),
    }
}

/// Works with an opened vault, closes it, and unplugs its disk.
pub async fn work_and_close<T>(
    (vault, running): (Vault, impl Future<Output = ()>),
    disk: &FragileDisk,
    work: impl AsyncFnOnce(&Vault) -> T,
) -> Result<(T, Receipt), VaultError> {
    let working = async {
        let done = work(&vault).await;
        vault.close().await.map(|receipt| (done, receipt))
    };
    let (done, ()) = futures::join!(working, running);
    drop(vault);
    disk.unplug();
    done
}

/// The small vault under every scheme.
pub fn every_scheme() -> Vec<VaultParameters> {
    every_scheme_of(64, 4, 40)
}

/// A small vault with this many blocks, under every scheme.
pub fn every_scheme_of(capacity: u64, batch: u32, checkpoint_every: u64) -> Vec<VaultParameters> {
    let block_bytes = 32;
    let path = PathParameters::for_capacity(capacity, block_bytes, 32, batch).expect("planned");
    let trivial = TrivialParameters { capacity, block_bytes, chunk_blocks: 16, max_batch: batch };
    let ring = parameters(capacity, block_bytes, batch, checkpoint_every);
    let others = [SchemeParameters::Path(path), SchemeParameters::Trivial(trivial)];
    let with = |scheme| VaultParameters { scheme, ..ring.clone() };
    others.into_iter().map(with).chain([ring.clone()]).collect()
}
