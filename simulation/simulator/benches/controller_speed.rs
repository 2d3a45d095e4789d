//! Measures how many paths per second are simulated on one core for IR-ORAM's Baseline: random loads over a tree in its
//! steady state. In the same rounds it measures the model of DRAM alone, on as many random paths of that tree. Times
//! are the processor's, as Linux counts them for this program.
//!
//!     cargo bench -p ameles-simulator --bench controller_speed -- [levels] [loads]

#![allow(clippy::print_stdout, reason = "this is what the bench is for")]

#[path = "../../dram/benches/processor_time/mod.rs"]
mod processor_time;

use ameles_dram::{DramError, Layout, Memory, Specification, SubtreeLayout};
use ameles_processor::trace::synthetic::{Pattern, Shape, Synthetic};
use ameles_simulator::configuration::Configuration;
use ameles_simulator::machine::Machine;
use ameles_simulator::tree::filled::Contents;
use ameles_simulator::tree::steady_state::History;
use processor_time::processor_seconds;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::time::Instant;

/// Reads and writes random paths, one after the other.
fn dram_alone(
    memory: &Specification,
    layout: &SubtreeLayout,
    paths: u64,
    seed: u64,
) -> Result<(), DramError> {
    let mut memory = Memory::new(memory)?;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut path = Vec::new();
    for _ in 0..paths {
        layout.path(random.next_u64() % (1 << (layout.slots().len() - 1)), &mut path);
        let batch = memory.read(&path)?;
        memory.wait(batch);
        let batch = memory.write(&path)?;
        memory.wait(batch);
    }
    memory.finish();
    Ok(())
}

fn main() {
    // Cargo adds a flag of its own.
    let arguments: Vec<String> = std::env::args().filter(|argument| argument != "--bench").collect();
    let argument = |nth: usize, default: u64| -> u64 {
        arguments.get(nth).map_or(default, |text| text.parse().expect("a whole number"))
    };
    let (levels, loads) = (argument(1, 25) as u32, argument(2, 200_000));
    let configuration = Configuration::baseline(levels);
    let lines = configuration.oram.user_blocks;
    let memory = configuration.memory.clone();
    let slots: Vec<u32> =
        (0..levels).map(|level| if level < configuration.oram.top_levels { 0 } else { 4 }).collect();
    let (top, height) =
        (configuration.oram.top_levels as usize, configuration.subtree_levels.expect("subtrees"));
    let layout = SubtreeLayout::new(&slots, top, height, &memory.geometry).expect("a sound layout");
    let start = Instant::now();
    let mut machine =
        Machine::new(configuration, Contents::Steady(History::Random), 1).expect("a sound configuration");
    println!(
        "{levels} levels, {lines} blocks, {} MiB, drawn in {:.1} s",
        machine.bytes() >> 20,
        start.elapsed().as_secs_f64()
    );
    let mut shares = Vec::new();
    for round in 0..5 {
        let shape = Shape { pattern: Pattern::Random, lines, stores: 0.0, instructions: 40, seed: round };
        let trace = Synthetic::new(shape).expect("a sound shape").take(loads as usize);
        let start = processor_seconds();
        let outcome = machine.run(trace, 0, |_| ()).expect("the run");
        let (seconds, paths) = (processor_seconds() - start, outcome.counts.paths());
        let start = processor_seconds();
        dram_alone(&memory, &layout, paths, round).expect("the paths are in the memory");
        let alone = processor_seconds() - start;
        println!(
            "{:.0} paths/s, {:.2} us a path, DRAM alone {:.2}: {:.2} of its speed; {:.0} cycles a path; {} of {paths} are background evictions",
            paths as f64 / seconds,
            1e6 * seconds / paths as f64,
            1e6 * alone / paths as f64,
            alone / seconds,
            outcome.cycles.0 as f64 / paths as f64,
            outcome.counts.background,
        );
        shares.push(alone / seconds);
    }
    shares.sort_by(f64::total_cmp);
    println!(
        "share of the speed of DRAM alone: median {:.2}, {:.2} to {:.2}",
        shares[2], shares[0], shares[4]
    );
    let (top, utilisation) = machine.utilisation();
    println!("utilisation from level {}: {utilisation:.2?}; {} in the stash", top.0, machine.stash_blocks());
}
