//! `ameles lab thesis`

use super::command_line::command_line;
use super::folder;
use super::output;
use super::progress::{PartialReport, ProgressDisplay};
use super::scratch_folder;
use crate::commands::usage_error::usage_error;
use crate::config::interval::Interval;
use crate::config::size::Size;
use crate::runtime::exit::Exit;
use crate::vault::device::VaultDevice;
use crate::vault::prices as prices_of;
use ameles_gateway::AnyDevice;
use ameles_lab::prices::{self, Provider};
use ameles_lab::report::ReportMetadata;
use ameles_lab::thesis::{self, CountFilling, Options, Part, ThesisError};
use ameles_lab::virtual_time::ServerTime;
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The number of seeds of a report: a single seed may be an outlier.
const SEEDS_OF_A_REPORT: u64 = 20;

#[derive(Args)]
#[command(
    after_help = "The workloads A to E of \"Oblivious RAM in practice\" (2019): home user, traveling user, email, code \
distribution, E-Government. Each scheme moves the same objects over a link of 23.6 ms and 510.4 Mbit/s, in an ORAM of \
5 GiB. Time is virtual: the same seed gives the same figures on every machine. Figures of the thesis are in brackets.

Schemes: none, blocks, blocks-together, curious-thesis, oblivistore-thesis, ring-thesis, ring-33-48-63, ring, serve, \
curious, oblivistore, path-paper, path, trivial, practical-os, square-root; hierarchical, path-paper-alloc \
and path-alloc (with IR-Alloc's buckets) only if they are named.

Examples:
  ameles lab thesis --quick
  ameles lab thesis --workload C --scheme ring --block 1MiB
  ameles lab thesis --real
  ameles lab thesis --part elasticity,reliability
  ameles lab thesis --csv figures.csv --seeds 20
  ameles lab thesis --report thesis"
)]
pub(in crate::commands) struct Arguments {
    // Wide: each field is a flag.
    /// The workloads, such as A,C, or COSBench files that end in .xml [default: A to E]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    workload: Vec<String>,
    /// The schemes, such as ring,path [default: all but hierarchical, path-alloc and path-paper-alloc]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    scheme: Vec<String>,
    /// Block sizes, such as 64KiB,1MiB [default: the thesis's three for each workload]
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    block: Vec<Size>,
    /// Run only the largest blocks, and the first 30 reads and writes
    #[arg(long)]
    quick: bool,
    /// The seed of all random choices (objects, order, schemes); with --seeds, the first one
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// The number of seeds, run in parallel: tables give medians, and ranges in square brackets. Runs in real time use
    /// only the first [default: 1, or 20 with --report and without --quick]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,
    /// The time that the store takes for a GET and for a PUT, or one time for both; 0s for only the link
    /// [default: 5ms,80ms]
    #[arg(long, value_name = "TIMES", value_delimiter = ',')]
    server_time: Vec<Interval>,
    /// The time that the application itself takes for each operation [default: 330ms in C and E, 0s in others]
    #[arg(long, value_name = "TIME")]
    operation_time: Option<Interval>,
    /// The part of filling an ORAM, before its first access, that counts
    #[arg(long, value_enum, default_value_t = Filling::Requests)]
    filling: Filling,
    /// Run Ameles's schemes with the object layer of `ameles serve` (the scheme serve always has it)
    #[arg(long)]
    objects: bool,
    /// The parts of the report [default: all but real, elasticity and reliability; only the workloads if a workload,
    /// scheme or block size is given]
    #[arg(long, value_name = "PARTS", value_delimiter = ',')]
    part: Vec<ReportPart>,
    /// Run the workloads in real time, over HTTP to a real S3 server on loopback; the same as --part real
    #[arg(long)]
    real: bool,
    /// The size of the ORAM of runs in real time [default: large enough that the objects fill at most half, for 30
    /// steps]
    #[arg(long, value_name = "SIZE")]
    oram: Option<Size>,
    /// Write the figures of the workloads as comma-separated values
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write a report into this folder: report.html with all tables and pictures, and each as CSV or SVG
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Prices to use in addition to those of the thesis: names, or FILE#NAME for your own file [default: the current
    /// prices that come with Ameles]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    prices: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Filling {
    /// Nothing
    Nothing,
    /// Requests but not bytes, as in the thesis
    Requests,
    /// Requests and bytes
    All,
}

#[derive(Clone, Copy, ValueEnum)]
enum ReportPart {
    /// The workloads A to E, or the named ones
    Workloads,
    /// Git over Swift: push, clone and pull, in a public and in a private cloud
    Git,
    /// The workloads without an ORAM, by block size, as in Appendix B
    Estimates,
    /// Sweeps of the block size and of the link: bandwidth, latency, loss, mobile
    Sweeps,
    /// The costs that differential privacy saves: Root ORAM for several ε
    Study,
    /// The growth of each scheme with its number of blocks, as in Table 3.1
    Growth,
    /// Verdicts on what is practical for which user, by a rule (6.1)
    Verdicts,
    /// Workload A, or the named ones, in real time; only if named
    Real,
    /// A vault that grows under load, in real time; only if named
    Elasticity,
    /// A vault that is killed and recovers, in real time; only if named
    Reliability,
}

