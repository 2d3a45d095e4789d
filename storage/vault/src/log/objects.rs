//! The objects of the journal in the store. They are created once, read and authenticated, and ended by a later
//! opening.

use super::announcements::AnnouncedRecords;
use super::entry::{Contents, Entry, Object, is_end, max_text_bytes};
use super::open_named;
use super::payloads::{self, Payloads, payload_object_bytes};
use crate::engine::record::Record;
use crate::engine::scheme::MAX_BATCHES;
use crate::error::VaultError;
use crate::trusted::header::VaultHeader;
use crate::trusted::position::{PREFIX, Position};
use crate::trusted::seal_context::context;
use ameles_seal::blob;
use ameles_seal::derive::{Purpose, Salt};
use ameles_seal::key_ring::KeyRing;
use ameles_seal::master_key::MasterKey;
use ameles_store::Blobs;

/// The purpose under which objects are sealed.
pub(crate) const PURPOSE: Purpose = Purpose::named("store-journal");

/// Access to the log objects of a vault.
pub(crate) struct LogObjects<'a, B> {
    pub(crate) blobs: &'a B,
    pub(crate) header: &'a VaultHeader,
    pub(crate) ring: &'a KeyRing,
}

/// Seals an object for its position.
pub(crate) fn seal(
    (header, master): (&VaultHeader, &MasterKey),
    at: Position,
    object: &Object,
    salt: Salt,
) -> Result<Vec<u8>, VaultError> {
    let (parameters, cipher) = (&header.parameters, header.parameters.cipher()?);
    let context = context(header, &at.name());
    Ok(blob::seal(master, PURPOSE, &context, cipher, salt, &object.encode(parameters)))
}

/// Opens the object at a position.
pub(crate) fn open(
    (header, ring): (&VaultHeader, &KeyRing),
    at: Position,
    sealed: &[u8],
) -> Result<Object, VaultError> {
    let name = at.name();
    let text = open_named((header, ring), (PURPOSE, &name, at.epoch), sealed)?;
    let none = || VaultError::Tampered(format!("{name} in the store is not an object of the journal").into());
    Object::decode(&text, &header.parameters).ok_or_else(none)
}

