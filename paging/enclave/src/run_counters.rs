//! The counts of a run.

use crate::calls::Program;
use crate::host::Mailbox;
use crate::processor::{DistributedWork, Processor};
use ameles_enclave_boundary::exit::{Ending, ExitRecord, Faults, Instructions, Memory};
use ameles_pager::fault::counters::Counters;
use ameles_seal::pages::PageMeter;

/// The kind of work that the runtime does at a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The beginning: it is not counted.
    Start,
    /// A page fault.
    Fault,
    /// A system call.
    Call {
        /// The number of instructions of the faults during the run.
        of_faults: u64,
    },
}

/// The counts at one time.
#[derive(Clone, Copy, Debug, Default)]
struct CounterSnapshot {
    retired: u64,
    nanos: u64,
    counters: Counters,
    idle: u64,
    hidden: u64,
    ciphers: u64,
    copies: u64,
    shares: DistributedWork,
}

/// The counts since the program began, or since its window did.
pub struct RunCounters {
    began: CounterSnapshot,
    loading: u64,
    faults: u64,
    system_calls: u64,
    meter: Option<&'static PageMeter>,
}

impl RunCounters {
    /// Begins to count when the program is loaded, with a meter if there is one.
    pub fn new(meter: Option<&'static PageMeter>) -> Self {
        RunCounters { began: CounterSnapshot::default(), loading: 0, faults: 0, system_calls: 0, meter }
    }

    /// Counts from now on.
    pub fn begin<P: Processor + 'static, M: Mailbox>(&mut self, program: &mut Program<P, M>) {
        program.memory.begin_counting();
        self.began = self.now(program);
        (self.faults, self.system_calls) = (0, 0);
    }

    /// Sets the number of faults during loading.
    pub fn set_loading_faults(&mut self, faults: u64) {
        self.loading = faults;
    }

    /// Adds the instructions of a trap; those of faults during a call are counted as faults.
    pub fn add(&mut self, work: Work, instructions: u64) {
        match work {
            Work::Start => {}
            Work::Fault => self.faults += instructions,
            Work::Call { of_faults } => {
                self.faults += of_faults;
                self.system_calls += instructions.saturating_sub(of_faults);
            }
        }
    }

    fn now<P: Processor + 'static, M: Mailbox>(&self, program: &Program<P, M>) -> CounterSnapshot {
        CounterSnapshot {
            retired: P::retired_instructions(),
            nanos: P::nanos(),
            counters: program.memory.counters(),
            idle: program.memory.idle_instructions(),
            hidden: program.memory.hidden_instructions(),
            ciphers: self.meter.map_or(0, PageMeter::crypto_nanos),
            copies: self.meter.map_or(0, PageMeter::copying_nanos),
            shares: P::shares(),
        }
    }

    /// The record of the run, which ends now.
    pub fn record<P: Processor + 'static, M: Mailbox>(
        &self,
        ending: Ending,
        program: &Program<P, M>,
        memory: Memory,
    ) -> ExitRecord {
        let (now, began) = (self.now(program), &self.began);
        let DistributedWork { shared, longest, handing_over } = now.shares - began.shares;
        let (to, from) = (&now.counters, &began.counters);
        let mut memory = memory;
        program.memory.measure(&mut memory);
        ExitRecord {
            ending,
            faults: Faults {
                faults: to.faults - from.faults,
                evictions: to.evictions - from.evictions,
                idle_steps: to.idle_steps - from.idle_steps,
                loading: self.loading,
            },
            instructions: Instructions {
                total: now.retired - began.retired,
                faults: self.faults,
                idle: now.idle - began.idle,
                hidden: now.hidden - began.hidden,
                shared,
                longest,
                handing_over,
                system_calls: self.system_calls,
                ciphers: now.ciphers - began.ciphers,
                copies: now.copies - began.copies,
                frames: to.frames_nanos - from.frames_nanos,
                writes: to.write_nanos - from.write_nanos,
                reads: to.read_nanos - from.read_nanos,
            },
            nanos: now.nanos - began.nanos,
            memory,
            system_calls: program.system_calls,
            host_calls: program.host.calls,
            clamped_times: program.host.clamped_times,
            refused: program.refused(),
        }
    }
}
