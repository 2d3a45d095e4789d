//! The runtime of a command: signals, addresses, the log, output, files and exit codes.

pub mod allocator;
pub mod atomic_file;
pub mod checkout;
pub mod exit;
pub mod file_system;
pub mod interrupt;
pub mod listen;
pub mod logging;
pub mod output;
pub mod progress;
pub mod remove_folder;
pub mod resume_events;
pub mod tls_watch;
