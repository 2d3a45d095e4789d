//! `lethe bench`

use crate::exit::Exit;
use crate::progress;
use anyhow::Result;
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use lethe_lab::bench::files::{self, FilesOptions};
use lethe_lab::bench::link::{self, LinkOptions};
use lethe_lab::bench::memory::{self, MemoryOptions};
use lethe_lab::bench::{Progress, Report};
use lethe_seal::cipher::Cipher;

#[derive(Args)]
#[command(
    after_help = "Each figure stands beside a bare baseline of the same run. Machines are noisy: compare ratios \
and medians. The benches use a temporary folder of up to 3 GiB and take some minutes.

Examples:
  lethe bench
  lethe bench memory-64 memory-4096 --aegis
  lethe bench files --json > figures.json"
)]
pub(super) struct Arguments {
    /// Which benches; all of them if none is named
    #[arg(value_enum)]
    benches: Vec<Bench>,
    /// Seal with AEGIS-128L instead of AES-256-GCM (memory benches)
    #[arg(long)]
    aegis: bool,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Bench {
    /// 2^20 blocks of 64 bytes in memory: accesses a second
    #[value(name = "memory-64")]
    Memory64,
    /// 2^17 blocks of 4 KiB in memory: accesses a second
    #[value(name = "memory-4096")]
    Memory4096,
    /// 4096 blocks of 64 KiB in files: bytes moved, requests
    Files,
    /// The same vault behind 23.6 ms and 510 Mbit/s: throughput, latency
    Link,
}

/// A progress bar for whatever stage the bench is in.
struct Shown(ProgressBar);

impl Progress for Shown {
    fn at(&self, what: &str, done: u64, all: u64) {
        self.0.set_message(what.to_owned());
        self.0.set_length(all);
        self.0.set_position(done);
    }
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    let all = [Bench::Memory64, Bench::Memory4096, Bench::Files, Bench::Link];
    let chosen = if arguments.benches.is_empty() { all.to_vec() } else { arguments.benches.clone() };
    let mut reports = Vec::new();
    for bench in chosen {
        let bar = progress::steps("", 0);
        let report = measure(bench, arguments.aegis, &Shown(bar.clone()));
        bar.finish_and_clear();
        let report = report?;
        if !arguments.json {
            println!("{report}");
        }
        reports.push(report);
    }
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&reports)?);
    }
    let met = reports.iter().all(Report::is_met);
    Ok(if met { Exit::Success } else { Exit::Failure })
}

fn measure(bench: Bench, aegis: bool, progress: &dyn Progress) -> Result<Report> {
    let memory = |options: MemoryOptions| {
        let cipher = if aegis { Cipher::Aegis128L } else { options.cipher };
        memory::run(&MemoryOptions { cipher, ..options }, progress)
    };
    Ok(match bench {
        Bench::Memory64 => memory(MemoryOptions::small_blocks())?,
        Bench::Memory4096 => memory(MemoryOptions::pages())?,
        Bench::Files => files::run(&FilesOptions::standard(), progress)?,
        Bench::Link => link::run(&LinkOptions::standard(), progress)?,
    })
}
