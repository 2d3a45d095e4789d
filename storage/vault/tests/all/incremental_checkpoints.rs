//! A checkpoint sends to the store the words, rows and payloads that changed since the last one, and some of the others
//! in turn. The room for them has public sizes. A restore finds all of them.

use crate::promises::fixture::VaultFixture;
use crate::support::rng::TestRng;
use crate::support::shipped_contents::{self, ShippedContents};
use crate::support::{header, memory_disk, over_ring, restore_options, setup};
use ameles_core::schemes::path::PathParameters;
use ameles_core::schemes::ring::RingParameters;
use ameles_core::types::BlockId;
use ameles_store::Blobs;
use ameles_vault::{Call, Receipt, Row, RowChange, SchemeParameters, Vault, VaultParameters, restore};
use std::collections::BTreeMap;

const CAPACITY: u64 = 2048;
const BLOCK: usize = 32;
const BATCH: u64 = 8;

/// A vault whose stash has room for a quarter of the blocks, many times what comes between two checkpoints. So has the
/// table of its rows.
fn parameters() -> VaultParameters {
    let ring = RingParameters::for_capacity(CAPACITY, BLOCK as u32, CAPACITY / 4, BATCH as u32);
    VaultParameters { rows_bytes: 256 << 10, ..over_ring(ring, 32) }
}

/// The last number written to each block, and the rows.
#[derive(Clone, Default)]
struct Model {
    blocks: BTreeMap<u64, u64>,
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Model {
    fn rows(&self) -> Vec<Row> {
        self.rows.iter().map(|(key, value)| Row::new(key.clone(), value.clone())).collect()
    }

    /// Puts or removes a row, sometimes one that is longer than what a checkpoint sends of the table in turn.
    async fn change_row(&mut self, vault: &Vault, rng: &mut TestRng) {
        let key = vec![rng.below(40) as u8];
        let change = if rng.percent(30) {
            self.rows.remove(&key);
            RowChange::remove(key)
        } else {
            let value = vec![rng.below(256) as u8; rng.one_of(&[30, 200, 9000])];
            self.rows.insert(key.clone(), value.clone());
            RowChange::put(key, value)
        };
        vault.commit_rows(vec![change]).await.unwrap();
    }
}

fn text(number: u64) -> Vec<u8> {
    let mut text = number.to_le_bytes().to_vec();
    text.resize(BLOCK, number as u8);
    text
}

/// Makes some batches of reads and writes, of a few blocks or of all.
async fn work(vault: &Vault, rng: &mut TestRng, model: &mut Model) {
    let among = [CAPACITY, 64, 5][rng.below(3) as usize];
    for _ in 0..rng.within(0..=24) {
        if rng.percent(20) {
            model.change_row(vault, rng).await;
        }
        let mut calls = Vec::new();
        for _ in 0..BATCH {
            let block = rng.below(among);
            if rng.percent(60) {
                let number = model.blocks.len() as u64 + 1 + rng.below(1 << 40);
                model.blocks.insert(block, number);
                calls.push(Call::Write(BlockId(block), text(number).into()));
            } else {
                calls.push(Call::Read(BlockId(block)));
            }
        }
        vault.access(calls).await.unwrap();
    }
}

/// Restores a copy of the store onto a new machine, and compares every block and every row.
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
            let expected = model.blocks.get(&block).map_or(vec![0; BLOCK], |number| text(*number));
            assert_eq!(read.unwrap(), expected, "block {block}");
        }
        assert_eq!(vault.load_rows().await.unwrap(), model.rows());
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

/// The bytes of the pieces that the checkpoint of this receipt has sent.
async fn sent_bytes(fixture: &VaultFixture, receipt: Receipt) -> u64 {
    let prefix = format!("piece/{:08x}-{:016x}-", receipt.epoch, receipt.checkpoint);
    fixture.store.list(&prefix).await.unwrap().iter().map(|blob| blob.size.0).sum()
}