impl Arguments {
    fn options(&self) -> Result<Options> {
        let standard = Options::standard();
        let server = match *self.server_time {
            [] => standard.server,
            [both] => ServerTime { get: both.0, put: both.0 },
            [get, put] => ServerTime { get: get.0, put: put.0 },
            _ => {
                return Err(usage_error("--server-time takes one or two times, such as 5ms,80ms").into());
            }
        };
        let part = |part: &ReportPart| match part {
            ReportPart::Workloads => Part::Workloads,
            ReportPart::Git => Part::Git,
            ReportPart::Sweeps => Part::Sweeps,
            ReportPart::Study => Part::Study,
            ReportPart::Estimates => Part::Estimates,
            ReportPart::Growth => Part::Growth,
            ReportPart::Verdicts => Part::Verdicts,
            ReportPart::Real => Part::Real,
            ReportPart::Elasticity => Part::Elasticity,
            ReportPart::Reliability => Part::Reliability,
        };
        let mut parts: Vec<Part> = self.part.iter().map(part).collect();
        if self.real && !parts.contains(&Part::Real) {
            parts.push(Part::Real);
        }
        if self.oram.is_some() && !parts.contains(&Part::Real) {
            return Err(usage_error(
                "--oram sets the size of an ORAM in real time: add --real, or leave it out",
            )
            .into());
        }
        Ok(Options {
            parts,
            workloads: self.workload.clone(),
            schemes: self.scheme.clone(),
            block_bytes: self.block.iter().map(|size| size.0).collect(),
            quick: self.quick,
            seed: self.seed,
            seeds: self.seeds.unwrap_or(if self.report.is_some() && !self.quick {
                SEEDS_OF_A_REPORT
            } else {
                1
            }),
            server,
            application_time: self.operation_time.as_ref().map(|time| time.0),
            objects: self.objects,
            filling: match self.filling {
                Filling::Nothing => CountFilling::Nothing,
                Filling::Requests => CountFilling::Requests,
                Filling::All => CountFilling::All,
            },
            prices: self.prices()?,
            oram_bytes: self.oram.map(|size| size.0),
            device: Some(|vault| AnyDevice::new(VaultDevice::Single(vault))),
            ..standard
        })
    }
}

impl Arguments {
    fn prices(&self) -> Result<Vec<Provider>> {
        if self.prices.is_empty() {
            return Ok(prices::current_providers());
        }
        self.prices.iter().map(|text| provider(text)).collect()
    }

    /// Returns the conditions of the run for its report.
    fn about(&self, options: &Options) -> ReportMetadata {
        let list = |names: &[String]| if names.is_empty() { "all".to_owned() } else { names.join(", ") };
        let parts: Vec<String> =
            options.parts().iter().map(|part| format!("{part:?}").to_lowercase()).collect();
        let prices = options.prices.iter().map(|provider| provider.prices.to_string());
        let facts = [
            ("Parts", parts.join(", ")),
            ("Workloads", list(&options.workloads)),
            ("Schemes", list(&options.schemes)),
            ("Seeds", format!("{} from {} on", options.seeds, options.seed)),
            ("Server time", format!("GET {:?}, PUT {:?}", options.server.get, options.server.put)),
            ("Link", format!("{:?}, {} Mbit/s", options.link.round_trip, options.link.up.0 as f64 / 1e6)),
            ("Filling counted", format!("{:?}", options.filling).to_lowercase()),
            ("Prices", prices.collect::<Vec<_>>().join("; ")),
        ];
        ReportMetadata {
            title: "Oblivious RAM in practice, in virtual time".to_owned(),
            introduction: "The workloads of O. S. Thoresen's thesis (NTNU, 2019), repeated by Ameles. Figures in brackets and \
                           outlines are those of the thesis. The same command gives the same figures on every machine."
                .to_owned(),
            command: command_line(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            facts: facts.map(|(name, value)| (name.to_owned(), value)).into(),
        }
    }
}

/// Returns the provider with this name, or from this file.
fn provider(text: &str) -> Result<Provider> {
    let (name, prices) =
        prices_of::find(text).map_err(|why| usage_error(format!("--prices {text}: {why}")))?;
    Ok(Provider { name, prices })
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    let options = arguments.options()?;
    let partial = PartialReport::default();
    let _scratch = scratch_folder::create(&partial)?;
    let csv = arguments.csv.as_ref().map(|path| output::open("--csv", path)).transpose()?;
    let folder = arguments.report.as_ref().map(|path| folder::open("--report", path)).transpose()?;
    let report = thesis::run(&options, &ProgressDisplay::start(&partial));
    let report = match report {
        // A mistyped name is a usage error.
        Err(ThesisError::Unknown { what, name, known }) => {
            return Err(usage_error(format!("--{what} {name} is unknown: choose {known}")).into());
        }
        report => report?,
    };
    if let Some(csv) = csv {
        csv.write(|mut file| report.write_csv(&mut file)).context("--csv")?;
    }
    if let Some(folder) = folder {
        report.write_into(&folder, &arguments.about(&options)).context("--report")?;
    }
    Ok(Exit::Success)
}
