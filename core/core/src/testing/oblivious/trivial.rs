//! Trivial ORAM's public schedule: every batch is one scan, always the same.

use super::super::driver::{Event, Work};
use super::super::trace_store::TraceEntry;
use super::observer::{Adversary, Observations, Observer, ensure, ensure_idle};
use crate::schemes::trivial::TrivialParameters;
use crate::types::{Bucket, Slot};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The observer of a Trivial ORAM whose buckets are numbered from 0.
pub fn observer(parameters: &TrivialParameters, adversary: Adversary) -> Box<dyn Observer> {
    Box::new(ScanObserver {
        parameters: parameters.clone(),
        adversary,
        due: VecDeque::new(),
        requested: false,
        observations: Observations::default(),
    })
}

struct ScanObserver {
    parameters: TrivialParameters,
    adversary: Adversary,
    due: VecDeque<TraceEntry>,
    requested: bool,
    observations: Observations,
}

impl Observer for ScanObserver {
    fn observe(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Pending { pending_steps, must_step } => ensure_idle(*pending_steps, *must_step),
            Event::AccessBegins(accesses) => {
                self.due = self.scan(*accesses);
                Ok(())
            }
            Event::StoreRequest(Work::Access, TraceEntry::Read(_))
                if self.adversary == Adversary::Snapshot =>
            {
                Ok(())
            }
            Event::StoreRequest(Work::Access, entry) => {
                self.requested = true;
                let due = self.due.pop_front();
                ensure(due.as_ref() == Some(entry), || format!("asked for {entry:?}, due is {due:?}"))
            }
            Event::StoreRequest(Work::Step(_), entry) => Err(format!("a step asked for {entry:?}")),
            Event::StoreAnswer(..) => {
                self.requested = false;
                Ok(())
            }
            Event::Ends(Work::Access) => {
                ensure(self.due.is_empty(), || format!("the scan ended {} operations early", self.due.len()))
            }
            Event::StepBegins(_) | Event::Ends(Work::Step(_)) | Event::Recovers(_) | Event::Yields(_) => {
                Ok(())
            }
            Event::ProcessorAction(..) | Event::Redraws { .. } => {
                Err(format!("not of this scheme: {event:?}"))
            }
            Event::Quiescent => {
                let full = self.adversary == Adversary::Full;
                ensure(self.due.is_empty() || self.requested || !full, || {
                    String::from("an access waits for nothing")
                })
            }
        }
    }

    fn observations(&self) -> &Observations {
        &self.observations
    }
}

impl ScanObserver {
    fn scan(&self, accesses: usize) -> VecDeque<TraceEntry> {
        let mut scan = VecDeque::new();
        if accesses == 0 {
            return scan;
        }
        let blocks: Vec<u64> = (0..self.parameters.capacity).collect();
        for chunk in blocks.chunks(self.parameters.chunk_blocks as usize) {
            let slots = chunk.iter().map(|block| Slot { bucket: Bucket(*block), index: 0 });
            if self.adversary == Adversary::Full {
                scan.push_back(TraceEntry::Read(slots.collect()));
            }
            scan.push_back(TraceEntry::Write(chunk.iter().map(|block| Bucket(*block)).collect()));
        }
        scan
    }
}
