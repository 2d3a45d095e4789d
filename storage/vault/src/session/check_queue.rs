//! Checks of everything in the store, one after the other, while nothing else is under way.

use super::Session;
use super::command::Reply;
use super::dispatcher::Event;
use crate::error::VaultError;
use crate::log::{FIRST_NEEDED_NOTE, read_note};
use crate::session::check::{ExpectedObjects, Progress, Report, check};
use crate::store::{HEADER, VaultStore};
use crate::trusted::checkpoint::max_sealed_bytes;
use crate::trusted::position::Position;
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

impl<U: VaultStore> Session<U> {
    /// Begins the check that waits longest, if any waits.
    pub(super) fn start_check(&mut self) -> Result<(), VaultError> {
        let Some((progress, reply)) = self.checks.waiting.pop_front() else { return Ok(()) };
        let header = &self.identity.header;
        let named = ExpectedObjects {
            ring: self.identity.ring(),
            vault: header.vault,
            header: self.disk.meta(HEADER)?.unwrap_or_default(),
            epoch: self.identity.epoch,
            shipped: self.checkpoints.shipped,
            max: max_sealed_bytes(&header.parameters),
            log: match &self.journal.log {
                // Before the first checkpoint it begins with the first opening.
                Some(log) => {
                    let from: Position = read_note(&self.disk, FIRST_NEEDED_NOTE)?;
                    Some((from.max(Position::first_of(1)), log.next()))
                }
                None => None,
            },
            of: header.clone(),
        };
        let sealed = self.engine.sealed.clone();
        self.checks.running = true;
        self.dispatcher.push_unpaced(Box::pin(async move {
            let checking = async {
                let mut report = check(&sealed, progress).await?;
                report.faults.extend(named.check(sealed.untrusted()).await?);
                Ok(report)
            };
            Event::Checked(checking.await, reply)
        }));
        Ok(())
    }
}
