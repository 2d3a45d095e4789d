//! The processor time of each compilation and each test, noted by a program that stands before it.
//!
//! A copy of this program, named [`NAME`], is started by cargo before the compiler and by nextest before each test. It
//! runs what its arguments say and adds a line to the [record](crate::record).

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
/// The variable with the program that nextest is to start before each test.
const RUNNER: &str = "XTASK_RUNNER";
/// The variable with the program that cargo starts before the compiler.
const WRAPPER: &str = "RUSTC_WRAPPER";

/// Tells whether this program was started to measure another.
pub fn is_asked() -> bool {
    is_called(NAME)
}

/// Tells whether this program was started under a name.
pub fn is_called(name: &str) -> bool {
    std::env::args_os().next().is_some_and(|path| Path::new(&path).file_name() == Some(OsStr::new(name)))
}

/// Runs the program that the arguments name, and returns the exit code to end with.
pub fn run() -> Result<i32> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let (program, arguments) = words.split_first().context("nothing is to be measured")?;
    let used = used_by(Command::new(program).args(arguments))?;
    if let Some((kind, name)) = subject(arguments) {
        record::add(&record::path()?, &Line { kind, name, processor: processor(&used) })?;
    }
    Ok(used.status.code().unwrap_or_else(|| 128 + used.status.signal().unwrap_or_default()))
}

/// Runs a command to its end, and returns what it and the processes that it waited for have used.
pub fn used_by(command: &mut Command) -> Result<ResUse> {
    let program = command.get_program().to_owned();
    let child = command.spawn().with_context(|| format!("`{}` cannot be started", program.display()))?;
    Ok(child.wait4()?)
}

/// The processor time, of the process and of those that it waited for.
pub fn processor(used: &ResUse) -> Duration {
    used.rusage.utime + used.rusage.stime
}

/// The subject of a measurement: a test, as nextest names it, or a crate, as cargo does.
fn subject(arguments: &[OsString]) -> Option<(Kind, String)> {
    if let (Ok(binary), Ok(test)) = (std::env::var("NEXTEST_BINARY_ID"), std::env::var("NEXTEST_TEST_NAME")) {
        return Some((Kind::Test, format!("{binary} {test}")));
    }
    let at = arguments.iter().position(|word| word == "--crate-name")?;
    // Cargo asks the compiler about itself with this name.
    arguments.get(at + 1).filter(|name| *name != "___")?;
    Some((Kind::Crate, std::env::var("CARGO_PKG_NAME").ok()?))
}

/// Puts a copy of this program into a folder under a name. Steps run by copies: one of them builds this program anew.
pub fn copy(folder: &Path, name: &str) -> Result<PathBuf> {
    let (copy, new) = (folder.join(name), folder.join(format!("{name}.{}", std::process::id())));
    fs::copy(std::env::current_exe()?, &new).with_context(|| format!("writing {}", new.display()))?;
    fs::rename(&new, &copy)?;
    Ok(copy)
}

/// Installs the copy that measures, and returns variables with which all steps measure and add to a record.
pub fn install(folder: &Path, record: &Path) -> Result<Vec<(&'static str, OsString)>> {
    let installed = copy(folder, NAME)?;
    let wrapper = std::env::var_os(WRAPPER).unwrap_or_else(|| installed.clone().into());
    Ok(vec![(record::VARIABLE, record.into()), (RUNNER, installed.into()), (WRAPPER, wrapper)])
}

/// The variable that has cargo start each test by a runner, if tests are measured.
pub fn runner() -> Result<Option<(String, OsString)>> {
    let Some(runner) = std::env::var_os(RUNNER) else { return Ok(None) };
    let about = output(command("rustc").arg("-vV"))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?;
    Ok(Some((format!("CARGO_TARGET_{}_RUNNER", host.replace('-', "_").to_uppercase()), runner)))
}
