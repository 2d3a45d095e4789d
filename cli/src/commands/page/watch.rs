//! `ameles page watch`

use super::launch::{ExitReport, Paging, Program, exit_code};
use crate::commands::signals::Signals;
use crate::commands::watch_report::{Observation, Observations, WatchFlags, title, verdict};
use crate::runtime::exit::Exit;
use crate::runtime::output::print_error;
use ameles_pager::watch::{Changes, WatchError, Watcher};
use anyhow::Result;
use clap::Args;
use std::os::fd::AsRawFd;

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
pub(in crate::commands) struct Arguments {
    #[command(flatten)]
    paging: Paging,
    #[command(flatten)]
    watch: WatchFlags,
    #[command(flatten)]
    program: Program,
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    arguments.paging.check(arguments.program.name())?;
    let files = arguments.watch.create_files()?;
    let (watcher, program_end) = Watcher::new()?;
    let signals = Signals::listen()?;
    let paged =
        arguments.paging.start(arguments.program.command(), &arguments.options(program_end.as_raw_fd()))?;
    signals.forward(paged.process())?;
    // From now on only the program has its end of the socket, so its close shows that the program has ended.
    drop(program_end);
    let observations = arguments.observe(&watcher);
    // The program no longer waits for this process.
    drop(watcher);
    let report = paged.wait()?;
    if let Some(observations) = observations? {
        arguments.print_summary(&observations, &report);
        files
            .write(&title(arguments.program.name(), &arguments.paging.scheme_with_ratio()), &observations)?;
    } else {
        print_error!("ameles page: nothing to watch: the program ended before its first fault");
    }
    std::process::exit(exit_code(report.status))
}

impl Arguments {
    /// Returns the extra options for the preloaded library.
    fn options(&self, socket: i32) -> Vec<String> {
        let end = self.watch.end.then(|| format!("faults={}", self.watch.faults));
        [format!("watch={socket}")].into_iter().chain(end).collect()
    }

    /// Compares the memory after each fault. Returns `None` if the program had no region.
    fn observe(&self, watcher: &Watcher) -> Result<Option<Observations>, WatchError> {
        let Some((memory, geometry)) = watcher.memory()? else { return Ok(None) };
        let mut changes = Changes::new(memory, &geometry);
        let mut observations = Observations { geometry, list: Vec::new() };
        while let Some(moment) = watcher.fault()? {
            observations.list.push(Observation { moment, changed: changes.take_changed() });
            if observations.list.len() as u64 == self.watch.faults {
                watcher.stop_watching();
                break;
            }
            watcher.resume();
        }
        Ok(Some(observations))
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
            observations.figures(report.counters.as_ref().map(|(counters, _)| counters.times.faults))
        );
        print_error!("  {}", verdict::verdict(*scheme, observations));
    }
}