impl<B: Blobs> LogObjects<'_, B> {
    /// Creates an object. If an object with the same bytes is there, it is this one: the answer to the first request
    /// was lost.
    ///
    /// # Errors
    /// [`VaultError::Displaced`] if a later opening has ended this journal, [`VaultError::Copied`] if another machine
    /// has written the object, tampering, and the errors of the store.
    pub(crate) async fn create(&self, at: Position, sealed: &[u8]) -> Result<(), VaultError> {
        if self.blobs.put_if_absent(&at.name(), sealed).await? {
            return Ok(());
        }
        match self.get(at).await? {
            Some(held) if held == sealed => Ok(()),
            Some(held) => Err(match open((self.header, self.ring), at, &held)? {
                Object::End(theirs) => VaultError::Displaced { ours: at.epoch, theirs },
                Object::Entry(_) => VaultError::Copied(at.name()),
            }),
            None => Err(VaultError::Tampered(
                format!("{} was in the store, and is missing now", at.name()).into(),
            )),
        }
    }

    /// Reads the object at a position, with its payloads. `None` if one of the two is not there.
    ///
    /// # Errors
    /// [`VaultError::Tampered`] if the object was not made with this vault's key; the errors of the store.
    pub(crate) async fn read(&self, at: Position) -> Result<Option<Object>, VaultError> {
        Ok(match self.read_without_payloads(at).await? {
            Some(Object::Entry(mut entry)) => {
                self.add_payloads(at, &mut entry).await?.map(|_| Object::Entry(entry))
            }
            other => other,
        })
    }

    /// Reads the object at a position. If payloads have objects of their own, it lacks them.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    pub(crate) async fn read_without_payloads(&self, at: Position) -> Result<Option<Object>, VaultError> {
        let held = self.get(at).await?;
        held.map(|held| open((self.header, self.ring), at, &held)).transpose()
    }

    /// Adds the payloads of an entry, if they have an object of their own. If they never came, its accesses become reads.
    /// `None` if the object is not there.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    pub(crate) async fn add_payloads(
        &self,
        at: Position,
        entry: &mut Entry,
    ) -> Result<Option<PayloadState>, VaultError> {
        let Contents::Records(records) = &mut entry.contents else { return Ok(Some(PayloadState::Added)) };
        if entry.settled.is_none() || records.accesses() == 0 {
            return Ok(Some(PayloadState::Added));
        }
        let parameters = &self.header.parameters;
        let max = payload_object_bytes(parameters, records.accesses()) as usize;
        let name = at.payload_name();
        let Some(held) = self.blobs.get(&name, max).await? else { return Ok(None) };
        Ok(Some(match payloads::open((self.header, self.ring), at, &held)? {
            Payloads::Held(held) => {
                let others =
                    || VaultError::Tampered(format!("{name} in the store is of other accesses").into());
                payloads::add_payloads(records, &held, parameters).ok_or_else(others)?;
                PayloadState::Added
            }
            Payloads::Absent(by) => {
                records.records.iter_mut().for_each(Record::turn_writes_into_reads);
                PayloadState::Absent { by }
            }
        }))
    }

    /// Creates the object with the payloads of the log object at a position.
    ///
    /// # Errors
    /// [`VaultError::Displaced`] if a later opening has ended this journal without them, tampering, and the errors of the
    /// store.
    pub(crate) async fn create_payloads(&self, at: Position, sealed: &[u8]) -> Result<(), VaultError> {
        let name = at.payload_name();
        if self.blobs.put_if_absent(&name, sealed).await? {
            return Ok(());
        }
        match self.blobs.get(&name, sealed.len()).await? {
            Some(held) => match payloads::open((self.header, self.ring), at, &held)? {
                // The answer to the first request was lost, or an opening has sealed them again.
                Payloads::Held(_) => Ok(()),
                Payloads::Absent(theirs) => Err(VaultError::Displaced { ours: at.epoch, theirs }),
            },
            None => Err(VaultError::Tampered(format!("{name} was in the store, and is missing now").into())),
        }
    }

    async fn get(&self, at: Position) -> Result<Option<Vec<u8>>, VaultError> {
        let max = blob::sealed_bytes(max_text_bytes(&self.header.parameters));
        Ok(self.blobs.get(&at.name(), max).await?)
    }

    /// The positions of all objects, in order.
    pub(crate) async fn list(&self) -> Result<Vec<Position>, VaultError> {
        let listed = self.blobs.list(PREFIX).await?;
        let mut places: Vec<Position> = listed.iter().filter_map(|blob| Position::of(&blob.name)).collect();
        places.sort_unstable();
        Ok(places)
    }

    /// The positions of end markers in epochs up to this one. End markers are recognised by their size.
    pub(crate) async fn ends(&self, until: u32) -> Result<Vec<Position>, VaultError> {
        let listed = self.blobs.list(PREFIX).await?;
        let ends = listed.iter().filter(|blob| is_end(blob.size.0));
        let mut places: Vec<Position> = ends.filter_map(|blob| Position::of(&blob.name)).collect();
        places.retain(|at| at.epoch <= until);
        places.sort_unstable();
        Ok(places)
    }

    /// Reseals an end marker with the newest key. A missing or damaged one stays as it is: a check reports it.
    pub(crate) async fn reseal_end_marker(&self, at: Position, salt: Salt) -> Result<(), VaultError> {
        let Some(held) = self.get(at).await? else { return Ok(()) };
        if open((self.header, &self.ring.newest().into()), at, &held).is_ok() {
            return Ok(());
        }
        match open((self.header, self.ring), at, &held) {
            Ok(end @ Object::End(_)) => {
                let sealed = seal((self.header, self.ring.newest()), at, &end, salt)?;
                Ok(self.blobs.put(&at.name(), &sealed).await?)
            }
            _ => Ok(()),
        }
    }

    /// Ends the journals of the epochs before `by`, the epoch of this opening. Reads each journal from its start, the
    /// first one from `from`, to its end marker or its first gap, and creates the end marker in the gap if there is none.
    /// Hands over its entries. `listed` are the objects that were in the store when this opening had claimed its epoch, or
    /// before. `held` are the records on the trusted disk: their payloads are created if they are missing. Others become
    /// absent.
    ///
    /// # Errors
    /// [`VaultError::Tampered`] if an object is missing although later ones exist that cannot have been in flight
    /// together with it; the errors of `each`; the errors of the store.
    pub(crate) async fn end_earlier_journals(
        &self,
        from: Position,
        (by, listed): (u32, &[Position]),
        held: Option<&AnnouncedRecords>,
        salt: &mut dyn FnMut() -> Salt,
        each: &mut dyn FnMut(Position, Entry, PayloadState) -> Result<(), VaultError>,
    ) -> Result<(), VaultError> {
        for epoch in from.epoch.max(1)..by {
            let first = from.max(Position::first_of(epoch));
            let entries = self.end_journal(first, (by, listed), salt).await?;
            self.refuse_lost_objects(entries.last().map_or(first, |(at, _)| at.next())).await?;
            // The opening of a later epoch began its journal when all payloads of this one were there or absent.
            let is_over = listed.iter().any(|later| later.epoch > epoch && later.epoch < by);
            let settled = entries.iter().filter_map(|(_, entry)| entry.settled).max().unwrap_or_default();
            for (at, mut entry) in entries {
                let state = loop {
                    if let Some(state) = self.add_payloads(at, &mut entry).await? {
                        break state;
                    }
                    if is_over || at.sequence < settled {
                        let name = at.payload_name();
                        let why = format!("{name} is missing from the store: it was removed");
                        return Err(VaultError::Tampered(why.into()));
                    }
                    self.settle_payloads(at, &entry, (by, held), salt()).await?;
                };
                each(at, entry, state)?;
            }
        }
        Ok(())
    }

    /// Ends the journal of an epoch. Returns its entries without payloads.
    async fn end_journal(
        &self,
        mut at: Position,
        (by, listed): (u32, &[Position]),
        salt: &mut dyn FnMut() -> Salt,
    ) -> Result<Vec<(Position, Entry)>, VaultError> {
        let mut entries = Vec::new();
        loop {
            match self.read_without_payloads(at).await? {
                Some(Object::Entry(entry)) => {
                    entries.push((at, entry));
                    at = at.next();
                }
                Some(Object::End(_)) => return Ok(entries),
                None if listed.iter().any(|later| follows(*later, at) && later.epoch < by) => {
                    let name = at.name();
                    let why = format!(
                        "{name} is missing from the store, and objects of the journal that come after it are there"
                    );
                    return Err(VaultError::Tampered(why.into()));
                }
                None => {
                    let end = seal((self.header, self.ring.newest()), at, &Object::End(by), salt())?;
                    if self.blobs.put_if_absent(&at.name(), &end).await? {
                        return Ok(entries);
                    }
                }
            }
        }
    }

    /// Refuses a journal that ends here, if payloads of later objects are in the store: payloads are sent when the object
    /// before them is there. Those of an opening's first objects come before the object.
    async fn refuse_lost_objects(&self, end: Position) -> Result<(), VaultError> {
        if !self.header.parameters.journal.has_payload_objects() {
            return Ok(());
        }
        let prefix = end.payload_prefix_of_epoch();
        let last =
            self.blobs.list(&prefix).await?.iter().rev().find_map(|blob| Position::of_payloads(&blob.name));
        match last.filter(|last| *last > end) {
            Some(last) => {
                let (name, payloads) = (end.name(), last.payload_name());
                let why = format!(
                    "{name} is missing from etcd, but the store has {payloads}: etcd has lost the journal"
                );
                Err(VaultError::Tampered(why.into()))
            }
            None => Ok(()),
        }
    }

    /// Creates the missing payloads of an entry, if the trusted disk has them, or an absence marker in their place.
    async fn settle_payloads(
        &self,
        at: Position,
        entry: &Entry,
        (by, held): (u32, Option<&AnnouncedRecords>),
        salt: Salt,
    ) -> Result<(), VaultError> {
        let keys = (self.header, self.ring.newest());
        let known = match (&entry.contents, held) {
            (Contents::Records(records), Some(held)) => held.range(records.first..records.end()),
            _ => None,
        };
        let sealed = match known {
            Some(records) => payloads::seal_payloads(keys, at, &records, salt)?,
            None => None,
        };
        let sealed = sealed.map_or_else(|| payloads::seal_absence(keys, at, by, salt), Ok)?;
        self.blobs.put_if_absent(&at.payload_name(), &sealed).await?;
        Ok(())
    }
}

/// The payloads of an entry: come, or absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PayloadState {
    /// The entry has its payloads.
    Added,
    /// No payloads, since they never came: its accesses are reads. The opening of this epoch has ended the journal without them.
    Absent { by: u32 },
}

/// Returns whether an object proves that the one at `at` was in the store. Any opening with objects has ended the
/// journals before its own. In one journal, only a few objects are on their way at once.
fn follows(later: Position, at: Position) -> bool {
    later.epoch > at.epoch
        || (later.epoch == at.epoch && later.sequence >= at.sequence + u64::from(MAX_BATCHES))
}
