//! `ameles page run`

use super::counters::{Counters, Ending};
use super::launch::{Paging, Program, exit_code, run_unpaged};
use crate::commands::signals::Signals;
use crate::runtime::exit::Exit;
use crate::runtime::output::complain;
use anyhow::Result;
use clap::Args;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

#[derive(Args)]
#[command(
    after_help = "The program's malloc, its anonymous private mappings, its static variables and the stacks of its \
threads come from the region; the stack of main, its code and what it maps from files do not. A child by fork is paged \
too, unless the program has threads: fork is refused then. Programs that it starts are not paged. The figures go to \
standard error when the program has ended; the exit code is the program's own.

Examples:
  ameles page run -- sqlite3 my.db 'select count(*) from t'
  ameles page run --resident 15 --scheme plain --compare -- picosat hard.cnf
  ameles page run --scheme eager --k 7 --untrusted 256MiB -- redis-server --save ''"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    paging: Paging,
    /// Run the program unpaged first, and say how much slower it is paged. It runs twice, with all that it does
    #[arg(long)]
    compare: bool,
    #[command(flatten)]
    program: Program,
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    let Arguments { paging, compare, .. } = &arguments;
    paging.check(arguments.program.name())?;
    let unpaged = compare.then(|| run_unpaged(arguments.program.command())).transpose()?;
    let signals = Signals::listen()?;
    let paged = paging.start(arguments.program.command(), &[])?;
    signals.hand_on(paged.process())?;
    let ended = paged.wait()?;
    if let Some((counted, how)) = &ended.counted {
        report(paging, counted, ended.took, unpaged.map(|(_, took)| took));
        tell_share(counted);
        tell_end(*how, ended.status, counted);
    }
    std::process::exit(exit_code(ended.status))
}

/// The share of the program's memory that was paged.
fn tell_share(counted: &Counters) {
    let Counters { paged_bytes: paged, unpaged_bytes: unpaged, children, forks, name, .. } = counted;
    if *unpaged > 0 {
        complain!(
            "  paged {:.1} of {:.1} MiB: {:.1} MiB of what the program wrote to lay in the clear",
            mebibytes(*paged),
            mebibytes(paged + unpaged),
            mebibytes(*unpaged)
        );
    } else {
        complain!("  paged {:.1} MiB; what lay in the clear is not known", mebibytes(*paged));
    }
    if paged < unpaged {
        complain!(
            "ameles page: warning: less than half of the program's memory was paged: it gets it from elsewhere than \
             malloc and plain anonymous mappings"
        );
    }
    if forks.count > 0 {
        complain!(
            "  {} {} by fork, paged too: {} faults, {} evictions in those that have ended",
            forks.count,
            if forks.count == 1 { "child" } else { "children" },
            forks.faults,
            forks.evictions
        );
    }
    if *children > 0 {
        complain!(
            "ameles page: warning: {children} {} that it started ran unpaged{}",
            if *children == 1 { "program" } else { "programs" },
            if name.is_empty() { String::new() } else { format!(" (first: {name})") }
        );
    }
}

/// Tells of a program that did not end properly.
fn tell_end(how: Ending, status: ExitStatus, counted: &Counters) {
    match (how, status.signal()) {
        (Ending::MadeWay, _) => complain!(
            "ameles page: warning: the program made way for {}, which ran unpaged; put that after -- itself",
            if counted.name.is_empty() { "another" } else { &counted.name }
        ),
        (_, Some(signal)) => {
            complain!(
                "ameles page: the program was ended by signal {signal}; its last faults are not counted"
            )
        }
        (Ending::Cut, None) => complain!(
            "ameles page: the program ended, or made way for another, by a system call of its own: its last faults are \
             not counted"
        ),
        (Ending::Whole, None) => {}
    }
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / (1 << 20) as f64
}

fn report(paging: &Paging, counted: &Counters, paged: Duration, unpaged: Option<Duration>) {
    complain!();
    complain!(
        "ameles page: {}, {}, {}, heap of at most {} MiB, {:.1} MiB trusted",
        paging.scheme_with_ratio(),
        paging.cipher,
        paging.resident_in_words(Some(counted.resident)),
        counted.heap_bytes >> 20,
        counted.trusted_bytes as f64 / (1 << 20) as f64
    );
    complain!(
        "  {} faults, {} evictions, {:.1} µs a fault (moving {:.1}, writing {:.1}, reading {:.1})",
        counted.faults,
        counted.evictions,
        counted.fault_micros(),
        micros(counted.times.frames, counted.faults),
        micros(counted.times.write, counted.faults),
        micros(counted.times.read, counted.faults)
    );
    if counted.halving > counted.resident {
        complain!("  --resident {} would have halved the faults, or better", counted.halving);
    }
    if counted.soft_faults > 0 {
        complain!("  {} touches found their page in its second chance", counted.soft_faults);
    }
    if !counted.times.idle.is_zero() {
        complain!("  {:.3} s of work between the faults", counted.times.idle.as_secs_f64());
    }
    let seconds = paged.as_secs_f64();
    match unpaged {
        Some(unpaged) => complain!(
            "  {seconds:.3} s, against {:.3} s unpaged: {:.2} times",
            unpaged.as_secs_f64(),
            seconds / unpaged.as_secs_f64()
        ),
        None => complain!(
            "  {seconds:.3} s, {:.0} % of it in faults; --compare measures the program unpaged too",
            100.0 * counted.times.total.as_secs_f64() / seconds
        ),
    }
}

fn micros(all: Duration, faults: u64) -> f64 {
    all.as_secs_f64() * 1e6 / faults.max(1) as f64
}
