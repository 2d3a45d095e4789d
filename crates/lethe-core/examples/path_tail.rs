//! Simulates the tail of Path ORAM's stash (trusted top included) for buckets of Z blocks: full vaults with trees half
//! full, read in a scan and at random, written back promptly and late. Prints for each shape what waits, and the
//! probability that more waits than the planned bound makes room for, the worst of the runs.
//!
//!     cargo run --release -p lethe-core --example path_tail -- [Z] [accesses] [seed]

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use lethe_core::schemes::path::{MOST_LEVELS_OF_THREE, PathParameters};
use lethe_core::testing::path_tail::{PathTail, WriteBacks, emergency_log2, full_vault, simulate};
use lethe_core::testing::stash_tail::{Reads, moments};

/// The fewest samples that a value must have to count.
const LEAST: u64 = 64;

/// The largest vault that is simulated.
const MOST_BLOCKS: u64 = 1 << 16;

fn main() {
    let argument = |nth: usize, default: u64| -> u64 {
        std::env::args().nth(nth).map_or(default, |text| text.parse().expect("a whole number"))
    };
    let (blocks, accesses, seed) = (argument(1, 4) as u32, argument(2, 2_000_000), argument(3, 1));
    println!("Z = {blocks}, {accesses} accesses a run, seed {seed}");
    println!("levels subtrees capacity | a subtree: mean, deviation | written back | most seen | room | emergency");
    for levels in [1, 2, 4, 7, 10] {
        if blocks == 3 && levels > MOST_LEVELS_OF_THREE as u32 {
            continue;
        }
        for top in [0, 1, 2, 4, 6] {
            let parameters = full_vault(blocks, levels, top);
            if parameters.capacity > MOST_BLOCKS {
                continue;
            }
            print_row(&parameters, &runs(&parameters, accesses, seed));
        }
    }
}

fn runs(parameters: &PathParameters, accesses: u64, seed: u64) -> Vec<PathTail> {
    let run = |reads, write_backs| simulate(parameters, reads, write_backs, accesses, seed);
    vec![
        run(Reads::Scan, WriteBacks::Promptly),
        run(Reads::Scan, WriteBacks::Late),
        run(Reads::Random, WriteBacks::Promptly),
    ]
}

fn print_row(parameters: &PathParameters, runs: &[PathTail]) {
    let subtrees = f64::from(1 << parameters.top.0);
    let moments: Vec<(f64, f64)> = runs.iter().map(|tail| moments(&tail.held)).collect();
    let mean = moments.iter().map(|(mean, _)| mean / subtrees).fold(0.0, f64::max);
    let deviation = moments.iter().map(|(_, deviation)| deviation / subtrees.sqrt()).fold(0.0, f64::max);
    let written = runs.iter().map(|tail| tail.written_back).fold(0.0, f64::max);
    let most = runs.iter().filter_map(|tail| tail.held.keys().max()).max().copied().unwrap_or(0);
    let worst = runs.iter().filter_map(|tail| emergency_log2(parameters, tail, LEAST)).reduce(f64::max);
    let emergency = worst.map_or_else(|| "never near it".into(), |log2| format!("2^{log2:.0}"));
    println!(
        "{:6} {subtrees:8} {:8} | {mean:.2}, {deviation:.2} | {written:.1} | {most} | {} | {emergency}",
        parameters.path_buckets(),
        parameters.capacity,
        parameters.waiting_bound(),
    );
}
