//! The enclave's machine: an emulated RISC-V processor whose untrusted memory is a file of this process.
//!
//! This process is the host of the paper. It owns the file and serves the calls that the runtime writes to it. The
//! runtime, the program and their secrets are in the emulator's private memory, which is not in the file. (Unlike a
//! chip, the emulator itself can read private memory.)

mod device_tree;
pub mod emulator;
mod file;
mod machine;
mod measured_programs;
mod program;
mod runtime;
mod service;
mod streams;
mod untrusted;

pub use file::read_file;
pub use machine::{MAX_PAGES_BYTES, Machine, MachineSettings, RunResult};
pub use measured_programs::MeasuredPrograms;
pub use program::Image;
pub use runtime::Runtime;
pub use service::Next;
pub use streams::{Input, Output, Streams};
pub use untrusted::Untrusted;
