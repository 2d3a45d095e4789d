//! The stash of a restore. Its payloads are sealed on a disk, and are written there a few at a time. So a restore holds
//! no more of a stash in memory than a served vault does.

use super::state::{PersistedScheme, State};
use crate::engine::deferred_store::DeferredStore;
use crate::engine::scheme::{Scheme, SchemeParameters, Seed};
use crate::error::VaultError;
use crate::trusted::checkpoint_writer::{CheckpointInfo, CheckpointWriter, TrustedState};
use crate::trusted::disk::TrustedDisk;
use crate::trusted::payload_reader::PayloadReader;
use crate::trusted::reseal::blocks_at_once;
use crate::trusted::seal_context::SealContext;
use crate::trusted::stash_directory::{ShowPayload, StashDirectory};
use crate::trusted::summary::CheckpointHead;
use ameles_core::stash::changes::StashChanges;
use ameles_core::types::BlockId;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// A resumed scheme, and the reader of its payloads that are not in memory.
pub(super) type Resumed = (Rc<dyn Scheme>, Option<PayloadReader>);

/// A stash on a disk.
pub(super) struct RestoredStash {
    disk: TrustedDisk,
    directory: StashDirectory,
}

impl RestoredStash {
    /// An empty stash on a disk. It overwrites the contents of the slots there.
    pub(super) fn on(disk: &TrustedDisk) -> Self {
        RestoredStash { disk: disk.clone(), directory: StashDirectory::empty() }
    }

    /// Appends blocks, a few at a time; durable when this returns. At least `at_least` slots are written, so that the
    /// time does not show how many blocks there are.
    ///
    /// # Errors
    /// The errors of the disk.
    pub(super) fn append(
        &mut self,
        payloads: &HashMap<BlockId, Vec<u8>>,
        (order, at_least): (&[BlockId], usize),
        seal: &mut SealContext<'_>,
    ) -> Result<(), VaultError> {
        let some = blocks_at_once(seal.header.parameters.block());
        for first in (0..at_least.max(order.len())).step_by(some) {
            let blocks = &order[first.min(order.len())..(first + some).min(order.len())];
            let (written, linked) = (blocks.to_vec(), blocks.to_vec());
            let changes = StashChanges { written, linked, removed: Vec::new() };
            let at_least = at_least.saturating_sub(first).min(some);
            self.apply_changes((changes, at_least), seal, &mut |block, look| look(&payloads[&block]))?;
        }
        Ok(())
    }

    fn apply_changes(
        &mut self,
        (changes, at_least): (StashChanges, usize),
        seal: &mut SealContext<'_>,
        with_payload: ShowPayload<'_>,
    ) -> Result<(), VaultError> {
        let block = seal.header.parameters.block();
        let mut writes = self.directory.apply_changes(changes, seal, with_payload)?.writes;
        let spare = self.directory.spare_slots(at_least.saturating_sub(writes.len()));
        writes.extend(spare.into_iter().map(|slot| (slot, vec![0; block.0 as usize])));
        self.disk.write_slots(block, &writes)?;
        self.directory.on_committed();
        Ok(())
    }

    /// Sets the order of the blocks. Returns `false` if they are not the blocks of the stash.
    pub(super) fn set_order(
        &mut self,
        order: Vec<BlockId>,
        seal: &mut SealContext<'_>,
    ) -> Result<bool, VaultError> {
        let there: BTreeSet<BlockId> = self.directory.stash_order().into_iter().collect();
        if order.len() != there.len() || order.iter().copied().collect::<BTreeSet<_>>() != there {
            return Ok(false);
        }
        let changes = StashChanges { linked: order, ..StashChanges::default() };
        self.apply_changes((changes, 0), seal, &mut |_, _| {}).map(|()| true)
    }

    /// Resumes a scheme with this stash. `None` if the two contradict each other. No payload is read into memory,
    /// wherever the served vault keeps its tree top.
    ///
    /// # Errors
    /// [`VaultError::Damaged`], and the errors of the disk.
    pub(super) fn resume(
        &self,
        scheme: PersistedScheme,
        with: (Rc<DeferredStore>, Seed),
        seal: &mut SealContext<'_>,
    ) -> Result<Option<Resumed>, VaultError> {
        let side = (&self.disk, seal.header, seal.master);
        let payload_reader = match seal.header.parameters.scheme {
            // Trivial ORAM has no stash.
            SchemeParameters::Trivial(_) => None,
            _ => Some(PayloadReader::new(side, self.directory.slot_map(), seal.entropy)?),
        };
        let scheme = State::try_resume(scheme, with, side, (&self.directory, payload_reader.as_ref()))?;
        Ok(scheme.map(|scheme| (scheme, payload_reader)))
    }

    /// Applies the changes of the scheme's stash, and drops the payloads from memory. Nothing is in flight.
    ///
    /// # Errors
    /// The errors of the disk.
    pub(super) fn sync_with(
        &mut self,
        scheme: &dyn Scheme,
        seal: &mut SealContext<'_>,
    ) -> Result<(), VaultError> {
        let Some(changes) = scheme.take_changes() else { return Ok(()) };
        self.apply_changes((changes.stash, 0), seal, &mut |block, look| scheme.with_payload(block, look))?;
        scheme.release_payloads();
        Ok(())
    }

    /// Writes a restored state with this stash to the stash's disk, as its first checkpoint.
    ///
    /// # Errors
    /// The errors of the disk.
    pub(super) fn commit(
        self,
        head: CheckpointHead,
        state: &TrustedState<'_>,
        seal: SealContext<'_>,
    ) -> Result<(), VaultError> {
        let info = CheckpointInfo { head, since: 0, rewritten: Vec::new(), garbage: &[], in_store: None };
        let block = seal.header.parameters.block();
        let change = CheckpointWriter::with_payloads(self.directory).build_checkpoint(state, info, seal)?;
        self.disk.commit_state(block, &change)
    }
}
