//! Checks and continues the journal in the store when a vault is opened. Nothing in it may be newer than the state of
//! the trusted disk. The opening ends the journals of earlier openings. It begins its own journal with their records
//! that the store may lack.
//!
//! An interrupted opening may have left a batch and changes of rows on the trusted disk without their log object in the
//! store. Callers can see these from now on, so the store must have them first.

use super::persisted_state::PersistedState;
use crate::engine::record::{Call, Input};
use crate::engine::scheme::MAX_BATCHES;
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::log::announcements::AnnouncedRecords;
use crate::log::entry::{Contents, Entry, Object};
use crate::log::objects::{LogObjects, PayloadState, seal};
use crate::log::payloads::seal_payloads;
use crate::log::{FIRST_NEEDED_NOTE, NEXT_OBJECT_NOTE, NextObject, read_note};
use crate::session::{Log, without_reads};
use crate::trusted::disk::TrustedDisk;
use crate::trusted::position::Position;
use crate::trusted::rows::Rows;
use ameles_store::Blobs;
use std::sync::Arc;

/// The journal as the trusted disk knows it.
pub(super) struct KnownLog {
    /// The position after the last object that was started.
    next: Position,
    /// The first object that may be missing: that of the first of these batches, or `next`.
    in_doubt: Position,
    /// The contents of the objects in doubt, if no checkpoint came after them.
    last: LastRecords,
    /// The objects in the store before the claim of this opening.
    listed: Vec<Position>,
}

/// The last contents of the journal on the trusted disk, which the store may lack.
enum LastRecords {
    /// The writes of the last batches, of each batch by itself.
    Writes(Vec<Vec<Call>>),
    /// The records that the store is not known to have, in a vault that announces there.
    Announced {
        /// The records that are not known to be there.
        lacking: AnnouncedRecords,
        /// All records since the checkpoint on the trusted disk. Their payloads may be missing.
        held: AnnouncedRecords,
    },
}

/// Checks that the store holds the required objects of the journal, and nothing newer. Called before the claim.
///
/// # Errors
/// [`VaultError::StaleTrustedState`] if another gateway has continued with this vault, tampering, and the errors of
/// disk and store.
pub(super) async fn check_log<B: Blobs>(
    disk: &TrustedDisk,
    blobs: &B,
    persisted: &PersistedState,
    claimed: u32,
) -> Result<KnownLog, VaultError> {
    let objects = LogObjects { blobs, header: &persisted.header, ring: &persisted.ring };
    let NextObject { at: mut next, in_doubt: unknown, recorded } = read_note(disk, NEXT_OBJECT_NOTE)?;
    let from: Position = read_note(disk, FIRST_NEEDED_NOTE)?;
    if next.epoch < persisted.known.epoch {
        // The last opening was a restore, which has no journal.
        next = Position::first_of(persisted.known.epoch);
    }
    let (last, sequence) = if persisted.header.parameters.journal.announces() {
        let first = persisted.sequence - persisted.records.len() as u64;
        // A checkpoint that no flush has followed was made when all objects were in the store.
        let sequence = if recorded < first { next.sequence } else { unknown.min(next.sequence) };
        let known = (recorded.max(first) - first).min(persisted.records.len() as u64);
        let held = AnnouncedRecords::new(first, persisted.records.clone());
        let lacking = AnnouncedRecords::new(first + known, persisted.records[known as usize..].to_vec());
        (LastRecords::Announced { lacking, held }, sequence)
    } else {
        let last = last_batches(persisted);
        // A batch of an earlier epoch was repeated by the first objects of the next one.
        let own = last.iter().filter(|(epoch, _)| *epoch == next.epoch).count() as u64;
        let last = last.into_iter().map(|(_, calls)| calls).collect();
        (LastRecords::Writes(last), next.sequence.saturating_sub(own))
    };
    let mut in_doubt = Position { sequence, ..next };
    if from.epoch == next.epoch {
        // The objects before were deleted.
        in_doubt = in_doubt.max(from);
    }
    let listed = objects.list().await?;
    for newer in listed.iter().filter(|at| **at >= next && at.epoch <= claimed) {
        if let Some(Object::Entry(entry)) = objects.read_without_payloads(*newer).await? {
            refuse_newer(next, *newer, &entry)?;
        }
    }
    let first = if from.epoch == next.epoch { from.sequence } else { 0 };
    for sequence in first..in_doubt.sequence {
        let at = Position { sequence, ..next };
        if listed.binary_search(&at).is_err() {
            let why = format!(
                "{} is missing from the store: it was removed or the store was rolled back",
                at.name()
            );
            return Err(VaultError::Tampered(why.into()));
        }
    }
    Ok(KnownLog { next, in_doubt, last, listed })
}

/// The writes of the last batches in the journal on the disk: as many as objects may be missing. Each comes with its
/// epoch.
fn last_batches(persisted: &PersistedState) -> Vec<(u32, Vec<Call>)> {
    let mut epoch = persisted.state.versions.epochs().newest();
    let mut batches = Vec::new();
    for record in &persisted.records {
        match &record.input {
            Input::Epoch(begun, _) => epoch = begun.number,
            Input::Batch(calls) => batches.push((epoch, calls)),
            Input::Step | Input::Rewrite(_) | Input::Complete(_) | Input::Checkpoint(_) => {}
        }
    }
    let last = batches.split_off(batches.len().saturating_sub(MAX_BATCHES as usize));
    last.into_iter().map(|(epoch, calls)| (epoch, without_reads(calls))).collect()
}

