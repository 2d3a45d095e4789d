//! Files that the tests need and that are not in the repository. They are fetched from package registries into
//! `.test-env`.

use crate::tool::{command, run, succeeds};
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of all fetched files.
pub const TEST_ENV: &str = ".test-env";

/// The S3 server that the tests use as the untrusted provider.
const VERSITYGW: &str = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";

/// The packages of the Python environment.
const REQUIREMENTS: [&str; 2] = ["xtask/requirements.txt", "tests/clients/requirements.txt"];

/// Creates the Python environment, again if a requirement has changed.
pub fn python() -> Result<()> {
    environment("python", &REQUIREMENTS)
}

/// Creates a separate Python environment for Tempest, which requires many packages.
pub fn tempest() -> Result<()> {
    environment("tempest", &["tests/tempest/requirements.txt"])
}

/// Creates a separate Python environment for the tools of hardware.
pub fn hardware() -> Result<()> {
    environment("hardware", &["hardware/requirements.txt"])
}

fn environment(name: &str, requirements: &[&str]) -> Result<()> {
    fs::create_dir_all(TEST_ENV)?;
    // Another step that needs the same environment waits here.
    let lock_file = File::create(Path::new(TEST_ENV).join(name).with_extension("lock"))?;
    lock_file.lock()?;
    let mut required = String::new();
    for file in requirements {
        required += &fs::read_to_string(file).with_context(|| format!("reading {file}"))?;
    }
    let folder = Path::new(TEST_ENV).join(name);
    let stamp = folder.join("installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == required) {
        return Ok(());
    }
    run(command("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let mut pip = command(folder.join("bin/python"));
    // Most modules are never imported, so Python compiles each one on its first import.
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-input",
        "--no-compile",
        "--disable-pip-version-check",
    ]);
    for file in requirements {
        pip.args(["--requirement", file]);
    }
    run(&mut pip)?;
    fs::write(&stamp, required)?;
    Ok(())
}

/// Returns the path of a program of the Python environment.
pub fn in_python(program: &str) -> PathBuf {
    Path::new(TEST_ENV).join("python/bin").join(program)
}

/// Returns `PATH` with the programs of the Python environment.
pub fn path_with_python() -> Result<OsString> {
    let programs = std::env::current_dir()?.join(in_python(""));
    let path = std::env::var_os("PATH").unwrap_or_default();
    // They come last, so that `python3` is still the one of the machine.
    Ok(std::env::join_paths(std::env::split_paths(&path).chain([programs]))?)
}

/// Returns the path of a program of Tempest's environment.
pub fn in_tempest(program: &str) -> PathBuf {
    Path::new(TEST_ENV).join("tempest/bin").join(program)
}

/// Returns the path of a program of the environment of hardware.
pub fn in_hardware(program: &str) -> PathBuf {
    Path::new(TEST_ENV).join("hardware/bin").join(program)
}

/// Builds versitygw, once for each version.
pub fn versitygw() -> Result<()> {
    let path = versitygw_path()?;
    if path.exists() {
        return Ok(());
    }
    let bin = path.parent().context("the path of versitygw has no folder")?;
    run(command("go").args(["install", VERSITYGW]).env("GOBIN", bin))
}

/// Returns the path of the built versitygw, which includes its version.
pub fn versitygw_path() -> Result<PathBuf> {
    let (_, version) = VERSITYGW.split_once('@').context("versitygw has no version")?;
    Ok(std::env::current_dir()?.join(TEST_ENV).join(format!("versitygw-{version}")).join("versitygw"))
}

/// A program that is on `PATH`, or in a package of the distribution.
pub struct PackagedProgram {
    /// The name of the program.
    pub name: &'static str,
    /// The argument with which it prints its version.
    version: &'static str,
    /// The package.
    package: &'static str,
}

/// The client of object stores.
pub const RCLONE: PackagedProgram = PackagedProgram { name: "rclone", version: "version", package: "rclone" };
/// The server of etcd.
pub const ETCD: PackagedProgram =
    PackagedProgram { name: "etcd", version: "--version", package: "etcd-server" };