#[tokio::test(start_paused = true)]
async fn a_restore_finds_every_payload_and_every_row_however_the_vault_was_stopped_before() {
    let fixture = VaultFixture::with(header(parameters(), 1)).await;
    let (mut rng, mut model) = (TestRng::of(5), Model::default());
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

/// A set may have an old payload of a block whose current one is in a bucket.
#[tokio::test(start_paused = true)]
async fn a_restore_takes_the_newer_of_two_payloads() {
    let fixture = VaultFixture::with(header(parameters(), 1)).await;
    let (mut rng, mut model) = (TestRng::of(9), Model::default());
    for round in 0..40u64 {
        for part in 0..2 {
            let working = async |vault: &Vault| {
                let hot: Vec<Call> = (0..BATCH)
                    .map(|block| {
                        let number = 1 + 2 * round + part;
                        model.blocks.insert(block, number);
                        Call::Write(BlockId(block), text(number).into())
                    })
                    .collect();
                vault.access(hot).await.unwrap();
                for _ in 0..part * 40 {
                    let others = (0..BATCH).map(|_| Call::Read(BlockId(BATCH + rng.below(200))));
                    vault.access(others.collect()).await.unwrap();
                }
            };
            fixture.open(working).await.unwrap();
        }
        if round % 4 == 3 {
            assert_restorable(&fixture, &model, 3000 + 2 * round).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_checkpoint_sends_follows_from_the_number_of_accesses_alone() {
    let mut seen = Vec::new();
    let sizes = |accesses| parameters().shipped_size(accesses).bytes;
    assert!(sizes(24) < parameters().shipped_bytes() / 3, "it sends some of each");
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
                let changes = match kind {
                    0 => Vec::new(),
                    1 => vec![RowChange::put(written.to_string(), "a new row")],
                    2 => vec![RowChange::put("a row", vec![1; 900]), RowChange::remove("another")],
                    _ => (0..40).map(|nth| RowChange::remove(nth.to_string())).collect(),
                };
                vault.commit_rows(changes).await.unwrap();
            });
            let (_, receipt) = using.await.unwrap();
            if batches < 4 {
                // There was no other checkpoint in the store since the last stop.
                let (sent, expected) = (sent_bytes(&fixture, receipt).await, sizes(batches * BATCH));
                assert!(
                    (expected..expected + 1024).contains(&sent),
                    "{batches} batches: {sent} bytes, not {expected}"
                );
                let name = shipped_contents::name(&receipt);
                let head = ShippedContents::open(&fixture.header, &name, &fixture.store).await.head;
                let words = parameters().scheme.capacity() / 2;
                assert!(head.delta > 0 && head.turn.1 < words && !head.rows.is_whole, "{head:?}");
            }
            states.push(visible(&fixture).await);
        }
        seen.push(states);
    }
    for (kind, states) in seen.iter().enumerate() {
        assert_eq!(states, &seen[0], "requests of kind {kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_vault_that_was_killed_still_knows_which_words_the_store_lacks() {
    let parameters = VaultParameters { checkpoint_every: 8, ship_every: 1000, ..parameters() };
    let fixture = VaultFixture::with(header(parameters.clone(), 1)).await;
    let write = async |vault: &Vault, batches: u64| {
        for first in 0..batches {
            let call = |nth: u64| Call::Write(BlockId((50 * first + nth) % CAPACITY), text(nth).into());
            vault.access((0..BATCH).map(call).collect()).await.unwrap();
        }
    };
    let working = fixture.open_and_crash(async |vault| {
        write(vault, 31).await;
        vault.checkpoint().await.unwrap();
        // The next checkpoint on the disk writes the only piece of words.
        write(vault, 2).await;
    });
    working.await.unwrap();
    let (_, receipt) = fixture.open(async |vault| write(vault, 1).await).await.unwrap();
    let (sent, expected) = (sent_bytes(&fixture, receipt).await, parameters.shipped_size(3 * BATCH).bytes);
    assert!((expected..expected + 1024).contains(&sent), "{sent} bytes, not {expected}");
    let name = shipped_contents::name(&receipt);
    let head = ShippedContents::open(&fixture.header, &name, &fixture.store).await.head;
    assert!(head.delta > 0 && !head.rows.is_whole, "{head:?}");
}

/// Four trees: only the leaves of the first are in the store, and several levels of the second. The third is evicted in
/// slices, and the fourth is a Path ORAM. Each has so many blocks that a checkpoint sends only some of its words.
fn several_trees() -> Vec<VaultParameters> {
    let ring = |top| RingParameters::for_capacity(16384, 8, top, BATCH as u32);
    let sliced = ring(256);
    let sliced = RingParameters { slice_slots: sliced.largest_bucket(), ..sliced };
    let path = PathParameters::for_capacity(16384, 8, 512, BATCH as u32).unwrap();
    let rings = [ring(4096), ring(256), sliced].map(|ring| over_ring(ring, 64));
    let path = VaultParameters { scheme: SchemeParameters::Path(path), ..rings[0].clone() };
    rings.into_iter().chain([path]).map(|some| VaultParameters { ship_every: 1000, ..some }).collect()
}

#[tokio::test(start_paused = true)]
async fn changed_words_have_room_whatever_is_accessed() {
    for parameters in several_trees() {
        let fixture = VaultFixture::with(header(parameters.clone(), 1)).await;
        let (mut rng, mut some) = (TestRng::of(9), 0);
        for stop in 0..24 {
            let (batches, among) = (rng.within(0..=40), rng.one_of(&[16384, 512, 8]));
            let working = fixture.open(async |vault| {
                for _ in 0..batches {
                    let calls = (0..BATCH).map(|nth| match rng.percent(50) {
                        true => Call::Write(BlockId(rng.below(among)), vec![nth as u8; 8].into()),
                        false => Call::Read(BlockId(rng.below(among))),
                    });
                    vault.access(calls.collect()).await.unwrap();
                }
            });
            let (_, receipt) = working.await.unwrap();
            let (sent, size) =
                (sent_bytes(&fixture, receipt).await, parameters.shipped_size(batches * BATCH));
            let what = format!("stop {stop} after {batches} batches, {:?}", parameters.scheme);
            assert!((size.bytes..size.bytes + 4096).contains(&sent), "{sent} bytes, not {size:?}: {what}");
            let name = shipped_contents::name(&receipt);
            let head = ShippedContents::open(&fixture.header, &name, &fixture.store).await.head;
            some += u64::from(head.delta > 4);
        }
        assert!(some > 12, "{some} parts with some words");
    }
}

#[tokio::test(start_paused = true)]
async fn if_more_rows_change_than_there_is_room_for_all_rows_are_sent_and_later_only_changes_again() {
    let fixture = VaultFixture::with(header(parameters(), 1)).await;
    let mut model = Model::default();
    let mut before = 0;
    for (rows, is_whole) in [(0..1, false), (0..100, true), (50..51, false), (0..0, false)] {
        let using = fixture.open(async |vault| {
            vault.write(BlockId(3), text(1)).await.unwrap();
            let changes = rows.map(|nth: u64| {
                let (key, value) = (nth.to_string().into_bytes(), vec![nth as u8; 900]);
                model.rows.insert(key.clone(), value.clone());
                RowChange::put(key, value)
            });
            vault.commit_rows(changes.collect()).await.unwrap();
        });
        let (_, receipt) = using.await.unwrap();
        model.blocks.insert(3, 1);
        let sent = sent_bytes(&fixture, receipt).await;
        let expected = match is_whole {
            true => parameters().shipped_size_with_all_rows(1),
            false => parameters().shipped_size(1),
        };
        assert!((expected.bytes..expected.bytes + 1024).contains(&sent), "{sent} bytes, not {expected:?}");
        assert!(sent != before || !is_whole, "the sizes differ");
        before = sent;
        assert_restorable(&fixture, &model, 100 + receipt.checkpoint).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_checkpoint_sends_no_more_than_a_later_one() {
    let fixture = VaultFixture::with(header(parameters(), 1)).await;
    let using = fixture.open(async |vault| vault.write(BlockId(3), text(1)).await.unwrap());
    let (_, receipt) = using.await.unwrap();
    let bytes = sent_bytes(&fixture, receipt).await;
    let (expected, whole) = (parameters().shipped_size(1).bytes, parameters().shipped_bytes());
    assert!((expected..expected + 4096).contains(&bytes), "{bytes} bytes, {expected} were said");
    let stash = parameters().scheme.stash_bound() * BLOCK as u64;
    assert!(whole - expected > stash / 2, "{expected} bytes of {whole}");
}

#[tokio::test(start_paused = true)]
async fn a_stop_leaves_everything_in_the_store_unless_it_is_told_not_to() {
    let fixture = VaultFixture::with(header(parameters(), 1)).await;
    let mut model = Model::default();
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
            model.blocks.extend((1..=number).map(|number| (number, number)));
        }
        let mut shipped = model.clone();
        // The next opening has shipped what the stop before it had left.
        shipped.blocks.extend((1..number).map(|number| (number, number)));
        assert_restorable(&fixture, &shipped, 100 * number).await;
    }
}
