//! The growth of the stash under Path ORAM and under PageORAM, from a packed tree: Figures 5 and 8 of PageORAM.
//!
//!     cargo run --release -p ameles-simulator --example siblings -- [levels] [accesses of a window] [windows] [seed]

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use ameles_processor::trace::{Kind, Miss};
use ameles_processor::units::Line;
use ameles_simulator::configuration::Configuration;
use ameles_simulator::machine::Machine;
use ameles_simulator::path_variant::PathVariant;
use ameles_simulator::tree::filled::Contents;
use ameles_simulator::tree::steady_state::History;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

fn main() {
    let argument = |nth: usize, default: u64| -> u64 {
        std::env::args().nth(nth).map_or(default, |text| text.parse().expect("a whole number"))
    };
    let (levels, accesses) = (argument(1, 18) as u32, argument(2, 20_000));
    let (windows, seed) = (argument(3, 10), argument(4, 1));
    println!(
        "{levels} levels for 2^{levels} blocks; blocks in the stash after each {accesses} random accesses"
    );
    for blocks_per_bucket in [3, 2] {
        for variant in [PathVariant::Plain, PathVariant::Siblings] {
            let mut configuration = Configuration::baseline(levels);
            configuration.variant = variant;
            let oram = &mut configuration.oram;
            (oram.top_levels, oram.stash) = (0, 40_000);
            oram.sizes = vec![(0, levels - 1, blocks_per_bucket)];
            // As the authors have it: all positions are on the trusted side, and no PosMap block is in the tree.
            (oram.user_blocks, oram.trusted_positions) = (1 << levels, 1 << levels);
            configuration.cache_bytes = 4096;
            configuration.cache_ways = 1;
            let mut machine = Machine::new(configuration.clone(), Contents::Steady(History::Packed), seed)
                .expect("a sound configuration");
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut waiting = Vec::new();
            for _ in 0..windows {
                let line = |_| Line(random.next_u64() % configuration.oram.user_blocks);
                let misses =
                    (0..accesses).map(line).map(|line| Miss { instructions: 40, kind: Kind::Load, line });
                machine.run(misses, 0, |_| ()).expect("the run");
                waiting.push(machine.stash_blocks().to_string());
            }
            println!("Z = {blocks_per_bucket}, {variant:?}: {}", waiting.join(" "));
        }
    }
}
