//! The checks that callers have requested. They run one at a time, while nothing else runs.

mod steps;

use super::command::Reply;
use crate::error::VaultError;
use crate::session::check::{Progress, Report};
use std::collections::VecDeque;

/// The queue of requested checks.
#[derive(Default)]
pub(super) struct CheckQueue {
    waiting: VecDeque<(Progress, Reply<Report>)>,
    running: bool,
}

impl CheckQueue {
    pub(super) fn push(&mut self, progress: Progress, reply: Reply<Report>) {
        self.waiting.push_back((progress, reply));
    }

    /// Returns whether no check is waiting.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn is_running(&self) -> bool {
        self.running
    }

    /// Records that a check has ended.
    pub(super) fn ended(&mut self) {
        self.running = false;
    }

    /// Tells all waiting callers why no check comes.
    pub(super) fn refuse(&mut self, why: &VaultError) {
        for (_, reply) in self.waiting.drain(..) {
            let _ = reply.send(Err(why.clone()));
        }
    }
}
