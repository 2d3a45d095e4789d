//! The place where a session publishes its figures, and what it remembers for them.

use super::status::{OpeningFigures, StashFigures, Status};
use std::sync::{Arc, Mutex};

/// See the module.
#[derive(Default)]
pub(super) struct Figures {
    /// The figures that handles show.
    pub(super) shown: Arc<Mutex<Status>>,
    /// The blocks that the stash held so far.
    pub(super) stash: StashFigures,
    pub(super) opening: OpeningFigures,
}

impl Figures {
    /// The figures of a session that this opening has begun.
    pub(super) fn of(opening: OpeningFigures) -> Self {
        Figures { opening, ..Figures::default() }
    }

    /// The place where handles look.
    pub(super) fn shown(&self) -> Arc<Mutex<Status>> {
        self.shown.clone()
    }
}
