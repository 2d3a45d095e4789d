//! One gateway at a time: each opening claims the next epoch in the store by creating its object.

use crate::disk::TrustedDisk;
use crate::error::VaultError;
use lethe_seal::blob;
use lethe_seal::cipher::Cipher;
use lethe_seal::derive::{Purpose, Salt};
use lethe_seal::master_key::MasterKey;
use lethe_seal::versions::VaultId;
use lethe_store::Blobs;

const PREFIX: &str = "epoch/";
/// A claim is small; a larger object is not one.
const MAX_BYTES: usize = 4096;
const CLAIM: &str = "claim";

/// Who asks about claims.
pub(crate) struct Claims<'a, B> {
    pub(crate) blobs: &'a B,
    pub(crate) master: &'a MasterKey,
    pub(crate) vault: VaultId,
}

impl<B: Blobs> Claims<'_, B> {
    /// The newest epoch that was claimed with this vault's key, if it is above `known`; else `known`.
    ///
    /// # Errors
    /// [`VaultError::Tampered`] if something else bears such a claim's name: a planted claim must not pass for
    /// another gateway, nor a spoilt one for nobody.
    pub(crate) async fn newest(&self, known: u32) -> Result<u32, VaultError> {
        let number = |name: &str| u32::from_str_radix(name.strip_prefix(PREFIX)?, 16).ok();
        let mut newest = known;
        for claim in self.blobs.list(PREFIX).await? {
            let Some(epoch) = number(&claim.name).filter(|epoch| *epoch > known) else { continue };
            let sealed = self.blobs.get(&claim.name, MAX_BYTES).await?.unwrap_or_default();
            blob::open(self.master, Purpose::HEADER, &self.context(&claim.name), &sealed).map_err(|_| {
                VaultError::Tampered(format!(
                    "{} in the store is no claim made with this vault's key",
                    claim.name
                ))
            })?;
            newest = newest.max(epoch);
        }
        Ok(newest)
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

/// Claims `epoch` under a salt drawn for it, and returns the salt of the claim that stands. A claim of our own that
/// a crash cut off from the journal is recognised by the note that was made of it first.
pub(crate) async fn claim(
    disk: &TrustedDisk,
    blobs: &impl Blobs,
    master: &MasterKey,
    vault: VaultId,
    epoch: u32,
    drawn: (Salt, Salt),
) -> Result<(), VaultError> {
    let name = format!("{PREFIX}{epoch:08x}");
    let (token, salt) = drawn;
    let context = [vault.0.as_slice(), name.as_bytes()].concat();
    if let Some(theirs) = blobs.get(&name, MAX_BYTES).await? {
        let ours = disk.meta(CLAIM)?;
        let opened = blob::open(master, Purpose::HEADER, &context, &theirs);
        let is_ours = opened.is_ok_and(|text| Some(text) == ours);
        return if is_ours { Ok(()) } else { Err(VaultError::Displaced { ours: epoch - 1, theirs: epoch }) };
    }
    disk.set_meta(CLAIM, &token.0)?;
    let sealed = blob::seal(master, Purpose::HEADER, &context, Cipher::default(), salt, &token.0);
    if blobs.put_if_absent(&name, &sealed).await? {
        return Ok(());
    }
    // Created meanwhile: by us, if a request that seemed lost had arrived.
    let opened = blobs
        .get(&name, MAX_BYTES)
        .await?
        .and_then(|theirs| blob::open(master, Purpose::HEADER, &context, &theirs).ok());
    if opened.is_some_and(|text| text == token.0) {
        Ok(())
    } else {
        Err(VaultError::Displaced { ours: epoch - 1, theirs: epoch })
    }
}
