//! Compares the computed bound of Ring ORAM's stash with simulations under a scan, hot sets and random reads. It uses
//! the parameters that are planned for many capacities, trusted shares and largest batches. For each plan it prints the
//! log2 of the probability of an emergency eviction, computed in two ways. The first is the bound. The second uses the
//! exact distribution of the blocks that wait and the measured excess, continued as a straight line. It is not a proof,
//! and too high if there are few samples. It fails if the bound is above -80, or at an emergency. It also fails if any
//! excess, or any number of blocks, was seen more often than computed.
//!
//!     cargo run --release -p ameles-core --example stash_sweep -- [accesses] [largest log2 of the capacity]
//!
//! Without numbers it takes seconds: 20,000 accesses and 2^10 blocks. The book's figures are of 4,000,000 and 2^16.

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use ameles_core::schemes::ring::RingParameters;
use ameles_core::testing::stash_tail::{
    Reads, emergency_log2, excess_over_bound, held_over_bound, moments, simulate,
};
use std::process::ExitCode;

const READS: [(&str, Reads); 7] = [
    ("scan", Reads::Scan),
    ("hot quarter", Reads::HotPart(4)),
    ("hot sixth", Reads::HotPart(6)),
    ("hot eighth", Reads::HotPart(8)),
    ("hot tenth", Reads::HotPart(10)),
    ("hot sixteenth", Reads::HotPart(16)),
    ("random", Reads::Random),
];

fn main() -> ExitCode {
    let argument = |nth: usize, default: u64| -> u64 {
        std::env::args().nth(nth).map_or(default, |text| text.parse().expect("a whole number"))
    };
    let (accesses, largest) = (argument(1, 20_000), argument(2, 10));
    let (mut plans, mut failed) = (Vec::new(), 0);
    for log2 in (6..=largest).step_by(2) {
        for share in [2, 4, 8, 16, 32, 64] {
            for batch in [1, 16, 64, 256] {
                let plan = RingParameters::for_capacity(1 << log2, 0, (1 << log2) / share, batch);
                if !plans.contains(&plan) {
                    plans.push(plan);
                }
            }
        }
    }
    println!("{} plans", plans.len());
    for plan in plans {
        let (subtrees, computed) = (1u64 << plan.top.0, plan.emergency_log2());
        println!(
            "{} blocks, batch {}, bound {}: A {}, {subtrees} subtrees, Z {} and {}, slots {} and {}: computed {computed:.1}",
            plan.capacity,
            plan.max_batch,
            plan.stash_bound,
            plan.eviction_rate,
            plan.inner.blocks,
            plan.leaf.blocks,
            plan.inner.slots,
            plan.leaf.slots,
        );
        failed += u32::from(computed > -80.0);
        for (name, reads) in READS {
            let tail = simulate(&plan, reads, accesses, 1);
            let (mean, deviation) = moments(&tail.excess);
            let measured = emergency_log2(&plan, &tail.excess, 64);
            let ratio = excess_over_bound(&plan, &tail.excess).max(held_over_bound(&plan, &tail.held));
            let text = measured.map_or("too few samples".into(), |log2| format!("{log2:.1}"));
            println!(
                "    {name:13} excess {mean:6.2}, deviation {deviation:5.2}: {text}; seen at most 2^{ratio:.1} times as often as computed"
            );
            failed += u32::from(ratio > 0.0 || tail.emergencies > 0);
        }
    }
    println!("{failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
