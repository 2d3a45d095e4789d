//! The step of a session that starts the next check.

use crate::error::VaultError;
use crate::log::{FIRST_NEEDED_NOTE, read_note};
use crate::session::Session;
use crate::session::check::{ExpectedObjects, check};
use crate::session::event::Event;
use crate::store::{HEADER, VaultStore};
use crate::trusted::checkpoint::max_sealed_bytes;
use crate::trusted::position::Position;

impl<U: VaultStore> Session<U> {
    /// Starts the check that has waited longest, if any is waiting.
    pub(in crate::session) fn start_check(&mut self) -> Result<(), VaultError> {
        let Some((progress, reply)) = self.checks.waiting.pop_front() else { return Ok(()) };
        let header = &self.identity.header;
        let named = ExpectedObjects {
            ring: self.identity.ring(),
            header: self.disk.meta(HEADER)?.unwrap_or_default(),
            epoch: self.identity.epoch,
            shipped: self.checkpoints.shipped,
            max: max_sealed_bytes(&header.parameters),
            log: match &self.journal.log {
                // Before the first checkpoint is shipped, the journal starts with the first opening.
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
