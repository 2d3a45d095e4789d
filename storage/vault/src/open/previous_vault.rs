//! The previous vault of a restore, over the local copy of its buckets.

use super::local_copy::local_copy_error;
use super::restored_stash::RestoredStash;
use super::shipped_checkpoint::{ShippedScheme, read_slots};
use crate::engine::Engine;
use crate::engine::deferred_store::DeferredStore;
use crate::engine::record::{Call, Input};
use crate::engine::scheme::Scheme;
use crate::engine::work::execute;
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::session::check::check;
use crate::trusted::header::VaultHeader;
use crate::trusted::seal_context::SealContext;
use ameles_core::schemes::ring::{RingParameters, RingProgress, RingRedraw};
use ameles_core::snapshot::incremental::BlockPlace;
use ameles_core::store::Untrusted;
use ameles_core::tree::block_header::{self, HEADER_BYTES};
use ameles_core::types::{BlockId, Slot};
use ameles_seal::key_ring::KeyRing;
use ameles_seal::master_key::MasterKey;
use ameles_seal::parallel::SealThreads;
use ameles_seal::sealed::Sealed;
use ameles_seal::versions::TrustedVersions;
use bytes::Bytes;
use std::collections::HashMap;
use std::rc::Rc;

/// The previous vault, over the local copy.
pub(super) struct PreviousVault<'a, L> {
    engine: Engine<&'a L>,
    header: VaultHeader,
    master: MasterKey,
    entropy: Entropy,
    /// The stash on the scratch disk.
    stash: RestoredStash,
    /// The number of accesses since the stash on the scratch disk was updated.
    since: u64,
    /// Later payloads of blocks, from the journal in the store.
    later: HashMap<BlockId, Bytes>,
    /// Slots of the copy, one of each bucket, which are read where there is no block to be read.
    padding: Vec<Slot>,
}

impl<'a, L: Untrusted> PreviousVault<'a, L> {
    /// Opens the vault. Before anything depends on the copy, every slot of it is authenticated, dummies included.
    pub(super) async fn open(
        copy: &'a L,
        (header, ring): (&VaultHeader, &KeyRing),
        mut scheme: ShippedScheme,
        versions: TrustedVersions,
        accesses: u64,
        entropy: &mut Entropy,
    ) -> Result<Self, VaultError> {
        let deferred_store = Rc::new(DeferredStore::default());
        let damaged = || VaultError::Tampered("the checkpoint in the store contradicts itself".into());
        let master = ring.newest();
        let (cipher, nonces) = (header.parameters.cipher()?, entropy.nonces());
        let padding: Vec<Slot> = versions.live().map(|live| Slot { bucket: live.bucket, index: 0 }).collect();
        let sealed = Sealed::new(copy, ring, cipher, nonces, versions, SealThreads::single())?;
        sealed.begin_epoch(entropy.salt())?;
        let sealed = Rc::new(sealed);
        let report = check(&sealed, Box::new(|_, _| {})).await.map_err(local_copy_error)?;
        if let Some(wrong) = report.faults.into_iter().next() {
            return Err(VaultError::Tampered(wrong.into()));
        }
        let mut seal = SealContext { header, master, entropy: &mut *entropy };
        scheme.take_origins(&sealed, &padding, &mut seal).await?;
        let with = (deferred_store.clone(), seal.entropy.seed());
        let resumed = scheme.resume(with, &mut seal)?;
        let ((scheme, payload_reader), stash) = resumed.ok_or_else(damaged)?;
        let mut engine = Engine::new(sealed, scheme, (deferred_store, payload_reader), accesses);
        engine.go_live();
        let (header, master, entropy) = (header.clone(), master.clone(), entropy.split());
        Ok(PreviousVault { engine, header, master, entropy, stash, since: 0, later: HashMap::new(), padding })
    }

    /// Sets later payloads, which override those of the vault.
    pub(super) fn overlay(&mut self, later: HashMap<BlockId, Bytes>) {
        self.later = later;
    }

    fn scheme(&self) -> &dyn Scheme {
        &*self.engine.scheme
    }

