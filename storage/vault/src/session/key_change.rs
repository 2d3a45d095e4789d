//! The change of the vault's key in service: what the earlier key opens goes, until the key itself can go.
//!
//! Evictions and reshuffles carry the newest key anyway. A **sweep** does what they leave: it goes once through the
//! buckets in the order of their numbers, and writes again as they are those whose version is of an epoch of the earlier
//! key. When none is left, a checkpoint is shipped, and what is older is deleted. Then the claims are sealed anew, and the
//! header without the earlier key takes the place of the one with it.
//!
//! A step of the sweep comes after each batch, and while nobody asks; under a pace, one in each turn. So its times and its
//! buckets follow from the versions, which every watcher sees, and from the times of batches.

use super::Session;
use super::checkpoints::{Checkpoints, Shipping};
use super::dispatcher::Event;
use super::log::reseal_end_markers;
use super::pace::{LocalWork, next_instant};
use crate::claims::notes::ClaimNotes;
use crate::engine::record::Input;
use crate::error::VaultError;
use crate::store::VaultStore;
use crate::trusted::header_exchange;
use ameles_core::types::Bucket;
use ameles_seal::derive::Salt;
use ameles_seal::key_ring::KeyRing;
use ameles_seal::versions::TrustedVersions;
use tokio::time::Instant;

/// The most sealed bytes that a step of the sweep reads and writes again, but for a bucket that has more.
const STEP_BYTES: u64 = 1 << 20;
/// The least steps of a sweep through everything: a small vault has small ones.
const STEPS: u64 = 64;
/// Steps of the sweep between two checkpoints, at the most: an opening after a crash reads so many again.
const STEPS_PER_CHECKPOINT: u64 = 64;

/// See the module.
pub(super) struct KeyChange {
    /// The last epoch of the earlier key.
    until: u32,
    /// The bucket at which the sweep stands.
    next: u64,
    steps: u64,
    /// True if a batch has begun since the last step of the sweep.
    has_turn: bool,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Buckets are left that the earlier key opens.
    Sweeping,
    /// The sweep is over; the checkpoint of this number, or one before it, may name buckets that the earlier key opens.
    Settling(u64),
    /// The claims are sealed anew, and the header is replaced.
    Ending,
}

impl KeyChange {
    /// The change that is under way with these keys, if one is: it goes on at the first bucket that the earlier one opens.
    pub(super) fn of(ring: &KeyRing, versions: &TrustedVersions) -> Option<Self> {
        let until = ring.earlier()?.until;
        let mut buckets = 0..versions.buckets();
        let next = buckets.find(|bucket| is_of_earlier_key(versions, Bucket(*bucket), until));
        let next = next.unwrap_or_else(|| versions.buckets());
        Some(KeyChange { until, next, steps: 0, has_turn: false, stage: Stage::Sweeping })
    }

    /// The buckets that the sweep has passed.
    pub(super) fn passed(&self) -> u64 {
        self.next
    }

    /// Notes that a batch begins.
    pub(super) fn on_batch_started(&mut self) {
        self.has_turn = true;
    }

    /// Tells whether header and claims are being replaced.
    pub(super) fn is_ending(&self) -> bool {
        self.stage == Stage::Ending
    }
}

/// Tells whether a bucket is sealed with the earlier key, whose last epoch is `until`.
fn is_of_earlier_key(versions: &TrustedVersions, bucket: Bucket, until: u32) -> bool {
    let version = versions.version(bucket);
    !version.is_never() && version.epoch <= until
}

impl<U: VaultStore> Session<U> {
    /// Tells whether a step of the sweep comes before anything else begins.
    pub(super) fn is_sweep_due(&self) -> bool {
        let Some(change) = &self.garbage.change else { return false };
        let is_idle = !self.is_asked() && self.engine.scheme.pending_steps() == 0;
        let has_turn = change.has_turn || (is_idle && self.dispatcher.pacer().is_none());
        let may_begin = self.lease.is_valid() && self.closing.is_none();
        change.stage == Stage::Sweeping && has_turn && may_begin
    }

    /// Begins the next step of the sweep, or ends it.
    pub(super) fn sweep(&mut self) -> Result<(), VaultError> {
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

    /// The next buckets of the sweep.
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

    /// Goes on to the end of the change, if nothing is left that the earlier key opens but claims and header.
    pub(super) async fn finish_key_change(&mut self) -> Result<(), VaultError> {
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

    /// Tells whether neither checkpoint names a bucket that the earlier key opens, and none is left in the store.
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
                // A gateway that has taken over has read the header that stands there.
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
        // How long the wiping took shows no more than how long the sealing of a checkpoint takes.
        self.dispatcher.send(LocalWork::Upload, began, task);
    }

    /// Forgets the earlier key: nothing is left that it opens.
    pub(super) fn on_key_changed(&mut self) {
        self.identity.forget_earlier_key();
        self.engine.sealed.forget_earlier_key();
        self.garbage.change = None;
        tracing::info!(
            "the change of the vault's key is complete: the earlier key opens nothing here any more"
        );
    }
}
