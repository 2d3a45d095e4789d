//! A run, from the launch package to its end.

use super::device_tree::{self, Places};
use super::end::launch_failed;
use super::hart::{Hart, translate, translate_no_more};
use super::harts;
use super::heap;
use super::instruction_counts::{all_retired_instructions, waited_instructions};
use super::listener::AfterFault;
use super::mailbox::HostMailbox;
use super::sealed_memory::{HostPart, SealedMemory};
use super::trap::{Context, enter};
use super::untrusted::SealedPart;
use crate::access::Touch;
use crate::calls::{Illegal, Program};
use crate::host::Host;
use crate::image::Image;
use crate::paging::{AccessError, Paging, ProgramMemory};
use crate::processor::Processor;
use crate::run_counters::{RunCounters, Work};
use crate::settings::Settings;
use crate::start::{self, Start};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::ToString;
use ameles_enclave_boundary::exit::{Ending, ExitRecord, Memory};
use ameles_enclave_boundary::launch::{self, Instrumentation, LaunchOptions, SealedStorage};
use ameles_enclave_boundary::map::{PRIVATE_START, UNTRUSTED_START};
use ameles_seal::pages::{PageMeter, Workers};
use core::cell::Cell;
use core::ops::Range;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use riscv::register::sstatus::{self, FS};
use riscv::register::{scause, stval};

static METER: PageMeter = PageMeter::new(Hart::retired_instructions);

unsafe extern "C" {
    /// The first byte after the runtime.
    static ameles_enclave_end: u8;
}

/// Runs the program of the launch package.
pub(super) fn run(device_tree: *const u8) -> ExitRecord {
    // SAFETY: the address is from the firmware.
    let Some(places) = (unsafe { device_tree::read(device_tree) }) else {
        // There is no heap yet, and so no record.
        super::end::end_without_record(&format_args!("the device tree names no launch package"));
    };
    let package = private(&places.package);
    give_heap(&places);
    let Some(package) = package else {
        return ExitRecord::of(launch_failed("the launch package lies outside of private memory".into()));
    };
    // SAFETY: the emulator has put the package there, and nobody else uses that memory.
    let bytes = unsafe {
        core::slice::from_raw_parts(core::ptr::with_exposed_provenance(package.start), package.len())
    };
    let begun = match launch::parse(bytes) {
        Ok((launch, image)) => begin(&launch, image),
        Err(error) => Err(launch_failed(error.to_string())),
    };
    // SAFETY: nothing refers to the package any more. It holds the seed.
    unsafe { wipe(&package) };
    match begun {
        Ok(mut run) => run.finish(),
        Err(ending) => ExitRecord::of(ending),
    }
}

/// The range, if it lies in private memory after the runtime.
fn private(range: &Range<usize>) -> Option<Range<usize>> {
    let fits =
        range.start >= runtime_end() && range.start <= range.end && range.end as u64 <= UNTRUSTED_START;
    fits.then(|| range.clone())
}

fn runtime_end() -> usize {
    (&raw const ameles_enclave_end).expose_provenance()
}

/// Gives the unused parts of private memory to the heap: all but the runtime and the data for it.
fn give_heap(places: &Places) {
    let mut taken = [places.package.clone(), places.device_tree.clone()];
    taken.sort_by_key(|range| range.start);
    let mut from = runtime_end();
    let end = UNTRUSTED_START as usize;
    for range in taken.into_iter().chain(core::iter::once(end..end)) {
        let to = range.start.clamp(PRIVATE_START as usize, end);
        if to > from {
            // SAFETY: the linker and the device tree say that nothing is there.
            unsafe { heap::give(from..to) };
        }
        from = from.max(range.end);
    }
}

/// Overwrites memory with zeros, in a way that the compiler does not remove.
///
/// # Safety
/// Nothing refers to it.
unsafe fn wipe(range: &Range<usize>) {
    let start: *mut u8 = core::ptr::with_exposed_provenance_mut(range.start);
    // SAFETY: the caller has it.
    unsafe { start.write_bytes(0, range.len()) };
    core::hint::black_box(start);
}

/// A started run.
struct Run {
    program: Program<Hart, HostMailbox>,
    context: Box<Context>,
    counters: RunCounters,
    memory: Memory,
    instrumentation: Instrumentation,
    /// The number of the last fault, as counted by the listener.
    last: Rc<Cell<u64>>,
    /// The number of the fault after which counting begins, until it has begun.
    warm_up_faults: Option<u64>,
}

/// The kind of work at which a run ends, and its ending. Boxed: otherwise every fault would pay for moving it.
struct RunEnd {
    work: Work,
    ending: Ending,
}

impl RunEnd {
    fn of(work: Work, ending: Ending) -> Box<Self> {
        Box::new(RunEnd { work, ending })
    }
}

