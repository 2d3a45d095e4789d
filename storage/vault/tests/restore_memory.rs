//! The memory of a change of the key and of a restore is bounded, however large the stash is. Every byte that is
//! allocated is counted. Their store and their disks are files, which are not.

#![allow(clippy::print_stdout, reason = "figures are shown with --nocapture")]

use ameles_core::schemes::ring::RingParameters;
use ameles_core::types::BlockId;
use ameles_seal::master_key::MasterKey;
use ameles_seal::parallel::SealThreads;
use ameles_store::{Objects, OpenOptions};
use ameles_vault::{
    Call, Entropy, Host, NewKey, Restore, SHIP_AFTER, SchemeParameters, Setup, TrustedDisk, Vault,
    VaultHeader, VaultParameters, change_key, draw_header, restore,
};
use peak_alloc::PeakAlloc;
use std::path::Path;

#[global_allocator]
static COUNTED: PeakAlloc = PeakAlloc;

const BLOCK: u32 = 64 << 10;
const CAPACITY: u64 = 1024;
const BATCH: u32 = 64;
/// The room for the tree top: most of the blocks.
const STASH: u64 = 896;
/// The buckets in flight twice, in the clear and sealed; the pieces of a checkpoint take less. The stash is not in it.
const MAX: usize = 90 << 20;
/// Some pieces of the stash while the key is changed, and the database's pages of everything else.
const MAX_OF_A_CHANGE: usize = 14 << 20;
/// The bytes of a stash that would show.
const LARGE: usize = 16 << 20;

async fn folder(path: &Path, header: &VaultHeader) -> Objects {
    let options = OpenOptions { create: true, ..OpenOptions::default() };
    let opened = Objects::open(&path.display().to_string(), &options).await.expect("a folder");
    opened.with_layout(header.parameters.layout())
}

fn old_key() -> MasterKey {
    MasterKey::take(&mut [7; 32])
}

fn new_key() -> MasterKey {
    MasterKey::take(&mut [9; 32])
}

fn setup(disk: TrustedDisk, store: &Objects, file: &Path) -> Setup<Objects> {
    Setup {
        disk,
        store: store.clone(),
        master: old_key(),
        entropy: Entropy::system(),
        workers: SealThreads::single(),
        pace: None,
        ship_after: SHIP_AFTER,
        host: Host::system(file),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_change_of_the_key_and_a_restore_hold_a_piece_of_the_stash_and_a_few_buckets_at_a_time() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |name: &str| home.path().join(name);
    let ring = RingParameters::for_capacity(CAPACITY, BLOCK, STASH, BATCH);
    let around = VaultParameters::with_defaults(SchemeParameters::Ring(ring));
    let header = draw_header(&mut Entropy::system(), VaultParameters { rows_bytes: 4096, ..around }, None);
    let (store, disk) = (folder(&at("store"), &header).await, |name| TrustedDisk::open(&at(name)).unwrap());
    let old = disk("old.redb");
    let mut making = setup(old.clone(), &store, &at("old.redb"));
    Vault::create(&mut making, &header).await.unwrap();
    let vault = Vault::open(making).await.unwrap();
    for first in (0..CAPACITY).step_by(BATCH as usize) {
        let writes = (first..first + u64::from(BATCH))
            .map(|block| Call::Write(BlockId(block), vec![block as u8; BLOCK as usize].into()));
        vault.access(writes.collect()).await.unwrap();
    }
    let stash = vault.status().stash.blocks as usize * BLOCK as usize;
    vault.close().await.unwrap();
    drop(vault);

    let changing = setup(old, &store, &at("old.redb"));
    let before = COUNTED.current_usage();
    COUNTED.reset_peak_usage();
    change_key(changing, NewKey { master: new_key(), passphrase: None }).await.unwrap();
    let peak = COUNTED.peak_usage() - before;
    println!("{peak} bytes at the peak of a change of the key, for a stash of {stash}");
    assert!(stash > LARGE && peak < MAX_OF_A_CHANGE, "{peak} bytes at the peak, for a stash of {stash}");

    let copy = folder(&at("copy"), &header).await;
    let options = Restore {
        copy,
        scratch: disk("scratch.redb"),
        expect: None,
        takeover: true,
        redraw: false,
        announce: Box::new(|_| {}),
        progress: Box::new(|_, _, _| {}),
    };
    let new = Setup { master: new_key(), ..setup(disk("new.redb"), &store, &at("new.redb")) };
    let before = COUNTED.current_usage();
    COUNTED.reset_peak_usage();
    restore(new, options).await.unwrap();
    let peak = COUNTED.peak_usage() - before;
    println!("{peak} bytes at the peak of a restore, for a stash of {stash}");
    assert!(stash > LARGE && peak < MAX, "{peak} bytes at the peak, for a stash of {stash}");
}
