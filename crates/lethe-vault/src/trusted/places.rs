//! The places of the stash: a file beside the database, of sealed payloads that are just a block long each.
//!
//! A place that the checkpoint names is never written. So a payload is written once, wherever it goes, and the file
//! needs no order of its own: nothing is ever moved to make room.

use super::disk::TrustedDisk;
use crate::error::VaultError;
use lethe_core::words::Bytes;
use redb::StorageBackend;
use std::io;

/// Places by which the file grows at least: a file that grows by a block at a time lies in many parts.
const STEP: u64 = 16;

/// A place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PlaceId(pub(crate) u32);

impl PlaceId {
    fn offset(self, block: Bytes) -> u64 {
        u64::from(self.0) * block.0
    }
}

impl TrustedDisk {
    /// Writes sealed payloads to their places; they are durable when this returns.
    pub(crate) fn write_places(&self, block: Bytes, writes: &[(PlaceId, Vec<u8>)]) -> Result<(), VaultError> {
        if writes.is_empty() {
            return Ok(());
        }
        self.in_places(|places| {
            let needed = writes.iter().map(|(place, _)| place.offset(block) + block.0).max().unwrap_or(0);
            let len = places.len()?;
            if needed > len {
                places.set_len(needed.max(len + STEP.max(len / block.0.max(1) / 8) * block.0))?;
            }
            for (place, sealed) in writes {
                places.write(place.offset(block), sealed)?;
            }
            places.sync_data()
        })
    }

    /// Reads the sealed payload of a place.
    pub(crate) fn read_place(&self, place: PlaceId, into: &mut [u8]) -> Result<(), VaultError> {
        let offset = place.offset(Bytes(into.len() as u64));
        self.in_places(|places| places.read(offset, into))
    }

    fn in_places<T>(&self, work: impl FnOnce(&dyn StorageBackend) -> io::Result<T>) -> Result<T, VaultError> {
        work(self.places()).map_err(|error| self.failed(redb::Error::Io(error)))
    }
}
