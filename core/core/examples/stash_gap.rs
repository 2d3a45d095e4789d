//! Prints why a plan does not move fewer slots. It compares planned parameters for 4096 blocks, an eighth or a quarter
//! of them trusted, with buckets that would move fewer slots for each access. For all, the computed log2 of the
//! probability of an emergency eviction. With inner buckets, it also prints a second probability. It comes from the
//! exact distribution of the blocks that wait, and from the measured excess, continued as a straight line. It does this
//! under a scan and under hot sets. The result is too high if there are few samples. Where there are none, the computed
//! one is proved, and within six bits of the exact one.
//!
//!     cargo run --release -p ameles-core --example stash_gap -- [accesses]
//!
//! Without a number it takes seconds: 20,000 accesses. The book's figures are of 1,500,000.

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use ameles_core::schemes::ring::{RingBucket, RingParameters};
use ameles_core::testing::stash_tail::{Reads, emergency_log2, moments, simulate};

fn main() {
    let accesses = std::env::args().nth(1).map_or(20_000, |text| text.parse().expect("a whole number"));
    let planned = |trusted| RingParameters::for_capacity(4096, 0, trusted, 16);
    print_plan("an eighth, as planned", &planned(512), accesses);
    print_plan(
        "an eighth, A 38 and leaves of three deviations",
        &tighter(&planned(512), 38, 64, 88),
        accesses,
    );
    print_plan("a quarter, as planned", &planned(1024), accesses);
    print_plan("a quarter, A 48", &tighter(&planned(1024), 48, 162, 162), accesses);
}

/// The parameters with the same levels and stash, but this A and these slots.
fn tighter(planned: &RingParameters, rate: u32, inner: u32, leaf: u32) -> RingParameters {
    let bucket = |slots| RingBucket { blocks: slots, slots };
    RingParameters {
        eviction_rate: rate,
        reads: inner.min(leaf),
        inner: bucket(inner),
        leaf: bucket(leaf),
        ..planned.clone()
    }
}

fn print_plan(name: &str, parameters: &RingParameters, accesses: u64) {
    let traffic = parameters.traffic();
    println!(
        "{name}: {:.2} slots, {:.2} requests; computed 2^{:.1}",
        traffic.slots(),
        traffic.requests(),
        parameters.emergency_log2()
    );
    if parameters.top == parameters.leaf_level {
        return;
    }
    for reads in [Reads::Scan, Reads::HotPart(4), Reads::HotPart(6), Reads::HotPart(7), Reads::HotPart(10)] {
        let tail = simulate(parameters, reads, accesses, 1);
        let (held, (excess, deviation)) = (moments(&tail.held).0, moments(&tail.excess));
        let measured = emergency_log2(parameters, &tail.excess, 64)
            .map_or("too few samples".into(), |log2| format!("2^{log2:.1}"));
        println!(
            "    {reads:?}: {held:.1} held on average, excess {excess:.1}, deviation {deviation:.1}; measured and continued {measured}"
        );
    }
}
