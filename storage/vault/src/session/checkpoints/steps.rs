//! The steps of a session that decide when a checkpoint is due, and make it.

use super::{Checkpoints, Shipping};
use crate::engine::record::Input;
use crate::engine::scheme::Seed;
use crate::error::VaultError;
use crate::session::pace::LocalWork;
use crate::session::{AtClose, Session};
use crate::store::VaultStore;
use crate::trusted::checkpoint_writer::{CheckpointInfo, CheckpointWrite, TrustedState};
use crate::trusted::seal_context::SealContext;
use crate::trusted::summary::CheckpointHead;
use tokio::time::Instant;

impl<U: VaultStore> Session<U> {
    pub(in crate::session) fn is_checkpoint_due(&self) -> bool {
        let every = self.identity.header.parameters.checkpoint_every;
        // A checkpoint that must be shipped waits for the running upload.
        let can_be_last = if self.checkpoints.is_under_way() {
            !self.ships_at_close() && !self.holds_everything()
        } else {
            !self.is_settled()
        };
        let last = self.is_closing() && can_be_last;
        self.journal.checkpoint.is_some()
            || self.checkpoints.wanted
            || last
            || self.checkpoints.since_due(self.engine.accesses()) >= every
    }

    /// Returns whether the last checkpoint holds everything, and is in the store if a stop requires that.
    pub(in crate::session) fn is_settled(&self) -> bool {
        let Checkpoints { number, shipping, shipped, receipts, .. } = &self.checkpoints;
        let needs_none = *shipping == Shipping::HeldBack || !self.ships_at_close();
        self.holds_everything() && (shipped.number == *number || (needs_none && receipts.is_empty()))
    }

    /// Returns whether the final checkpoint is made: it holds everything, and is in the store or being uploaded.
    pub(in crate::session) fn is_finalized(&self) -> bool {
        let is_leaving = self.checkpoints.shipping == Shipping::UnderWay(self.checkpoints.number);
        self.is_closing() && (self.is_settled() || (self.holds_everything() && is_leaving))
    }

    /// Returns whether the end of this session must leave everything in the store.
    fn ships_at_close(&self) -> bool {
        self.closing.as_ref().is_none_or(|closing| closing.at_close == AtClose::Ship)
    }

    fn holds_everything(&self) -> bool {
        let Checkpoints { number, .. } = &self.checkpoints;
        let is_last = self.closing.as_ref().is_none_or(|closing| *number > closing.before);
        is_last && self.checkpoints.since(self.engine.accesses()) == 0
    }

    /// Makes a checkpoint that is due, while nothing is in flight. If the vault announces in the store, its record must
    /// be there first: this starts to announce it, and the next call makes the checkpoint.
    pub(in crate::session) async fn advance_checkpoint(&mut self) -> Result<(), VaultError> {
        if let Some(seed) = self.journal.checkpoint.take() {
            return self.checkpoint(seed).await;
        }
        let seed = self.entropy.seed();
        let input = Input::Checkpoint(seed);
        if self.journal.announces() {
            self.journal.checkpoint = Some(seed);
            return self.step(input, Vec::new());
        }
        // The record need not be kept: the checkpoint replaces it.
        self.engine.step(input, Vec::new())?;
        self.checkpoint(seed).await
    }

    /// Makes a checkpoint of the trusted state on the disk, in which randomness continues from this seed. Some of them
    /// are shipped as well.
    async fn checkpoint(&mut self, seed: Seed) -> Result<(), VaultError> {
        let began = Instant::now();
        self.checkpoints.number += 1;
        let mut change = self.build_checkpoint(seed)?;
        self.engine.check_payload_reads()?;
        let parameters = &self.identity.header.parameters;
        let (block, every) = (parameters.block(), parameters.checkpoint_every);
        if self.dispatcher.pacer().is_some() {
            self.checkpoints.writer.pad_payloads(
                &mut change,
                2 * parameters.checkpoint_every as usize,
                block,
            );
        }
        self.checkpoints.bytes += change.bytes();
        self.dispatcher.run_on_disk(&self.disk, move |disk| disk.commit_state(block, &change)).await?;
        self.checkpoints.writer.directory.on_committed();
        self.engine.scheme.release_payloads();
        self.journal.clear_records();
        let late = self.checkpoints.since_due(self.engine.accesses()).saturating_sub(every);
        self.checkpoints.late = if self.checkpoints.wanted { 0 } else { late };
        self.checkpoints.accesses = self.engine.accesses();
        self.checkpoints.wanted = false;
        // Published before requests leave that follow from it.
        self.publish();
        if self.is_to_be_shipped() {
            self.start_upload(began, seed)?;
        }
        self.dispatcher.skip(LocalWork::Checkpoint, began);
        self.collect_garbage();
        let Checkpoints { number, accesses, .. } = self.checkpoints;
        tracing::debug!(checkpoint = number, accesses, "checkpoint");
        Ok(())
    }

    /// Builds the changes that the checkpoint makes to the trusted disk.
    fn build_checkpoint(&mut self, seed: Seed) -> Result<CheckpointWrite, VaultError> {
        let Session { engine, checkpoints, identity, entropy, .. } = self;
        let (sequence, accesses) = (self.journal.sequence(), engine.accesses());
        let info = CheckpointInfo {
            head: CheckpointHead { number: checkpoints.number, sequence, accesses, seed },
            since: checkpoints.since(accesses),
            rewritten: engine.take_rewritten(),
            garbage: self.garbage.versions(),
            in_store: checkpoints.sent.state.words_needed_after(&identity.header.parameters, accesses),
        };
        let seal = SealContext { header: &identity.header, master: &identity.master, entropy };
        engine.sealed.with_versions(|versions| {
            checkpoints.writer.build_checkpoint(
                &TrustedState { scheme: &*engine.scheme, versions },
                info,
                seal,
            )
        })
    }

    /// Returns whether the newest checkpoint is shipped. While another one is being uploaded, no checkpoint is shipped:
    /// the next one follows that upload.
    fn is_to_be_shipped(&mut self) -> bool {
        let parameters = &self.identity.header.parameters;
        let checkpoints = &mut self.checkpoints;
        let turn = checkpoints.number.is_multiple_of(parameters.ship_every);
        let is_last = self.closing.as_ref().is_some_and(|closing| closing.at_close == AtClose::Ship);
        let is_wanted = checkpoints.ship_next || is_last || (turn && self.startup.has_request());
        match checkpoints.shipping {
            Shipping::HeldBack => false,
            Shipping::UnderWay(_) => {
                checkpoints.ship_next = is_wanted || turn;
                false
            }
            Shipping::Idle => {
                let ships = is_wanted || checkpoints.shipped.number == 0;
                // If a turn to ship comes before any caller has made a request, the next checkpoint is shipped instead.
                checkpoints.ship_next = turn && !ships;
                ships
            }
        }
    }
}
