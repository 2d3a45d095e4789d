//! The beginning of an opening: until a caller asks it shows no more than an opening, and what earlier openings left
//! owed comes before the first batch.

/// See the module.
pub(super) struct Startup {
    /// True once a caller has asked for anything. Until then nothing is stepped or shipped: a check finds the store as
    /// it was left.
    has_request: bool,
    /// True once nothing was left owed from earlier openings.
    is_settled: bool,
}

impl Startup {
    /// A paced vault does not wait to be asked, nor one whose key is being changed.
    pub(super) fn new(starts_unasked: bool) -> Self {
        Startup { has_request: starts_unasked, is_settled: false }
    }

    /// Notes that a caller asks.
    pub(super) fn on_request(&mut self) {
        self.has_request = true;
    }

    /// Tells whether any caller has asked.
    pub(super) fn has_request(&self) -> bool {
        self.has_request
    }

    /// Notes whether anything is owed; returns whether batches may begin.
    pub(super) fn settle(&mut self, has_pending_work: bool) -> bool {
        self.is_settled |= !has_pending_work;
        self.is_settled
    }
}
