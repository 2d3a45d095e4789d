//! `ameles page watch`

use super::launch::{ExitReport, Paging, Program, exit_code};
use crate::commands::signals::Signals;
use crate::commands::watched::{Observation, Observations, Outputs, verdict};
use crate::runtime::exit::Exit;
use crate::runtime::output::complain;
use ameles_pager::watch::{Changes, WatchError, Watcher};
use anyhow::Result;
use clap::Args;
use std::os::fd::AsRawFd;
use std::path::Path;

#[derive(Args)]
#[command(
    after_help = "The program stops at each fault until the untrusted memory has been looked at, so that it runs slower \
than by `page run`. After --faults it runs on unwatched, unless --end is given. What was seen goes to standard error when \
the program has ended; the exit code is the program's own.

Examples:
  ameles page watch --scheme plain --svg plain.svg -- sqlite3 my.db 'select count(*) from t'
  ameles page watch --scheme detworam --svg detworam.svg -- sqlite3 my.db 'select count(*) from t'
  ameles page watch --resident 15 --untrusted 8MiB --faults 2000 --end --csv seen.csv -- picosat hard.cnf"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    paging: Paging,
    /// Faults that are watched
    #[arg(long, value_name = "FAULTS", default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    faults: u64,
    /// End the program, with exit code 0, after the last fault that is watched
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
    let (watcher, theirs) = Watcher::new()?;
    let signals = Signals::listen()?;
    let paged =
        arguments.paging.start(arguments.program.command(), &arguments.options(theirs.as_raw_fd()))?;
    signals.hand_on(paged.process())?;
    // Only the program has its end now, so that it shows when the program has ended.
    drop(theirs);
    let watched = arguments.watch(&watcher);
    // The program does not wait for us any longer.
    drop(watcher);
    let ended = paged.wait()?;
    if let Some(watched) = watched? {
        arguments.tell(&watched, &ended);
        files.write(&arguments.title(), &watched)?;
    } else {
        complain!("ameles page: there was nothing to watch: the program ended before it began");
    }
    std::process::exit(exit_code(ended.status))
}

impl Arguments {
    /// The options for the preloaded library.
    fn options(&self, socket: i32) -> Vec<String> {
        let end = self.end.then(|| format!("faults={}", self.faults));
        [format!("watch={socket}")].into_iter().chain(end).collect()
    }

    /// Looks at the memory after each fault. `None` if there never was a region.
    fn watch(&self, watcher: &Watcher) -> Result<Option<Observations>, WatchError> {
        let Some((memory, geometry)) = watcher.memory()? else { return Ok(None) };
        let mut changes = Changes::new(memory, &geometry);
        let mut watched = Observations { geometry, sights: Vec::new() };
        while let Some(moment) = watcher.fault()? {
            watched.sights.push(Observation { moment, changed: changes.look() });
            if watched.sights.len() as u64 == self.faults {
                watcher.stop_watching();
                break;
            }
            watcher.resume();
        }
        Ok(Some(watched))
    }

    /// The program and how it is paged.
    fn title(&self) -> String {
        let program = Path::new(self.program.name()).file_name().unwrap_or(self.program.name());
        format!("{}, {}", program.to_string_lossy(), self.paging.scheme_with_ratio())
    }

    fn tell(&self, watched: &Observations, ended: &ExitReport) {
        let Paging { scheme, cipher, .. } = &self.paging;
        let resident = ended.counted.as_ref().map(|(counted, _)| counted.resident);
        complain!();
        complain!(
            "ameles page: {}, {cipher}, {}, {} of untrusted memory",
            self.paging.scheme_with_ratio(),
            self.paging.resident_in_words(resident),
            watched.slots()
        );
        complain!("  {}", watched.figures(ended.counted.as_ref().map(|(counted, _)| counted.faults)));
        complain!("  {}", verdict::of(*scheme, watched));
    }
}
