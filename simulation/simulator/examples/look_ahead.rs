//! LAORAM's gain over Path ORAM: the time of training on an embedding table, by the size of superblocks.
//!
//!     cargo run --release -p ameles-simulator --example look_ahead -- [levels] [accesses of an epoch] [seed]
//!
//! Two epochs of the same accesses are trained on, and the second is counted.

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use ameles_processor::trace::synthetic::{Pattern, Shape, Synthetic};
use ameles_simulator::look_ahead::{LookAheadConfiguration, LookAheadOram};

fn main() {
    let argument = |nth: usize, default: u64| -> u64 {
        std::env::args().nth(nth).map_or(default, |text| text.parse().expect("a whole number"))
    };
    let (levels, accesses, seed) = (argument(1, 20) as u32, argument(2, 20_000) as usize, argument(3, 1));
    let rows = 1u64 << levels;
    println!("2^{levels} rows in {levels} levels, {accesses} accesses an epoch, seed {seed}");
    println!("rows       S  tree    speed  paths/access  background/path");
    let patterns = [("uniform", Pattern::Random), ("zipf", Pattern::Zipf { exponent: 1.0 })];
    for (name, pattern) in patterns {
        let shape = Shape { pattern, lines: rows, stores: 0.0, instructions: 1, seed };
        let trace = Synthetic::new(shape).expect("a sound shape").take(accesses);
        let epoch: Vec<u64> = trace.map(|miss| miss.line.0).collect();
        let epochs = epoch.repeat(2);
        let mut path_oram = 0.0;
        for superblock in [1, 2, 4, 8] {
            for is_fat in [false, true] {
                let configuration = LookAheadConfiguration {
                    levels,
                    rows,
                    superblock,
                    blocks_per_bucket: 4,
                    is_fat,
                    stash: 500,
                };
                let mut oram = LookAheadOram::new(configuration, seed).expect("a sound table");
                let outcome = oram.train(&epochs, accesses).expect("the training");
                if superblock == 1 && !is_fat {
                    path_oram = outcome.cycles as f64;
                }
                println!(
                    "{name:<8} {superblock:>3}  {:<6} {:>6.2}  {:>12.3}  {:>15.3}",
                    if is_fat { "fat" } else { "normal" },
                    path_oram / outcome.cycles as f64,
                    (outcome.paths + outcome.background) as f64 / accesses as f64,
                    outcome.background as f64 / outcome.paths as f64,
                );
            }
        }
    }
}
