//! The steps of a session that change the vault's key: the sweep over the buckets, and the end of the change.

use super::{KeyChange, Stage, is_of_earlier_key};
use crate::claims::notes::ClaimNotes;
use crate::engine::record::Input;
use crate::error::VaultError;
use crate::session::Session;
use crate::session::checkpoints::{Checkpoints, Shipping};
use crate::session::event::Event;
use crate::session::log::reseal_end_markers;
use crate::session::pace::{LocalWork, next_instant};
use crate::store::VaultStore;
use crate::trusted::header_exchange;
use ameles_core::types::Bucket;
use ameles_seal::derive::Salt;
use tokio::time::Instant;

/// The maximum number of sealed bytes that a step of the sweep rewrites. A larger bucket has a step of its own.
const STEP_BYTES: u64 = 1 << 20;
/// The minimum number of steps of a whole sweep: a small vault has small steps.
const STEPS: u64 = 64;
/// The maximum number of sweep steps between two checkpoints. An opening after a crash reads up to this number again.
const STEPS_PER_CHECKPOINT: u64 = 64;

impl<U: VaultStore> Session<U> {
    /// Returns whether a step of the sweep must run before anything else starts.
    pub(in crate::session) fn is_sweep_due(&self) -> bool {
        let Some(change) = &self.garbage.change else { return false };
        let is_idle = !self.is_asked() && self.engine.scheme.pending_steps() == 0;
        let has_turn = change.has_turn || (is_idle && self.dispatcher.pacer().is_none());
        let may_begin = self.lease.is_valid() && self.closing.is_none();
        change.stage == Stage::Sweeping && has_turn && may_begin
    }

    /// Starts the next step of the sweep, or ends the sweep.
    pub(in crate::session) fn sweep(&mut self) -> Result<(), VaultError> {
        let buckets = self.take_buckets();
        let number = self.checkpoints.number;
        let Some(change) = &mut self.garbage.change else { return Ok(()) };
        change.has_turn = false;
        if buckets.is_empty() {
            change.stage = Stage::Settling(number);
            self.checkpoints.request_shipped();
            return Ok(());
        }
        change.steps += 1;
        if change.steps.is_multiple_of(STEPS_PER_CHECKPOINT) {
            self.checkpoints.request_local();
        }
        self.step(Input::Rewrite(buckets), Vec::new())
    }

    /// Takes the next buckets of the sweep.
    fn take_buckets(&mut self) -> Vec<Bucket> {
        let (mut buckets, mut bytes) = (Vec::new(), 0);
        let Some(change) = &mut self.garbage.change else { return buckets };
        let layout = self.engine.sealed.untrusted().layout();
        let max = (layout.bytes().0 / STEPS).min(STEP_BYTES);
        self.engine.sealed.with_versions(|versions| {
            while change.next < versions.buckets() {
                let bucket = Bucket(change.next);
                if is_of_earlier_key(versions, bucket, change.until) {
                    bytes += layout.bucket_bytes(bucket) as u64;
                    if bytes > max && !buckets.is_empty() {
                        break;
                    }
                    buckets.push(bucket);
                }
                change.next += 1;
            }
        });
        buckets
    }

    /// Ends the change, if the earlier key opens nothing any more but claims and header.
    pub(in crate::session) async fn finish_key_change(&mut self) -> Result<(), VaultError> {
        if !self.is_key_change_settled() {
            return Ok(());
        }
        let Some(change) = &mut self.garbage.change else { return Ok(()) };
        change.stage = Stage::Ending;
        let (until, began) = (change.until, Instant::now());
        let (block, directory) =
            (self.identity.header.parameters.block(), &self.checkpoints.writer.directory);
        let (free, end) = (directory.free_slots(), directory.end());
        self.dispatcher.run_on_disk(&self.disk, move |disk| disk.wipe_slots(block, (&free, end))).await?;
        self.replace_claims_and_header(until, began);
        Ok(())
    }

    /// Returns whether neither checkpoint names a bucket that the earlier key opens, and none is left in the store.
    fn is_key_change_settled(&self) -> bool {
        let Some(KeyChange { until, stage: Stage::Settling(after), .. }) = &self.garbage.change else {
            return false;
        };
        let Checkpoints { shipping, shipped, .. } = &self.checkpoints;
        let has_shipped = *shipping == Shipping::Idle && shipped.number > *after;
        let is_deleted = !self.garbage.is_deleting() && !self.garbage.holds_up_to(*until);
        let may_begin = self.lease.is_valid() && self.closing.is_none() && !self.checks.is_running();
        has_shipped && is_deleted && may_begin
    }

    fn replace_claims_and_header(&mut self, until: u32, began: Instant) {
        let (identity, sealed) = (self.identity.clone(), self.engine.sealed.clone());
        let (disk, instants) = (self.disk.clone(), self.dispatcher.instants());
        let salts: Vec<Salt> = (0..until).map(|_| self.entropy.salt()).collect();
        let [mark, check, header] = [(); 3].map(|()| self.entropy.salt());
        let of_ends = self.entropy.split();
        let task = Box::pin(async move {
            let replacing = async {
                let store = sealed.untrusted();
                let claims = identity.claims(store);
                claims.check(identity.epoch).await?;
                for (epoch, salt) in (1..=until).zip(salts) {
                    next_instant(instants).await;
                    claims.reseal(epoch, salt).await?;
                }
                next_instant(instants).await;
                claims.reseal_end_marker(mark).await?;
                reseal_end_markers(store, &identity, (until, instants), of_ends).await?;
                // A gateway that took over has read the header that is in the store now.
                next_instant(instants).await;
                claims.check(identity.epoch).await?;
                let encoded = identity.header.encode(&identity.master, check, header);
                disk.run_blocking(move |disk| {
                    let mut values = vec![ClaimNotes::forgotten()];
                    values.extend(header_exchange::begin_exchange(disk, encoded)?);
                    disk.set_metas(&values)
                })
                .await?;
                next_instant(instants).await;
                header_exchange::complete(&disk, store).await
            };
            Event::KeyChanged(replacing.await)
        });
        // The time of wiping shows no more than the time of sealing a checkpoint.
        self.dispatcher.send(LocalWork::Upload, began, task);
    }

    /// Drops the earlier key: it opens nothing any more.
    pub(in crate::session) fn on_key_changed(&mut self) {
        self.identity.forget_earlier_key();
        self.engine.sealed.forget_earlier_key();
        self.garbage.change = None;
        tracing::info!(
            "the change of the vault's key is complete: the earlier key no longer opens anything here"
        );
    }
}
