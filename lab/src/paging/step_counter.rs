//! The steps of the bench, one for each run of a program.

use crate::bench::Progress;
use std::cell::Cell;

/// Counts the steps of the bench, and reports them.
pub(super) struct StepCounter<'a> {
    progress: &'a dyn Progress,
    done: Cell<u64>,
    all: u64,
}

impl<'a> StepCounter<'a> {
    pub(super) fn new(progress: &'a dyn Progress, all: u64) -> Self {
        StepCounter { progress, done: Cell::new(0), all }
    }

    /// Tells that a step begins.
    pub(super) fn begin(&self, what: &str) {
        self.progress.on_step(what, self.done.get(), self.all);
    }

    /// Counts a step that has ended.
    pub(super) fn end(&self) {
        self.done.set(self.done.get() + 1);
    }
}
