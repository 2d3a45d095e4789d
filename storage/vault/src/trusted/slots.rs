//! The slots of the stash: a [file](super::slot_file) of sealed payloads, each exactly a block long.
//!
//! A slot that the checkpoint names is never written. So a payload is written once, to any free slot, and the file
//! needs no order: nothing is ever moved to make room.

use super::disk::TrustedDisk;
use crate::error::VaultError;
use ameles_core::types::Bytes;
use redb::StorageBackend;
use std::io::{self, ErrorKind};

/// The name of the file, in the table `meta`.
const FILE: &str = "stash";
/// The minimum number of slots by which the file grows. A file that grew block by block would be fragmented.
const STEP: u64 = 16;

/// A slot of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StashSlot(pub(crate) u32);

impl StashSlot {
    fn offset(self, block: Bytes) -> u64 {
        u64::from(self.0) * block.0
    }
}

impl TrustedDisk {
    /// Writes sealed payloads to their slots; durable when this returns.
    pub(crate) fn write_slots(
        &self,
        block: Bytes,
        writes: &[(StashSlot, Vec<u8>)],
    ) -> Result<(), VaultError> {
        if writes.is_empty() {
            return Ok(());
        }
        self.with_slot_file(|slot_file| {
            let needed = writes.iter().map(|(slot, _)| slot.offset(block) + block.0).max().unwrap_or(0);
            let len = slot_file.len()?;
            if needed > len {
                slot_file.set_len(needed.max(len + STEP.max(len / block.0.max(1) / 8) * block.0))?;
            }
            for (slot, sealed) in writes {
                slot_file.write(slot.offset(block), sealed)?;
            }
            slot_file.sync_data()
        })?;
        self.slot_file.forget_all();
        Ok(())
    }

    /// Tells the operating system to cache no slots, so that all reads take equally long.
    pub(crate) fn set_slots_uncached(&self) {
        self.slot_file.set_uncached();
    }

    /// Overwrites free slots with zeros, and all slots from `end` on, up to the end of the file; durable when this
    /// returns. A checkpoint that was cut off may have written to slots that no directory knows.
    pub(crate) fn wipe_slots(
        &self,
        block: Bytes,
        (free, end): (&[StashSlot], StashSlot),
    ) -> Result<(), VaultError> {
        if block.0 == 0 || (self.slot_file.get().is_none() && self.meta(FILE)?.is_none()) {
            return Ok(());
        }
        let zeros = vec![0; block.0 as usize];
        self.with_slot_file(|slot_file| {
            let len = slot_file.len()?;
            let beyond = (end.offset(block)..len).step_by(zeros.len());
            let within = free.iter().map(|slot| slot.offset(block)).filter(|at| *at < len);
            for at in within.chain(beyond) {
                slot_file.write(at, &zeros[..(len - at).min(block.0) as usize])?;
            }
            slot_file.sync_data()
        })
    }

    /// Reads the sealed payload of a slot.
    pub(crate) fn read_slot(&self, slot: StashSlot, into: &mut [u8]) -> Result<(), VaultError> {
        let offset = slot.offset(Bytes(into.len() as u64));
        let bytes = offset..offset + into.len() as u64;
        self.with_slot_file(|slot_file| slot_file.read(offset, into))?;
        self.slot_file.forget(bytes);
        Ok(())
    }

    fn with_slot_file<T>(
        &self,
        work: impl FnOnce(&dyn StorageBackend) -> io::Result<T>,
    ) -> Result<T, VaultError> {
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::UnexpectedEof => VaultError::Damaged("the file of its stash ends too early".into()),
            _ => self.explain(redb::Error::Io(error)),
        };
        if let Some(file) = self.slot_file.get() {
            return work(file).map_err(failed);
        }
        match self.meta(FILE)? {
            Some(name) => {
                let name = String::from_utf8_lossy(&name);
                let missing = |error: io::Error| match error.kind() {
                    ErrorKind::NotFound => {
                        VaultError::Damaged(format!("{name}, which belongs to it, is missing").into())
                    }
                    _ => self.explain(redb::Error::Io(error)),
                };
                work(self.slot_file.open(&name).map_err(missing)?).map_err(failed)
            }
            None => {
                let name = self.slot_file.make().map_err(failed)?;
                self.set_meta(FILE, name.as_bytes())?;
                work(self.slot_file.get().expect("the file was just made")).map_err(failed)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const BLOCK: Bytes = Bytes(64);

    fn read(database: &Path) -> Result<Vec<u8>, VaultError> {
        let mut payload = vec![0; BLOCK.0 as usize];
        TrustedDisk::open(database)?.read_slot(StashSlot(3), &mut payload)?;
        Ok(payload)
    }

    #[test]
    fn a_database_that_is_moved_finds_its_file_and_says_which_one_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let files = || std::fs::read_dir(folder.path()).unwrap().count();
        let disk = TrustedDisk::open(&path("one.redb")).unwrap();
        assert_eq!(files(), 1, "no file before a payload is written");
        disk.write_slots(BLOCK, &[(StashSlot(3), vec![7; 64]), (StashSlot(0), vec![8; 64])]).unwrap();
        assert_eq!(files(), 2);
        drop(disk);
        std::fs::rename(path("one.redb"), path("other.redb")).unwrap();
        assert_eq!(read(&path("other.redb")).unwrap(), [7; 64]);
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let file = entry.unwrap().path();
            if file.extension().is_some_and(|kind| kind == "stash") {
                std::fs::remove_file(file).unwrap();
            }
        }
        let error = read(&path("other.redb")).unwrap_err();
        assert!(matches!(&error, VaultError::Damaged(_)) && error.to_string().contains(".stash"), "{error}");
    }
}
