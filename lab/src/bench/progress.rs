//! The progress of a bench.

/// Receives the progress of a bench. Calls are rare: they take no time from the measurement.
pub trait Progress {
    /// `done` of `all` steps of `what` are done.
    fn on_step(&self, what: &str, done: u64, all: u64);

    /// Receives one figure, or one table, before the report is complete.
    fn on_figure(&self, figure: &str);

    /// Receives the text of an incomplete report, for a user who interrupts the run. It replaces the text before it.
    fn on_partial_report(&self, _text: &str) {}
}

/// A progress without a listener.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn on_step(&self, _: &str, _: u64, _: u64) {}

    fn on_figure(&self, _: &str) {}
}
