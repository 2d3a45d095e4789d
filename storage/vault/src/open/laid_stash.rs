//! The stash of a restore: its payloads lie sealed on a disk, and came there some at a time. So a restore holds no more of a
//! stash in memory than the vault does in service.

use super::state::{SchemeAtRest, State};
use crate::engine::gate::Gate;
use crate::engine::scheme::{Scheme, SchemeParameters, Seed};
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::trusted::directory::{Directory, LookAt};
use crate::trusted::disk::TrustedDisk;
use crate::trusted::header::VaultHeader;
use crate::trusted::keeper::PlaceKeeper;
use crate::trusted::resealed::blocks_at_once;
use ameles_core::stash::changes::StashChanges;
use ameles_core::types::BlockId;
use ameles_seal::master_key::MasterKey;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// The vault and the key that payloads are sealed with, and the source of what is drawn.
pub(super) type SealAs<'a> = (&'a VaultHeader, &'a MasterKey, &'a mut Entropy);
/// A scheme that was taken up, and the keeper of its payloads that are not in memory.
pub(super) type TakenUp = (Rc<dyn Scheme>, Option<PlaceKeeper>);

/// See the module.
pub(super) struct LaidStash {
    disk: TrustedDisk,
    directory: Directory,
}

impl LaidStash {
    /// An empty stash on a disk; what lies in the places there is written over.
    pub(super) fn on(disk: &TrustedDisk) -> Self {
        LaidStash { disk: disk.clone(), directory: Directory::empty() }
    }

    /// Lays blocks down behind those that are there, some at a time; durable when this returns. Places are written up to
    /// `at_least`: how many blocks there are does not show by the time that this takes.
    ///
    /// # Errors
    /// Those of the disk.
    pub(super) fn lay(
        &mut self,
        payloads: &HashMap<BlockId, Vec<u8>>,
        (order, at_least): (&[BlockId], usize),
        (header, master, entropy): SealAs<'_>,
    ) -> Result<(), VaultError> {
        let some = blocks_at_once(header.parameters.block());
        for first in (0..at_least.max(order.len())).step_by(some) {
            let blocks = &order[first.min(order.len())..(first + some).min(order.len())];
            let (written, linked) = (blocks.to_vec(), blocks.to_vec());
            let changes = StashChanges { written, linked, removed: Vec::new() };
            let at_least = at_least.saturating_sub(first).min(some);
            let seal_as = (header, master, &mut *entropy);
            self.take_over((changes, at_least), seal_as, &mut |block, look| look(&payloads[&block]))?;
        }
        Ok(())
    }

    fn take_over(
        &mut self,
        (changes, at_least): (StashChanges, usize),
        seal_as: SealAs<'_>,
        look_at: LookAt<'_>,
    ) -> Result<(), VaultError> {
        let block = seal_as.0.parameters.block();
        let mut writes = self.directory.take_over(changes, seal_as, look_at)?.writes;
        let spare = self.directory.spare(at_least.saturating_sub(writes.len()));
        writes.extend(spare.into_iter().map(|place| (place, vec![0; block.0 as usize])));
        self.disk.write_places(block, &writes)?;
        self.directory.committed();
        Ok(())
    }

    /// Puts the blocks into this order. Returns `false` if they are not the ones that are there.
    pub(super) fn put_into_order(
        &mut self,
        order: Vec<BlockId>,
        seal_as: SealAs<'_>,
    ) -> Result<bool, VaultError> {
        let there: BTreeSet<BlockId> = self.directory.order().into_iter().collect();
        if order.len() != there.len() || order.iter().copied().collect::<BTreeSet<_>>() != there {
            return Ok(false);
        }
        let changes = StashChanges { linked: order, ..StashChanges::default() };
        self.take_over((changes, 0), seal_as, &mut |_, _| {}).map(|()| true)
    }

    /// Takes a scheme up that has this stash; `None` if the two contradict one another. No payload is read into memory, wherever
    /// the vault keeps its tree top in service.
    ///
    /// # Errors
    /// [`VaultError::Damaged`], and those of the disk.
    pub(super) fn resume(
        &self,
        scheme: SchemeAtRest,
        with: (Rc<Gate>, Seed),
        (header, master, entropy): SealAs<'_>,
    ) -> Result<Option<TakenUp>, VaultError> {
        let side = (&self.disk, header, master);
        let keeper = match header.parameters.scheme {
            // It has no stash.
            SchemeParameters::Trivial(_) => None,
            _ => Some(PlaceKeeper::new(side, self.directory.shared(), entropy)?),
        };
        let scheme = State::try_to_take_up(scheme, with, side, (&self.directory, keeper.as_ref()))?;
        Ok(scheme.map(|scheme| (scheme, keeper)))
    }

    /// Takes over what has come into the stash of its scheme and has left it, and drops the payloads from memory. Nothing is
    /// in flight.
    ///
    /// # Errors
    /// Those of the disk.
    pub(super) fn follow(&mut self, scheme: &dyn Scheme, seal_as: SealAs<'_>) -> Result<(), VaultError> {
        let Some(changes) = scheme.take_changes() else { return Ok(()) };
        self.take_over((changes.stash, 0), seal_as, &mut |block, look| scheme.with_payload(block, look))?;
        scheme.release_payloads();
        Ok(())
    }

    /// The directory of its places.
    pub(super) fn into_directory(self) -> Directory {
        self.directory
    }
}