impl PackagedProgram {
    /// Extracts the program from its package, without an installation and without root.
    pub fn fetch(&self) -> Result<()> {
        if self.is_available() {
            return Ok(());
        }
        let apt = Apt::new(None)?;
        run(apt.get().arg("update"))?;
        run(apt.get().args(["download", self.package]).current_dir(&apt.folder))?;
        let is_package = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&format!("{}_", self.package)) && name.ends_with(".deb")
        };
        let package = fs::read_dir(&apt.folder)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(is_package)
            .with_context(|| format!("apt-get downloaded no package {}", self.package))?;
        run(command("dpkg-deb").arg("--extract").arg(package).arg(Path::new(TEST_ENV).join(self.name)))
    }

    /// Returns whether the program is on `PATH`, or was fetched.
    pub fn is_available(&self) -> bool {
        self.is_on_path() || self.fetched().exists()
    }

    /// Returns the path of the program.
    pub fn path(&self) -> Result<PathBuf> {
        let fetched = std::env::current_dir()?.join(self.fetched());
        Ok(if fetched.exists() { fetched } else { self.name.into() })
    }

    fn is_on_path(&self) -> bool {
        succeeds(command(self.name).arg(self.version))
    }

    fn fetched(&self) -> PathBuf {
        Path::new(TEST_ENV).join(self.name).join("usr/bin").join(self.name)
    }
}

/// Fetches the source of a package of the distribution into a folder, without root. Returns the path of the archive.
pub fn source(package: &str, into: &Path) -> Result<PathBuf> {
    fs::create_dir_all(into)?;
    let apt = Apt::new(Some(&sources(into)?))?;
    run(apt.get().arg("update"))?;
    run(apt.get().args(["source", "--download-only", package]).current_dir(into))?;
    fs::read_dir(into)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.to_string_lossy().contains(".orig.tar."))
        .with_context(|| format!("apt-get downloaded no source of {package}"))
}

/// Writes copies of this machine's package lists that list sources. Returns their folder.
fn sources(into: &Path) -> Result<PathBuf> {
    let (system, folder) = (Path::new("/etc/apt"), into.join("sources"));
    fs::create_dir_all(&folder)?;
    let files = fs::read_dir(system.join("sources.list.d")).into_iter().flatten();
    let files = files.filter_map(|entry| Some(entry.ok()?.path()));
    for list in files.chain([system.join("sources.list")]).filter(|list| list.is_file()) {
        let text = fs::read_to_string(&list).with_context(|| format!("reading {}", list.display()))?;
        let lines = text.lines().filter_map(|line| match line.split_once(char::is_whitespace) {
            Some(("deb", what)) => Some(format!("deb-src {what}")),
            Some(("deb-src", _)) => None,
            Some(("Types:", _)) => Some("Types: deb-src".to_owned()),
            _ => Some(line.to_owned()),
        });
        let name = list.file_name().context("a package list has no file name")?;
        fs::write(folder.join(name), lines.collect::<Vec<_>>().join("\n") + "\n")?;
    }
    Ok(folder)
}

/// The distribution's packages, with apt's files in a private folder.
struct Apt {
    folder: PathBuf,
    options: Vec<String>,
}

impl Apt {
    /// Uses the package lists of this machine, or those in a folder.
    fn new(lists: Option<&Path>) -> Result<Self> {
        let name = if lists.is_some() { "apt-source" } else { "apt" };
        let folder = std::env::current_dir()?.join(TEST_ENV).join(name);
        fs::create_dir_all(folder.join("lists/partial"))?;
        fs::create_dir_all(folder.join("cache/archives/partial"))?;
        let mut options = vec![
            format!("Dir::State::lists={}", folder.join("lists").display()),
            format!("Dir::Cache={}", folder.join("cache").display()),
            "APT::Sandbox::User=".to_owned(),
        ];
        if let Some(lists) = lists {
            options.push("Dir::Etc::SourceList=/dev/null".to_owned());
            options.push(format!("Dir::Etc::SourceParts={}", lists.display()));
        }
        Ok(Apt { folder, options })
    }

    fn get(&self) -> Command {
        let mut get = command("apt-get");
        get.arg("-qq");
        for option in &self.options {
            get.arg("-o").arg(option);
        }
        get
    }
}
