//! `ameles enclave watch`

use super::launch::{LaunchFlags, Program};
use super::report;
use super::signals::RunSignals;
use crate::commands::watched::{Observation, Observations, Outputs, verdict};
use crate::enclave::{MachineSettings, Next, Streams, Untrusted};
use crate::runtime::exit::Exit;
use crate::runtime::output::complain;
use ameles_enclave_boundary::launch::Instrumentation;
use ameles_enclave_boundary::mailbox::Request;
use ameles_enclave_boundary::map::PAGES_AT;
use ameles_pager::watch::{Changes, FaultCounts, Geometry, WatchedMemory};
use anyhow::Result;
use clap::Args;
use std::path::Path;

#[derive(Args)]
#[command(
    after_help = "The machine stands still after each fault until the untrusted memory has been looked at. The first \
faults are those that load the program. After --faults it runs on unwatched, unless --end is given. What was seen goes to \
standard error when the program has ended; the exit code is the program's own.

Examples:
  ameles enclave watch --scheme plain --svg plain.svg -- ./program
  ameles enclave watch --untrusted 8MiB --faults 2000 --end --csv seen.csv -- ./program"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    launching: LaunchFlags,
    /// Faults that are watched
    #[arg(long, value_name = "FAULTS", default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    faults: u64,
    /// Switch the machine off, with exit code 0, after the last fault that is watched
    #[arg(long)]
    end: bool,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    program: Program,
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    let Arguments { launching, faults, end, outputs, program } = &arguments;
    let launchable = launching.find(program)?;
    let geometry = geometry(launching)?;
    let files = outputs.create()?;

    let ends = RunSignals::listen()?;
    let instrumentation = Instrumentation { after_fault: true, ..Instrumentation::default() };
    let machine = launchable.start(launching, instrumentation, &MachineSettings::default())?;
    let mut watcher = Watcher::of(machine.untrusted(), geometry)?;
    let look = |_: &Untrusted, request: Request| {
        if watcher.watched.faults() < *faults {
            watcher.look(request);
            if *end && watcher.watched.faults() == *faults {
                return Ok(Next::SwitchOff);
            }
        }
        Ok(Next::GoOn)
    };
    let ended = ends.meanwhile(machine, |machine| machine.serve(&mut Streams::standard(), look))?;

    let watched = watcher.watched;
    tell(launching, &watched, ended.record.as_ref().map(|record| record.faults.faults));
    files.write(&title(launching, program), &watched)?;
    std::process::exit(report::ending(&ended, program)?)
}

/// The slots of untrusted memory, which the runtime lays out by the same public rule.
fn geometry(launching: &LaunchFlags) -> Result<Geometry> {
    let &LaunchFlags { scheme, cipher, untrusted, .. } = launching;
    let k = launching.ratio();
    let pages = scheme.max_pages(untrusted.0, k, cipher);
    let slots = scheme.layout(pages, k)?.slots();
    let stride = scheme.untrusted_bytes(pages, k, cipher)? / slots;
    Ok(Geometry { slots, stride, areas: scheme.has_ratio().then(|| (pages, slots - pages)) })
}

/// A watcher of untrusted memory.
struct Watcher {
    changes: Changes,
    watched: Observations,
}

impl Watcher {
    fn of(untrusted: &Untrusted, geometry: Geometry) -> Result<Self> {
        let memory = WatchedMemory::map(untrusted.file().try_clone()?.into())?;
        let changes = Changes::from(memory, PAGES_AT as usize, &geometry);
        Ok(Watcher { changes, watched: Observations { geometry, sights: Vec::new() } })
    }

    fn look(&mut self, request: Request) {
        if let Request::AfterFault { faults, evictions } = request {
            let moment = FaultCounts { faults, evictions };
            self.watched.sights.push(Observation { moment, changed: self.changes.look() });
        }
    }
}

/// The program and how it is paged.
fn title(launching: &LaunchFlags, program: &Program) -> String {
    let name = Path::new(program.name()).file_name().unwrap_or(program.name());
    format!("{}, {}", name.to_string_lossy(), launching.scheme_with_ratio())
}

fn tell(launching: &LaunchFlags, watched: &Observations, faults: Option<u64>) {
    let LaunchFlags { scheme, cipher, resident, .. } = launching;
    complain!();
    complain!(
        "ameles enclave: {}, {cipher}, {resident} pages resident, {} of untrusted memory",
        launching.scheme_with_ratio(),
        watched.slots()
    );
    complain!("  {}", watched.figures(faults));
    complain!("  {}", verdict::of(*scheme, watched));
}
