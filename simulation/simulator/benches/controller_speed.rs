//! Measures how many paths a second the Baseline of IR-ORAM is simulated, DRAM included, on one core: random loads
//! over a tree in its steady state.
//!
//!     cargo bench -p ameles-simulator --bench controller_speed -- [levels] [loads]

#![allow(clippy::print_stdout, reason = "this is what the bench is for")]

use ameles_processor::trace::synthetic::{Pattern, Shape, Synthetic};
use ameles_simulator::configuration::Configuration;
use ameles_simulator::machine::Machine;
use ameles_simulator::tree::filled::Contents;
use ameles_simulator::tree::steady_state::History;
use std::time::Instant;

fn main() {
    // Cargo adds a flag of its own.
    let arguments: Vec<String> = std::env::args().filter(|argument| argument != "--bench").collect();
    let argument = |nth: usize, default: u64| -> u64 {
        arguments.get(nth).map_or(default, |text| text.parse().expect("a whole number"))
    };
    let (levels, loads) = (argument(1, 25) as u32, argument(2, 200_000));
    let configuration = Configuration::baseline(levels);
    let lines = configuration.oram.user_blocks;
    let start = Instant::now();
    let mut machine =
        Machine::new(configuration, Contents::Steady(History::Random), 1).expect("a sound configuration");
    println!("{levels} levels, {lines} blocks, drawn in {:.1} s", start.elapsed().as_secs_f64());
    for round in 0..3 {
        let shape = Shape { pattern: Pattern::Random, lines, stores: 0.0, instructions: 40, seed: round };
        let trace = Synthetic::new(shape).expect("a sound shape").take(loads as usize);
        let start = Instant::now();
        let outcome = machine.run(trace, 0, |_| ()).expect("the run");
        let (seconds, paths) = (start.elapsed().as_secs_f64(), outcome.counts.paths());
        println!(
            "{:.0} paths/s, {:.2} us a path; {:.0} cycles a path; {} of {paths} are background evictions; {} MiB",
            paths as f64 / seconds,
            1e6 * seconds / paths as f64,
            outcome.cycles.0 as f64 / paths as f64,
            outcome.counts.background,
            machine.bytes() >> 20,
        );
        println!("  {:?}", outcome.counts);
    }
    let (top, utilisation) = machine.utilisation();
    println!("utilisation from level {}: {utilisation:.2?}; {} in the stash", top.0, machine.stash_blocks());
}
