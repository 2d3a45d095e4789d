//! The start of a session. Until a caller makes a request, the store sees no more than the opening. Steps that earlier
//! openings left pending run before the first batch.

/// The state of a session's start.
pub(super) struct Startup {
    /// True once a caller has made a request. Before that, nothing is stepped or shipped: a check finds the store as it
    /// was left.
    has_request: bool,
    /// True once no steps are pending from earlier openings.
    is_settled: bool,
}

impl Startup {
    /// A session at its start. A paced vault starts without a request, and so does one whose key is being changed.
    pub(super) fn new(starts_unasked: bool) -> Self {
        Startup { has_request: starts_unasked, is_settled: false }
    }

    /// Records that a caller has made a request.
    pub(super) fn on_request(&mut self) {
        self.has_request = true;
    }

    /// Returns whether a caller has made a request.
    pub(super) fn has_request(&self) -> bool {
        self.has_request
    }

    /// Records whether steps are pending, and returns whether batches may start.
    pub(super) fn settle(&mut self, has_pending_work: bool) -> bool {
        self.is_settled |= !has_pending_work;
        self.is_settled
    }
}
