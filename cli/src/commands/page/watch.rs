//! `ameles page watch`

use super::launch::{ExitReport, Paging, Program, exit_code};
use crate::commands::signals::Signals;
use crate::commands::watch_report::{Observation, Observations, Outputs, verdict};
use crate::runtime::exit::Exit;
use crate::runtime::output::print_error;
use ameles_pager::watch::{Changes, WatchError, Watcher};
use anyhow::Result;
use clap::Args;
use std::os::fd::AsRawFd;
use std::path::Path;

#[derive(Args)]
#[command(
    after_help = "The program stops at each fault while the untrusted memory is compared with its last state, so it runs slower \
than under `page run`. After --faults the program continues without a watcher, or ends with --end. A summary goes to standard \
error when the program has ended; the exit code is that of the program.

Examples:
  ameles page watch --scheme plain --svg plain.svg -- sqlite3 my.db 'select count(*) from t'
  ameles page watch --scheme detworam --svg detworam.svg -- sqlite3 my.db 'select count(*) from t'
  ameles page watch --resident 15 --untrusted 8MiB --faults 2000 --end --csv seen.csv -- picosat hard.cnf"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    paging: Paging,
    /// The number of faults to watch
    #[arg(long, value_name = "FAULTS", default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    faults: u64,
    /// End the program after the last watched fault, with exit code 0
    #[arg(long)]
    end: bool,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    program: Program,
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    arguments.paging.check(arguments.program.name())?;
    let files = arguments.outputs.create()?;
    let (watcher, program_end) = Watcher::new()?;
    let signals = Signals::listen()?;
    let paged =
        arguments.paging.start(arguments.program.command(), &arguments.options(program_end.as_raw_fd()))?;
    signals.forward(paged.process())?;
    // From now on only the program has its end of the socket, so its close shows that the program has ended.
    drop(program_end);
    let observations = arguments.watch(&watcher);
    // The program no longer waits for this process.
    drop(watcher);
    let report = paged.wait()?;
    if let Some(observations) = observations? {
        arguments.print_summary(&observations, &report);
        files.write(&arguments.title(), &observations)?;
    } else {
        print_error!("ameles page: nothing to watch: the program ended before its first fault");
    }
    std::process::exit(exit_code(report.status))
}

impl Arguments {
    /// Returns the extra options for the preloaded library.
    fn options(&self, socket: i32) -> Vec<String> {
        let end = self.end.then(|| format!("faults={}", self.faults));
        [format!("watch={socket}")].into_iter().chain(end).collect()
    }

    /// Compares the memory after each fault. Returns `None` if the program had no region.
    fn watch(&self, watcher: &Watcher) -> Result<Option<Observations>, WatchError> {
        let Some((memory, geometry)) = watcher.memory()? else { return Ok(None) };
        let mut changes = Changes::new(memory, &geometry);
        let mut observations = Observations { geometry, list: Vec::new() };
        while let Some(moment) = watcher.fault()? {
            observations.list.push(Observation { moment, changed: changes.take_changed() });
            if observations.list.len() as u64 == self.faults {
                watcher.stop_watching();
                break;
            }
            watcher.resume();
        }
        Ok(Some(observations))
    }

    /// Returns the title: the program and how it is paged.
    fn title(&self) -> String {
        let program = Path::new(self.program.name()).file_name().unwrap_or(self.program.name());
        format!("{}, {}", program.to_string_lossy(), self.paging.scheme_with_ratio())
    }

    fn print_summary(&self, observations: &Observations, report: &ExitReport) {
        let Paging { scheme, cipher, .. } = &self.paging;
        let resident = report.counters.as_ref().map(|(counters, _)| counters.resident);
        print_error!();
        print_error!(
            "ameles page: {}, {cipher}, {}, {} of untrusted memory",
            self.paging.scheme_with_ratio(),
            self.paging.resident_in_words(resident),
            observations.slots()
        );
        print_error!(
            "  {}",
            observations.figures(report.counters.as_ref().map(|(counters, _)| counters.faults))
        );
        print_error!("  {}", verdict::verdict(*scheme, observations));
    }
}
