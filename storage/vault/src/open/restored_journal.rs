//! A restore that repeats what the lost machine did, in a vault that announces in the store. The checkpoint in the store
//! and the journal after it become the state of a trusted disk, as that machine had it. The next opening replays it, as
//! after a crash: it repeats all announced reads, and no position is drawn again.

use super::create::write_initial_state;
use super::persisted_state::seal_journal;
use super::restore_notes;
use super::setup::Setup;
use super::shipped_checkpoint::FoundCheckpoint;
use crate::engine::deferred_store::DeferredStore;
use crate::error::VaultError;
use crate::log::merged_log::MergedLog;
use crate::log::{FIRST_NEEDED_NOTE, NEXT_OBJECT_NOTE, NextObject};
use crate::store::{HEADER, VaultStore};
use crate::trusted::checkpoint_writer::TrustedState;
use crate::trusted::disk::TrustedDisk;
use crate::trusted::header::VaultHeader;
use crate::trusted::position::Position;
use crate::trusted::row::Row;
use crate::trusted::seal_context::SealContext;
use crate::trusted::summary::CheckpointHead;
use std::rc::Rc;

/// Writes the state of a checkpoint, whose stash is on the trusted disk, and the journal after it to that disk. This
/// restore has claimed the epoch `claimed`. Returns the rows.
///
/// # Errors
/// [`VaultError::Tampered`] if the two contradict each other; the errors of the disk.
pub(super) fn write_journal<U: VaultStore>(
    setup: &mut Setup<U>,
    keyed_header: (&VaultHeader, &[u8]),
    found: FoundCheckpoint,
    logged: &mut MergedLog,
    claimed: u32,
) -> Result<Vec<Row>, VaultError> {
    let records = logged.take_records()?;
    let from = found.from;
    let rows = write_checkpoint(setup, keyed_header, found)?;
    let Setup { disk, master, entropy, .. } = setup;
    let sealed = seal_journal(&records, keyed_header.0, master, entropy, from.sequence)?;
    disk.commit(disk.enqueue_records(sealed))?;
    note_journal(disk, from.object, (claimed, logged.next_record()))?;
    Ok(logged.change(rows))
}

/// Writes the state of a checkpoint, whose stash is on the trusted disk, to that disk. Returns the rows.
///
/// # Errors
/// The errors of [`write_journal`].
pub(super) fn write_checkpoint<U: VaultStore>(
    setup: &mut Setup<U>,
    (header, encoded): (&VaultHeader, &[u8]),
    found: FoundCheckpoint,
) -> Result<Vec<Row>, VaultError> {
    let FoundCheckpoint { point, mut scheme, versions, rows, from, .. } = found;
    let contradicts = || VaultError::Tampered("the checkpoint in the store contradicts itself".into());
    if point.number == 0 {
        write_initial_state(setup, header, encoded, 0, versions)?;
        return Ok(rows);
    }
    let mut seal = SealContext { header, master: &setup.master, entropy: &mut setup.entropy };
    scheme.set_order(&mut seal)?;
    let with = (Rc::new(DeferredStore::default()), from.seed);
    let ((scheme, _reader), stash) = scheme.resume(with, &mut seal)?.ok_or_else(contradicts)?;
    let (number, accesses) = (point.number, point.accesses);
    let head = CheckpointHead { number, sequence: from.sequence, accesses, seed: from.seed };
    stash.commit(head, &TrustedState { scheme: &*scheme, versions: &versions }, seal)?;
    setup.disk.set_meta(HEADER, encoded)?;
    Ok(rows)
}

/// Notes that the journal in the store continues in the epoch `claimed`, and has all records before `next`. The
/// checkpoint in the store needs the objects from `first_needed` on.
///
/// # Errors
/// The errors of the disk.
pub(super) fn note_journal(
    disk: &TrustedDisk,
    first_needed: Option<Position>,
    (claimed, next): (u32, u64),
) -> Result<(), VaultError> {
    let next = NextObject { at: Position::first_of(claimed), in_doubt: 0, recorded: next };
    let first = borsh::to_vec(&first_needed.unwrap_or_default()).expect("a write to memory does not fail");
    disk.set_metas(&[(NEXT_OBJECT_NOTE, next.encode()), (FIRST_NEEDED_NOTE, first)])?;
    restore_notes::set_epoch(disk, claimed)
}
