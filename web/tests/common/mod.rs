//! The helpers that tests of simulations share.

use ameles_web::simulation::{Simulation, Stop};

/// Steps until nothing is left to do.
pub(crate) fn settle(simulation: &mut Simulation) -> Vec<Stop> {
    let mut stops = Vec::new();
    loop {
        stops.push(simulation.step().expect("the scheme goes on"));
        if stops.last().is_some_and(|stop| stop.rests) {
            return stops;
        }
    }
}
