//! Simulates the tail of Ring ORAM's stash (tree top included) in the worst case. A full vault is read in a scan,
//! always the block that was unread longest, with evictions as late as the schedule allows. Prints the measured tail
//! next to the tails of a Gaussian and of an exponential. Also prints the exact distribution of the blocks that wait
//! for their turn. The meaning of the figures is in `docs/how-it-works/stash.md`.
//!
//!     cargo run --release -p ameles-core --example stash_tail -- [capacity] [trusted blocks] [accesses] [batch] [seed] [scan|random|dummies|PARTS]

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use ameles_core::schemes::ring::RingParameters;
use ameles_core::testing::stash_tail::{
    ExponentialFit, Reads, emergency_log2, moments, room, simulate, waiting_mean,
};
use std::collections::BTreeMap;

/// The log2 of the tail of a Gaussian beyond this many deviations: below `e^(-x^2 / 2) / 2`.
fn gaussian_log2(deviations: f64) -> f64 {
    -1.0 - deviations * deviations / 2.0 / std::f64::consts::LN_2
}

/// Prints the samples above each value that is worth a line: about one line a bit.
fn print_tail(name: &str, counts: &BTreeMap<i64, u64>) {
    let (n, (mean, deviation)) = (counts.values().sum::<u64>(), moments(counts));
    let (mut above, mut last) = (0, f64::NEG_INFINITY);
    for (value, times) in counts.iter().rev() {
        above += times;
        let log2 = (above as f64 / n as f64).log2();
        if log2 - last >= 1.0 && *value as f64 > mean {
            last = log2;
            let gaussian = gaussian_log2((*value as f64 - mean) / deviation);
            println!(
                "P({name} >= {value:4}) = 2^{log2:<7.2} of {above:9} samples; a Gaussian has 2^{gaussian:.2}"
            );
        }
    }
}

fn main() {
    let argument = |nth: usize, default: u64| -> u64 {
        std::env::args().nth(nth).map_or(default, |text| text.parse().expect("a whole number"))
    };
    let capacity = argument(1, 4096);
    let trusted = argument(2, capacity / 8);
    let accesses = argument(3, 1_000_000);
    let parameters = RingParameters::for_capacity(capacity, 0, trusted, argument(4, 16) as u32);
    let reads = match std::env::args().nth(6).as_deref() {
        None | Some("scan") => Reads::Scan,
        Some("random") => Reads::Random,
        Some("dummies") => Reads::ScanAndDummies,
        Some(parts) => Reads::HotPart(parts.parse().expect("scan, random, dummies or a number of parts")),
    };
    let tree = parameters.geometry();
    println!("{parameters:?}");
    println!("slots / capacity      {:.2}", tree.layout().slots() as f64 / capacity as f64);
    let tail = simulate(&parameters, reads, accesses, argument(5, 1));
    println!(
        "slots moved           {:.2} an access; expected {:.2}",
        tail.moved,
        parameters.slots_per_access()
    );
    println!("emergency evictions   {}", tail.emergencies);

    let room = f64::from(room(&parameters));
    let (mean, deviation) = moments(&tail.held);
    println!("stash                 mean {mean:.1}, deviation {deviation:.2}; an emergency above {room}");
    println!("deviations left       {:.2}", (room - mean) / deviation);
    print_tail("stash", &tail.held);
    let (mean_of_it, deviation_of_it) = moments(&tail.excess);
    println!("excess                mean {mean_of_it:.2}, deviation {deviation_of_it:.2}");
    print_tail("excess", &tail.excess);

    println!("log2 of the probability of an emergency eviction, looked at before a batch:");
    println!("  Gaussian                   {:8.1}", gaussian_log2((room - mean) / deviation));
    let min = 64;
    if let Some(fit) = ExponentialFit::of(&tail.held, min) {
        println!("  exponential                {:8.1}   ({:.3} bits a block)", fit.log2(room), fit.slope);
    }
    if let (Some(fit), Some(bound)) =
        (ExponentialFit::of(&tail.excess, min), emergency_log2(&parameters, &tail.excess, min))
    {
        println!(
            "  waiting and excess         {bound:8.1}   (at most {:.1} wait on average; excess {:.3} bits a block)",
            waiting_mean(&parameters),
            fit.slope
        );
    }
}
