//! Plans Ring ORAM's parameters and prints what they cost and how improbable an emergency eviction is. With `all`, it
//! also plans a grid over all inputs of `ameles init`. These are every power of two of blocks, shares on the trusted
//! side, largest batches, objectives, and an A, S or Z that a user gives. It fails if any computed probability is above
//! 2^-80.
//!
//!     cargo run --release -p ameles-core --example ring_plans -- [all]

#![allow(clippy::print_stdout, reason = "this is what the example is for")]
#![allow(clippy::disallowed_types, reason = "the core has no clock; its user measures how long a plan takes")]

use ameles_core::schemes::ring::{RingObjective, RingParameters};
use ameles_core::testing::ring_plans::{OBJECTIVES, PlanRequest, adjusted, grid};
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    for (name, objective) in OBJECTIVES {
        println!("for {name}:");
        for log2 in [12, 14, 17, 20] {
            for share in [0.05, 0.125, 0.25] {
                let capacity = 1u64 << log2;
                let trusted = (capacity as f64 * share) as u64;
                print!("2^{log2} blocks, {:4.1} % trusted: ", 100.0 * share);
                print_plan(
                    &PlanRequest { capacity, trusted, max_batch: 16, slice_slots: u32::MAX, objective }
                        .plan(),
                );
            }
        }
    }
    for slice_slots in [64, 96, 128, 160, 192, 256, u32::MAX] {
        println!("for bytes, 1/16 trusted, slices of at most {slice_slots} slots:");
        for capacity in [1u64 << 12, 1 << 14, 1 << 17, 1_638_400] {
            print!("{capacity} blocks: ");
            let (trusted, objective) = (capacity / 16, RingObjective::BYTES);
            print_plan(&PlanRequest { capacity, trusted, max_batch: 16, slice_slots, objective }.plan());
        }
    }
    let is_fine = std::env::args().nth(1).as_deref() != Some("all") || Sweep::run().is_fine();
    if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print_plan(plan: &RingParameters) {
    let traffic = plan.traffic();
    println!(
        "{:5.2} slots ({:.2} read), {:.2} requests; tail 2^{:.1}; levels {} to {}, A {}, S {}, Z {}, slots {}, leaves {}; path {}, {} slices of at most {}",
        traffic.slots(),
        traffic.slots_read,
        traffic.requests(),
        plan.emergency_log2(),
        plan.top.0,
        plan.leaf_level.0,
        plan.eviction_rate,
        plan.reads,
        plan.inner.blocks,
        plan.inner.slots,
        plan.leaf.slots,
        plan.slots_on_path(),
        plan.slices().len(),
        plan.largest_slice(),
    );
}

/// The results of the grid.
struct Sweep {
    plans: u64,
    failed: u64,
    /// The log2 of the likeliest emergency.
    worst: f64,
    slowest: Option<(Duration, PlanRequest)>,
    longest_path: u64,
}

impl Sweep {
    fn run() -> Self {
        let mut sweep =
            Sweep { plans: 0, failed: 0, worst: f64::NEG_INFINITY, slowest: None, longest_path: 0 };
        let capacities: Vec<u64> = (0..31).map(|log2| 1 << log2).chain([(1 << 31) - 1]).collect();
        for request in grid(&capacities, &[1, 2, 4, 5, 8, 16, 20, 64, 1024, 65_536], &[1, 4, 16, 128, 1024]) {
            let began = Instant::now();
            let plan = request.plan();
            let took = Some((began.elapsed(), request));
            sweep.slowest = if took.map(|took| took.0) > sweep.slowest.map(|slowest| slowest.0) {
                took
            } else {
                sweep.slowest
            };
            sweep.check(&plan, &request, plan.validate().is_ok());
            sweep.longest_path = sweep.longest_path.max(plan.slots_on_path());
            let is_usual = request.objective == RingObjective::BYTES && request.max_batch == 16;
            if is_usual && request.capacity.ilog2().is_multiple_of(5) {
                for adjusted in adjusted(&plan).filter(|adjusted| adjusted.validate().is_ok()) {
                    sweep.check(&adjusted, &request, true);
                }
            }
        }
        sweep
    }

    fn check(&mut self, plan: &RingParameters, request: &PlanRequest, is_valid: bool) {
        let log2 = plan.emergency_log2();
        self.plans += 1;
        self.worst = self.worst.max(log2);
        if !is_valid || log2 > -80.0 {
            self.failed += 1;
            println!("2^{log2:.1} for {request:?}: {plan:?}");
        }
    }

    fn is_fine(&self) -> bool {
        println!("{} plans, the likeliest emergency 2^{:.2}, {} failed", self.plans, self.worst, self.failed);
        println!("the longest path has {} slots", self.longest_path);
        if let Some((took, request)) = self.slowest {
            println!("the slowest took {took:?}: {request:?}");
        }
        self.failed == 0
    }
}
