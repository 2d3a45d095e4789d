//! The profile of tests: the release profile, so that dependencies are compiled once for both. Only the crates of the
//! workspace, and dependencies that only tests have, are compiled differently.

use crate::tool::{packages, target_folder};
use anyhow::{Context, Result};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The crates of the workspace that seal, move and store blocks, or simulate: tests wait for them.
const OPTIMISED: [&str; 12] = [
    "ameles-simulator",
    "ameles-core",
    "ameles-dram",
    "ameles-hardware-bench",
    "ameles-pager",
    "ameles-preload",
    "ameles-processor",
    "ameles-programs",
    "ameles-seal",
    "ameles-store",
    "ameles-traces",
    "ameles-vault",
];

/// The dependencies that only tests have, with their optimisation levels.
const TEST_DEPENDENCIES: [(&str, u8); 8] = [
    ("bolero-generator", 0),
    ("comfy-table", 0),
    ("proptest", 1),
    ("rcgen", 0),
    ("s3s-fs", 0),
    ("statrs", 1),
    ("vt100", 0),
    ("vte", 0),
];

/// Returns the folder of the programs that are built with this profile.
pub fn output_folder() -> Result<PathBuf> {
    Ok(target_folder()?.join("tests"))
}

/// Returns the variable that makes cargo share its intermediate files with release builds.
pub fn build_dir_variable() -> Result<(&'static str, PathBuf)> {
    Ok(("CARGO_BUILD_BUILD_DIR", target_folder()?))
}

/// Adds this profile to a cargo command.
pub fn apply(cargo: &mut Command) -> Result<&mut Command> {
    let folder = target_folder()?.join("xtask");
    let (file, new) = (folder.join("tests.toml"), folder.join(format!("tests.{}", std::process::id())));
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    // Other steps write the same file at the same time.
    fs::write(&new, settings()?).with_context(|| format!("writing {}", new.display()))?;
    fs::rename(&new, &file).with_context(|| format!("writing {}", file.display()))?;
    cargo.args(["--release", "--config"]).arg(file).arg("--target-dir").arg(output_folder()?);
    Ok(cargo.envs([build_dir_variable()?]))
}

/// Returns the settings of all packages, as TOML.
fn settings() -> Result<String> {
    let mut text = String::new();
    for package in packages()? {
        let member = package["name"].as_str().context("cargo metadata lists a package without a name")?;
        let level = u8::from(OPTIMISED.contains(&member));
        writeln!(text, "[profile.release.package.{member}]\nopt-level = {level}")?;
        // Every codegen unit of a crate has a copy of each future that it polls.
        writeln!(text, "codegen-units = 2\ndebug-assertions = true\noverflow-checks = true")?;
    }
    for (package, level) in TEST_DEPENDENCIES {
        writeln!(text, "[profile.release.package.{package}]\nopt-level = {level}")?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_crate_that_release_does_not_optimise_is_optimised_in_dist() {
        let workspace =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml")).unwrap();
        let workspace: toml::Table = workspace.parse().unwrap();
        let packages = |profile: &str| workspace["profile"][profile]["package"].as_table().unwrap().clone();
        let dist = packages("dist");
        // The others have one codegen unit in `release`, as all crates have in `dist`.
        let levels = packages("release")
            .into_iter()
            .filter_map(|(name, settings)| Some((name, settings.get("opt-level")?.as_integer())));
        for (name, level) in levels {
            assert!(level < Some(3), "{name}");
            assert_eq!(dist[&name]["opt-level"].as_integer(), Some(3), "{name}");
        }
    }
}
