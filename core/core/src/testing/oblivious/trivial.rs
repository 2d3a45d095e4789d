//! Trivial ORAM's public schedule: every batch is one scan, always the same.

use super::super::stage::{Event, Work};
use super::super::trace_store::TraceEntry;
use super::watch::{Adversary, Sights, Watch, ensure};
use crate::schemes::trivial::TrivialParameters;
use crate::types::{Bucket, Slot};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The watch over a Trivial ORAM whose buckets are numbered from 0.
pub fn watch(parameters: &TrivialParameters, adversary: Adversary) -> Box<dyn Watch> {
    Box::new(ScanWatch {
        parameters: parameters.clone(),
        adversary,
        due: VecDeque::new(),
        asked: false,
        sights: Sights::default(),
    })
}

struct ScanWatch {
    parameters: TrivialParameters,
    adversary: Adversary,
    due: VecDeque<TraceEntry>,
    asked: bool,
    sights: Sights,
}

impl Watch for ScanWatch {
    fn see(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Owes { owed, must_step } => {
                ensure((*owed, *must_step) == (0, false), || String::from("it owes something"))
            }
            Event::AccessBegins(accesses) => {
                self.due = self.scan(*accesses);
                Ok(())
            }
            Event::Asks(Work::Access, TraceEntry::Read(_)) if self.adversary == Adversary::Snapshot => Ok(()),
            Event::Asks(Work::Access, entry) => {
                self.asked = true;
                let due = self.due.pop_front();
                ensure(due.as_ref() == Some(entry), || format!("asked for {entry:?}, due is {due:?}"))
            }
            Event::Asks(Work::Idle(_), entry) => Err(format!("idle asked for {entry:?}")),
            Event::Answered(..) => {
                self.asked = false;
                Ok(())
            }
            Event::Ends(Work::Access) => {
                ensure(self.due.is_empty(), || format!("the scan ended {} operations early", self.due.len()))
            }
            Event::IdleBegins(_) | Event::Ends(Work::Idle(_)) | Event::Recovers(_) | Event::Yields(_) => {
                Ok(())
            }
            Event::Acts(..) => Err(format!("several processors: {event:?}")),
            Event::Rests => {
                let full = self.adversary == Adversary::Full;
                ensure(self.due.is_empty() || self.asked || !full, || String::from("an access lingers"))
            }
        }
    }

    fn sights(&self) -> &Sights {
        &self.sights
    }
}

impl ScanWatch {
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
