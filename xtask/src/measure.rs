//! The processor time of each compilation and each test, measured by a wrapper.
//!
//! Cargo starts a copy of this program, named [`NAME`], in place of the compiler, and nextest in place of each test.
//! The copy runs the program that its arguments name, and adds a line to the [`crate::record`].

use crate::record::{self, Kind, Line};
use crate::tool::{command, output};
use anyhow::{Context, Result};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use wait4::{ResUse, Wait4};

/// The name under which this program measures.
const NAME: &str = "measure";
/// The variable with the wrapper that nextest starts for each test.
const RUNNER: &str = "XTASK_RUNNER";
/// The variable with the wrapper that cargo starts for the compiler.
const WRAPPER: &str = "RUSTC_WRAPPER";

/// Returns true if this program was started to measure another.
pub fn is_started_to_measure() -> bool {
    is_started_as(NAME)
}

/// Returns true if this program was started under a name.
pub fn is_started_as(name: &str) -> bool {
    std::env::args_os().next().is_some_and(|path| Path::new(&path).file_name() == Some(OsStr::new(name)))
}

/// Runs and measures the program that the arguments name. Returns its exit code.
pub fn run() -> Result<i32> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let (program, arguments) =
        words.split_first().context("the first argument must be the program to measure")?;
    let usage = run_measured(Command::new(program).args(arguments))?;
    if let Some((kind, name)) = subject(arguments) {
        record::add(&record::path()?, &Line { kind, name, processor_time: processor_time(&usage) })?;
    }
    Ok(usage.status.code().unwrap_or_else(|| 128 + usage.status.signal().unwrap_or_default()))
}

/// Runs a command to its end. Returns the resources that were used by the command and by the processes for which it
/// waited.
pub fn run_measured(command: &mut Command) -> Result<ResUse> {
    let program = command.get_program().to_owned();
    let child = command.spawn().with_context(|| format!("`{}` cannot be started", program.display()))?;
    Ok(child.wait4()?)
}

/// Returns the processor time of a process and of the processes that it waited for.
pub fn processor_time(usage: &ResUse) -> Duration {
    usage.rusage.utime + usage.rusage.stime
}

/// Returns the subject of a measurement: a test, by the name of nextest, or a crate, by the name of cargo.
fn subject(arguments: &[OsString]) -> Option<(Kind, String)> {
    if let (Ok(binary), Ok(test)) = (std::env::var("NEXTEST_BINARY_ID"), std::env::var("NEXTEST_TEST_NAME")) {
        return Some((Kind::Test, format!("{binary} {test}")));
    }
    let at = arguments.iter().position(|word| word == "--crate-name")?;
    // Cargo uses this name to request the version of the compiler.
    arguments.get(at + 1).filter(|name| *name != "___")?;
    Some((Kind::Crate, std::env::var("CARGO_PKG_NAME").ok()?))
}

/// Copies this program into a folder under a name. Each step runs a copy, because one step rebuilds this program.
pub fn copy(folder: &Path, name: &str) -> Result<PathBuf> {
    let (copy, new) = (folder.join(name), folder.join(format!("{name}.{}", std::process::id())));
    fs::copy(std::env::current_exe()?, &new).with_context(|| format!("writing {}", new.display()))?;
    fs::rename(&new, &copy)?;
    Ok(copy)
}

/// Installs the copy that measures. Returns the variables that make all steps measure into a record.
pub fn install(folder: &Path, record: &Path) -> Result<Vec<(&'static str, OsString)>> {
    let installed = copy(folder, NAME)?;
    let wrapper = std::env::var_os(WRAPPER).unwrap_or_else(|| installed.clone().into());
    Ok(vec![(record::VARIABLE, record.into()), (RUNNER, installed.into()), (WRAPPER, wrapper)])
}

/// Returns the variable that makes cargo start each test through the wrapper, if tests are measured.
pub fn runner() -> Result<Option<(String, OsString)>> {
    let Some(runner) = std::env::var_os(RUNNER) else { return Ok(None) };
    let version = output(command("rustc").arg("-vV"))?;
    let host =
        version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc -vV prints no host")?;
    Ok(Some((format!("CARGO_TARGET_{}_RUNNER", host.replace('-', "_").to_uppercase()), runner)))
}
