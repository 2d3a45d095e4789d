//! Resealing a stash with another key, a few payloads at a time, so that memory never holds more of them.

use super::disk::TrustedDisk;
use super::stash_directory::{PayloadOpener, StashDirectory};
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::trusted::header::VaultHeader;
use crate::trusted::seal_context::SealContext;
use ameles_core::stash::changes::StashChanges;
use ameles_core::types::{BlockId, Bytes};
use ameles_seal::master_key::MasterKey;
use std::collections::HashMap;

/// The number of bytes of a stash that are in memory while it is resealed.
const BYTES_AT_ONCE: u64 = 4 << 20;

/// The number of blocks of a stash that are in memory while it is resealed.
pub(crate) fn blocks_at_once(block: Bytes) -> usize {
    (BYTES_AT_ONCE / block.0.max(1)).max(1) as usize
}

impl StashDirectory {
    /// Reseals every payload with the key `new`, in a slot that the checkpoint on the disk does not name; durable when
    /// this returns. The checkpoint on the disk stays valid until another one names those slots.
    ///
    /// # Errors
    /// [`VaultError::Damaged`], and the errors of the disk.
    pub(crate) fn reseal(
        &mut self,
        (disk, header): (&TrustedDisk, &VaultHeader),
        (old, new): (&MasterKey, &MasterKey),
        entropy: &mut Entropy,
    ) -> Result<(), VaultError> {
        let (block, opener) = (header.parameters.block(), PayloadOpener::new(header, old, &self.keys())?);
        let mut seal = SealContext { header, master: new, entropy };
        self.rotate_key();
        let entries = self.entries();
        for some in entries.chunks(blocks_at_once(block)) {
            let mut payloads: HashMap<BlockId, Vec<u8>> = HashMap::with_capacity(some.len());
            let mut sealed = Vec::new();
            for (slot, entry) in some {
                sealed.clear();
                sealed.resize(block.0 as usize, 0);
                disk.read_slot(*slot, &mut sealed)?;
                opener.open(entry, &mut sealed, payloads.entry(entry.block).or_default())?;
            }
            let written = some.iter().map(|(_, entry)| entry.block).collect();
            let changes = StashChanges { written, ..StashChanges::default() };
            let with_payload = &mut |block, look: &mut dyn FnMut(&[u8])| look(&payloads[&block]);
            let changed = self.apply_changes(changes, &mut seal, with_payload)?;
            disk.write_slots(block, &changed.writes)?;
        }
        Ok(())
    }
}
