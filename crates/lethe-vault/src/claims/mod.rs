//! The rule of one gateway at a time: each opening claims the next epoch in the store by creating its object.

use crate::error::VaultError;
use crate::trusted::disk::TrustedDisk;
use lethe_seal::blob;
use lethe_seal::cipher::Cipher;
use lethe_seal::derive::{Purpose, Salt};
use lethe_seal::master_key::MasterKey;
use lethe_seal::versions::VaultId;
use lethe_store::{BlobError, Blobs};

const PREFIX: &str = "epoch/";
/// A claim is small; a larger object is not one.
const MAX_BYTES: usize = 4096;
const CLAIM: &str = "claim";

/// A reader of the claims in a store, with a vault's key.
pub(crate) struct Claims<'a, B> {
    pub(crate) blobs: &'a B,
    pub(crate) master: &'a MasterKey,
    pub(crate) vault: VaultId,
}

impl<B: Blobs> Claims<'_, B> {
    /// The newest epoch that was claimed with this vault's key, if it is above `known`; else `known`.
    ///
    /// # Errors
    /// [`VaultError::Tampered`] if something else bears such a claim's name: a planted claim must not pass for another
    /// gateway, nor a spoilt claim for none. Also if the claim of `known` is gone (unless that is 0): so is perhaps the
    /// claim of the gateway that has displaced us.
    pub(crate) async fn newest(&self, known: u32) -> Result<u32, VaultError> {
        let mut newest = known;
        let claims = self.blobs.list(PREFIX).await?;
        if known > 0 && !claims.iter().any(|claim| number(&claim.name) == Some(known)) {
            return Err(VaultError::Tampered(format!(
                "the claim of epoch {known} is missing from the store: it was removed or the store was rolled back"
            ).into()));
        }
        for claim in claims {
            let Some(epoch) = number(&claim.name).filter(|epoch| *epoch > known) else { continue };
            if !matches!(self.read(&claim.name).await?, Found::Claim) {
                let wrong = format!(
                    "{} in the store is no claim made with this vault's key: it was planted, or is another gateway's and \
                     was spoilt; delete nothing by hand",
                    claim.name
                );
                return Err(VaultError::Tampered(wrong.into()));
            }
            newest = newest.max(epoch);
        }
        Ok(newest)
    }

    /// The newest epoch that was claimed: `known`, or one that this trusted disk has claimed and written nothing in.
    ///
    /// # Errors
    /// [`VaultError::Displaced`] if another trusted disk has claimed one, be it a copy of this one; and those of
    /// [`newest`](Self::newest).
    pub(crate) async fn ours(&self, disk: &TrustedDisk, known: u32) -> Result<u32, VaultError> {
        let theirs = self.newest(known).await?;
        if theirs == known || (theirs - known == 1 && self.is_noted(disk, theirs).await?) {
            return Ok(theirs);
        }
        Err(VaultError::Displaced { ours: known, theirs })
    }

    /// Tells whether the claim of this epoch in the store is the very one that this trusted disk has noted. A number
    /// alone tells nothing: an attempt that came too late has noted the same one.
    async fn is_noted(&self, disk: &TrustedDisk, epoch: u32) -> Result<bool, VaultError> {
        let Some((noted, claim)) = note(disk)? else { return Ok(false) };
        let held = match self.blobs.get(&name(epoch), MAX_BYTES).await {
            Err(BlobError::TooLarge { .. }) => None,
            held => held?,
        };
        Ok(noted == epoch && held == Some(claim))
    }

    /// Tells whether this epoch was claimed with the vault's key. The claim itself is asked for: a list may lag behind.
    pub(crate) async fn is_claimed(&self, epoch: u32) -> Result<bool, VaultError> {
        Ok(matches!(self.read(&name(epoch)).await?, Found::Claim))
    }

    /// Returns the error, or that we are displaced: a gateway that took over and deleted what we need can look like
    /// tampering.
    pub(crate) async fn unless_displaced(&self, ours: u32, error: VaultError) -> VaultError {
        match self.check(ours).await {
            Err(displaced @ VaultError::Displaced { .. }) if error.is_tampering() => displaced,
            _ => error,
        }
    }

    /// Lists the faults of the claims: those up to ours that were changed or removed, and objects that bear the name of
    /// a claim and are none.
    ///
    /// # Errors
    /// [`VaultError::Displaced`] if a true one lies above ours.
    pub(crate) async fn complaints(&self, ours: u32) -> Result<Vec<String>, VaultError> {
        let mut complaints = Vec::new();
        for epoch in 1..=ours {
            match self.read(&name(epoch)).await? {
                Found::Claim => {}
                Found::Other => complaints.push(format!("{} was changed", name(epoch))),
                Found::Nothing => complaints.push(format!("{} was removed", name(epoch))),
            }
        }
        for claim in self.blobs.list(PREFIX).await? {
            match number(&claim.name) {
                Some(epoch) if epoch <= ours => {}
                Some(theirs) if matches!(self.read(&claim.name).await?, Found::Claim) => {
                    return Err(VaultError::Displaced { ours, theirs });
                }
                _ => complaints.push(format!("{} is no claim made with this vault's key", claim.name)),
            }
        }
        Ok(complaints)
    }

    async fn read(&self, name: &str) -> Result<Found, VaultError> {
        match self.blobs.get(name, MAX_BYTES).await {
            Ok(Some(claim)) => {
                let opened = blob::open(self.master, Purpose::HEADER, &self.context(name), &claim);
                Ok(opened.map_or(Found::Other, |_| Found::Claim))
            }
            Ok(None) => Ok(Found::Nothing),
            Err(BlobError::TooLarge { .. }) => Ok(Found::Other),
            Err(error) => Err(error.into()),
        }
    }

    /// Checks that no epoch above ours was claimed.
    pub(crate) async fn check(&self, ours: u32) -> Result<(), VaultError> {
        let theirs = self.newest(ours).await?;
        if theirs > ours { Err(VaultError::Displaced { ours, theirs }) } else { Ok(()) }
    }

    fn context(&self, name: &str) -> Vec<u8> {
        [self.vault.0.as_slice(), name.as_bytes()].concat()
    }
}

