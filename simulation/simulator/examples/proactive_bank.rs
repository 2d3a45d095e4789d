//! String ORAM's gain over Ring ORAM: compact buckets, rows that are opened ahead of their transaction, and both.
//!
//!     cargo run --release -p ameles-simulator --example proactive_bank -- [levels] [accesses] [seed]
//!
//! Ten levels are on chip. Accesses are uniform, and one follows the other without a pause.

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use ameles_dram::Specification;
use ameles_processor::trace::synthetic::{Pattern, Shape, Synthetic};
use ameles_simulator::proactive_bank::{ProactiveConfiguration, ProactiveOutcome, ProactiveRing};

fn main() {
    let argument = |nth: usize, default: u64| -> u64 {
        std::env::args().nth(nth).map_or(default, |text| text.parse().expect("a whole number"))
    };
    let (levels, accesses, seed) = (argument(1, 20) as u32, argument(2, 5000) as usize, argument(3, 1));
    println!("{levels} levels, {accesses} accesses, seed {seed}");
    println!("channels  slots  rows ahead  cycles/access  blocks/access  activates/access  speed");
    for channels in [4, 1] {
        let mut memory = Specification::usimm().with_super_rows();
        memory.geometry.channels = channels;
        let mut ring = 0.0;
        for (slots, opens_ahead) in [(20, false), (20, true), (12, false), (12, true)] {
            let memory = memory.clone();
            let configuration = ProactiveConfiguration { levels, top_levels: 10, slots, opens_ahead, memory };
            let lines = configuration.blocks();
            let shape = Shape { pattern: Pattern::Random, lines, stores: 0.0, instructions: 1, seed };
            let trace = Synthetic::new(shape).expect("a sound shape").take(accesses);
            let mut oram = ProactiveRing::new(&configuration, seed).expect("a sound tree");
            let outcome = oram.access(trace.map(|miss| miss.line.0)).expect("the accesses");
            let ProactiveOutcome { cycles, blocks, activates } = outcome;
            if (slots, opens_ahead) == (20, false) {
                ring = cycles as f64;
            }
            let of_access = |count: u64| count as f64 / accesses as f64;
            println!(
                "{channels:>8}  {slots:>5}  {:<10}  {:>13.0}  {:>13.1}  {:>16.1}  {:>5.2}",
                if opens_ahead { "yes" } else { "no" },
                of_access(cycles),
                of_access(blocks),
                of_access(activates),
                ring / cycles as f64,
            );
        }
    }
}
