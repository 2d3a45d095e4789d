//! The files that the tests need and the repository does not hold, fetched into `.test-env` from package registries.

use crate::tool::{command, run, succeeds};
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of everything that is fetched, which stands nowhere else.
pub const TEST_ENV: &str = ".test-env";

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

/// A Python environment of its own for the tools of hardware.
pub fn hardware() -> Result<()> {
    environment("hardware", &["hardware/requirements.txt"])
}

fn environment(name: &str, requirements: &[&str]) -> Result<()> {
    fs::create_dir_all(TEST_ENV)?;
    // Another step that wants the same waits for it.
    let busy = File::create(Path::new(TEST_ENV).join(name).with_extension("lock"))?;
    busy.lock()?;
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
    // Most of what is installed is never imported: it is compiled when it is.
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
    fs::write(&stamp, wanted)?;
    Ok(())
}

/// A program of the Python environment.
pub fn in_python(program: &str) -> PathBuf {
    Path::new(TEST_ENV).join("python/bin").join(program)
}

/// The path of programs, with those of the Python environment.
pub fn path_with_python() -> Result<OsString> {
    let own = std::env::current_dir()?.join(in_python(""));
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Last, so that its Python is not taken for the machine's.
    Ok(std::env::join_paths(std::env::split_paths(&path).chain([own]))?)
}

/// A program of Tempest's environment.
pub fn in_tempest(program: &str) -> PathBuf {
    Path::new(TEST_ENV).join("tempest/bin").join(program)
}

/// A program of the environment of hardware.
pub fn in_hardware(program: &str) -> PathBuf {
    Path::new(TEST_ENV).join("hardware/bin").join(program)
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
    let apt = Apt::new(None)?;
    run(apt.get().arg("update"))?;
    run(apt.get().args(["download", "rclone"]).current_dir(&apt.folder))?;
    let package = fs::read_dir(&apt.folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|end| end == "deb"))
        .context("apt-get downloaded no package of rclone")?;
    run(command("dpkg-deb").arg("--extract").arg(package).arg(Path::new(TEST_ENV).join("rclone")))
}

/// The place where [`rclone`] puts it.
pub fn fetched_rclone() -> PathBuf {
    Path::new(TEST_ENV).join("rclone/usr/bin/rclone")
}

/// Fetches the source of a package of the distribution into a folder, without being root, and says which archive it is.
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

/// The lists of this machine's packages, rewritten so that they are those of sources.
fn sources(into: &Path) -> Result<PathBuf> {
    let (system, own) = (Path::new("/etc/apt"), into.join("sources"));
    fs::create_dir_all(&own)?;
    let more = fs::read_dir(system.join("sources.list.d")).into_iter().flatten();
    let more = more.filter_map(|entry| Some(entry.ok()?.path()));
    for list in more.chain([system.join("sources.list")]).filter(|list| list.is_file()) {
        let text = fs::read_to_string(&list).with_context(|| format!("reading {}", list.display()))?;
        let lines = text.lines().filter_map(|line| match line.split_once(char::is_whitespace) {
            Some(("deb", what)) => Some(format!("deb-src {what}")),
            Some(("deb-src", _)) => None,
            Some(("Types:", _)) => Some("Types: deb-src".to_owned()),
            _ => Some(line.to_owned()),
        });
        let name = list.file_name().context("a list of packages has no name")?;
        fs::write(own.join(name), lines.collect::<Vec<_>>().join("\n") + "\n")?;
    }
    Ok(own)
}

/// The distribution's packages, looked at in a folder of our own.
struct Apt {
    folder: PathBuf,
    options: Vec<String>,
}

impl Apt {
    /// Uses the lists that this machine has, or those in a folder.
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
