//! A plugin of QEMU's user mode that records the misses of a program's first-level data cache as a trace.
//!
//! ```text
//! qemu-x86_64 -plugin libameles_trace_recorder.so,out=cc1.trace,skip=100000000,misses=2000000 ./cc1 …
//! ```
//!
//! The first-level cache is that of IR-ORAM's Table I: 256 KiB, two ways. Lines are those of the program's virtual
//! addresses. What QEMU hands over is in [`plugin`]; all that is recorded, in [`recorder`].

#[cfg(target_os = "linux")]
pub mod plugin;
pub mod recorder;
pub mod settings;
