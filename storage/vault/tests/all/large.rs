//! A vault of 2^26 blocks without payloads. Its tables are as large as those of a vault of terabytes, but its store and
//! its stash are small.

use crate::support::rng::TestRng;
use crate::support::shipped_contents::{self, ShippedContents};
use crate::support::{header, setup};
use ameles_core::schemes::ring::RingParameters;
use ameles_core::types::{BlockId, Version};
use ameles_seal::master_key::MasterKey;
use ameles_store::VersionedMemory;
use ameles_vault::{
    Call, NewKey, SchemeParameters, Setup, TrustedDisk, Vault, VaultError, VaultHeader, VaultParameters,
    change_key,
};
use std::path::Path;

const BATCH: u32 = 16;
/// Four checkpoints on the trusted disk, and some journal.
const ACCESSES: u64 = 4 * 256 + 128;

fn vault_header(capacity: u64) -> VaultHeader {
    let ring = RingParameters::for_capacity(capacity, 0, capacity / 64, BATCH);
    let around = VaultParameters::with_defaults(SchemeParameters::Ring(ring));
    header(VaultParameters { rows_bytes: 4096, ..around }, 1)
}

/// The trusted disk, once the threads of a killed vault have released it.
async fn mount(file: &Path) -> TrustedDisk {
    loop {
        match TrustedDisk::open(file) {
            Err(VaultError::Locked) => tokio::task::yield_now().await,
            opened => return opened.unwrap(),
        }
    }
}

/// Opens the vault, reads and writes at positions drawn from `seed`, and is killed. Returns checkpoint and journal
/// bytes.
async fn use_and_kill(file: &Path, header: &VaultHeader, store: &VersionedMemory, seed: u64) -> u64 {
    let disk = mount(file).await;
    let (vault, running) = Vault::start(setup(&disk, store.clone(), seed)).await.unwrap();
    let before = vault.status();
    let using = async {
        let mut rng = TestRng::of(seed);
        for _ in 0..ACCESSES / u64::from(BATCH) {
            let calls = (0..BATCH).map(|nth| {
                let block = BlockId(rng.below(vault.capacity()));
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

/// The local bytes of a vault that was killed once.
async fn local_bytes(capacity: u64) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("vault.redb");
    let header = vault_header(capacity);
    let store = VersionedMemory::new(header.parameters.layout());
    let disk = TrustedDisk::open(&file).unwrap();
    Vault::create(&mut setup(&disk, store.clone(), 1), &header).await.unwrap();
    drop(disk);
    use_and_kill(&file, &header, &store, 2).await;
    use_and_kill(&file, &header, &store, 3).await
}

/// The check is deterministic: the seed fixes the figures.
#[tokio::test(start_paused = true)]
async fn a_vault_of_2_to_the_26_blocks_lives_dies_and_lives_on_at_the_local_cost_of_a_small_one() {
    let (small, large) = (local_bytes(1 << 14).await, local_bytes(1 << 26).await);
    assert!(large < small + small / 5, "{small} bytes at 2^14 blocks, {large} at 2^26");
}

/// The blocks that a state has mapped, and those that it has in its stash or in an unread slot: both in ascending
/// order.
fn mapped_and_placed(header: &VaultHeader, shipped: &ShippedContents) -> (Vec<u32>, Vec<u32>) {
    let capacity = header.parameters.scheme.capacity();
    let (positions, rest) = shipped.words.split_at(capacity as usize);
    let mapped = (0..).zip(positions).filter(|(_, word)| **word != 0).map(|(block, _)| block).collect();
    let slots = rest[..header.parameters.layout().slots() as usize].iter();
    // A word is block + 1; the top bit says that the slot was read.
    let held = slots.filter(|word| **word != 0 && **word >> 31 == 0).map(|word| word - 1);
    let mut placed: Vec<u32> = held.chain(shipped.stash.iter().copied()).collect();
    placed.sort_unstable();
    (mapped, placed)
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_of_several_pieces_is_of_one_moment_though_accesses_go_on_while_it_is_shipped() {
    let header = vault_header(1 << 22);
    let store = VersionedMemory::new(header.parameters.layout());
    let folder = tempfile::tempdir().unwrap();
    let disk = TrustedDisk::open(&folder.path().join("vault.redb")).unwrap();
    Vault::create(&mut setup(&disk, store.clone(), 1), &header).await.unwrap();
    let mut rng = TestRng::of(3);
    let mut some =
        || (0..BATCH).map(|_| Call::Write(BlockId(rng.below(1 << 22)), Vec::new().into())).collect();
    let (vault, running) = Vault::start(setup(&disk, store.clone(), 2)).await.unwrap();
    let using = async {
        for _ in 0..64 {
            vault.access(some()).await.unwrap();
        }
        vault.close().await.unwrap();
    };
    futures::join!(using, running);
    drop(vault);
    // After a change of the key a checkpoint sends all words.
    let key = || MasterKey::take(&mut [9; 32]);
    let new = NewKey { master: key(), passphrase: None };
    change_key(setup(&disk, store.clone(), 4), new).await.unwrap();
    let opening = Setup { master: key(), ..setup(&disk, store.clone(), 5) };
    let (vault, running) = Vault::start(opening).await.unwrap();
    let using = async {
        let shipping = vault.checkpoint();
        futures::pin_mut!(shipping);
        loop {
            // At most as many as fit before the next one would be uploaded.
            match futures::future::select(shipping, Box::pin(vault.access(some()))).await {
                futures::future::Either::Left((receipt, access)) => {
                    access.await.unwrap();
                    break receipt.unwrap();
                }
                futures::future::Either::Right((access, still)) => {
                    access.unwrap();
                    shipping = still;
                }
            }
        }
    };
    let receipt = tokio::select! {
        biased;
        () = running => panic!("{:?}", vault.failure()),
        receipt = using => receipt,
    };
    let name = shipped_contents::name(&receipt);
    let shipped = ShippedContents::open_with(&header, &name, &store, &key()).await;
    assert!(shipped.pieces.len() > 3, "{} pieces", shipped.pieces.len());
    assert!(vault.status().accesses > shipped.head.accesses + 64, "accesses went on meanwhile");
    let (versions, needed) = (&shipped.head.versions, &shipped.needed);
    let of_then = Version { epoch: versions.newest_epoch(), counter: versions.counter() };
    assert!(needed.iter().all(|at| at.version <= of_then), "a bucket was written later");
    let (mapped, placed) = mapped_and_placed(&header, &shipped);
    assert!(mapped.len() > 900, "{} blocks", mapped.len());
    assert_eq!(mapped, placed, "every mapped block is in one place");
}
