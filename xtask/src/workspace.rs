//! Cargo for all packages of the workspace, and the runner of their tests.

use crate::tool::target_folder;
use crate::{lint, measure, profile, setup};
use anyhow::Result;
use std::process::Command;

/// The targets that have tests.
pub const TESTS: [&str; 4] = ["--workspace", "--lib", "--bins", "--tests"];

/// Cargo with the profile of tests, and a compiler that lints what it compiles.
pub fn workspace_cargo(words: &[&str]) -> Result<Command> {
    let mut cargo = lint::linting_cargo(&target_folder()?.join("xtask"))?;
    profile::apply(cargo.args(words))?;
    Ok(cargo)
}

/// Runs the tests that an expression of nextest chooses, in all targets but documentation.
pub fn nextest(tests: &str) -> Result<Command> {
    setup::python()?;
    let mut nextest = workspace_cargo(&["nextest", "run"])?;
    // Cargo finds its subcommand by the path.
    nextest.env("PATH", setup::path_with_python()?);
    nextest.args(TESTS).args(["--filterset", tests]);
    if let Some(runner) = measure::runner()? {
        nextest.envs([runner]);
    }
    Ok(nextest)
}
