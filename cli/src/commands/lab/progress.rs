//! The progress of a lab, and its tables.

use crate::runtime::output::{complain, say};
use crate::runtime::progress::{self, Lines};
use ameles_lab::bench::Progress;
use indicatif::ProgressBar;
use std::sync::{Arc, Mutex, PoisonError};

/// The part that there is of a report that is not whole, for whoever interrupts it.
#[derive(Clone, Default)]
pub(super) struct PartialReport(Arc<Mutex<String>>);

impl PartialReport {
    fn put(&self, text: &str) {
        text.clone_into(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Prints it, if there is any.
    pub(super) fn print(&self) {
        let text = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if !text.is_empty() {
            say!("{text}\n");
        }
    }
}

/// A progress bar or lines of progress, and tables on standard output.
pub(super) struct ProgressDisplay {
    bar: ProgressBar,
    lines: Lines,
    unfinished: PartialReport,
}

impl ProgressDisplay {
    pub(super) fn begin(unfinished: &PartialReport) -> Self {
        ProgressDisplay { bar: progress::steps("", 0), lines: Lines::begin(), unfinished: unfinished.clone() }
    }
}

impl Drop for ProgressDisplay {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for ProgressDisplay {
    fn on_step(&self, what: &str, done: u64, all: u64) {
        progress::at(&self.bar, what, done, all);
        if self.bar.is_hidden()
            && let Some(line) = self.lines.due(what, done, all)
        {
            complain!("ameles lab: {line}");
        }
    }

    fn on_figure(&self, table: &str) {
        self.unfinished.put("");
        self.bar.suspend(|| say!("{table}\n"));
    }

    fn on_partial_report(&self, text: &str) {
        self.unfinished.put(text);
    }
}
