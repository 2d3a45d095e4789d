//! `ameles enclave watch`

use super::launch::{LaunchFlags, Program};
use super::report;
use super::signals::RunSignals;
use crate::commands::watch_report::{Observation, Observations, WatchFlags, title, verdict};
use crate::enclave::{MachineSettings, Next, Streams, Untrusted};
use crate::runtime::exit::Exit;
use crate::runtime::output::print_error;
use ameles_enclave_boundary::launch::Instrumentation;
use ameles_enclave_boundary::mailbox::Request;
use ameles_enclave_boundary::map::PAGES_OFFSET;
use ameles_pager::watch::{Changes, FaultCounts, Geometry, WatchedMemory};
use anyhow::Result;
use clap::Args;

#[derive(Args)]
#[command(
    after_help = "The machine stops after each fault while the untrusted memory is compared with its last state. The first faults \
load the program. After --faults the program continues without a watcher, or ends with --end. A summary goes to standard \
error when the program has ended; the exit code is that of the program.

Examples:
  ameles enclave watch --scheme plain --svg plain.svg -- ./program
  ameles enclave watch --untrusted 8MiB --faults 2000 --end --csv seen.csv -- ./program"
)]
pub(in crate::commands) struct Arguments {
    #[command(flatten)]
    flags: LaunchFlags,
    #[command(flatten)]
    watch: WatchFlags,
    #[command(flatten)]
    program: Program,
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    let Arguments { flags, watch, program } = &arguments;
    let launchable = flags.find(program)?;
    let geometry = geometry(flags)?;
    let files = watch.create_files()?;

    let signals = RunSignals::listen()?;
    let instrumentation = Instrumentation { after_fault: true, ..Instrumentation::default() };
    let machine = launchable.start(flags, instrumentation, &MachineSettings::default())?;
    let mut watcher = Watcher::new(machine.untrusted(), geometry)?;
    let observe = |_: &Untrusted, request: Request| {
        if watcher.observations.faults() < watch.faults {
            watcher.observe(request);
            if watch.end && watcher.observations.faults() == watch.faults {
                return Ok(Next::SwitchOff);
            }
        }
        Ok(Next::Continue)
    };
    let result = signals.serve(machine, |machine| machine.serve(&mut Streams::standard(), observe))?;

    let observations = watcher.observations;
    print_summary(flags, &observations, result.record.as_ref().map(|record| record.faults.faults));
    files.write(&title(program.name(), &flags.scheme_with_ratio()), &observations)?;
    std::process::exit(report::exit_code(&result, program)?)
}

/// Returns the layout of the slots in untrusted memory, by the same public rule as the runtime.
fn geometry(flags: &LaunchFlags) -> Result<Geometry> {
    let &LaunchFlags { scheme, cipher, untrusted, .. } = flags;
    let k = flags.ratio();
    let pages = scheme.max_pages(untrusted.0, k, cipher);
    let slots = scheme.layout(pages, k)?.slots();
    let stride = scheme.untrusted_bytes(pages, k, cipher)? / slots;
    Ok(Geometry { slots, stride, areas: scheme.has_ratio().then(|| (pages, slots - pages)) })
}

/// Records the changes of untrusted memory.
struct Watcher {
    changes: Changes,
    observations: Observations,
}

impl Watcher {
    fn new(untrusted: &Untrusted, geometry: Geometry) -> Result<Self> {
        let memory = WatchedMemory::map(untrusted.file().try_clone()?.into())?;
        let changes = Changes::from(memory, PAGES_OFFSET as usize, &geometry);
        Ok(Watcher { changes, observations: Observations { geometry, list: Vec::new() } })
    }

    fn observe(&mut self, request: Request) {
        if let Request::AfterFault { faults, evictions } = request {
            let moment = FaultCounts { faults, evictions };
            self.observations.list.push(Observation { moment, changed: self.changes.take_changed() });
        }
    }
}

fn print_summary(flags: &LaunchFlags, observations: &Observations, faults: Option<u64>) {
    let LaunchFlags { scheme, cipher, resident, .. } = flags;
    print_error!();
    print_error!(
        "ameles enclave: {}, {cipher}, {resident} pages resident, {} of untrusted memory",
        flags.scheme_with_ratio(),
        observations.slots()
    );
    print_error!("  {}", observations.figures(faults));
    print_error!("  {}", verdict::verdict(*scheme, observations));
}
