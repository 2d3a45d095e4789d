//! The traces of real programs: recorded in QEMU, and compared with published figures.

use crate::tool::{cargo, command, run, target_folder};
use anyhow::Result;
use clap::Args;

/// The crate of the traces, with the table of programs, the short traces and the digests.
const CRATE: &str = "simulation/traces";

#[derive(Args)]
pub struct TracesArgs {
    /// Record 2,000,000 misses of each program instead of 100,000
    #[arg(long)]
    full: bool,
    /// Record only this program (may be given several times)
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Store the digests in the repository, and short traces too
    #[arg(long)]
    keep: bool,
}

/// Builds the recorder and the programs, then records the traces.
pub fn record(args: &TracesArgs) -> Result<()> {
    let built = target_folder()?.join("release");
    let packages = ["ameles-trace-recorder", "ameles-programs", "ameles-traces"];
    run(cargo().args(["build", "--release"]).args(packages.iter().flat_map(|name| ["--package", name])))?;
    let length = if args.full { "full" } else { "short" };
    let mut record = command(built.join("ameles-traces"));
    record.arg("record").arg("--out").arg(target_folder()?.join("traces").join(length));
    record.arg("--plugin").arg(built.join("libameles_trace_recorder.so"));
    record.arg("--own").arg(built.join("ameles-programs"));
    record.args(args.only.iter().flat_map(|name| ["--only", name]));
    if args.full {
        record.arg("--full");
    }
    if args.keep {
        record.args(["--keep", CRATE]);
    }
    run(&mut record)
}
