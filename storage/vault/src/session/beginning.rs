//! The beginning of an opening: until a caller asks it shows no more than an opening, and what earlier openings left
//! owed comes before the first batch.

/// See the module.
pub(super) struct Beginning {
    /// True once a caller has asked for anything. Until then nothing is stepped or shipped: a check finds the store as
    /// it was left.
    asked: bool,
    /// True once nothing was left owed from earlier openings.
    settled: bool,
}

impl Beginning {
    /// A paced vault does not wait to be asked, nor one whose key is being changed.
    pub(super) fn new(goes_on_unasked: bool) -> Self {
        Beginning { asked: goes_on_unasked, settled: false }
    }

    /// Notes that a caller asks.
    pub(super) fn ask(&mut self) {
        self.asked = true;
    }

    /// Tells whether any caller has asked.
    pub(super) fn is_asked(&self) -> bool {
        self.asked
    }

    /// Notes whether anything is owed; returns whether batches may begin.
    pub(super) fn settles(&mut self, is_anything_owed: bool) -> bool {
        self.settled |= !is_anything_owed;
        self.settled
    }
}
