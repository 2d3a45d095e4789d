//! A running work: its workers, their selections, and its end.

use crate::cosbench::{Division, FileOrder, Operation, Selection, Selector, Work};
use crate::thesis::error::ThesisError;
use rand_core::RngCore;
use std::time::Duration;

/// The maximum number of workers of a work.
const MAX_WORKERS: u64 = 10_000;

/// A running work.
pub(super) struct ActiveWork<'a> {
    work: &'a Work,
    selections: Vec<Selections>,
    done: u64,
    moved_bytes: u64,
}

/// The selections of an operation, which keep their state between operations.
///
/// Workers share each of them, unless the work divides containers or objects: then each worker has its own.
pub(super) struct Selections {
    containers: Vec<Selection>,
    objects: Vec<Selection>,
    sizes: Selection,
    files: Selection,
}

impl Selections {
    /// The selections from their beginning. `files` is the number of files of the operation's folder.
    pub(super) fn new(work: &Work, operation: &Operation, files: usize) -> Result<Self, ThesisError> {
        let of = |selector: &Option<Selector>| selector.clone().unwrap_or(Selector::Constant(1));
        let last = files.max(1) as u64;
        let files = match operation.file_order {
            FileOrder::Sequence => Selector::Sequence(1, last),
            FileOrder::Uniform => Selector::Uniform(1, last),
        };
        let sizes = operation.sizes.as_ref().map(|sizes| sizes.selector.clone());
        Ok(Selections {
            containers: divide(work, Division::Container, "containers", of(&operation.containers))?,
            objects: divide(work, Division::Object, "objects", of(&operation.objects))?,
            sizes: Selection::new(of(&sizes)),
            files: Selection::new(files),
        })
    }

    /// Draws a container for a worker.
    pub(super) fn container(&mut self, worker: usize, random: &mut impl RngCore) -> u64 {
        for_worker(&mut self.containers, worker).draw(random)
    }

    /// Draws an object for a worker.
    pub(super) fn object(&mut self, worker: usize, random: &mut impl RngCore) -> u64 {
        for_worker(&mut self.objects, worker).draw(random)
    }

    /// Draws a file, counted from 1.
    pub(super) fn file(&mut self, random: &mut impl RngCore) -> u64 {
        self.files.draw(random)
    }

    /// Draws the bytes of an object.
    pub(super) fn bytes(&mut self, operation: &Operation, random: &mut impl RngCore) -> u64 {
        let unit = operation.sizes.as_ref().map_or(1, |sizes| sizes.unit_bytes);
        self.sizes.draw(random).saturating_mul(unit)
    }
}

fn for_worker(selections: &mut [Selection], worker: usize) -> &mut Selection {
    let shared = selections.len() == 1;
    &mut selections[if shared { 0 } else { worker }]
}

/// The selection that workers share, or one for each of them if the work divides this.
fn divide(work: &Work, by: Division, what: &str, selector: Selector) -> Result<Vec<Selection>, ThesisError> {
    if work.division != by || work.workers == 1 {
        return Ok(vec![Selection::new(selector)]);
    }
    let share = |worker| {
        selector.share(worker, work.workers).map(Selection::new).ok_or_else(|| {
            let Work { name, workers, .. } = work;
            ThesisError::Unsupported(format!(
                "the work {name:?} divides its {what} among {workers} workers, and there are fewer: give it fewer workers"
            ))
        })
    };
    (0..work.workers).map(share).collect()
}

impl<'a> ActiveWork<'a> {
    /// A work at its beginning.
    pub(super) fn new(work: &'a Work, selections: Vec<Selections>) -> Self {
        ActiveWork { work, selections, done: 0, moved_bytes: 0 }
    }

    /// Returns the number of workers that continue at this time.
    pub(super) fn workers(&self, now: Duration) -> usize {
        let limit = &self.work.limit;
        let is_over = (limit.runtime_seconds > 0 && now >= Duration::from_secs(limit.runtime_seconds))
            || (limit.bytes > 0 && self.moved_bytes >= limit.bytes);
        let left = match limit.operations {
            _ if is_over => 0,
            0 => u64::MAX,
            all => all - self.done,
        };
        left.min(self.work.workers) as usize
    }

    /// Draws the next operation by its ratio.
    pub(super) fn next(&mut self, random: &mut impl RngCore) -> (&'a Operation, &mut Selections) {
        self.done += 1;
        let mut left = random.next_u64() % 100;
        let nth = self.work.operations.iter().position(|operation| {
            let is_it = left < operation.ratio;
            left = left.saturating_sub(operation.ratio);
            is_it
        });
        let nth = nth.unwrap_or(0);
        (&self.work.operations[nth], &mut self.selections[nth])
    }

    /// Counts bytes that were moved.
    pub(super) fn move_bytes(&mut self, bytes: u64) {
        self.moved_bytes = self.moved_bytes.saturating_add(bytes);
    }
}

/// Checks the number of workers.
pub(super) fn check_workers(work: &Work) -> Result<(), ThesisError> {
    if work.workers > MAX_WORKERS {
        let Work { name, workers, .. } = work;
        let why = format!("the work {name:?} has {workers} workers: give it at most {MAX_WORKERS}");
        return Err(ThesisError::Unsupported(why));
    }
    Ok(())
}
