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
    (header, encoded): (&VaultHeader, &[u8]),
    found: FoundCheckpoint,
    logged: &mut MergedLog,
    claimed: u32,
) -> Result<Vec<Row>, VaultError> {
    let FoundCheckpoint { point, mut scheme, versions, rows, from, .. } = found;
    let contradicts = || VaultError::Tampered("the checkpoint in the store contradicts itself".into());
    if point.number == 0 {
        write_initial_state(setup, header, encoded, 0, versions)?;
    } else {
        let mut seal = SealContext { header, master: &setup.master, entropy: &mut setup.entropy };
        scheme.set_order(&mut seal)?;
        let with = (Rc::new(DeferredStore::default()), from.seed);
        let ((scheme, _reader), stash) = scheme.resume(with, &mut seal)?.ok_or_else(contradicts)?;
        let (number, accesses) = (point.number, point.accesses);
        let head = CheckpointHead { number, sequence: from.sequence, accesses, seed: from.seed };
        stash.commit(head, &TrustedState { scheme: &*scheme, versions: &versions }, seal)?;
        setup.disk.set_meta(HEADER, encoded)?;
    }
    let sealed =
        seal_journal(&logged.take_records(), header, &setup.master, &mut setup.entropy, from.sequence)?;
    setup.disk.commit(setup.disk.enqueue_records(sealed))?;
    let recorded = logged.next_record();
    let next = NextObject { at: Position::first_of(claimed), in_doubt: 0, recorded };
    let first = borsh::to_vec(&from.object.unwrap_or_default()).expect("a write to memory does not fail");
    setup.disk.set_metas(&[(NEXT_OBJECT_NOTE, next.encode()), (FIRST_NEEDED_NOTE, first)])?;
    restore_notes::set_epoch(&setup.disk, claimed)?;
    Ok(logged.change(rows))
}
