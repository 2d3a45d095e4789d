//! The second half of a restore for Ring ORAM. It writes a full tree to the store, every bucket once, in the order of
//! their numbers. Positions are drawn again, and the blocks come from the local copy of the previous tree.

use super::in_flight::buckets_in_flight;
use super::previous_vault::PreviousVault;
use super::restored_stash::RestoredStash;
use super::setup::Setup;
use super::state::PersistedScheme;
use crate::engine::deferred_store::DeferredStore;
use crate::error::VaultError;
use crate::store::VaultStore;
use crate::trusted::checkpoint_writer::{CheckpointInfo, CheckpointWriter, TrustedState};
use crate::trusted::header::VaultHeader;
use crate::trusted::reseal::blocks_at_once;
use crate::trusted::seal_context::SealContext;
use crate::trusted::summary::CheckpointHead;
use ameles_core::schemes::ring::{FilledRing, RingFilling, RingParameters};
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

/// Writes the previous blocks into a full tree under this epoch, and writes its state to the trusted disk as checkpoint
/// `number`.
pub(super) async fn rebuild_tree<U: VaultStore, L: Untrusted>(
    setup: &mut Setup<U>,
    (header, ring): (&VaultHeader, &RingParameters),
    old: &PreviousVault<'_, L>,
    (number, base): (u64, Epoch),
    progress: &dyn Fn(&'static str, u64, u64),
) -> Result<(), VaultError> {
    let random = ChaCha20Rng::from_seed(setup.entropy.seed());
    let mut filling = RingFilling::draw(ring, |block| old.is_written(block), random);
    let empty = TrustedVersions::new(header.vault, header.parameters.layout().buckets());
    let (cipher, nonces) = (header.parameters.cipher()?, setup.entropy.nonces());
    let sealed = Sealed::new(&setup.store, &setup.master, cipher, nonces, empty, setup.workers.clone())?;
    sealed.begin_epoch_numbered(base)?;

    let buckets = filling.buckets();
    let (mut done, all) = (0, header.parameters.layout().buckets());
    // Versions are assigned in the order of the buckets. Some writes overlap.
    let placed: Vec<_> =
        buckets.map(|(level, bucket)| (level, bucket, filling.place(level, bucket))).collect();
    let state = filling.finish();
    let writing = |(level, bucket, placed): (Level, Bucket, Vec<(Slot, BlockId, Leaf)>)| {
        let assigned = sealed.assign(&[bucket]);
        let (sealed, tree) = (&sealed, ring.geometry());
        async move {
            let versions: Vec<BucketVersion> = assigned?.iter().map(|step| step.bucket_version()).collect();
            let shape = tree.shape(level);
            let payloads = old.payloads(placed.iter().map(|(_, block, _)| *block)).await?;
            let mut plain = vec![0; (shape.slots * shape.slot_bytes) as usize];
            for ((slot, block, leaf), payload) in placed.into_iter().zip(payloads) {
                let into =
                    &mut plain[(slot.index * shape.slot_bytes) as usize..][..shape.slot_bytes as usize];
                block_header::write(into, block, leaf);
                into[HEADER_BYTES..].copy_from_slice(&payload);
            }
            sealed.write_assigned(&versions, &plain).await.map_err(VaultError::from)
        }
    };
    let mut writes =
        stream::iter(placed.into_iter().map(writing)).buffered(buckets_in_flight(setup.store.layout()));
    while writes.try_next().await?.is_some() {
        done += 1;
        progress("rewriting", done, all);
    }
    drop(writes);

    let versions = sealed.snapshot();
    drop(sealed);
    write_filled_state(setup, header, old, (number, state), &versions).await
}

/// Writes the state of the filled tree to the trusted disk.
async fn write_filled_state<U: VaultStore, L: Untrusted>(
    setup: &mut Setup<U>,
    header: &VaultHeader,
    old: &PreviousVault<'_, L>,
    (number, state): (u64, FilledRing),
    versions: &TrustedVersions,
) -> Result<(), VaultError> {
    let mut seal = SealContext { header, master: &setup.master, entropy: &mut setup.entropy };
    let mut stash = RestoredStash::on(&setup.disk);
    for blocks in state.stash.chunks(blocks_at_once(header.parameters.block())) {
        let payloads = old.payloads(blocks.iter().copied()).await?;
        let payloads = blocks.iter().copied().zip(payloads).collect();
        stash.append(&payloads, (blocks, blocks.len()), &mut seal)?;
    }
    let seed = seal.entropy.seed();
    let written = PersistedScheme { tables: state.tables, rest: state.rest };
    let with = (Rc::new(DeferredStore::default()), seed);
    let resumed = stash.resume(written, with, &mut seal)?;
    let (scheme, _keeper) =
        resumed.ok_or_else(|| VaultError::Damaged("a tree that was filled contradicts itself".into()))?;
    let head = CheckpointHead { number, sequence: 0, accesses: 0, seed };
    let info = CheckpointInfo { head, since: 0, rewritten: Vec::new(), garbage: &[] };
    let mut writer = CheckpointWriter::with_payloads(stash.into_directory());
    let change = writer.build_checkpoint(&TrustedState { scheme: &*scheme, versions }, info, seal)?;
    setup.disk.commit_state(header.parameters.block(), &change)
}
