//! The long notes of the trusted disk: those that grow with the vault.
//!
//! redb writes a page whole, and several values share a page. In the table of the short notes, each change of one of them
//! would write the long ones again. So these have a table of their own, in [chunks](super::chunks).

use super::chunks::chunks;
use crate::store::SHIPPED_NOTE;
use redb::{ReadTransaction, TableDefinition, WriteTransaction};

/// The name of the sealed note of the payloads that the store has.
pub(crate) const SENT_NOTE: &str = "sent-payloads";
/// The name of the sealed note of the words and rows that the store has.
pub(crate) const STATE_NOTE: &str = "sent-state";

const LONG_NOTES: TableDefinition<'_, (&str, u32), &[u8]> = TableDefinition::new("long-notes");

/// Returns whether the note of this name is a long one.
pub(super) fn is_long(name: &str) -> bool {
    [SENT_NOTE, STATE_NOTE, SHIPPED_NOTE].contains(&name)
}

/// Creates the table.
pub(super) fn create(transaction: &WriteTransaction) -> Result<(), redb::Error> {
    transaction.open_table(LONG_NOTES)?;
    Ok(())
}

/// Reads a note; `None` if there is none, or an empty one.
pub(super) fn read(transaction: &ReadTransaction, name: &str) -> Result<Option<Vec<u8>>, redb::Error> {
    let mut note = Vec::new();
    for chunk in transaction.open_table(LONG_NOTES)?.range((name, 0)..=(name, u32::MAX))? {
        note.extend_from_slice(chunk?.1.value());
    }
    Ok((!note.is_empty()).then_some(note))
}

/// Sets a note.
pub(super) fn set(transaction: &WriteTransaction, name: &str, note: &[u8]) -> Result<(), redb::Error> {
    let mut table = transaction.open_table(LONG_NOTES)?;
    table.retain_in((name, 0)..=(name, u32::MAX), |_, _| false)?;
    for (nth, chunk) in (0..).zip(chunks(note)) {
        table.insert((name, nth), chunk)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trusted::disk::TrustedDisk;
    use crate::trusted::memory_file::MemoryFile;

    fn open(database: &MemoryFile) -> TrustedDisk {
        TrustedDisk::with_backends(database.clone(), MemoryFile::default(), MemoryFile::default()).unwrap()
    }

    /// A note of this many bytes, in which no page is like another.
    fn note(bytes: usize, seed: u64) -> Vec<u8> {
        (0..bytes as u64).map(|at| ((at + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
    }

    #[test]
    fn a_change_of_a_short_note_does_not_write_the_long_ones_again() {
        let database = MemoryFile::default();
        let disk = open(&database);
        let seeds = [(SENT_NOTE, 0), (STATE_NOTE, 1 << 32), (SHIPPED_NOTE, 2 << 32)];
        let long = seeds.map(|(name, seed)| (name, note(1 << 20, seed)));
        disk.set_metas(&long).unwrap();
        for nth in 0..4 {
            let before = database.copy();
            disk.set_meta("claim", &note(100, nth)).unwrap();
            let after = database.copy();
            let pages = before.chunks(4096).zip(after.chunks(4096)).filter(|(before, after)| before != after);
            assert!(pages.count() < 32, "change {nth}");
        }
        for (name, value) in &long {
            assert_eq!(disk.meta(name).unwrap().as_ref(), Some(value), "{name}");
        }
    }

    #[test]
    fn a_long_note_is_replaced_by_a_shorter_and_by_an_empty_one() {
        let disk = open(&MemoryFile::default());
        for bytes in [3_000_000, 5000, 1, 200_000] {
            disk.set_meta(SENT_NOTE, &note(bytes, 1)).unwrap();
            disk.set_meta(STATE_NOTE, &note(bytes / 2, 2)).unwrap();
            assert_eq!(disk.meta(SENT_NOTE).unwrap(), Some(note(bytes, 1)), "{bytes}");
        }
        disk.set_meta(SENT_NOTE, &[]).unwrap();
        assert_eq!(disk.meta(SENT_NOTE).unwrap(), None);
        assert_eq!(disk.meta(STATE_NOTE).unwrap(), Some(note(100_000, 2)));
    }
}
