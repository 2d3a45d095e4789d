//! A core: its reorder buffer, its posted requests, and what it has read of the trace.

use super::periods::{PeriodSkipper, PipelineState};
use crate::cache::Victim;
use crate::trace::Miss;
use std::collections::VecDeque;

/// A core.
#[derive(Debug)]
pub(super) struct Core {
    /// The instructions before its next miss, and the miss.
    pub(super) next: Option<(u32, Miss)>,
    /// The misses of this core that were read while a miss of another core was needed.
    pub(super) unread: VecDeque<Miss>,
    pub(super) state: PipelineState,
    pub(super) periods: PeriodSkipper,
    /// Requests for lines that it evicted from the cache, to be sent before anything else.
    pub(super) evicted: VecDeque<Victim>,
    pub(super) posted: PostedRequests,
}

/// The requests for which no instruction waits.
#[derive(Debug, Default)]
pub(super) struct PostedRequests {
    pub(super) outstanding: usize,
    /// The cycle at which there was room again, or up to which [nothing is fetched](super::Processor::hold).
    pub(super) free_at: u64,
}

impl Core {
    /// A core at rest, of a processor of that width.
    pub(super) fn new(width: u64, reorder_buffer: usize) -> Self {
        let buffer = VecDeque::with_capacity(reorder_buffer);
        Core {
            next: None,
            unread: VecDeque::new(),
            state: PipelineState { buffer, ..PipelineState::default() },
            periods: PeriodSkipper::new(width, reorder_buffer),
            evicted: VecDeque::new(),
            posted: PostedRequests::default(),
        }
    }

    /// The turn after which the core fetches next.
    pub(super) fn clock(&self, width: u64) -> u64 {
        self.state.fetched.max(self.posted.free_at.saturating_mul(width))
    }
}
