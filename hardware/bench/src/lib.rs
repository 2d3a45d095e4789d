//! A bench for the ORAM controller in `hardware/`: its RTL, simulated cycle by cycle, compared with the schemes of
//! `ameles-core`.
//!
//! [`Golden`] runs a scheme of the core over memory with the controller's layout and encryption. It predicts the
//! addresses, their order, the ciphertexts and the answers that the controller must show. [`Bench`] drives the RTL,
//! which Verilator has turned into a library ([`Rtl`]), with memory behind its bus ([`Memory`]).

mod bench;
mod configuration;
mod dram;
mod golden;
mod golden_front_end;
mod library;
mod memory;
mod model;
mod mutant;
mod pads;
mod programs;
mod recursion;
mod rtl;
mod sample;
mod session;
mod shipped;
mod stash_bound;

pub use bench::{Bench, BenchError, Run};
pub use configuration::{Configuration, FrontEnd, Scheme};
pub use dram::{Dram, board_specification};
pub use golden::{Golden, GoldenMemory};
pub use golden_front_end::GoldenFrontEnd;
pub use library::{Design, DesignBuilder, LibraryError};
pub use memory::{Burst, Faults, Memory, Pace, Port, Refusal, Traffic};
pub use model::BucketCost;
pub use mutant::Mutant;
pub use programs::{ProgramAccess, program_accesses, programs, rand, scan, session_of};
pub use recursion::Recursion;
pub use rtl::{Inputs, Outputs, Rtl, RtlError};
pub use sample::{BackendSample, PortSample, enumeration_names};
pub use session::{Operation, Request, Session};
pub use stash_bound::StashBound;
