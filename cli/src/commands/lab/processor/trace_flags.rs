//! The flags that choose traces, and the cores on which they run.

use ameles_lab::processor::{Format, TraceOptions};
use clap::Args;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(super) struct TraceFlags {
    /// Use this trace instead of the programs: of this lab, USIMM, ChampSim, gem5, DRAMsim3, DRAMSim2 or Ramulator,
    /// packed by gzip or xz or not. Several, such as a.trace,b.trace, run side by side, each on a core. A file whose
    /// name has a comma takes a flag of its own
    #[arg(long, value_name = "FILES", conflicts_with = "program")]
    pub(super) trace: Vec<PathBuf>,
    /// The format of the trace, if its beginning does not tell it: packed, usimm, champsim, gem5, gem5-text, dramsim3,
    /// dramsim2, ramulator-cpu, ramulator-memory or ramulator-load-store
    #[arg(long, value_name = "NAME", requires = "trace")]
    pub(super) trace_format: Option<Format>,
    /// The number of cores that share the last-level cache and the ORAM. They run copies of each program, or the traces
    /// in turn [default: 1, or one for each trace]
    #[arg(long, value_name = "NUMBER")]
    pub(super) cores: Option<usize>,
}

impl TraceFlags {
    /// The traces and cores.
    pub(super) fn options(&self) -> TraceOptions {
        let paths = self.trace.iter().flat_map(|given| files(given)).collect();
        TraceOptions { paths, format: self.trace_format, cores: self.cores }
    }
}

/// The files of a value of `--trace`: itself, if there is such a file, or those between its commas.
fn files(given: &Path) -> Vec<PathBuf> {
    if given.exists() {
        return vec![given.to_path_buf()];
    }
    let names = given.as_os_str().as_bytes().split(|byte| *byte == b',');
    names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Lab {
        /// The flag that excludes `--trace`.
        #[arg(long)]
        program: Vec<String>,
        #[command(flatten)]
        traces: TraceFlags,
    }

    #[test]
    fn commas_separate_traces_unless_there_is_a_file_of_the_whole_name() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b, with_comma] = ["a", "b", "a,b"].map(|name| folder.path().join(name));
        let paths = |given: &[&Path]| {
            let flags = given.iter().flat_map(|path| [OsStr::new("--trace"), path.as_os_str()]);
            Lab::parse_from([OsStr::new("lab")].into_iter().chain(flags)).traces.options().paths
        };
        let list = folder.path().join(format!("a,{}", b.display()));
        assert_eq!(paths(&[&list, &with_comma]), [&a, &b, &a, Path::new("b")].map(Path::to_path_buf));
        std::fs::write(&with_comma, "").unwrap();
        assert_eq!(paths(&[&list, &with_comma]), [&a, &b, &with_comma].map(PathBuf::clone));
    }
}
