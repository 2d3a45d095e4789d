//! The payloads of a stash on their way to the store, in places of pieces. A place without a payload is all zeros, so
//! the sizes do not show the number of payloads. A slot is read and opened for it, too. This takes less time if other
//! slots are not in the page cache.

use super::disk::TrustedDisk;
use super::slots::StashSlot;
use super::stash_directory::{Entry, PayloadOpener};
use crate::error::VaultError;
use crate::trusted::header::VaultParameters;
use ameles_core::types::BlockId;
use std::collections::VecDeque;

/// Writes payloads to their places, a piece at a time.
pub(crate) struct PayloadPieceWriter {
    entries: VecDeque<(StashSlot, Entry)>,
    /// The payload that is read in vain for a place without one.
    first: Option<(StashSlot, Entry)>,
    opener: PayloadOpener,
    disk: TrustedDisk,
    place_bytes: usize,
    places_in_piece: u64,
    /// The number of places that are still to be written.
    places: u64,
}

impl PayloadPieceWriter {
    /// Starts to write these entries to this many places, at least as many as there are entries. `first` is any entry of the
    /// stash.
    pub(crate) fn new(
        (places, entries): (u64, Vec<(StashSlot, Entry)>),
        first: Option<(StashSlot, Entry)>,
        (opener, disk): (PayloadOpener, TrustedDisk),
        parameters: &VaultParameters,
    ) -> Self {
        let (place_bytes, places_in_piece) =
            (parameters.place_bytes() as usize, parameters.places_in_piece());
        let entries = entries.into();
        PayloadPieceWriter { entries, first, opener, disk, place_bytes, places_in_piece, places }
    }

    /// The next piece; `None` after the last one.
    ///
    /// # Errors
    /// [`VaultError::Damaged`], and the errors of the disk.
    pub(crate) fn next_piece(&mut self) -> Result<Option<Vec<u8>>, VaultError> {
        let places = self.places.min(self.places_in_piece);
        if places == 0 {
            return Ok(None);
        }
        self.places -= places;
        let bytes = places as usize * self.place_bytes;
        let (mut piece, mut sealed) = (Vec::with_capacity(bytes), Vec::new());
        for nth in 1..=places as usize {
            let entry = self.entries.pop_front();
            let Some((slot, read)) = entry.or(self.first) else { break };
            // 0 marks a place without a payload.
            piece.extend_from_slice(&entry.map_or(0, |(_, entry)| entry.block.0 as u32 + 1).to_le_bytes());
            sealed.clear();
            sealed.resize(self.place_bytes - 4, 0);
            self.disk.read_slot(slot, &mut sealed)?;
            self.opener.open(&read, &mut sealed, &mut piece)?;
            let end = nth * self.place_bytes;
            if entry.is_none() {
                piece[end - self.place_bytes + 4..end].fill(0);
            }
        }
        piece.resize(bytes, 0);
        Ok(Some(piece))
    }
}

/// The payloads in an authenticated piece, with their blocks. `None` if it is not a whole number of places.
pub(crate) fn payloads_in(piece: &[u8], place_bytes: usize) -> Option<Vec<(BlockId, &[u8])>> {
    let places = piece.chunks_exact(place_bytes);
    if !places.remainder().is_empty() {
        return None;
    }
    Some(places.filter_map(payload_in).collect())
}

fn payload_in(place: &[u8]) -> Option<(BlockId, &[u8])> {
    let (number, payload) = place.split_first_chunk()?;
    Some((BlockId(u32::from_le_bytes(*number).checked_sub(1)?.into()), payload))
}
