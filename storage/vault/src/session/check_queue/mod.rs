//! Checks of everything in the store, one after the other, while nothing else is under way.

mod steps;

use super::command::Reply;
use crate::error::VaultError;
use crate::session::check::{Progress, Report};
use std::collections::VecDeque;

/// See the module.
#[derive(Default)]
pub(super) struct CheckQueue {
    waiting: VecDeque<(Progress, Reply<Report>)>,
    running: bool,
}

impl CheckQueue {
    pub(super) fn push(&mut self, progress: Progress, reply: Reply<Report>) {
        self.waiting.push_back((progress, reply));
    }

    /// Tells whether no check waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn is_running(&self) -> bool {
        self.running
    }

    /// Notes that a check has ended.
    pub(super) fn ended(&mut self) {
        self.running = false;
    }

    /// Tells all callers that wait why no check comes.
    pub(super) fn refuse(&mut self, why: &VaultError) {
        for (_, reply) in self.waiting.drain(..) {
            let _ = reply.send(Err(why.clone()));
        }
    }
}