/// The object under the name of a claim.
enum Found {
    Claim,
    Other,
    Nothing,
}

/// The name of an epoch's claim.
pub(crate) fn name(epoch: u32) -> String {
    format!("{PREFIX}{epoch:08x}")
}

/// The epoch in a claim's name.
pub(crate) fn number(name: &str) -> Option<u32> {
    u32::from_str_radix(name.strip_prefix(PREFIX)?, 16).ok()
}

/// Claims `epoch`, with a token and a salt drawn for it.
///
/// The claim is noted on the trusted disk first: an opening that was cut off, or whose request arrives late, is
/// repeated as the identical request, and recognises what it finds as its own.
pub(crate) async fn claim(
    disk: &TrustedDisk,
    blobs: &impl Blobs,
    master: &MasterKey,
    vault: VaultId,
    epoch: u32,
    (token, salt): (Salt, Salt),
) -> Result<(), VaultError> {
    let name = name(epoch);
    let context = [vault.0.as_slice(), name.as_bytes()].concat();
    let ours = match note(disk)? {
        Some((noted, claim)) if noted == epoch => claim,
        _ => {
            let claim = blob::seal(master, Purpose::HEADER, &context, Cipher::default(), salt, &token.0);
            let note = borsh::to_vec(&(epoch, &claim)).expect("memory takes every write");
            disk.set_meta(CLAIM, &note)?;
            claim
        }
    };
    if blobs.put_if_absent(&name, &ours).await? {
        return Ok(());
    }
    let theirs = blobs.get(&name, MAX_BYTES).await?.unwrap_or_default();
    if theirs == ours { Ok(()) } else { Err(VaultError::Displaced { ours: epoch - 1, theirs: epoch }) }
}

fn note(disk: &TrustedDisk) -> Result<Option<(u32, Vec<u8>)>, VaultError> {
    Ok(disk.meta(CLAIM)?.and_then(|note| borsh::from_slice(&note).ok()))
}
