//! `ameles bench`

use crate::commands::bench_progress::BenchProgress;
use crate::config::Config;
use crate::config::size::Size;
use crate::runtime::exit::Exit;
use crate::runtime::output::{print_error, print_line};
use crate::runtime::progress;
use crate::vault::device::VaultDevice;
use ameles_lab::bench::files::{self, FilesOptions};
use ameles_lab::bench::gateway::{self, GatewayOptions};
use ameles_lab::bench::grow::{self, GrowOptions};
use ameles_lab::bench::link::{self, LinkOptions};
use ameles_lab::bench::memory::{self, MemoryOptions, MemoryScheme};
use ameles_lab::bench::processor::{self, ProcessorOptions};
use ameles_lab::bench::{Progress, Report};
use ameles_seal::cipher::Cipher;
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

#[derive(Args)]
#[command(
    after_help = "Each figure is printed next to a baseline without ORAM from the same run. Machines are noisy: compare ratios \
and medians. The benches use a temporary folder of up to 3 GiB and take some minutes; gateway takes 8 GiB of \
memory and a quarter of an hour, grow takes some minutes.

Examples:
  ameles bench
  ameles bench memory-64 memory-4096 --aegis
  ameles bench memory-64 --scheme circuit
  ameles bench files --json > figures.json
  ameles bench gateway --sizes 16MiB --clients 1
  ameles bench grow --full --block-size 512"
)]
pub(super) struct Arguments {
    /// The benches to run [default: memory-64, memory-4096, files and link]
    #[arg(value_enum)]
    benches: Vec<Bench>,
    /// Seal with AEGIS-128L instead of AES-256-GCM (memory benches)
    #[arg(long)]
    aegis: bool,
    /// The ORAM scheme of the memory benches; without it they measure their usual one and check its targets
    #[arg(long, value_enum)]
    scheme: Option<Scheme>,
    /// Sizes of objects, such as 64KiB,16MiB (gateway bench) [default: 4KiB,64KiB,1MiB,16MiB]
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    sizes: Vec<Size>,
    /// Numbers of concurrent clients, such as 1,64 (gateway bench) [default: 1,16,64]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    clients: Vec<usize>,
    /// Measure a vault of 2^20 blocks too, if the memory suffices (grow bench)
    #[arg(long)]
    full: bool,
    /// Block size (grow bench) [default: 4KiB]
    #[arg(long, value_name = "SIZE")]
    block_size: Option<Size>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Bench {
    /// 2^20 blocks of 64 bytes in memory: accesses per second
    #[value(name = "memory-64")]
    Memory64,
    /// 2^17 blocks of 4 KiB in memory: accesses per second
    #[value(name = "memory-4096")]
    Memory4096,
    /// 4096 blocks of 64 KiB in files: bytes moved and requests
    Files,
    /// As `files`, with a quarter of the blocks on the trusted disk: bytes moved, requests, memory; only if named
    #[value(name = "files-on-disk")]
    FilesOnDisk,
    /// The vault of `files` over a link of 23.6 ms and 510 Mbit/s: throughput and latency
    Link,
    /// S3 clients over the same link, with the ORAM and without; takes a quarter of an hour; only if named
    Gateway,
    /// 2^12, 2^14 and 2^17 blocks of 4 KiB: local bytes per access, openings after a crash; only if named
    Grow,
    /// Paths per second of `ameles lab processor`, for a tree of 25 levels: takes 1.4 GiB of memory; only if named
    Processor,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scheme {
    /// Path ORAM
    Path,
    /// Ring ORAM
    Ring,
    /// Circuit ORAM
    Circuit,
}

impl From<Scheme> for MemoryScheme {
    fn from(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Path => MemoryScheme::Path,
            Scheme::Ring => MemoryScheme::Ring,
            Scheme::Circuit => MemoryScheme::Circuit,
        }
    }
}

/// Lowers the default log level: a line for each request would be measured too.
pub(super) fn quiet(mut config: Config) -> Config {
    config.log.level.get_or_insert_with(|| "warn".into());
    config
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    let all = [Bench::Memory64, Bench::Memory4096, Bench::Files, Bench::Link];
    let chosen = if arguments.benches.is_empty() { all.to_vec() } else { arguments.benches.clone() };
    let mut reports = Vec::new();
    for bench in chosen {
        let bar = progress::steps("", 0);
        let display = BenchProgress { bar: &bar, print: |figure: &str| print_error!("{figure}") };
        let report = measure(bench, &arguments, &display);
        bar.finish_and_clear();
        let report = report?;
        if !arguments.json {
            print_line!("{report}");
        }
        reports.push(report);
    }
    if arguments.json {
        print_line!("{}", serde_json::to_string_pretty(&reports)?);
    }
    let is_met = reports.iter().all(Report::is_met);
    Ok(if is_met { Exit::Success } else { Exit::Failure })
}

fn measure(bench: Bench, arguments: &Arguments, progress: &dyn Progress) -> Result<Report> {
    let memory = |options: MemoryOptions| {
        let cipher = if arguments.aegis { Cipher::Aegis128L } else { options.cipher };
        let usual = MemoryOptions { cipher, ..options };
        let options = match arguments.scheme.map(MemoryScheme::from) {
            // The targets apply to the usual scheme only.
            Some(scheme) if scheme != usual.scheme => {
                MemoryOptions { scheme, eviction_rate: None, goal: None, goal_resident: None, ..usual }
            }
            _ => usual,
        };
        memory::run(&options, progress)
    };
    Ok(match bench {
        Bench::Memory64 => memory(MemoryOptions::small_blocks())?,
        Bench::Memory4096 => memory(MemoryOptions::pages())?,
        Bench::Files => files::run(&FilesOptions::standard(), progress)?,
        Bench::FilesOnDisk => files::run(&FilesOptions::on_disk(), progress)?,
        Bench::Link => link::run(&LinkOptions::standard(), progress)?,
        Bench::Gateway => {
            let mut options = GatewayOptions::standard();
            if !arguments.sizes.is_empty() {
                options.sizes = arguments.sizes.iter().map(|size| size.0 as usize).collect();
            }
            if !arguments.clients.is_empty() {
                options.clients = arguments.clients.clone();
            }
            gateway::run(&options, VaultDevice::Single, progress)?
        }
        Bench::Processor => processor::run(&ProcessorOptions::standard(), progress)?,
        Bench::Grow => {
            let mut options = GrowOptions::standard(arguments.full);
            if let Some(size) = arguments.block_size {
                options = options.with_blocks_of(u32::try_from(size.0).context("--block-size is too large")?);
            }
            grow::run(&options, progress)?
        }
    })
}
