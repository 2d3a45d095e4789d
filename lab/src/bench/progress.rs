//! The progress of a bench.

/// A listener that is told how far a bench is. Calls are rare: they take no time from the measurement.
pub trait Progress {
    /// `done` of `all` steps of `what` are done.
    fn on_step(&self, what: &str, done: u64, all: u64);

    /// Tells that one figure of many is found: a line that is worth reading before the report is there.
    fn on_figure(&self, figure: &str);

    /// Tells what there is of a report that is not whole, for whoever ends the run now; it takes the place of what was told before.
    fn on_partial_report(&self, _text: &str) {}
}

/// A progress without a listener.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn on_step(&self, _: &str, _: u64, _: u64) {}

    fn on_figure(&self, _: &str) {}
}
