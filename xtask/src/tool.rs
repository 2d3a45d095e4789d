//! Running other programs: from the root of the workspace, loudly, and with errors that name the command.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The directory that holds the workspace's `Cargo.toml`.
pub fn workspace_root() -> Result<PathBuf> {
    // Asked for while it runs: a target folder that was copied from another checkout names the other one.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Ok(Path::new(&here).parent().context("xtask does not lie in a workspace")?.to_path_buf())
}

/// A command that reads nothing from the terminal.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    command
}

/// The cargo that started this program, as a shell would start it.
pub fn cargo() -> Command {
    let mut cargo = command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        // They tell of this package. Build scripts that look at them, ring's for one, would run again, and all above them.
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// Runs it with its output on the terminal; anything but exit code 0 is an error.
pub fn run(command: &mut Command) -> Result<()> {
    println!("    $ {}", shown(command));
    let status = command.status().with_context(|| format!("`{}` cannot be started", shown(command)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", shown(command));
    }
    Ok(())
}

/// Runs it and returns what it printed; anything but exit code 0 is an error.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("`{}` cannot be started", shown(command)))?;
    if !output.status.success() {
        bail!("`{}` ended with {}", shown(command), output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The packages of the workspace, as cargo tells of them.
pub fn packages() -> Result<Vec<serde_json::Value>> {
    let metadata = output(cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let mut metadata: serde_json::Value =
        serde_json::from_str(&metadata).context("cargo metadata printed no JSON")?;
    match metadata["packages"].take() {
        serde_json::Value::Array(packages) => Ok(packages),
        _ => bail!("cargo metadata names no packages"),
    }
}

/// Tells whether it starts and ends well; its output is thrown away.
pub fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The command as one would type it, programs by their file name.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let mut shown = name.to_string_lossy().into_owned();
    for argument in command.get_args() {
        shown.push(' ');
        shown.push_str(&argument.to_string_lossy());
    }
    shown
}

/// The folder that cargo builds into.
pub fn target_folder() -> Result<PathBuf> {
    let root = std::env::current_dir()?;
    Ok(std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), Into::into))
}
