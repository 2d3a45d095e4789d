//! Records traces of programs, prints the figures of traces, and converts them.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints")]

use ameles_processor::trace::{self, WrittenFormat};
use ameles_traces::digests::{Comparison, Digests};
use ameles_traces::error::RecordError;
use ameles_traces::measure::Figures;
use ameles_traces::notice;
use ameles_traces::programs::{self, Program, Tables};
use ameles_traces::record::{self, Recorder};
use ameles_traces::report::{self, Row};
use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use std::fs;
use std::path::{Path, PathBuf};

/// Misses of a short trace, without the warm-up.
const SHORT: u64 = 100_000;
/// Misses of a trace in full length, as in IR-ORAM.
const FULL: u64 = 2_000_000;

#[derive(Parser)]
#[command(name = "ameles-traces", about = "Traces of programs for the simulated processor")]
struct Cli {
    #[command(subcommand)]
    command: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Records the programs of the table in QEMU (`cargo xtask traces` calls it)
    Record(RecordArgs),
    /// Prints the figures of traces in any format
    Show {
        /// The traces
        #[arg(required = true)]
        traces: Vec<PathBuf>,
    },
    /// Writes a trace of any format as USIMM's text, or packed
    Convert {
        /// The trace
        from: PathBuf,
        /// The file to write: text if it ends with .txt or .usimm, else packed
        into: PathBuf,
    },
}

#[derive(Args)]
struct RecordArgs {
    /// Record 2,000,000 misses of each, as IR-ORAM has it, and not 100,000
    #[arg(long)]
    full: bool,
    /// Record only this program (may be given several times)
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Write the digests and the short traces into this folder too, which is the crate's own
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// The folder of the traces
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The plugin of QEMU, libameles_trace_recorder.so
    #[arg(long, value_name = "FILE")]
    plugin: PathBuf,
    /// The program ameles-programs
    #[arg(long, value_name = "FILE")]
    own: PathBuf,
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Action::Record(args) => record_all(&args),
        Action::Show { traces } => traces.iter().try_for_each(|path| show(path)),
        Action::Convert { from, into } => {
            let is_text = into.extension().is_some_and(|end| end == "txt" || end == "usimm");
            let format = if is_text { WrittenFormat::Usimm } else { WrittenFormat::Packed };
            let misses = trace::convert(&from, &into, format)?;
            println!("{}: {misses} misses", into.display());
            if let (true, Some(notice)) = (is_text, trace::open(&from, None)?.notice()) {
                println!("{} has no place for the notice: {notice}", into.display());
            }
            Ok(())
        }
    }
}

fn record_all(args: &RecordArgs) -> Result<()> {
    let tables = programs::tables()?;
    let selected = selected(&tables, &args.only)?;
    record::check(selected.iter().copied())?;
    fs::create_dir_all(&args.out).with_context(|| format!("making {}", args.out.display()))?;
    let [out, plugin, own] = [&args.out, &args.plugin, &args.own]
        .map(|path| path.canonicalize().with_context(|| path.display().to_string()));
    let (out, plugin, own) = (out?, plugin?, own?);
    let folder = tempfile::Builder::new().prefix("ameles-traces-").tempdir()?;
    let misses = if args.full { FULL } else { SHORT };
    let recorder =
        Recorder { plugin: &plugin, own: &own, inputs: &tables.inputs, folder: folder.path(), misses };
    let mut digests = Digests::read(include_str!("../digests.toml"))?;
    let mut rows = Vec::new();
    for (nth, program) in (1..).zip(&selected) {
        eprintln!("{nth} of {}: {} {}", selected.len(), program.name, program.does);
        let into = out.join(format!("{}.trace", program.name));
        let figures = recorder.record(program, &into)?;
        let digests_of_length = digests.for_length(args.full);
        let comparison = Comparison::of(&figures.digest, digests_of_length.get(&program.name));
        digests_of_length.insert(program.name.clone(), figures.digest.clone());
        if let (Some(crate_folder), false) = (&args.keep, args.full) {
            let copy = crate_folder.join("short").join(format!("{}.trace", program.name));
            notice::copy(&into, &copy, &program.notice(&tables.trace_licence))?;
        }
        let bytes = fs::metadata(&into)?.len();
        rows.push(Row { program, figures, bytes, comparison });
    }
    println!("{}", report::table(&tables, &rows));
    println!("the traces are in {}", out.display());
    if let Some(crate_folder) = &args.keep {
        let file = crate_folder.join("digests.toml");
        fs::write(&file, digests.to_toml()?).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(())
}

fn selected<'a>(tables: &'a Tables, only: &[String]) -> Result<Vec<&'a Program>, RecordError> {
    let known: Vec<String> = tables.programs.iter().map(|program| program.name.clone()).collect();
    if let Some(name) = only.iter().find(|name| !known.contains(name)) {
        return Err(RecordError::Unknown { name: name.clone(), known });
    }
    let is_chosen = |program: &&Program| only.is_empty() || only.contains(&program.name);
    Ok(tables.programs.iter().filter(is_chosen).collect())
}

fn show(path: &Path) -> Result<()> {
    let trace = trace::open(path, None)?;
    let notice = trace.notice().map(str::to_owned);
    let figures = Figures::of(trace.warm_up(), trace)?;
    println!("{}", path.display());
    println!("    records       {} ({} of them warm the cache)", figures.records, figures.warm_up);
    println!("    instructions  {}", figures.instructions);
    let misses =
        [("loads", figures.loads), ("stores", figures.stores), ("written back", figures.written_back)];
    for (name, events) in misses {
        println!("    {name:<13} {:.3} in a thousand instructions", figures.per_kilo(events));
    }
    println!("    SHA-256       {}", figures.digest);
    if let Some(notice) = notice {
        println!("    notice        {notice}");
    }
    Ok(())
}
