//! The second half of a restore for Ring ORAM. It writes the buckets that exist to the store, each once, in the order
//! of their numbers. Positions are drawn again, and the blocks come from the local copy of the previous tree.
//!
//! The times between requests do not show how many blocks there are. For each bucket, the rebuild reads as many slots
//! of the copy as the bucket has room for. It writes as many places of the stash as the stash may have blocks, and
//! reads as many.

use super::in_flight::buckets_in_flight;
use super::previous_vault::PreviousVault;
use super::restored_stash::RestoredStash;
use super::setup::Setup;
use super::state::PersistedScheme;
use crate::engine::deferred_store::DeferredStore;
use crate::error::VaultError;
use crate::store::VaultStore;
use crate::trusted::checkpoint_writer::TrustedState;
use crate::trusted::header::VaultHeader;
use crate::trusted::reseal::blocks_at_once;
use crate::trusted::seal_context::SealContext;
use crate::trusted::shipped_state::ShippedPoint;
use crate::trusted::summary::CheckpointHead;
use ameles_core::schemes::ring::{FilledRing, RingFilling, RingRedraw};
use ameles_core::store::{BucketVersion, Untrusted};
use ameles_core::tree::block_header::{self, HEADER_BYTES};
use ameles_core::types::{BlockId, Bucket, Leaf, Level, Slot};
use ameles_seal::epoch::Epoch;
use ameles_seal::sealed::Sealed;
use ameles_seal::versions::TrustedVersions;
use futures::stream::{self, StreamExt, TryStreamExt};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use std::rc::Rc;

/// Writes the previous blocks into the buckets of a redraw under this epoch. Then writes the state of the new tree to
/// the trusted disk, as the checkpoint at `point`.
pub(super) async fn rebuild_tree<U: VaultStore, L: Untrusted>(
    setup: &mut Setup<U>,
    header: &VaultHeader,
    (old, redraw): (&PreviousVault<'_, L>, &RingRedraw),
    (point, base): (ShippedPoint, Epoch),
    progress: &dyn Fn(&'static str, u64, u64),
) -> Result<(), VaultError> {
    let random = ChaCha20Rng::from_seed(setup.entropy.seed());
    let mut filling =
        RingFilling::redraw(redraw, |block| old.is_written(block), random).ok_or_else(|| {
            VaultError::Tampered("the checkpoint in the store has more blocks than accesses".into())
        })?;
    let empty = TrustedVersions::new(header.vault, header.parameters.layout().buckets());
    let (cipher, nonces) = (header.parameters.cipher()?, setup.entropy.nonces());
    let sealed = Sealed::new(&setup.store, &setup.master, cipher, nonces, empty, setup.workers.clone())?;
    sealed.begin_epoch_numbered(base)?;

    let layout = setup.store.layout();
    let bytes = |bucket: Bucket| layout.bucket_bytes(bucket) as u64;
    let (mut done, all) = (0, redraw.buckets().iter().map(|(_, bucket)| bytes(*bucket)).sum());
    // Versions are assigned in the order of the buckets. Some writes overlap.
    let buckets = redraw.buckets().iter().copied();
    let placed: Vec<_> =
        buckets.map(|(level, bucket)| (level, bucket, filling.place(level, bucket))).collect();
    let state = filling.finish();
    let writing = |(level, bucket, placed): (Level, Bucket, Vec<(Slot, BlockId, Leaf)>)| {
        let assigned = sealed.assign(&[bucket]);
        let (sealed, shape) = (&sealed, redraw.parameters().geometry().shape(level));
        async move {
            let versions: Vec<BucketVersion> = assigned?.iter().map(|step| step.bucket_version()).collect();
            let blocks = placed.iter().map(|(_, block, _)| *block);
            let payloads = old.payloads(blocks, shape.blocks as usize).await?;
            let mut plain = vec![0; (shape.slots * shape.slot_bytes) as usize];
            for ((slot, block, leaf), payload) in placed.into_iter().zip(payloads) {
                let into =
                    &mut plain[(slot.index * shape.slot_bytes) as usize..][..shape.slot_bytes as usize];
                block_header::write(into, block, leaf);
                into[HEADER_BYTES..].copy_from_slice(&payload);
            }
            sealed.write_assigned(&versions, &plain).await?;
            Ok::<_, VaultError>(bytes(bucket))
        }
    };
    let mut writes = stream::iter(placed.into_iter().map(writing)).buffered(buckets_in_flight(layout));
    while let Some(written) = writes.try_next().await? {
        done += written;
        progress("rewriting", done, all);
    }
    drop(writes);

    let versions = sealed.snapshot();
    drop(sealed);
    write_filled_state(setup, header, (old, redraw), (point, state), &versions).await
}

/// Writes the state of the filled tree to the trusted disk.
async fn write_filled_state<U: VaultStore, L: Untrusted>(
    setup: &mut Setup<U>,
    header: &VaultHeader,
    (old, redraw): (&PreviousVault<'_, L>, &RingRedraw),
    (point, state): (ShippedPoint, FilledRing),
    versions: &TrustedVersions,
) -> Result<(), VaultError> {
    let mut seal = SealContext { header, master: &setup.master, entropy: &mut setup.entropy };
    let mut stash = RestoredStash::on(&setup.disk);
    let (some, stashed) = (blocks_at_once(header.parameters.block()), &state.stash[..]);
    let ring = redraw.parameters();
    let room = redraw.max_blocks().min(ring.max_stash_blocks() + ring.max_held_blocks()) as usize;
    for first in (0..room.max(stashed.len())).step_by(some) {
        let blocks = &stashed[first.min(stashed.len())..(first + some).min(stashed.len())];
        let at_least = some.min(room.saturating_sub(first));
        let payloads = old.payloads(blocks.iter().copied(), at_least).await?;
        let payloads = blocks.iter().copied().zip(payloads).collect();
        stash.append(&payloads, (blocks, at_least), &mut seal)?;
    }
    let seed = seal.entropy.seed();
    let written = PersistedScheme { tables: state.tables, rest: state.rest };
    let with = (Rc::new(DeferredStore::default()), seed);
    let resumed = stash.resume(written, with, &mut seal)?;
    let (scheme, _keeper) =
        resumed.ok_or_else(|| VaultError::Damaged("a tree that was filled contradicts itself".into()))?;
    let ShippedPoint { number, accesses, .. } = point;
    let head = CheckpointHead { number, sequence: 0, accesses, seed };
    stash.commit(head, &TrustedState { scheme: &*scheme, versions }, seal)
}