/// Loads the program.
fn begin(launch: &LaunchOptions, image: &[u8]) -> Result<Run, Ending> {
    let settings = Settings::of(&launch.paging).map_err(|error| launch_failed(error.to_string()))?;
    let image = Image::plan(image, &settings.kernel).map_err(|error| launch_failed(error.to_string()))?;
    let mut rng = ChaCha20Rng::from_seed(launch.seed.0);
    let instrumentation = launch.instrumentation;
    let meter = instrumentation.meters.then_some(&METER);
    let workers = match settings.harts {
        1 => None,
        harts => Some(harts::start(harts, instrumentation.sequential_shares)? as &dyn Workers),
    };
    let paging = Paging {
        fault_path: settings.fault_path,
        mode: launch.paging.mode,
        kernel: settings.kernel.clone(),
        meter,
        workers,
    };
    let bytes = settings.untrusted_bytes;
    let sealed = match launch.paging.storage {
        // SAFETY: the package contains the size of untrusted memory, and its writer made the machine.
        SealedStorage::Backing => SealedMemory::Here(unsafe { SealedPart::new(bytes) }),
        SealedStorage::Intermediary => SealedMemory::AtHost(HostPart { bytes }),
    };
    let of_scheme = ChaCha20Rng::from_rng(&mut rng);
    let mut memory = ProgramMemory::<Hart>::new(paging, sealed, of_scheme)
        .map_err(|error| launch_failed(error.to_string()))?;
    let last = Rc::new(Cell::new(u64::MAX));
    if instrumentation.after_fault || instrumentation.window.is_some() {
        memory.listen(Box::new(AfterFault { tells: instrumentation.after_fault, last: Rc::clone(&last) }));
    }
    let measured = Memory {
        pages: settings.fault_path.pages,
        resident: settings.fault_path.resident as u64,
        untrusted_bytes: settings.untrusted_bytes as u64,
        ..Memory::default()
    };
    let Start { entry, stack } =
        start::load(&mut memory, &image, &launch.arguments, &launch.environment, &mut rng)?;
    let mut counters = RunCounters::new(meter);
    let loading = memory.counters().faults;
    counters.set_loading_faults(loading);
    let first = image.segments.first().map_or(0, |segment| segment.start);
    let host = Host::new(HostMailbox, launch.allowed.clock);
    let name = launch.arguments.first().map_or(&b"program"[..], |name| name);
    Ok(Run {
        program: Program::new(memory, host, rng, first..image.end, name),
        context: Box::new(Context::new(entry, stack)),
        counters,
        memory: measured,
        instrumentation,
        last,
        warm_up_faults: instrumentation.window.map(|window| loading + window.warm_up_faults),
    })
}

/// The page table belongs to the program. It is dropped with the program, and must not be used after that.
impl Drop for Run {
    fn drop(&mut self) {
        translate_no_more();
    }
}

impl Run {
    fn finish(&mut self) -> ExitRecord {
        // SAFETY: the table is made that way, and is in its own box until this is dropped.
        unsafe { translate(self.program.memory.root()) };
        self.counters.begin(&mut self.program);
        let (mut work, mut entered, mut waited_at) = (Work::Start, 0, waited_instructions());
        loop {
            if self.begin_window() {
                // The trap at the beginning of the window does not count.
                work = Work::Start;
            }
            // SAFETY: the page table is in use; the entries for user mode are those of the program's own frames.
            unsafe { enter(&raw mut *self.context) };
            // The instructions of the last trap are known only now.
            let waited = core::mem::replace(&mut waited_at, waited_instructions());
            self.counters
                .add(work, self.context.left.wrapping_sub(entered).saturating_sub(waited_at - waited));
            entered = self.context.entered;
            work = match self.handle() {
                Ok(work) => work,
                Err(last) => {
                    let RunEnd { work, ending } = *last;
                    let waited = waited_instructions() - waited_at;
                    let took = all_retired_instructions().wrapping_sub(entered).saturating_sub(waited);
                    self.counters.add(work, took);
                    return self.counters.record(ending, &self.program, self.memory);
                }
            };
        }
    }

    /// Begins to count if the window begins here, and returns whether it does.
    fn begin_window(&mut self) -> bool {
        let faults = self.program.memory.counters().faults;
        let begins = self.warm_up_faults.is_some_and(|warm_up_faults| faults >= warm_up_faults);
        let Some(window) = self.instrumentation.window.filter(|_| begins) else {
            return false;
        };
        self.warm_up_faults = None;
        self.last.set(faults.saturating_add(window.faults));
        self.counters.begin(&mut self.program);
        true
    }

    fn handle(&mut self) -> Result<Work, Box<RunEnd>> {
        let touch = match scause::read().bits() {
            8 => return self.system_call(),
            12 => Touch::Fetch,
            13 => Touch::Load,
            15 => Touch::Store,
            2 => return self.illegal(Illegal::Instruction),
            3 => return self.illegal(Illegal::Breakpoint),
            _ => return self.illegal(Illegal::Machine { address: stval::read() as u64 }),
        };
        let address = stval::read() as u64;
        match self.program.memory.fault(address, touch) {
            Ok(()) => Ok(Work::Fault),
            Err(AccessError::End(ending)) => Err(RunEnd::of(Work::Fault, ending)),
            Err(AccessError::Illegal) => self.illegal(Illegal::Touch { address, touch }),
        }
    }

    /// Handles a system call: separate from faults, which would pay for its registers too.
    #[inline(never)]
    fn system_call(&mut self) -> Result<Work, Box<RunEnd>> {
        let before = self.program.memory.fault_instructions();
        let outcome = self.program.system_call(&mut self.context.registers);
        self.load_floating();
        let of_faults = self.program.memory.fault_instructions() - before;
        let work = Work::Call { of_faults };
        outcome.map(|()| work).map_err(|ending| RunEnd::of(work, ending))
    }

    /// Lets the program handle an illegal operation, or ends it.
    #[cold]
    #[inline(never)]
    fn illegal(&mut self, what: Illegal) -> Result<Work, Box<RunEnd>> {
        let outcome = self.program.illegal(what, &mut self.context.registers);
        outcome.map(|()| Work::Fault).map_err(|ending| RunEnd::of(Work::Fault, ending))
    }

    /// Makes the program's floating-point registers be loaded before it continues, if they were changed.
    fn load_floating(&mut self) {
        if core::mem::take(&mut self.context.registers.floating_is_new) {
            // SAFETY: entering the program loads all of them then, and the runtime keeps nothing there meanwhile.
            unsafe { sstatus::set_fs(FS::Dirty) };
        }
    }
}
