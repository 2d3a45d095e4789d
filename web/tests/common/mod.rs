//! The helpers that tests of simulations share.

use ameles_web::simulation::{Simulation, StepResult};

/// Steps until nothing is left to do.
pub(crate) fn settle(simulation: &mut Simulation) -> Vec<StepResult> {
    let mut results = Vec::new();
    loop {
        results.push(simulation.step().expect("the scheme goes on"));
        if results.last().is_some_and(|result| result.rests) {
            return results;
        }
    }
}