/// Refuses an object that this trusted disk has not started. The first objects of an opening are not evidence: that
/// opening may have been cut off before it had written anything.
fn refuse_newer(next: Position, at: Position, entry: &Entry) -> Result<(), VaultError> {
    if at < next || entry.opening.is_some() {
        return Ok(());
    }
    let why =
        format!("the store holds {}, and the newest known here comes before {}", at.name(), next.name());
    Err(VaultError::StaleTrustedState(why))
}

impl KnownLog {
    /// The journal after a takeover in this epoch: the store has all records before the one of this number.
    pub(super) fn after_takeover(epoch: u32, next_record: u64) -> Self {
        let next = Position::first_of(epoch);
        let none = AnnouncedRecords::new(next_record, Vec::new());
        let last = LastRecords::Announced { lacking: none.clone(), held: none };
        KnownLog { next, in_doubt: next, last, listed: Vec::new() }
    }

    /// Ends the journals of earlier openings, and starts the journal of this one.
    ///
    /// # Errors
    /// The errors of [`check_log`], and [`VaultError::Displaced`].
    pub(super) async fn begin<B: Blobs>(
        self,
        disk: &TrustedDisk,
        objects: &LogObjects<'_, B>,
        rows: &Arc<Rows>,
        epoch: u32,
        entropy: &mut Entropy,
    ) -> Result<Log, VaultError> {
        let KnownLog { next, in_doubt, last, listed } = self;
        // The numbers of records that the store has.
        let mut held = HeldRecords::default();
        let mut each = |at, entry: Entry, payloads| {
            refuse_newer(next, at, &entry)?;
            if let PayloadState::Absent { by } = payloads {
                // Whoever has ended this journal repeats it without writes that this disk has.
                return Err(VaultError::Displaced { ours: at.epoch, theirs: by });
            }
            held.take(at, &entry);
            Ok(())
        };
        let salt = &mut || entropy.salt();
        objects.end_earlier_journals(in_doubt, (epoch, &listed), last.held(), salt, &mut each).await?;
        let begin = Position::first_of(epoch);
        let mut entries: Vec<Entry> = Vec::new();
        let mut taken = 0;
        let (contents, recorded) = last.lacking(held.end);
        let filler = match objects.header.parameters.journal.announces() {
            true => Contents::Records(AnnouncedRecords::new(recorded, Vec::new())),
            false => Contents::Writes(Vec::new()),
        };
        let mut contents = contents.into_iter();
        while let Some(mut unlogged) = rows.unlogged()
            && (entries.is_empty() || contents.len() > 0 || unlogged.bytes() > 0)
        {
            let contents = contents.next().unwrap_or_else(|| filler.clone());
            let (bytes, up_to) = unlogged.take(objects.header.parameters.row_bytes(contents.accesses()));
            taken = up_to;
            entries.push(Entry { opening: Some((0, 0)), contents, rows: bytes, settled: None });
        }
        let (mut at, of) = (begin, entries.len() as u32);
        for (nth, entry) in (0..).zip(entries) {
            let entry = Entry { opening: Some((nth, of)), ..entry };
            create_first(objects, at, entry, entropy).await?;
            at = at.next();
        }
        let next = NextObject { at, in_doubt: at.sequence, recorded };
        disk.set_meta(NEXT_OBJECT_NOTE, &next.encode())?;
        if let Some(mut unlogged) = rows.unlogged() {
            unlogged.mark_logged(taken);
        }
        Ok(Log::begin(rows.clone(), next, objects.header.parameters.journal))
    }
}

/// Creates one of the first objects of an opening. Its payloads are there before it.
async fn create_first<B: Blobs>(
    objects: &LogObjects<'_, B>,
    at: Position,
    mut entry: Entry,
    entropy: &mut Entropy,
) -> Result<(), VaultError> {
    let keys = (objects.header, objects.ring.newest());
    if objects.header.parameters.journal.has_payload_objects() {
        entry.settled = Some(at.sequence + 1);
        if let Contents::Records(records) = &entry.contents
            && let Some(sealed) = seal_payloads(keys, at, records, entropy.salt())?
        {
            objects.create_payloads(at, &sealed).await?;
        }
    }
    let sealed = seal(keys, at, &Object::Entry(entry), entropy.salt())?;
    objects.create(at, &sealed).await
}

/// The records in the objects that were read.
#[derive(Default)]
struct HeldRecords {
    /// The number of the record after the last one.
    end: u64,
    /// The same with an opening whose first objects are not all there yet, and its epoch. They count only together.
    opening: Option<(u32, u64)>,
}

impl HeldRecords {
    /// Adds the next object.
    fn take(&mut self, at: Position, entry: &Entry) {
        let own = match &entry.contents {
            Contents::Records(records) => records.end(),
            Contents::Writes(_) => 0,
        };
        let begun = self.opening.take().filter(|(epoch, _)| *epoch == at.epoch);
        let end = begun.map_or(own, |(_, end)| end.max(own));
        match entry.opening {
            Some((nth, of)) if nth + 1 < of => self.opening = Some((at.epoch, end)),
            _ => self.end = self.end.max(end),
        }
    }
}

impl LastRecords {
    /// The contents of the first objects of this opening, and the number of the record before which the store has all
    /// with them. `held` is such a number without them.
    fn lacking(self, held: u64) -> (Vec<Contents>, u64) {
        match self {
            LastRecords::Writes(batches) => (batches.into_iter().map(Contents::Writes).collect(), 0),
            LastRecords::Announced { lacking, .. } => {
                let end = lacking.end();
                (vec![Contents::Records(lacking.from(held))], end)
            }
        }
    }

    /// The records on the trusted disk, in a vault that announces in the store.
    fn held(&self) -> Option<&AnnouncedRecords> {
        match self {
            LastRecords::Writes(_) => None,
            LastRecords::Announced { held, .. } => Some(held),
        }
    }
}
