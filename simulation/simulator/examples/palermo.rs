//! Palermo's gain over Ring ORAM: cycles of the memory for a request, by what overlaps and where the metadata are.
//!
//!     cargo run --release -p ameles-simulator --example palermo -- [levels] [requests] [seed]

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use ameles_processor::trace::synthetic::{Pattern, Shape, Synthetic};
use ameles_simulator::palermo::{Overlap, Palermo, PalermoConfiguration, PalermoOutcome};
use ameles_simulator::tree_scheme::Headers;

fn main() {
    let argument = |nth: usize, default: u64| -> u64 {
        std::env::args().nth(nth).map_or(default, |text| text.parse().expect("a whole number"))
    };
    let (levels, requests, seed) = (argument(1, 18) as u32, argument(2, 5000) as usize, argument(3, 1));
    println!("{levels} levels, {requests} requests, seed {seed}");
    println!("metadata   trace    overlap        cycles/request  blocks/request  bus busy  speed");
    let patterns = [("uniform", Pattern::Random), ("zipf", Pattern::Zipf { exponent: 1.0 })];
    for (place, metadata) in [("in memory", Headers::InMemory), ("on chip", Headers::OnChip)] {
        for (name, pattern) in patterns {
            let mut ring = 0.0;
            for (overlap, in_flight) in [
                (Overlap::Nothing, 1),
                (Overlap::Writes, 1),
                (Overlap::Requests, 8),
                (Overlap::Trees, 2),
                (Overlap::Trees, 4),
                (Overlap::Trees, 8),
                (Overlap::Trees, 16),
            ] {
                let mut configuration = PalermoConfiguration::of_authors(levels, overlap);
                (configuration.metadata, configuration.requests) = (metadata, in_flight);
                let lines = configuration.blocks();
                let shape = Shape { pattern, lines, stores: 0.0, instructions: 1, seed };
                let trace = Synthetic::new(shape).expect("a sound shape").take(requests);
                let geometry = &configuration.memory.geometry;
                let blocks_a_cycle =
                    f64::from(geometry.channels) / configuration.memory.timing.burst.0 as f64;
                let mut palermo = Palermo::new(configuration, seed).expect("sound trees");
                let outcome =
                    palermo.serve(trace.map(|miss| Some(miss.line.0)), |_| ()).expect("the requests");
                let PalermoOutcome { cycles, requests, blocks } = outcome;
                let cycles = cycles as f64;
                if overlap == Overlap::Nothing {
                    ring = cycles;
                }
                println!(
                    "{place:<10} {name:<8} {:<11} {in_flight:>2}  {:>14.0}  {:>14.1}  {:>8.2}  {:>5.2}",
                    format!("{overlap:?}").to_lowercase(),
                    cycles / requests as f64,
                    blocks as f64 / requests as f64,
                    blocks as f64 / (cycles * blocks_a_cycle),
                    ring / cycles,
                );
            }
        }
    }
}
