//! The job of a workload: which objects are written and read, in which order. It is drawn once, and every scheme
//! does it.

use std::ops::Range;

/// The steps of a job with `quick`.
pub(super) const QUICK_STEPS: usize = 30;

/// Reads and writes of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// The greatest size that each object has in the job, in bytes: its room.
    pub sizes: Vec<u64>,
    /// The steps, in their order.
    pub steps: Vec<Step>,
    /// The number of first steps, which prepare objects: time is measured after them.
    pub prepared: usize,
    /// The numbers of steps after which an instant is noted, at most four.
    pub timed_steps: Vec<usize>,
}

/// A step of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// True if the object is written, false if it is read.
    pub writes: bool,
    /// The number of the object.
    pub object: usize,
    /// The part of the object's room; `None` is the whole room. A smaller object is its first part.
    pub part: Option<ObjectPart>,
    /// True if it is requested together with the step before it.
    pub is_concurrent: bool,
}

/// A part of an object. It may have no bytes. Then a store gets a request, but an ORAM answers from its catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectPart {
    /// The first byte.
    pub first: u64,
    /// The number of bytes.
    pub bytes: u64,
}

impl Step {
    /// A write or read of a whole object, after the step before it.
    pub fn whole(writes: bool, object: usize) -> Self {
        Step { writes, object, part: None, is_concurrent: false }
    }

    /// The bytes that the step moves, of objects with these sizes.
    pub fn bytes(&self, sizes: &[u64]) -> u64 {
        self.part.map_or(sizes[self.object], |part| part.bytes)
    }

    /// The blocks that the step accesses, of an object in the blocks `place`.
    pub(super) fn blocks(&self, place: &Range<u64>, payload: u64) -> Range<u64> {
        let Some(part) = self.part else { return place.clone() };
        if part.bytes == 0 {
            return place.start..place.start;
        }
        let block = |byte: u64| place.start + byte / payload;
        block(part.first)..place.end.min(block(part.first + part.bytes - 1) + 1)
    }
}

impl Job {
    /// The steps in groups that are requested together, each with the range of its step numbers.
    pub(super) fn groups(&self) -> impl Iterator<Item = (&[Step], Range<usize>)> {
        let mut end = 0;
        self.steps.chunk_by(|_, next| next.is_concurrent).map(move |group| {
            let begin = end;
            end += group.len();
            (group, begin..end)
        })
    }

    /// Truncates the job to this many steps.
    pub fn truncate(&mut self, steps: usize) {
        self.steps.truncate(steps);
        self.prepared = self.prepared.min(steps);
        self.timed_steps.iter_mut().for_each(|end| *end = steps.min(*end));
    }
}
