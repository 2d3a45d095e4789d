//! Running other programs from the root of the workspace. Commands are printed, and errors name them.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the folder of the workspace's `Cargo.toml`.
pub fn workspace_root() -> Result<PathBuf> {
    // Read at run time: a program in a target folder copied from another checkout was compiled with the other path.
    let manifest_folder =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Ok(Path::new(&manifest_folder).parent().context("the folder of xtask has no parent")?.to_path_buf())
}

/// Returns a command whose standard input is empty.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    command
}

/// Returns a command of the cargo that started this program, without the variables of this package.
pub fn cargo() -> Command {
    let mut cargo = command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        // They describe this package. Build scripts that read them, such as the script of ring, would run again, and
        // dependents rebuild.
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// Runs a command with its output on the terminal. Any exit code but 0 is an error.
pub fn run(command: &mut Command) -> Result<()> {
    println!("    $ {}", command_line(command));
    let status =
        command.status().with_context(|| format!("`{}` cannot be started", command_line(command)))?;
    if !status.success() {
        bail!("`{}` failed with {status}", command_line(command));
    }
    Ok(())
}

/// Runs a command and returns its output. Any exit code but 0 is an error.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("`{}` cannot be started", command_line(command)))?;
    if !output.status.success() {
        bail!("`{}` failed with {}", command_line(command), output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the packages of the workspace, from `cargo metadata`.
pub fn packages() -> Result<Vec<serde_json::Value>> {
    let metadata = output(cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let mut metadata: serde_json::Value =
        serde_json::from_str(&metadata).context("cargo metadata printed no JSON")?;
    match metadata["packages"].take() {
        serde_json::Value::Array(packages) => Ok(packages),
        _ => bail!("cargo metadata lists no packages"),
    }
}

/// Returns true if a command exits with code 0. Its output is discarded.
pub fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Returns the command as typed in a shell, with the file name of its program.
fn command_line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let mut line = name.to_string_lossy().into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

/// Returns the target folder of cargo.
pub fn target_folder() -> Result<PathBuf> {
    let root = std::env::current_dir()?;
    Ok(std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), Into::into))
}
