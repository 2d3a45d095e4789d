//! `ameles page run`

use super::counters::{Counters, Ending};
use super::launch::{Paging, Program, exit_code, run_unpaged};
use crate::commands::signals::Signals;
use crate::report::count::count;
use crate::runtime::exit::Exit;
use crate::runtime::output::print_error;
use anyhow::Result;
use clap::Args;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

#[derive(Args)]
#[command(
    after_help = "The paged region holds the memory of malloc, anonymous private mappings, static variables and the stacks of \
threads. It does not hold the stack of main, code, and mapped files. A child by fork is paged too; in a program with threads, \
fork fails. Programs that the program starts are not paged. When the program has ended, figures go to standard error; the \
exit code is that of the program.

Examples:
  ameles page run -- sqlite3 my.db 'select count(*) from t'
  ameles page run --resident 15 --scheme plain --compare -- picosat hard.cnf
  ameles page run --scheme eager --k 7 --untrusted 256MiB -- redis-server --save ''"
)]
pub(in crate::commands) struct Arguments {
    #[command(flatten)]
    paging: Paging,
    /// Run the program unpaged first, and print the slowdown: the program runs twice, with all its effects
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
    signals.forward(paged.process())?;
    let report = paged.wait()?;
    if let Some((counters, ending)) = &report.counters {
        print_report(paging, counters, report.elapsed, unpaged.map(|(_, elapsed)| elapsed));
        print_share(counters);
        print_ending(*ending, report.status, counters);
    }
    std::process::exit(exit_code(report.status))
}

/// Prints the share of the program's memory that was paged.
fn print_share(counters: &Counters) {
    let Counters { paged_bytes: paged, unpaged_bytes: unpaged, children, forks, name, .. } = counters;
    if *unpaged > 0 {
        print_error!(
            "  paged {:.1} of {:.1} MiB: {:.1} MiB of written memory was not protected",
            mebibytes(*paged),
            mebibytes(paged + unpaged),
            mebibytes(*unpaged)
        );
    } else {
        print_error!("  paged {:.1} MiB; the amount of unprotected memory is unknown", mebibytes(*paged));
    }
    if paged < unpaged {
        print_error!(
            "ameles page: warning: less than half of the program's memory was paged: the rest does not come from malloc \
             or anonymous mappings"
        );
    }
    if forks.count > 0 {
        print_error!(
            "  {} {} by fork, paged too: {} faults and {} evictions of those that have ended",
            forks.count,
            if forks.count == 1 { "child" } else { "children" },
            forks.faults,
            forks.evictions
        );
    }
    if *children > 0 {
        print_error!(
            "ameles page: warning: {children} started {} ran unpaged{}",
            if *children == 1 { "program" } else { "programs" },
            if name.is_empty() { String::new() } else { format!(" (first: {name})") }
        );
    }
}

/// Prints a message if a program did not end normally.
fn print_ending(ending: Ending, status: ExitStatus, counters: &Counters) {
    match (ending, status.signal()) {
        (Ending::Replaced, _) => print_error!(
            "ameles page: warning: the program replaced itself with {}, which ran unpaged; put that program after --",
            if counters.name.is_empty() { "another program" } else { &counters.name }
        ),
        (_, Some(signal)) => {
            print_error!(
                "ameles page: the program was ended by signal {signal}; its last faults are not counted"
            )
        }
        (Ending::Abrupt, None) => print_error!(
            "ameles page: the program ended or replaced itself by a direct system call: its last faults are not counted"
        ),
        (Ending::Complete, None) => {}
    }
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / (1 << 20) as f64
}

fn print_report(paging: &Paging, counters: &Counters, paged: Duration, unpaged: Option<Duration>) {
    print_error!();
    print_error!(
        "ameles page: {}, {}, {}, heap of at most {} MiB, {:.1} MiB trusted",
        paging.scheme_with_ratio(),
        paging.cipher,
        paging.resident_in_words(Some(counters.resident)),
        counters.heap_bytes >> 20,
        counters.trusted_bytes as f64 / (1 << 20) as f64
    );
    print_error!(
        "  {} faults, {} evictions, {:.1} µs per fault (mapping {:.1}, writing {:.1}, reading {:.1})",
        counters.times.faults,
        counters.evictions,
        counters.fault_micros(),
        micros(counters.times.moving, counters.times.faults),
        micros(counters.write, counters.times.faults),
        micros(counters.read, counters.times.faults)
    );
    if counters.halving > counters.resident {
        print_error!("  --resident {} would have at least halved the faults", counters.halving);
    }
    if counters.soft_faults > 0 {
        print_error!("  pages found in their second chance by {}", count(counters.soft_faults, "access"));
    }
    if !counters.times.off_line.is_zero() {
        print_error!("  {:.3} s of work between faults", counters.times.off_line.as_secs_f64());
    }
    let seconds = paged.as_secs_f64();
    match unpaged {
        Some(unpaged) => print_error!(
            "  {seconds:.3} s, against {:.3} s unpaged: {:.2} times",
            unpaged.as_secs_f64(),
            seconds / unpaged.as_secs_f64()
        ),
        None => print_error!(
            "  {seconds:.3} s, {:.0} % of it in faults; --compare also measures the program unpaged",
            100.0 * counters.times.in_faults.as_secs_f64() / seconds
        ),
    }
}

fn micros(all: Duration, faults: u64) -> f64 {
    all.as_secs_f64() * 1e6 / faults.max(1) as f64
}
