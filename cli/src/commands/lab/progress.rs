//! The progress display of a lab, and its tables.

use crate::runtime::output::{print_error, print_line};
use crate::runtime::progress::{self, LogLines};
use ameles_lab::bench::Progress;
use indicatif::ProgressBar;
use std::sync::{Arc, Mutex, PoisonError};

/// The finished part of a report, printed if the run is interrupted.
#[derive(Clone, Default)]
pub(super) struct PartialReport(Arc<Mutex<String>>);

impl PartialReport {
    fn set(&self, text: &str) {
        text.clone_into(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Prints the finished part, if there is one.
    pub(super) fn print(&self) {
        let text = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if !text.is_empty() {
            print_line!("{text}\n");
        }
    }
}

/// A progress bar or lines of progress, and tables on standard output.
pub(super) struct ProgressDisplay {
    bar: ProgressBar,
    lines: LogLines,
    partial: PartialReport,
}

impl ProgressDisplay {
    pub(super) fn start(partial: &PartialReport) -> Self {
        ProgressDisplay {
            bar: progress::steps("", 0),
            lines: LogLines::start_now(),
            partial: partial.clone(),
        }
    }
}

impl Drop for ProgressDisplay {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for ProgressDisplay {
    fn on_step(&self, what: &str, done: u64, all: u64) {
        progress::update(&self.bar, what, done, all);
        if self.bar.is_hidden()
            && let Some(line) = self.lines.next_line(what, done, all)
        {
            print_error!("ameles lab: {line}");
        }
    }

    fn on_figure(&self, table: &str) {
        self.partial.set("");
        self.bar.suspend(|| print_line!("{table}\n"));
    }

    fn on_partial_report(&self, text: &str) {
        self.partial.set(text);
    }
}
