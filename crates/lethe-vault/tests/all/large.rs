//! A vault of 2^26 blocks without payloads: its tables are as large as those of a vault of terabytes, its store and its
//! stash take no room.

use crate::support::chance::Chance;
use crate::support::{header, setup};
use lethe_core::schemes::ring::RingParameters;
use lethe_core::words::BlockId;
use lethe_store::VersionedMemory;
use lethe_vault::{Call, SchemeParameters, TrustedDisk, Vault, VaultError, VaultHeader, VaultParameters};
use std::path::Path;

const BATCH: u32 = 16;
/// Four checkpoints on the trusted disk, and a journal beside them.
const ACCESSES: u64 = 4 * 256 + 128;

fn vault_header(capacity: u64) -> VaultHeader {
    let ring = RingParameters::for_capacity(capacity, 0, capacity / 64, BATCH);
    let around = VaultParameters::around(SchemeParameters::Ring(ring));
    header(VaultParameters { rows_bytes: 4096, ..around }, 1)
}

/// The trusted disk, once the threads of a vault that died have let go of it.
async fn mount(file: &Path) -> TrustedDisk {
    loop {
        match TrustedDisk::open(file) {
            Err(VaultError::Locked) => tokio::task::yield_now().await,
            opened => return opened.unwrap(),
        }
    }
}

/// Opens the vault, reads and writes at places drawn from `seed`, and dies. Returns checkpoint and journal bytes.
async fn use_and_die(file: &Path, header: &VaultHeader, store: &VersionedMemory, seed: u64) -> u64 {
    let disk = mount(file).await;
    let (vault, running) = Vault::start(setup(&disk, store.clone(), seed)).await.unwrap();
    let before = vault.status();
    let using = async {
        let mut chance = Chance::of(seed);
        for _ in 0..ACCESSES / u64::from(BATCH) {
            let calls = (0..BATCH).map(|nth| {
                let block = BlockId(chance.below(vault.capacity()));
                if nth % 2 == 0 { Call::Read(block) } else { Call::Write(block, Vec::new().into()) }
            });
            vault.access(calls.collect()).await.unwrap();
        }
    };
    tokio::select! {
        biased;
        () = running => panic!("{:?}", vault.failure()),
        () = using => {}
    }
    let after = vault.status();
    assert_eq!(after.emergencies, 0);
    assert!(after.stash.peak <= header.parameters.scheme.stash_bound(), "{:?}", after.stash);
    assert!(after.trusted_bytes <= header.parameters.trusted_bytes(), "{} bytes", after.trusted_bytes);
    assert_eq!(after.accesses - before.accesses, ACCESSES);
    after.checkpoints.bytes - before.checkpoints.bytes + after.journal_bytes - before.journal_bytes
}

/// Local bytes of a life that was killed once.
async fn local_bytes(capacity: u64) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("vault.redb");
    let header = vault_header(capacity);
    let store = VersionedMemory::new(header.parameters.layout());
    let disk = TrustedDisk::open(&file).unwrap();
    Vault::create(&mut setup(&disk, store.clone(), 1), &header).await.unwrap();
    drop(disk);
    use_and_die(&file, &header, &store, 2).await;
    use_and_die(&file, &header, &store, 3).await
}

/// The check has no chance in it: a seed gives the figures.
#[tokio::test(start_paused = true)]
async fn a_vault_of_2_to_the_26_blocks_lives_dies_and_lives_on_at_the_local_cost_of_a_small_one() {
    let (small, large) = (local_bytes(1 << 14).await, local_bytes(1 << 26).await);
    assert!(large < small + small / 5, "{small} bytes at 2^14 blocks, {large} at 2^26");
}
