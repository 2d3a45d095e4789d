//! The flags that choose traces, and the cores on which they run.

use ameles_lab::processor::{Format, TraceOptions};
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub(super) struct TraceFlags {
    /// Use this trace instead of the programs: of this lab, USIMM, ChampSim, gem5, DRAMsim3, DRAMSim2 or Ramulator, packed by
    /// gzip or xz or not. Several, such as a.trace,b.trace, run side by side, each on a core
    #[arg(long, value_name = "FILES", value_delimiter = ',', conflicts_with = "program")]
    pub(super) trace: Vec<PathBuf>,
    /// The format of the trace, if its beginning does not tell it: packed, usimm, champsim, gem5, gem5-text, dramsim3,
    /// dramsim2, ramulator-cpu, ramulator-memory or ramulator-load-store
    #[arg(long, value_name = "NAME", requires = "trace")]
    pub(super) trace_format: Option<Format>,
    /// Cores that share the last-level cache and the ORAM: copies of each program, or of the traces in turn
    /// [default: 1, or one for each trace]
    #[arg(long, value_name = "NUMBER")]
    pub(super) cores: Option<usize>,
}

impl TraceFlags {
    /// The traces and cores.
    pub(super) fn options(&self) -> TraceOptions {
        TraceOptions { paths: self.trace.clone(), format: self.trace_format, cores: self.cores }
    }
}
