//! Simulates the blocks that wait in RAW ORAM's stash (trusted top included) when no eviction is due. A full vault of
//! 2^8 leaves is read in a scan, for several numbers of blocks for each leaf and of subtrees. Prints the moments, and
//! the bits by which a further block lowers the tail. Also prints the number of blocks beyond which a straight line
//! through the tail is below 2^-80.
//!
//!     cargo run --release -p ameles-core --example raw_tail -- [Z] [A] [accesses] [seed]

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::raw::{RawOram, RawParameters};
use ameles_core::testing::TraceStore;
use ameles_core::testing::stash_histogram::stash_histogram;
use ameles_core::testing::stash_tail::{ExponentialFit, moments};
use ameles_core::types::{Bucket, Level};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// The fewest samples that a value must have to count: samples of neighbouring moments are nearly the same.
const MIN: u64 = 200;
const LEAF_LEVEL: Level = Level(8);

fn main() {
    let argument = |nth: usize, default: u64| -> u64 {
        std::env::args().nth(nth).map_or(default, |text| text.parse().expect("a whole number"))
    };
    let (blocks, rate) = (argument(1, 5) as u32, argument(2, 5) as u32);
    let (accesses, seed) = (argument(3, 1_000_000), argument(4, 1));
    println!("Z = {blocks}, A = {rate}, {accesses} accesses a run, seed {seed}");
    println!("blocks a leaf | subtrees | mean, deviation | bits a block | 2^-80 at");
    for load in (u64::from(blocks) / 2..=u64::from(blocks)).rev() {
        for top in [0, 1, 3, 5, 8] {
            let parameters = RawParameters {
                capacity: load << LEAF_LEVEL.0,
                block_bytes: 0,
                leaf_level: LEAF_LEVEL,
                top: Level(top),
                blocks_per_bucket: blocks,
                eviction_rate: rate,
                max_batch: 1,
                stash_bound: 1 << 24,
            };
            print_row(load, &parameters, accesses, seed);
        }
    }
}

fn print_row(load: u64, parameters: &RawParameters, accesses: u64, seed: u64) {
    let store = TraceStore::new(parameters.layout());
    store.record(false);
    let positions = FlatPositionMap::new(Positions::new(parameters.capacity));
    let random = ChaCha8Rng::seed_from_u64(seed);
    let oram = RawOram::new(parameters.clone(), Bucket(0), &store, positions, random).expect("in range");
    let held = stash_histogram(&oram, accesses);
    let (mean, deviation) = moments(&held);
    let subtrees = 1 << parameters.top.0;
    let fit = ExponentialFit::of(&held, MIN).map_or(String::from("- | -"), |fit| {
        let enough = (0..).find(|blocks| fit.log2(f64::from(*blocks)) < -80.0).expect("the line falls");
        format!("{:.2} | {enough}", fit.slope)
    });
    println!("{load} | {subtrees} | {mean:.2}, {deviation:.2} | {fit}");
}
