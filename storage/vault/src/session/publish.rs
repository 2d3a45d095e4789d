//! The publication of a session's figures.

use super::pace::Pacer;
use super::status::{CheckpointFigures, KeyChangeFigures, RowFigures, StashFigures, Status};
use super::{Log, Session};
use crate::store::VaultStore;
use crate::store_space::StoreFigures;
use crate::trusted::disk_reserve::ReserveFigures;

impl<U: VaultStore> Session<U> {
    /// Publishes the current figures to all handles.
    pub(super) fn publish(&mut self) {
        let lacking_since = self.lacking_since();
        let (engine, checkpoints) = (&self.engine, &self.checkpoints);
        let blocks = engine.scheme.stash_blocks() as u64;
        let is_at_rest = !engine.is_accessing() && !engine.is_stepping();
        let before = self.figures.stash;
        self.figures.stash = StashFigures {
            blocks,
            at_rest: if is_at_rest { blocks } else { before.at_rest },
            peak: before.peak.max(blocks),
        };
        // The figures only grow, also across crashes. So an access counts when its record is durable.
        if self.journal.unrecorded_batches() == 0 {
            self.figures.accesses = engine.accesses();
        }
        let header = &self.identity.header;
        let (used, reserved) = self.rows.usage();
        let has_shipped = checkpoints.shipped.number > 0;
        *self.figures.shown.lock().expect("no thread panics while it holds this lock") = Status {
            epoch: self.identity.epoch,
            accesses: self.figures.accesses,
            evictions_pending: engine.scheme.pending_steps() + engine.running_steps() as u64,
            emergencies: engine.scheme.emergencies(),
            stash: self.figures.stash,
            trusted_bytes: engine.scheme.trusted_bytes() as u64
                + checkpoints.writer.directory.bytes()
                + 12 * header.parameters.scheme.layout().buckets(),
            journal_bytes: self.journal.bytes(),
            opening: self.figures.opening,
            checkpoints: CheckpointFigures {
                newest: checkpoints.number,
                shipped: checkpoints.shipped.number,
                receipt: has_shipped.then(|| checkpoints.receipt(header.vault).to_string()),
                accesses_since: checkpoints.since(engine.accesses()),
                unshipped: checkpoints.unshipped(engine.accesses()),
                lacking_since,
                upload: self.figures.upload,
                shipped_at: self.figures.shipped_at,
                bytes: checkpoints.bytes().total(),
                by_kind: checkpoints.bytes(),
                pieces: checkpoints.writer.pieces(),
            },
            old_versions: self.garbage.versions().len() as u64,
            rows: RowFigures { used, reserved },
            // Each handle reads these figures itself.
            reserve: ReserveFigures::default(),
            store: StoreFigures::default(),
            log: self.journal.log.as_ref().map(Log::figures),
            key_change: self.garbage.change.as_ref().map(|change| KeyChangeFigures {
                passed: change.passed(),
                of: header.parameters.scheme.layout().buckets(),
            }),
            pace: self.dispatcher.pacer().map(Pacer::figures),
        };
    }
}
