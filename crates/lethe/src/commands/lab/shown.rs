//! The progress of a lab, and its tables.

use crate::runtime::output::{complain, say};
use crate::runtime::progress::{self, Lines};
use indicatif::ProgressBar;
use lethe_lab::bench::Progress;

/// A progress bar or lines of progress, and tables on standard output.
pub(super) struct Shown {
    bar: ProgressBar,
    lines: Lines,
}

impl Shown {
    pub(super) fn begin() -> Self {
        Shown { bar: progress::steps("", 0), lines: Lines::begin() }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Shown {
    fn at(&self, what: &str, done: u64, all: u64) {
        progress::at(&self.bar, what, done, all);
        if self.bar.is_hidden()
            && let Some(line) = self.lines.due(what, done, all)
        {
            complain!("lethe lab: {line}");
        }
    }

    fn found(&self, table: &str) {
        self.bar.suspend(|| say!("{table}\n"));
    }
}
