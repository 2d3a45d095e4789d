//! Simulates the blocks that wait in Path ORAM's stash (trusted top included) for buckets of Z blocks. The vault is
//! full, with 16 untrusted subtrees and a tree that is half full. It is read in a scan, a sixteenth of it over and
//! over, and at random. Write-backs are prompt or late. For each number of untrusted levels, it prints the moments of
//! the number of blocks that wait for a subtree. It also prints the log2 of the probability that the planned bound is
//! exceeded, in the worst run.
//!
//!     cargo run --release -p ameles-core --example path_tail -- [Z] [accesses] [seed]

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use ameles_core::schemes::path::PathParameters;
use ameles_core::testing::path_tail::{PathTail, WriteBacks, emergency_log2, full_vault, simulate};
use ameles_core::testing::stash_tail::{ExponentialFit, Reads, moments};

/// The fewest samples that a value must have to count: samples of neighbouring moments are nearly the same.
const MIN: u64 = 2048;
/// The log2 of the number of subtrees that are simulated.
const TOP: u32 = 4;
/// The largest vault that is simulated.
const MAX_BLOCKS: u64 = 1 << 17;

fn main() {
    let argument = |nth: usize, default: u64| -> u64 {
        std::env::args().nth(nth).map_or(default, |text| text.parse().expect("a whole number"))
    };
    let (blocks, accesses, seed) = (argument(1, 4) as u32, argument(2, 1_000_000), argument(3, 1));
    println!("Z = {blocks}, {accesses} accesses a run, seed {seed}");
    println!(
        "levels | a subtree: mean, deviation, bits a block | written back | log2 for 1, 2, 4, 16, 64, 1024 subtrees"
    );
    for levels in [1, 2, 4, 7, 10] {
        let parameters = full_vault(blocks, levels, TOP);
        if parameters.capacity <= MAX_BLOCKS {
            print_row(&parameters, &runs(&parameters, accesses, seed));
        }
    }
}

fn runs(parameters: &PathParameters, accesses: u64, seed: u64) -> Vec<PathTail> {
    let run = |reads, write_backs| simulate(parameters, reads, write_backs, accesses, seed);
    vec![
        run(Reads::Scan, WriteBacks::Promptly),
        run(Reads::Scan, WriteBacks::Late),
        run(Reads::HotPart(16), WriteBacks::Late),
        run(Reads::Random, WriteBacks::Promptly),
    ]
}

fn print_row(parameters: &PathParameters, runs: &[PathTail]) {
    let worst = |of: &dyn Fn(&PathTail) -> f64| runs.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    let mean = worst(&|tail| moments(&tail.subtree).0);
    let deviation = worst(&|tail| moments(&tail.subtree).1);
    let slope =
        -worst(&|tail| ExponentialFit::of(&tail.subtree, MIN).map_or(f64::NEG_INFINITY, |fit| -fit.slope));
    let written = worst(&|tail| tail.written_back);
    let emergency = |top: u32| {
        let vault = full_vault(parameters.blocks_per_bucket, parameters.path_buckets() as u32, top);
        let log2 = worst(&|tail| emergency_log2(&vault, tail, MIN).unwrap_or(f64::NEG_INFINITY));
        format!("{log2:.0}")
    };
    let emergencies = [0, 1, 2, 4, 6, 10].map(emergency).join(", ");
    let levels = parameters.path_buckets();
    println!("{levels:6} | {mean:.2}, {deviation:.2}, {slope:.2} | {written:.1} | {emergencies}");
}
