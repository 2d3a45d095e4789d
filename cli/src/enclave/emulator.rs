//! The emulator's process, which always ends with this process.

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The emulator.
pub const EMULATOR: &str = "qemu-system-riscv64";

/// Finds the emulator on PATH.
///
/// # Errors
/// The emulator is missing.
pub(super) fn find() -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(EMULATOR)).find(|file| file.is_file());
    found.with_context(|| {
        format!("{EMULATOR} is missing; on Debian and Ubuntu: apt-get install qemu-system-misc")
    })
}

/// Returns a command that starts the emulator. It starts this program, which then [becomes](exec_emulator) the
/// emulator.
pub(super) fn command() -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    // Ctrl-C must reach only this process, which then ends the emulator.
    command.process_group(0);
    command.args(["enclave", "emulator", &getpid().as_raw_nonzero().to_string(), "--"]).arg(find()?);
    Ok(command)
}

/// Replaces this process with the emulator, which the system ends when its parent ends.
///
/// # Errors
/// The parent is not the given one, or the emulator cannot be started.
pub fn exec_emulator(parent: i32, words: &[OsString]) -> Result<Infallible> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have ended before this was set.
    if getppid().map(Pid::as_raw_pid) != Some(parent) {
        bail!("this command is only for internal use by `ameles enclave`");
    }
    let (program, arguments) = words.split_first().context("the emulator is missing in the arguments")?;
    let error = Command::new(program).args(arguments).exec();
    Err(error).with_context(|| format!("{} cannot be started", OsStr::new(program).display()))
}
