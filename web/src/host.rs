//! The requests of the page, in JSON, and the answers.

use crate::area::Area;
use crate::catalogue::{MAX_BLOCKS, MIN_BLOCKS, SCHEMES, SchemeInfo};
use crate::instance::{MapShape, PositionMapKind, Setting};
use crate::picture::Picture;
use crate::simulation::{Simulation, StepResult};
use crate::stepped_scheme::{Batch, RequestedAccess};
use ameles_core::types::BlockId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The maximum number of steps of one request.
pub const MAX_STEPS: u32 = 100_000;

/// A request.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// Names the schemes.
    Schemes,
    /// Makes a simulation.
    Make {
        /// The name of the simulation's scheme.
        scheme: String,
        /// The number of blocks.
        capacity: u64,
        /// The seed of all that is drawn.
        seed: u64,
        /// The maximum number of accesses in a batch: 1 if it is not given.
        #[serde(default = "default_one")]
        batch: u32,
        /// True if pending work waits until it must be done.
        #[serde(default)]
        lazy: bool,
        /// The place of the position map: the trusted side if it is not given.
        #[serde(default)]
        map: PositionMapKind,
    },
    /// Asks a simulation for a batch of accesses.
    Access {
        /// The simulation.
        simulation: u32,
        /// The accesses, some of which may be `null`: they request nothing.
        batch: Vec<Option<AccessRequest>>,
    },
    /// Requests a step of the pending work of a simulation.
    Idle {
        /// The simulation.
        simulation: u32,
    },
    /// Advances a simulation by operations of its store, until nothing is left to do.
    Step {
        /// The simulation.
        simulation: u32,
        /// The maximum number of operations: 1 if it is not given.
        #[serde(default = "default_one")]
        times: u32,
    },
    /// Requests all that the owner of a simulation knows.
    State {
        /// The simulation.
        simulation: u32,
    },
    /// Ends a simulation.
    Drop {
        /// The simulation.
        simulation: u32,
    },
}

/// An access.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessRequest {
    /// The block.
    block: u64,
    /// The number to write; `None` for a read.
    #[serde(default)]
    write: Option<u32>,
}

impl From<AccessRequest> for RequestedAccess {
    fn from(AccessRequest { block, write }: AccessRequest) -> Self {
        RequestedAccess { block: BlockId(block), write }
    }
}

fn default_one() -> u32 {
    1
}

/// An answer.
#[derive(Serialize)]
#[serde(untagged)]
enum Answer {
    Schemes(Schemes),
    Simulation(NewSimulation),
    Steps(Vec<StepResult>),
    State(Box<Picture>),
    Done {},
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Schemes {
    schemes: &'static [SchemeInfo],
    min_blocks: u64,
    max_blocks: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewSimulation {
    simulation: u32,
    areas: Vec<Area>,
    code: Vec<String>,
    /// Processors, if there are many.
    processors: Option<u32>,
    /// The ORAMs of its position map, the largest first, if that is recursive.
    maps: Vec<MapShape>,
}

/// All simulations of a page.
#[derive(Default)]
pub struct Host {
    simulations: BTreeMap<u32, Simulation>,
    next_simulation: u32,
}

impl Host {
    /// Answers a request: `{"ok": …}`, or `{"error": "…"}` with what was wrong.
    pub fn answer(&mut self, request: &str) -> String {
        #[derive(Serialize)]
        struct Answered {
            ok: Answer,
        }
        #[derive(Serialize)]
        struct Refused {
            error: String,
        }
        let request =
            serde_json::from_str(request).map_err(|error| format!("the request is not one: {error}"));
        let answer = match request.and_then(|request| self.handle(request)) {
            Ok(ok) => serde_json::to_string(&Answered { ok }),
            Err(error) => serde_json::to_string(&Refused { error }),
        };
        answer.unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
    }

    fn handle(&mut self, request: Request) -> Result<Answer, String> {
        match request {
            Request::Schemes => Ok(Answer::Schemes(Schemes {
                schemes: &SCHEMES,
                min_blocks: MIN_BLOCKS,
                max_blocks: MAX_BLOCKS,
            })),
            Request::Make { scheme, capacity, seed, batch, lazy, map } => {
                let setting = Setting { capacity, seed, batch, map };
                let simulation = Simulation::new(&scheme, setting, lazy)?;
                let instance = simulation.instance();
                let answer = NewSimulation {
                    simulation: self.next_simulation,
                    areas: instance.areas.clone(),
                    code: instance.code.lines.clone(),
                    processors: instance.processors.map(|processors| processors.count),
                    maps: instance.maps.clone(),
                };
                self.simulations.insert(self.next_simulation, simulation);
                self.next_simulation += 1;
                Ok(Answer::Simulation(answer))
            }
            Request::Access { simulation, batch } => {
                let batch: Batch = batch.into_iter().map(|one| one.map(RequestedAccess::from)).collect();
                self.find(simulation)?.request_batch(batch)?;
                Ok(Answer::Done {})
            }
            Request::Idle { simulation } => {
                self.find(simulation)?.request_idle_step();
                Ok(Answer::Done {})
            }
            Request::Step { simulation, times } => {
                let simulation = self.find(simulation)?;
                let mut results = Vec::new();
                for _ in 0..times.min(MAX_STEPS) {
                    results.push(simulation.step()?);
                    if results.last().is_some_and(|result| result.rests) {
                        break;
                    }
                }
                Ok(Answer::Steps(results))
            }
            Request::State { simulation } => Ok(Answer::State(Box::new(Picture::of(self.find(simulation)?)))),
            Request::Drop { simulation } => {
                self.find(simulation)?;
                self.simulations.remove(&simulation);
                Ok(Answer::Done {})
            }
        }
    }

    fn find(&mut self, simulation: u32) -> Result<&mut Simulation, String> {
        let found = self.simulations.get_mut(&simulation);
        found.ok_or_else(|| format!("there is no simulation {simulation}: make one first"))
    }
}