    fn sealed(&self) -> &Sealed<&'a L> {
        &self.engine.sealed
    }

    /// Reads blocks through the previous scheme. Only the local copy sees these reads.
    pub(super) async fn read(&mut self, blocks: &[BlockId]) -> Result<Vec<Bytes>, VaultError> {
        while self.engine.scheme.must_step() {
            self.run(Input::Step).await?;
        }
        self.run(Input::Batch(blocks.iter().map(|block| Call::Read(*block)).collect())).await?;
        let answers = self.engine.take_answers().ok_or(VaultError::Closed)??;
        self.since += blocks.len() as u64;
        if self.since >= self.header.parameters.checkpoint_every {
            self.sync_stash()?;
        }
        let read = blocks.iter().zip(answers.into_iter().flatten());
        Ok(read.map(|(block, own)| self.later.get(block).cloned().unwrap_or(own)).collect())
    }

    /// Updates the stash on the scratch disk, so that memory need not hold its new payloads.
    fn sync_stash(&mut self) -> Result<(), VaultError> {
        self.since = 0;
        let PreviousVault { engine, header, master, entropy, stash, .. } = self;
        stash.sync_with(&*engine.scheme, &mut SealContext { header, master, entropy })?;
        self.engine.check_payload_reads()
    }

    async fn run(&mut self, input: Input) -> Result<(), VaultError> {
        let mut todo = self.engine.step(input, Vec::new())?.work;
        while let Some((operation, work)) = todo.pop() {
            let answer = execute(&self.engine.sealed, work).await.map_err(local_copy_error)?;
            todo.extend(self.engine.step(Input::Complete(operation), answer)?.work);
        }
        self.engine.take_superseded();
        Ok(())
    }
}

impl<L: Untrusted> PreviousVault<'_, L> {
    /// Returns whether a block may have been written. It certainly was not if the scheme knows that it is nowhere.
    pub(super) fn is_written(&self, block: BlockId) -> bool {
        self.later.contains_key(&block) || self.scheme().locate(block) != Some(BlockPlace::Nowhere)
    }

    /// Plans the redraw of a Ring ORAM that has had this many accesses since the checkpoint.
    ///
    /// # Errors
    /// [`VaultError::Tampered`].
    pub(super) fn plan_redraw(&self, ring: &RingParameters, since: u64) -> Result<RingRedraw, VaultError> {
        let contradicts = || VaultError::Tampered("the checkpoint in the store contradicts itself".into());
        let progress = RingProgress::of_rest(&self.scheme().rest()).ok_or_else(contradicts)?;
        let exists = |bucket| !self.sealed().version(bucket).is_never();
        Ok(RingRedraw::plan(ring, progress, since, exists))
    }

    /// The place of a block in the previous state.
    fn place_of(&self, block: BlockId) -> BlockPlace {
        self.scheme().locate(block).unwrap_or(BlockPlace::Nowhere)
    }

    /// The payloads of written blocks: from the stash, or in one read of the local copy. At least `at_least` slots of the
    /// copy are read, so that the time does not show how many blocks there are.
    pub(super) async fn payloads(
        &self,
        blocks: impl Iterator<Item = BlockId>,
        at_least: usize,
    ) -> Result<Vec<Vec<u8>>, VaultError> {
        let blocks: Vec<(BlockId, BlockPlace)> = blocks.map(|block| (block, self.place_of(block))).collect();
        let in_copy = blocks.iter().filter_map(|(_, place)| match place {
            BlockPlace::Slot(slot) => Some(*slot),
            BlockPlace::Stash | BlockPlace::Nowhere => None,
        });
        let mut slots: Vec<Slot> = in_copy.collect();
        slots.extend(self.padding.iter().cycle().take(at_least.saturating_sub(slots.len())));
        let bytes = read_slots(self.sealed(), &slots).await?;
        let mut rest = &bytes[..];
        let slot_bytes = HEADER_BYTES + self.scheme().block_bytes();
        let contradicts =
            || VaultError::Tampered("the checkpoint in the store contradicts its buckets".into());
        let mut payload = |(block, place): (BlockId, BlockPlace)| match place {
            BlockPlace::Slot(_) => {
                let (slot, after) = rest.split_at(slot_bytes);
                rest = after;
                let found = block_header::read(slot).map(|(found, _)| found);
                if found == Some(block) { Ok(slot[HEADER_BYTES..].to_vec()) } else { Err(contradicts()) }
            }
            BlockPlace::Stash => {
                let mut payload = Vec::new();
                self.scheme().with_payload(block, &mut |bytes| payload.extend_from_slice(bytes));
                Ok(payload)
            }
            BlockPlace::Nowhere if self.later.contains_key(&block) => Ok(Vec::new()),
            BlockPlace::Nowhere => Err(contradicts()),
        };
        let payload = |(block, place)| {
            let own: Vec<u8> = payload((block, place))?;
            Ok(self.later.get(&block).map_or(own, |later| later.to_vec()))
        };
        let payloads = blocks.into_iter().map(payload).collect();
        self.engine.check_payload_reads().and(payloads)
    }
}
