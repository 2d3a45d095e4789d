//! What the tests need and the repository does not hold, fetched into `.test-env` from package registries.

use crate::freestanding::Toolchain;
use crate::steps::Step;
use crate::tool::{command, output, run, succeeds};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// Everything that is fetched stands here, and nowhere else.
const TEST_ENV: &str = ".test-env";

/// The S3 server that plays the untrusted side.
const VERSITYGW: &str = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";

/// The Go release that versitygw asks for.
const LEAST_GO: (u32, u32) = (1, 25);

/// The packages of the Python environment.
const REQUIREMENTS: [&str; 2] = ["xtask/requirements.txt", "tests/clients/requirements.txt"];

/// A program that must be there before anything can be fetched.
struct Missing {
    what: String,
    steps: &'static [Step],
    remedy: String,
}

/// Fails at once, and not after a quarter of an hour, when a step cannot run on this machine.
pub fn check_all(chosen: &[Step]) -> Result<()> {
    let missing: Vec<Missing> =
        [python_is_missing(), go_is_missing(), rclone_is_missing(), freestanding_toolchain_is_missing()]
            .into_iter()
            .chain(PROGRAMS.map(program_is_missing))
            .flatten()
            .filter(|missing| missing.steps.iter().any(|step| chosen.contains(step)))
            .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut message = String::from("this machine cannot run every step:");
    let mut skips = Vec::new();
    for Missing { what, steps, remedy } in &missing {
        let names: Vec<&str> = steps.iter().map(|step| step.name()).collect();
        message += &format!("\n  {what} (needed by: {})\n    {remedy}", names.join(", "));
        for step in steps.iter().filter(|step| chosen.contains(step)) {
            let skip = format!("--skip {}", step.name());
            if !skips.contains(&skip) {
                skips.push(skip);
            }
        }
    }
    bail!("{message}\n  Without it, the other steps run by `cargo xtask test {}`.", skips.join(" "));
}

fn python_is_missing() -> Option<Missing> {
    let probe = "import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 9))";
    (!succeeds(command("python3").args(["-c", probe]))).then(|| Missing {
        what: "Python 3.9 or newer with its venv module is missing".into(),
        steps: &[Step::Deny, Step::Clients, Step::Compatibility, Step::Tempest],
        remedy: "on Debian and Ubuntu: apt-get install python3 python3-venv".into(),
    })
}

fn go_is_missing() -> Option<Missing> {
    // A client of the tests is built at each run, the server once.
    let is_built = versitygw_path().is_ok_and(|path| path.exists());
    let steps: &'static [Step] =
        if is_built { &[Step::Clients] } else { &[Step::Clients, Step::Compatibility] };
    let found = output(command("go").args(["env", "GOVERSION"])).unwrap_or_default();
    let what = match go_release(&found) {
        Some(release) if release >= LEAST_GO => return None,
        // From 1.21 on, Go fetches the release that a module asks for, unless it is told not to.
        Some(release) if release >= (1, 21) && go_fetches_toolchains() => return None,
        Some(_) => format!("Go {}.{} or newer is missing (found: {})", LEAST_GO.0, LEAST_GO.1, found.trim()),
        None => format!("Go {}.{} or newer is missing", LEAST_GO.0, LEAST_GO.1),
    };
    Some(Missing {
        what,
        steps,
        remedy: "install Go from your distribution or from go.dev; it builds versitygw, the S3 server of the tests, and \
                 a client"
            .into(),
    })
}

fn go_fetches_toolchains() -> bool {
    output(command("go").args(["env", "GOTOOLCHAIN"])).is_ok_and(|choice| choice.trim() != "local")
}

/// `go1.26.8` is release (1, 26).
fn go_release(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim().strip_prefix("go")?.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor: String = parts.next()?.chars().take_while(char::is_ascii_digit).collect();
    Some((major, minor.parse().ok()?))
}

/// Programs that tests run, with the packages that have them and the steps that need them.
const PROGRAMS: [(&str, &str, &[Step]); 6] = [
    ("picosat", "apt-get install picosat", &[Step::Unit, Step::Pager]),
    ("sqlite3", "apt-get install sqlite3", &[Step::Pager]),
    ("redis-server", "apt-get install redis-server", &[Step::Pager]),
    ("restic", "apt-get install restic", &[Step::Clients]),
    ("chromium", "apt-get install chromium", &[Step::Clients]),
    ("psql", "apt-get install postgresql", &[Step::Clients]),
];

fn program_is_missing((program, how, steps): (&str, &str, &'static [Step])) -> Option<Missing> {
    let answers = ["--version", "version"].iter().any(|asked| succeeds(command(program).arg(asked)));
    (!answers).then(|| Missing {
        what: format!("{program} is missing"),
        steps,
        remedy: format!("on Debian and Ubuntu: {how}"),
    })
}

fn freestanding_toolchain_is_missing() -> Option<Missing> {
    Toolchain::find().is_none().then(|| Missing {
        what: "a Rust toolchain for machines without an operating system is missing".into(),
        steps: &[Step::NoStd],
        remedy: "rustup target add riscv64gc-unknown-none-elf wasm32-unknown-unknown; where that is not to be had, on \
                 Debian: apt-get install rustc-web cargo-web rust-web-src rust-web-llvm lld-22"
            .into(),
    })
}

fn rclone_is_missing() -> Option<Missing> {
    let there = succeeds(command("rclone").arg("version"))
        || fetched_rclone().exists()
        || (succeeds(command("apt-get").arg("--version")) && succeeds(command("dpkg-deb").arg("--version")));
    (!there).then(|| Missing {
        what: "rclone is missing, and this is no Debian or Ubuntu, where it would be fetched".into(),
        steps: &[Step::Clients],
        remedy: "install rclone 1.60 or newer so that it is found on PATH".into(),
    })
}

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

/// Where [`rclone`] puts it.
pub fn fetched_rclone() -> PathBuf {
    Path::new(TEST_ENV).join("rclone/usr/bin/rclone")
}
