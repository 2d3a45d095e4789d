//! AB-ORAM's space and time: what smaller buckets near the leaves save and cost, with slots that they borrow and
//! without.
//!
//!     cargo run --release -p ameles-simulator --example adjustable_buckets -- [levels] [accesses] [seed] [subtree]
//!
//! The layout is by subtrees of at most `subtree` levels. With 0 it is by level, as in the authors' configuration.
//! Accesses are uniform. A warm-up evicts each leaf's bucket twice; the accesses after it are counted.

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use ameles_dram::Specification;
use ameles_processor::trace::synthetic::{Pattern, Shape, Synthetic};
use ameles_simulator::adjustable_buckets::{AdjustableConfiguration, AdjustableOram, AdjustableOutcome};

fn main() {
    let argument = |nth: usize, default: u64| -> u64 {
        std::env::args().nth(nth).map_or(default, |text| text.parse().expect("a whole number"))
    };
    let (levels, accesses, seed) = (argument(1, 14) as u32, argument(2, 10_000) as usize, argument(3, 1));
    let subtree_levels = argument(4, 7) as usize;
    let specification = match subtree_levels {
        0 => Specification::usimm(),
        _ => Specification::usimm().with_super_rows(),
    };
    println!("{levels} levels, {accesses} accesses, seed {seed}, subtrees of {subtree_levels} levels");
    println!("levels  slots  queue  space  reshuffles/access  slots/access  cycles/access  speed  stash");
    let whole = AdjustableConfiguration {
        queue: 0,
        subtree_levels,
        ..AdjustableConfiguration::of_authors(levels, 12)
    };
    let mut time = 0.0;
    for (small_levels, small_slots) in [(0, 12), (1, 7), (2, 7), (3, 10), (3, 8), (3, 7), (4, 7)] {
        for queue in [0, 1000] {
            // Nothing can be lent.
            if queue > 0 && small_levels == 0 {
                continue;
            }
            let configuration = AdjustableConfiguration { queue, small_levels, small_slots, ..whole };
            let mut oram = AdjustableOram::new(configuration, &specification, seed).expect("a sound tree");
            let shape = Shape {
                pattern: Pattern::Random,
                lines: configuration.blocks(),
                stores: 0.0,
                instructions: 1,
                seed,
            };
            let mut trace = Synthetic::new(shape).expect("a sound shape").map(|miss| miss.line.0);
            let worn = (configuration.eviction_rate as usize) << levels;
            oram.access(trace.by_ref().take(worn), false, |_| ()).expect("no time is taken");
            let outcome = oram.access(trace.take(accesses), true, |_| ()).expect("a sound layout");
            let AdjustableOutcome { accesses, reshuffles, read, written, stash, cycles } = outcome;
            let of_access = |count: u64| count as f64 / accesses as f64;
            if small_slots == 12 {
                time = cycles as f64;
            }
            println!(
                "{small_levels:>6}  {small_slots:>5}  {queue:>5}  {:>5.2}  {:>17.3}  {:>12.1}  {:>13.0}  {:>5.2}  {stash:>5}",
                configuration.total_slots() as f64 / whole.total_slots() as f64,
                of_access(reshuffles),
                of_access(read + written),
                of_access(cycles),
                time / cycles as f64,
            );
        }
    }
}
