//! The progress display of a bench.

use crate::runtime::progress;
use ameles_lab::bench::Progress;
use indicatif::ProgressBar;

/// A progress bar for the current stage of a bench. `print` prints its figures.
pub(super) struct BenchProgress<'a, P> {
    pub(super) bar: &'a ProgressBar,
    pub(super) print: P,
}

impl<P: Fn(&str)> Progress for BenchProgress<'_, P> {
    fn on_step(&self, what: &str, done: u64, all: u64) {
        progress::update(self.bar, what, done, all);
    }

    fn on_figure(&self, figure: &str) {
        self.bar.suspend(|| (self.print)(figure));
    }
}
