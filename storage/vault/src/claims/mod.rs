//! A single gateway at a time: each opening claims an epoch in the store by creating its claim object.
//!
//! A claim belongs to one opening forever. It is noted on the trusted disk before it is sent to the store, with a
//! random token. If an opening finds a claim that the disk has noted, an earlier opening was cut off after that claim.
//! It then claims the next epoch. An opening never continues under a claim that it has not made itself: a copy of the
//! trusted folder may be about to do the same.

pub(crate) mod end_marker;
pub(crate) mod notes;

use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::trusted::disk::TrustedDisk;
use ameles_seal::blob;
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::{Purpose, Salt};
use ameles_seal::key_ring::KeyRing;
use ameles_seal::versions::VaultId;
use ameles_store::{BlobError, Blobs};
use notes::ClaimNotes;

const PREFIX: &str = "epoch/";
/// The maximum number of bytes of a claim. A larger object is not a claim.
const MAX_BYTES: usize = 4096;

/// The claims in a store, read with a vault's keys.
pub(crate) struct Claims<'a, B> {
    pub(crate) blobs: &'a B,
    pub(crate) ring: KeyRing,
    pub(crate) vault: VaultId,
}

impl<B: Blobs> Claims<'_, B> {
    /// The newest epoch above `known` that was claimed with this vault's key, or `known` if there is none.
    ///
    /// # Errors
    /// [`VaultError::Tampered`] if an object with the name of a claim is not a claim. A planted object must not count
    /// as another gateway, and a damaged one must not count as no gateway. Also if the claim of `known` is missing
    /// (unless `known` is 0): then the claim of a gateway that has displaced this one may be missing, too.
    pub(crate) async fn newest(&self, known: u32) -> Result<u32, VaultError> {
        Ok(self.claims_above(known).await?.into_iter().map(|(epoch, _)| epoch).fold(known, u32::max))
    }

    /// The claims above `known` that were made with this vault's key.
    ///
    /// # Errors
    /// The errors of [`newest`](Self::newest).
    async fn claims_above(&self, known: u32) -> Result<Vec<(u32, Vec<u8>)>, VaultError> {
        let claims = self.blobs.list(PREFIX).await?;
        if known > 0 && !claims.iter().any(|claim| epoch_of(&claim.name) == Some(known)) {
            return Err(VaultError::Tampered(format!(
                "the claim of epoch {known} is missing from the store: it was removed or the store was rolled back"
            ).into()));
        }
        let mut above = Vec::new();
        for claim in claims {
            let Some(epoch) = epoch_of(&claim.name).filter(|epoch| *epoch > known) else { continue };
            let ClaimObject::Claim(bytes) = self.read(&claim.name).await? else {
                return Err(not_a_claim(&claim.name));
            };
            above.push((epoch, bytes));
        }
        Ok(above)
    }

    /// The newest epoch that this trusted disk has claimed: `known`, or an epoch that one of its openings has claimed
    /// without writing anything in it.
    ///
    /// # Errors
    /// [`VaultError::Displaced`] if another trusted disk has claimed an epoch above `known`, even a copy of this disk.
    /// The errors of [`newest`](Self::newest). [`VaultError::Tampered`] also if the claim of `known` was changed.
    pub(crate) async fn ours(&self, disk: &TrustedDisk, known: u32) -> Result<u32, VaultError> {
        let notes = ClaimNotes::load(disk, known)?;
        // A missing claim is reported below.
        if known > 0 && matches!(self.read(&name(known)).await?, ClaimObject::Other) {
            return Err(changed_claim(known));
        }
        let above = self.claims_above(known).await?;
        let newest = above.iter().map(|(epoch, _)| *epoch).fold(known, u32::max);
        // The number alone proves nothing: a copy may have noted the same one.
        if above.iter().all(|(epoch, claim)| notes.contains(*epoch, claim)) {
            return Ok(newest);
        }
        Err(VaultError::Displaced { ours: known, theirs: newest })
    }

    /// Returns whether the claim of this epoch in the store is one that an opening of this trusted disk has made.
    pub(crate) async fn is_noted(&self, disk: &TrustedDisk, epoch: u32) -> Result<bool, VaultError> {
        let notes = ClaimNotes::load(disk, 0)?;
        let found = self.read(&name(epoch)).await?;
        Ok(matches!(found, ClaimObject::Claim(claim) if notes.contains(epoch, &claim)))
    }

    /// Claims the epoch after `newest`, with a random token, and returns its number. The trusted disk has written
    /// nothing after `known`.
    ///
    /// The claim is first noted on the disk. So if its request arrives long after this opening has died, the next
    /// opening recognises it, and claims the next epoch.
    ///
    /// # Errors
    /// [`VaultError::Displaced`] if another gateway was first, tampering, and the errors of disk and store.
    pub(crate) async fn claim(
        &self,
        disk: &TrustedDisk,
        (known, newest): (u32, u32),
        entropy: &mut Entropy,
    ) -> Result<u32, VaultError> {
        let mut notes = ClaimNotes::load(disk, known)?;
        // An earlier key belongs to epochs that have started before.
        let mut epoch = newest.max(self.ring.last_earlier_epoch());
        loop {
            epoch = epoch.checked_add(1).ok_or_else(|| VaultError::Damaged("no epochs are left".into()))?;
            let name = name(epoch);
            let (token, salt) = (entropy.salt(), entropy.salt());
            let (context, cipher) = (self.context(&name), Cipher::default());
            let ours = blob::seal(self.ring.newest(), Purpose::HEADER, &context, cipher, salt, &token.0);
            notes.add(disk, epoch, &ours)?;
            if self.blobs.put_if_absent(&name, &ours).await? {
                return Ok(epoch);
            }
            match self.read(&name).await? {
                // The request was sent twice, because its answer was lost.
                ClaimObject::Claim(held) if held == ours => return Ok(epoch),
                // The request of an earlier opening, which was cut off, has arrived late.
                ClaimObject::Claim(held) if notes.contains(epoch, &held) => {}
                ClaimObject::Claim(_) => {
                    return Err(VaultError::Displaced { ours: epoch - 1, theirs: epoch });
                }
                ClaimObject::Other | ClaimObject::Nothing => return Err(not_a_claim(&name)),
            }
        }
    }

    /// Checks that the epoch after ours is not claimed. Every claim is of the epoch after the newest in the store, so a
    /// newer claim implies this one. It is one request of one size, however many claims there are.
    ///
    /// # Errors
    /// [`VaultError::Displaced`] if it is claimed; tampering, and the errors of the store.
    pub(crate) async fn check_next_epoch(&self, ours: u32) -> Result<(), VaultError> {
        // No epoch follows the last one.
        let Some(theirs) = ours.checked_add(1) else { return Ok(()) };
        match self.read(&name(theirs)).await? {
            ClaimObject::Nothing => Ok(()),
            ClaimObject::Claim(_) => Err(VaultError::Displaced { ours, theirs }),
            ClaimObject::Other => Err(not_a_claim(&name(theirs))),
        }
    }

    /// Returns whether this epoch was claimed with the vault's key. Reads the claim itself, because a list may be
    /// stale.
    pub(crate) async fn is_claimed(&self, epoch: u32) -> Result<bool, VaultError> {
        Ok(matches!(self.read(&name(epoch)).await?, ClaimObject::Claim(_)))
    }

    /// Returns [`VaultError::Displaced`] instead of a tampering error if the epoch was displaced. A gateway that took
    /// over, and deleted what we need, can look like tampering.
    pub(crate) async fn or_displaced(&self, ours: u32, error: VaultError) -> VaultError {
        match self.check(ours).await {
            Err(displaced @ VaultError::Displaced { .. }) if error.is_tampering() => displaced,
            _ => error,
        }
    }

    /// Lists the faults of the claims: claims up to ours that were changed or removed, and other objects with the name
    /// of a claim.
    ///
    /// # Errors
    /// [`VaultError::Displaced`] if there is a valid claim above ours.
    pub(crate) async fn find_faults(&self, ours: u32) -> Result<Vec<String>, VaultError> {
        let mut faults = Vec::new();
        for epoch in 1..=ours {
            match self.read(&name(epoch)).await? {
                ClaimObject::Claim(_) => {}
                ClaimObject::Other => faults.push(format!("{} was changed", name(epoch))),
                ClaimObject::Nothing => faults.push(format!("{} was removed", name(epoch))),
            }
        }
        for claim in self.blobs.list(PREFIX).await? {
            match epoch_of(&claim.name) {
                Some(epoch) if epoch <= ours => {}
                Some(theirs) if matches!(self.read(&claim.name).await?, ClaimObject::Claim(_)) => {
                    return Err(VaultError::Displaced { ours, theirs });
                }
                _ => faults.push(format!("{} is not a claim made with this vault's key", claim.name)),
            }
        }
        Ok(faults)
    }

    async fn read(&self, name: &str) -> Result<ClaimObject, VaultError> {
        match self.blobs.get(name, MAX_BYTES).await {
            Ok(Some(claim)) => {
                let is_claim = self.opens(name, epoch_of(name).unwrap_or(u32::MAX), &claim).is_some();
                Ok(if is_claim { ClaimObject::Claim(claim) } else { ClaimObject::Other })
            }
            Ok(None) => Ok(ClaimObject::Nothing),
            Err(BlobError::TooLarge { .. }) => Ok(ClaimObject::Other),
            Err(error) => Err(error.into()),
        }
    }

    /// Checks that no epoch above ours is claimed.
    pub(crate) async fn check(&self, ours: u32) -> Result<(), VaultError> {
        let theirs = self.newest(ours).await?;
        if theirs > ours { Err(VaultError::Displaced { ours, theirs }) } else { Ok(()) }
    }

    /// Reseals the claim of an epoch with the newest key. A missing or damaged claim stays as it is: a check reports
    /// it.
    pub(crate) async fn reseal(&self, epoch: u32, salt: Salt) -> Result<(), VaultError> {
        self.reseal_object(&name(epoch), epoch, salt).await
    }

    async fn reseal_object(&self, name: &str, epoch: u32, salt: Salt) -> Result<(), VaultError> {
        let held = match self.blobs.get(name, MAX_BYTES).await {
            Ok(Some(held)) => held,
            Ok(None) | Err(BlobError::TooLarge { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let context = self.context(name);
        let is_new = blob::open(self.ring.newest(), Purpose::HEADER, &context, &held).is_ok();
        match self.opens(name, epoch, &held) {
            Some(text) if !is_new => {
                let (newest, cipher) = (self.ring.newest(), Cipher::default());
                let sealed = blob::seal(newest, Purpose::HEADER, &context, cipher, salt, &text);
                Ok(self.blobs.put(name, &sealed).await?)
            }
            _ => Ok(()),
        }
    }

    /// Opens an object of an epoch; `None` if no key of the ring opens it.
    fn opens(&self, name: &str, epoch: u32, sealed: &[u8]) -> Option<Vec<u8>> {
        let context = self.context(name);
        self.ring
            .keys_that_open(epoch)
            .find_map(|key| blob::open(key, Purpose::HEADER, &context, sealed).ok())
    }

    fn context(&self, name: &str) -> Vec<u8> {
        [self.vault.0.as_slice(), name.as_bytes()].concat()
    }
}

/// The object with the name of a claim.
enum ClaimObject {
    /// A claim made with this vault's key, and its bytes.
    Claim(Vec<u8>),
    Other,
    Nothing,
}

/// The name of an epoch's claim.
pub(crate) fn name(epoch: u32) -> String {
    format!("{PREFIX}{epoch:08x}")
}

/// The epoch in a claim's name.
pub(crate) fn epoch_of(name: &str) -> Option<u32> {
    u32::from_str_radix(name.strip_prefix(PREFIX)?, 16).ok()
}

fn changed_claim(epoch: u32) -> VaultError {
    let wrong = format!(
        "{} in the store is not the claim that an opening of this vault made there: it was changed. Put the store's own \
         copy back, or use `restore --takeover` into an empty --data folder; delete nothing by hand",
        name(epoch)
    );
    VaultError::Tampered(wrong.into())
}

fn not_a_claim(name: &str) -> VaultError {
    let wrong = format!(
        "{name} in the store is not a claim made with this vault's key: it was planted, or is another gateway's and \
         was damaged; delete nothing by hand"
    );
    VaultError::Tampered(wrong.into())
}
