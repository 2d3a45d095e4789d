//! Shows how background evictions approach their steady share: random accesses over a tree that was drawn, in
//! windows.
//!
//!     cargo run --release -p ameles-simulator --example settling -- [levels] [windows] [misses of a window]

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use ameles_processor::trace::synthetic::{Pattern, Shape, Synthetic};
use ameles_simulator::configuration::{Configuration, Scheme};
use ameles_simulator::machine::Machine;
use ameles_simulator::tree::filled::Contents;
use ameles_simulator::tree::steady_state::History;

fn main() {
    let argument = |nth: usize, default: u64| -> u64 {
        std::env::args().nth(nth).map_or(default, |text| text.parse().expect("a whole number"))
    };
    let (levels, windows, misses) = (argument(1, 25) as u32, argument(2, 20), argument(3, 20_000) as usize);
    let mut baseline = Configuration::baseline(levels);
    // The levels of small buckets keep their distance from the leaves, and so does the tree top.
    baseline.oram.top_levels = argument(4, u64::from((levels + 10).saturating_sub(25))) as u32;
    let schemes = [
        ("Baseline", baseline.clone()),
        ("IR-Alloc1", baseline.clone().with_sizes(&[(10, 16, 2), (17, 19, 3)])),
        ("IR-Alloc4", baseline.with_scheme(Scheme::IrAlloc)),
    ];
    for (name, configuration) in schemes {
        let contents = Contents::Steady(History::Random);
        let mut machine = Machine::new(configuration, contents, 1).expect("a sound configuration");
        let shares: Vec<String> = (0..windows)
            .map(|seed| {
                let shape = Shape {
                    pattern: Pattern::Random,
                    lines: 2 << levels,
                    stores: 0.5,
                    instructions: 40,
                    seed,
                };
                let trace = Synthetic::new(shape).expect("a sound shape").take(misses);
                let counts = machine.run(trace, 0, |_| ()).expect("the run").counts;
                format!("{:.1}", 100.0 * counts.background as f64 / counts.paths() as f64)
            })
            .collect();
        println!("{name}: background evictions, % of paths: {}", shares.join(" "));
        let (first, shares) = machine.utilisation();
        let shares: Vec<String> = shares.iter().map(|share| format!("{share:.2}")).collect();
        println!("    levels from {} on: {}", first.0, shares.join(" "));
    }
}
