//! A checkpoint in the store sends the payloads that came since the last one, in places whose number is public. A
//! restore finds every payload.

use crate::promises::fixture::VaultFixture;
use crate::support::rng::TestRng;
use crate::support::{header, memory_disk, over_ring, restore_options, setup};
use ameles_core::schemes::ring::RingParameters;
use ameles_core::types::BlockId;
use ameles_store::Blobs;
use ameles_vault::{Call, Vault, VaultParameters, restore};
use std::collections::BTreeMap;

const CAPACITY: u64 = 2048;
const BLOCK: usize = 32;
const BATCH: u64 = 8;

/// A vault whose stash has room for a quarter of the blocks, many times what comes between two checkpoints.
fn parameters() -> VaultParameters {
    over_ring(RingParameters::for_capacity(CAPACITY, BLOCK as u32, CAPACITY / 4, BATCH as u32), 32)
}

/// The last number written to each block.
type Model = BTreeMap<u64, u64>;

fn text(number: u64) -> Vec<u8> {
    let mut text = number.to_le_bytes().to_vec();
    text.resize(BLOCK, number as u8);
    text
}

/// Makes some batches of reads and writes, of a few blocks or of all.
async fn work(vault: &Vault, rng: &mut TestRng, model: &mut Model) {
    let among = [CAPACITY, 64, 5][rng.below(3) as usize];
    for _ in 0..rng.within(0..=24) {
        let mut calls = Vec::new();
        for _ in 0..BATCH {
            let block = rng.below(among);
            if rng.percent(60) {
                let number = model.len() as u64 + 1 + rng.below(1 << 40);
                model.insert(block, number);
                calls.push(Call::Write(BlockId(block), text(number).into()));
            } else {
                calls.push(Call::Read(BlockId(block)));
            }
        }
        vault.access(calls).await.unwrap();
    }
}

/// Restores a copy of the store onto a new machine, and compares every block.
async fn assert_restorable(fixture: &VaultFixture, model: &Model, seed: u64) {
    let copy = fixture.copy(&fixture.store.snapshot());
    let disk = memory_disk();
    let options = restore_options(&copy.header, None);
    restore(setup(&disk, copy.store.clone(), seed), options).await.unwrap();
    let (vault, running) = Vault::start(setup(&disk, copy.store.clone(), seed + 1)).await.unwrap();
    let reading = async {
        let all = (0..CAPACITY).map(|block| Call::Read(BlockId(block))).collect();
        let read = vault.access(all).await.unwrap();
        for (block, read) in (0..).zip(read) {
            let expected = model.get(&block).map_or(vec![0; BLOCK], |number| text(*number));
            assert_eq!(read.unwrap(), expected, "block {block}");
        }
        let report = vault.check(Box::new(|_, _| {})).await.unwrap();
        assert_eq!(report.faults, [""; 0]);
        vault.close().await.unwrap();
    };
    futures::join!(reading, running);
}

/// The objects of checkpoints in the store, with their sizes.
async fn visible(fixture: &VaultFixture) -> Vec<(String, u64)> {
    let mut objects = Vec::new();
    for prefix in ["checkpoint/", "piece/"] {
        let listed = fixture.store.list(prefix).await.unwrap();
        objects.extend(listed.into_iter().map(|blob| (blob.name, blob.size.0)));
    }
    objects
}

#[tokio::test(start_paused = true)]
async fn a_restore_finds_every_payload_however_the_vault_was_stopped_before() {
    let fixture = VaultFixture::with(header(parameters(), 1)).await;
    let (mut rng, mut model) = (TestRng::of(5), Model::new());
    let max = parameters().stored_bytes() - parameters().layout().bytes().0;
    for round in 0..60 {
        if rng.percent(30) {
            fixture.open_and_crash(async |vault| work(vault, &mut rng, &mut model).await).await.unwrap();
            continue;
        }
        fixture.open(async |vault| work(vault, &mut rng, &mut model).await).await.unwrap();
        let bytes: u64 = visible(&fixture).await.iter().map(|(_, bytes)| bytes).sum();
        assert!(bytes < max + 256 * 1024, "{bytes} bytes of checkpoints, {max} were stated");
        if round % 3 == 0 {
            assert_restorable(&fixture, &model, 1000 + 2 * round).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_checkpoint_sends_follows_from_the_number_of_accesses_alone() {
    let mut seen = Vec::new();
    for kind in 0..4 {
        let fixture = VaultFixture::with(header(parameters(), 1)).await;
        let (mut states, mut written) = (Vec::new(), 0);
        for batches in [1, 40, 0, 7, 200, 3, 3, 90, 12, 260, 0, 5] {
            let using = fixture.open(async |vault| {
                for _ in 0..batches {
                    let call = |nth: u64| match kind {
                        0 => Call::Write(BlockId((written + nth) % CAPACITY), text(nth).into()),
                        1 => Call::Write(BlockId(7), text(nth).into()),
                        2 => Call::Read(BlockId((written + nth) % 3)),
                        _ => Call::Dummy,
                    };
                    vault.access((0..BATCH).map(call).collect()).await.unwrap();
                    written += BATCH;
                }
            });
            using.await.unwrap();
            states.push(visible(&fixture).await);
        }
        seen.push(states);
    }
    for (kind, states) in seen.iter().enumerate() {
        assert_eq!(states, &seen[0], "requests of kind {kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_checkpoint_sends_no_more_than_a_later_one() {
    let fixture = VaultFixture::with(header(parameters(), 1)).await;
    fixture.open(async |vault| vault.write(BlockId(3), text(1)).await.unwrap()).await.unwrap();
    let bytes: u64 = visible(&fixture).await.iter().map(|(_, bytes)| bytes).sum();
    let (expected, whole) = (parameters().shipped_size(1).bytes, parameters().shipped_bytes());
    assert!((expected..expected + 4096).contains(&bytes), "{bytes} bytes, {expected} were said");
    let stash = parameters().scheme.stash_bound() * BLOCK as u64;
    assert!(whole - expected > stash / 2, "{expected} bytes of {whole}");
}

#[tokio::test(start_paused = true)]
async fn a_stop_leaves_everything_in_the_store_unless_it_is_told_not_to() {
    let fixture = VaultFixture::with(header(parameters(), 1)).await;
    let mut model = Model::new();
    for (number, ships) in [(1, true), (2, false), (3, false), (4, true)] {
        let disk = fixture.disk.mount().unwrap();
        let (vault, running) = Vault::start(fixture.setup(&disk)).await.unwrap();
        let working = async {
            // A checkpoint of the opening, which is not the last one.
            vault.checkpoint().await.unwrap();
            vault.write(BlockId(number), text(number)).await.unwrap();
            let closed = if ships { vault.close().await } else { vault.close_without_shipping().await };
            closed.unwrap()
        };
        let (receipt, ()) = futures::join!(working, running);
        let figures = vault.status().checkpoints;
        assert_eq!(figures.unshipped, u64::from(!ships));
        assert_eq!(figures.newest == receipt.checkpoint, ships);
        // A stop that ships nothing abandons an upload.
        assert!(!ships || figures.upload.is_none(), "{figures:?}");
        drop((vault, disk));
        fixture.disk.unplug();
        if ships {
            model.extend((1..=number).map(|number| (number, number)));
        }
        let mut shipped = model.clone();
        // The next opening has shipped what the stop before it had left.
        shipped.extend((1..number).map(|number| (number, number)));
        assert_restorable(&fixture, &shipped, 100 * number).await;
    }
}
