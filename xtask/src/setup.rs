//! The files that the tests need and the repository does not hold, fetched into `.test-env` from package registries.

use crate::tool::{command, run, succeeds};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of everything that is fetched, which stands nowhere else.
const TEST_ENV: &str = ".test-env";

/// The S3 server that plays the untrusted side.
const VERSITYGW: &str = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";

/// The packages of the Python environment.
const REQUIREMENTS: [&str; 2] = ["xtask/requirements.txt", "tests/clients/requirements.txt"];

/// The Python environment, made anew when a requirement changed.
pub fn python() -> Result<()> {
    environment("python", &REQUIREMENTS)
}

/// A Python environment of its own for Tempest, which asks for many packages.
pub fn tempest() -> Result<()> {
    environment("tempest", &["tests/tempest/requirements.txt"])
}

fn environment(name: &str, requirements: &[&str]) -> Result<()> {
    let mut wanted = String::new();
    for file in requirements {
        wanted += &fs::read_to_string(file).with_context(|| format!("{file} cannot be read"))?;
    }
    let home = Path::new(TEST_ENV).join(name);
    let stamp = home.join("installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    run(command("python3").args(["-m", "venv", "--clear"]).arg(&home))?;
    let mut pip = command(home.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--no-input"]);
    for file in requirements {
        pip.args(["--requirement", file]);
    }
    run(&mut pip)?;
    fs::write(&stamp, wanted)?;
    Ok(())
}

/// A program of the Python environment.
pub fn in_python(program: &str) -> PathBuf {
    Path::new(TEST_ENV).join("python/bin").join(program)
}

/// A program of Tempest's environment.
pub fn in_tempest(program: &str) -> PathBuf {
    Path::new(TEST_ENV).join("tempest/bin").join(program)
}

/// Builds versitygw, once a version.
pub fn versitygw() -> Result<()> {
    let path = versitygw_path()?;
    if path.exists() {
        return Ok(());
    }
    let bin = path.parent().context("versitygw has no directory")?;
    run(command("go").args(["install", VERSITYGW]).env("GOBIN", bin))
}

/// The built versitygw. Its version is part of the path, so that a new one is built and an old one left.
pub fn versitygw_path() -> Result<PathBuf> {
    let (_, version) = VERSITYGW.split_once('@').context("versitygw has no version")?;
    Ok(std::env::current_dir()?.join(TEST_ENV).join(format!("versitygw-{version}")).join("versitygw"))
}

/// Takes rclone out of the distribution's package, without installing anything and without being root.
pub fn rclone() -> Result<()> {
    if succeeds(command("rclone").arg("version")) || fetched_rclone().exists() {
        return Ok(());
    }
    let apt = std::env::current_dir()?.join(TEST_ENV).join("apt");
    fs::create_dir_all(apt.join("lists/partial"))?;
    fs::create_dir_all(apt.join("cache/archives/partial"))?;
    let options = [
        "-o".to_owned(),
        format!("Dir::State::lists={}", apt.join("lists").display()),
        "-o".to_owned(),
        format!("Dir::Cache={}", apt.join("cache").display()),
        "-o".to_owned(),
        "APT::Sandbox::User=".to_owned(),
        "-qq".to_owned(),
    ];
    run(command("apt-get").args(&options).arg("update"))?;
    run(command("apt-get").args(&options).args(["download", "rclone"]).current_dir(&apt))?;
    let package = fs::read_dir(&apt)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|end| end == "deb"))
        .context("apt-get downloaded no package of rclone")?;
    run(command("dpkg-deb").arg("--extract").arg(package).arg(Path::new(TEST_ENV).join("rclone")))
}

/// The place where [`rclone`] puts it.
pub fn fetched_rclone() -> PathBuf {
    Path::new(TEST_ENV).join("rclone/usr/bin/rclone")
}
