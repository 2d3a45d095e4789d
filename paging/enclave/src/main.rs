//! The runtime as a program that the firmware starts. With an operating system, there is nothing to do.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
use ameles_enclave as _;

#[cfg(not(target_os = "none"))]
#[allow(clippy::print_stderr, reason = "a word to whoever starts it by mistake")]
fn main() -> std::process::ExitCode {
    eprintln!("This runs inside of the enclave only: use `ameles enclave run -- ./program`.");
    std::process::ExitCode::from(2)
}
