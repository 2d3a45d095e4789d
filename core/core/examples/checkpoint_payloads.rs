//! Prints how many payloads a checkpoint in the store must send. These are the blocks of the stash whose payload neither a
//! slot of the store nor an earlier checkpoint has: for vaults of 1, 8 and 100 GiB in blocks of 64 KiB, a checkpoint for
//! every 1024 accesses. The vault is full, and parts of it are scanned over and over.
//!
//!     cargo run --release -p ameles-core --example checkpoint_payloads -- [GiB]
//!
//! 100 GiB take minutes.

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use ameles_core::oram::{Access, Oram};
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::ring::{RingOram, RingParameters};
use ameles_core::snapshot::incremental::IncrementalSnapshot;
use ameles_core::testing::{TraceStore, TraceStoreError, finish_now};
use ameles_core::types::BlockId;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use std::collections::{BTreeMap, BTreeSet};

/// The number of accesses between two checkpoints.
const EVERY: u64 = 1024;

fn main() {
    let only: Option<u64> = std::env::args().nth(1).map(|text| text.parse().expect("a whole number"));
    for gib in [1, 8, 100].into_iter().filter(|gib| only.is_none_or(|only| only == *gib)) {
        let blocks = gib << 14;
        let whole = RingParameters::for_capacity(blocks, 0, blocks / 16, 16);
        let slice_slots = 256.max(whole.largest_bucket());
        for (name, parameters) in
            [("in slices", RingParameters { slice_slots, ..whole.clone() }), ("in one slice", whole)]
        {
            println!("{gib} GiB {name}, A {}:", parameters.eviction_rate);
            simulate(&parameters);
        }
    }
}

fn simulate(parameters: &RingParameters) {
    let capacity = parameters.capacity;
    let store = TraceStore::new(parameters.layout());
    store.record(false);
    let positions = FlatPositionMap::<TraceStoreError>::new(Positions::new(capacity));
    let ring = RingOram::new(parameters.clone(), &store, positions, ChaCha8Rng::seed_from_u64(1))
        .expect("planned parameters");
    IncrementalSnapshot::note_origins(&ring);
    let scan = |accesses: std::ops::Range<u64>, part: u64| {
        for nth in accesses {
            while ring.must_step() {
                finish_now(ring.step()).expect("the step");
            }
            let mut payload = [];
            let block = BlockId(nth % (capacity / part));
            finish_now(ring.access(&mut [Access::Read(block, &mut payload)])).expect("the access");
        }
    };
    scan(0..capacity, 1);
    let mut accesses = capacity;
    for part in [1, 4, 7, 10, 40, 100] {
        let round = u64::from(parameters.eviction_rate) << parameters.top.0;
        // For each block the accesses in the checkpoint that has sent it; and when each was accessed.
        let mut sent: BTreeMap<BlockId, u64> = BTreeMap::new();
        let (mut counts, mut overdue) = (Vec::new(), Vec::new());
        let checkpoints = (4 * round / EVERY + 8).min(160);
        for nth in 0..checkpoints {
            let first = accesses % capacity;
            scan(first..first + EVERY, part);
            accesses += EVERY;
            let accessed = (first..first + EVERY).map(|nth| BlockId(nth % (capacity / part)));
            accessed.for_each(|block| _ = sent.remove(&block));
            let origins: BTreeSet<BlockId> =
                ring.origins().slots.into_iter().map(|(block, _)| block).collect();
            let stash: BTreeSet<BlockId> = ring.stash_order().into_iter().collect();
            let needed: Vec<BlockId> = stash
                .iter()
                .copied()
                .filter(|block| !origins.contains(block) && !sent.contains_key(block))
                .collect();
            let old = |(block, at): (&BlockId, &u64)| {
                stash.contains(block)
                    && !origins.contains(block)
                    && at + round + 4 * u64::from(parameters.eviction_rate) <= accesses
            };
            overdue.push(sent.iter().filter(|sent| old(*sent)).count());
            counts.push(needed.len());
            sent.retain(|block, _| stash.contains(block));
            sent.extend(needed.into_iter().map(|block| (block, accesses)));
            if nth == 0 {
                counts.clear();
            }
        }
        let mean = counts.iter().sum::<usize>() / counts.len();
        println!(
            "    1/{part} scanned: {mean} on average, {} at most, of {EVERY} accesses; {} waited longer than a round at most, {}",
            counts.iter().max().unwrap_or(&0),
            overdue.iter().max().unwrap_or(&0),
            ring.stash_blocks(),
        );
    }
}
