//! The objects of the journal in the store. They are created once, read and authenticated, and ended by a later
//! opening.

use super::entry::{Entry, Object, is_end, max_text_bytes};
use crate::engine::scheme::MAX_BATCHES;
use crate::error::VaultError;
use crate::error_reason::ErrorReason;
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
    // An end marker may be written long after its epoch, and it may be resealed.
    let context = context(header, &name);
    let open = |key| blob::open(key, PURPOSE, &context, sealed);
    let opened = ring
        .keys_that_open(at.epoch)
        .skip(1)
        .fold(open(ring.newest()), |opened, key| opened.or_else(|_| open(key)));
    let text = opened.map_err(|error| {
        let why = ErrorReason::of(error).about(format_args!("{name} in the store"));
        VaultError::Tampered(why.followed_by("it was planted or damaged"))
    })?;
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

    /// Reads the object at a position.
    ///
    /// # Errors
    /// [`VaultError::Tampered`] if the object was not made with this vault's key; the errors of the store.
    pub(crate) async fn read(&self, at: Position) -> Result<Option<Object>, VaultError> {
        let held = self.get(at).await?;
        held.map(|held| open((self.header, self.ring), at, &held)).transpose()
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
    /// first one from `from`, to its end marker or its first gap. Hands over its entries, and creates the end marker in
    /// the gap if there is none. `listed` are the objects that were in the store when this opening had claimed its
    /// epoch, or before.
    ///
    /// # Errors
    /// [`VaultError::Tampered`] if an object is missing although later ones exist that cannot have been in flight
    /// together with it; the errors of `each`; the errors of the store.
    pub(crate) async fn end_earlier_journals(
        &self,
        from: Position,
        (by, listed): (u32, &[Position]),
        salt: &mut dyn FnMut() -> Salt,
        each: &mut dyn FnMut(Position, Entry) -> Result<(), VaultError>,
    ) -> Result<(), VaultError> {
        for epoch in from.epoch.max(1)..by {
            let mut at = from.max(Position::first_of(epoch));
            loop {
                match self.read(at).await? {
                    Some(Object::Entry(entry)) => {
                        each(at, entry)?;
                        at = at.next();
                    }
                    Some(Object::End(_)) => break,
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
                            break;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// Returns whether an object proves that the one at `at` was in the store. Any opening with objects has ended the
/// journals before its own. In one journal, only a few objects are on their way at once.
fn follows(later: Position, at: Position) -> bool {
    later.epoch > at.epoch
        || (later.epoch == at.epoch && later.sequence >= at.sequence + u64::from(MAX_BATCHES))
}
