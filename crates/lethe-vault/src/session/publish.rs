//! The figures that a session publishes of itself.

use super::Session;
use crate::pace::Pacer;
use crate::status::Status;
use crate::store::VaultStore;

/// The blocks that the stash held so far.
#[derive(Default)]
pub(super) struct StashSeen {
    peak: u64,
    /// The blocks when nothing was under way.
    at_rest: u64,
}

impl<U: VaultStore> Session<U> {
    /// Makes the figures of this moment those that handles show.
    pub(crate) fn publish(&mut self) {
        let (engine, checkpoints) = (&self.engine, &self.checkpoints);
        let stash_blocks = engine.scheme.stash_blocks() as u64;
        self.stash_seen.peak = self.stash_seen.peak.max(stash_blocks);
        if !engine.is_accessing() && !engine.is_idling() {
            self.stash_seen.at_rest = stash_blocks;
        }
        let header = &self.identity.header;
        let (rows_used, rows_reserved) = self.rows.usage();
        let has_shipped = checkpoints.shipped.number > 0;
        *self.status.lock().expect("nobody panics with this lock") = Status {
            epoch: self.identity.epoch,
            accesses: engine.accesses(),
            evictions_owed: engine.scheme.owed() + engine.idles() as u64,
            emergencies: engine.scheme.emergencies(),
            stash_blocks,
            stash_peak: self.stash_seen.peak,
            stash_at_rest: self.stash_seen.at_rest,
            trusted_bytes: engine.scheme.trusted_bytes() as u64
                + 12 * header.parameters.scheme.layout().buckets(),
            journal_bytes: self.journal.bytes(),
            checkpoint_bytes: checkpoints.bytes(),
            checkpoint: checkpoints.number,
            shipped_checkpoint: checkpoints.shipped.number,
            accesses_since_checkpoint: checkpoints.since(engine.accesses()),
            receipt: has_shipped.then(|| checkpoints.receipt(header.vault).to_string()),
            old_versions: self.replaced.garbage().len() as u64,
            rows_used,
            rows_reserved,
            pace: self.courier.pacer().map(Pacer::figures),
        };
    }
}
