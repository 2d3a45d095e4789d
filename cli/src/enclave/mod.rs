//! The enclave's machine: an emulated RISC-V processor whose untrusted memory is a file of this process.
//!
//! This process is the host of the paper. It owns the file and serves the calls of the runtime, which stand in it. The
//! runtime, the program and their secrets lie in the emulator's private memory, of which the file has nothing. (That
//! the emulator itself could look there is the difference between it and a chip.)

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

pub use file::read_whole;
pub use machine::{MAX_PAGES_BYTES, Machine, MachineSettings, RunResult};
pub use measured_programs::MeasuredPrograms;
pub use program::Image;
pub use runtime::Runtime;
pub use service::Next;
pub use streams::{Input, Output, Streams};
pub use untrusted::Untrusted;
