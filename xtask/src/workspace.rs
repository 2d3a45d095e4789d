//! The cargo commands for all packages of the workspace, and for their tests.

use crate::tool::target_folder;
use crate::{lint, measure, profile, setup};
use anyhow::Result;
use std::process::Command;

/// The targets that have tests.
const TESTS: [&str; 4] = ["--workspace", "--lib", "--bins", "--tests"];

/// The features of the workspace's programs that no default has: the client of etcd.
const FEATURES: [&str; 2] = ["--features", "ameles/etcd"];

/// Returns a cargo command with the profile of tests, which lints what it compiles.
pub fn workspace_cargo(arguments: &[&str]) -> Result<Command> {
    let mut cargo = lint::linting_cargo(&target_folder()?.join("xtask"))?;
    profile::apply(cargo.args(arguments).args(FEATURES))?;
    // The client of etcd compiles a description of its messages.
    cargo.env("PROTOC", protoc_bin_vendored::protoc_bin_path()?);
    Ok(cargo)
}

/// Returns a nextest command for the tests that a filter expression selects, in all targets but documentation.
pub fn nextest(filter: &str) -> Result<Command> {
    setup::python()?;
    let mut nextest = workspace_cargo(&["nextest", "run"])?;
    // Cargo finds its subcommand on PATH.
    nextest.env("PATH", setup::path_with_python()?);
    nextest.args(TESTS).args(["--filterset", filter]);
    if let Some(runner) = measure::runner()? {
        nextest.envs([runner]);
    }
    Ok(nextest)
}
