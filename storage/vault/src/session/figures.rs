//! The figures of a session: those that it publishes, and those that it keeps to compute them.

use super::status::{OpeningFigures, StashFigures, Status, UploadFigures};
use std::sync::{Arc, Mutex};
use tokio::time::Instant;

/// The figures of a session.
#[derive(Default)]
pub(super) struct Figures {
    /// The status that handles read.
    pub(super) shown: Arc<Mutex<Status>>,
    /// The blocks in the stash so far.
    pub(super) stash: StashFigures,
    pub(super) opening: OpeningFigures,
    /// The accesses whose records are durable.
    pub(super) accesses: u64,
    /// The checkpoint that is on its way to the store.
    pub(super) upload: Option<UploadFigures>,
    /// The time from which on the store lacks what comes, and the same for the checkpoint on its way.
    pub(super) shipped_at: Option<Instant>,
    pub(super) upload_began: Option<Instant>,
}

impl Figures {
    /// The figures of a session that has just been opened.
    pub(super) fn of(opening: OpeningFigures) -> Self {
        Figures { opening, ..Figures::default() }
    }

    /// The status that handles read.
    pub(super) fn shown(&self) -> Arc<Mutex<Status>> {
        self.shown.clone()
    }
}
