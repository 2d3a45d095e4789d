//! Checkpoints: the whole trusted state between two steps. They are on the trusted disk, and, sealed and padded, in the
//! store.

use crate::error::VaultError;
use crate::trusted::header::VaultParameters;
use ameles_core::store::BucketVersion;
use ameles_core::types::{Bucket, Version};
use ameles_seal::blob;
use ameles_seal::versions::VaultId;
use base16ct::lower::encode_string;
use borsh::{BorshDeserialize, BorshSerialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// The number of earlier receipts in a shipped checkpoint, so that older receipts are recognised.
const HISTORY: usize = 256;

/// A replaced bucket version, and the checkpoint after which it was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Garbage {
    pub(crate) bucket: Bucket,
    pub(crate) version: Version,
    pub(crate) after: u64,
}

impl Garbage {
    /// A version that was replaced after the checkpoint of this number.
    pub(crate) fn new(replaced: BucketVersion, after: u64) -> Self {
        Garbage { bucket: replaced.bucket, version: replaced.version, after }
    }

    pub(crate) fn written(self) -> BucketVersion {
        BucketVersion { bucket: self.bucket, version: self.version }
    }

    /// Returns whether the version is needed by the checkpoint of this number on the disk, or by the shipped one.
    pub(crate) fn is_needed(&self, number: u64, shipped: &ShippedCheckpoint) -> bool {
        let by_disk = self.after >= number;
        let is_older = (self.version.epoch, self.version.counter) <= shipped.newest;
        by_disk || (is_older && self.after >= shipped.number)
    }
}

/// The last checkpoint that reached the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct ShippedCheckpoint {
    pub(crate) number: u64,
    /// The epoch in which the checkpoint was shipped.
    pub(crate) epoch: u32,
    /// The newest bucket version that the checkpoint knows. The checkpoint needs every version up to this one that was
    /// current when the checkpoint was made.
    pub(crate) newest: (u32, u64),
    pub(crate) digest: [u8; 32],
}

/// The maximum sealed size of a checkpoint's object. Epochs still in use are included.
pub(crate) fn max_sealed_bytes(parameters: &VaultParameters) -> usize {
    blob::sealed_bytes(parameters.shipped_bytes() as usize + (64 << 20))
}

/// Drops the oldest receipts beyond the number that is kept.
pub(crate) fn truncate_history(history: &mut Vec<(u64, [u8; 32])>) {
    let from = history.len().saturating_sub(HISTORY);
    history.drain(..from);
}

/// A receipt of a shipped checkpoint. If the owner keeps it elsewhere, a restore notices that the store was rolled
/// back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The vault's identity.
    pub vault: VaultId,
    /// The epoch in which the checkpoint was shipped.
    pub epoch: u32,
    /// The checkpoint's number.
    pub checkpoint: u64,
    /// The SHA-256 of the shipped checkpoint.
    pub digest: [u8; 32],
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Receipt { vault, epoch, checkpoint, digest } = self;
        write!(f, "ameles1-{}-{epoch}-{checkpoint}-{}", encode_string(&vault.0), encode_string(digest))
    }
}

impl FromStr for Receipt {
    type Err = VaultError;

    fn from_str(text: &str) -> Result<Self, VaultError> {
        let bad = || {
            VaultError::NotAReceipt(format!(
                "{text:?} is not a receipt: it looks like ameles1-VAULT-EPOCH-NUMBER-DIGEST"
            ))
        };
        let parts: Vec<&str> = text.trim().split('-').collect();
        let ["ameles1", vault, epoch, checkpoint, digest] = parts[..] else { return Err(bad()) };
        let mut receipt = Receipt {
            vault: VaultId([0; 16]),
            epoch: epoch.parse().map_err(|_| bad())?,
            checkpoint: checkpoint.parse().map_err(|_| bad())?,
            digest: [0; 32],
        };
        let read = |text: &str, into: &mut [u8]| {
            let bytes = into.len();
            base16ct::mixed::decode(text, into).is_ok_and(|read| read.len() == bytes)
        };
        let is_read = read(vault, &mut receipt.vault.0) && read(digest, &mut receipt.digest);
        if is_read { Ok(receipt) } else { Err(bad()) }
    }
}

/// Returns the SHA-256 of a shipped checkpoint as stored.
pub(crate) fn digest(sealed: &[u8]) -> [u8; 32] {
    Sha256::digest(sealed).into()
}

/// The prefix of the names of shipped checkpoints.
pub(crate) const PREFIX: &str = "checkpoint/";

/// The name of a shipped checkpoint. It contains the epoch, so that a displaced gateway cannot replace a checkpoint of
/// its successor. The numbers are padded, so that names are listed in order.
pub(crate) fn blob_name(epoch: u32, number: u64) -> String {
    format!("{PREFIX}{epoch:08x}-{number:016x}")
}

/// The epoch and the number in the name of a checkpoint, if [`blob_name`] makes exactly this name.
pub(crate) fn parse_blob_name(name: &str) -> Option<(u32, u64)> {
    let (epoch, number) = name.strip_prefix(PREFIX)?.split_once('-')?;
    let order = (u32::from_str_radix(epoch, 16).ok()?, u64::from_str_radix(number, 16).ok()?);
    (blob_name(order.0, order.1) == name).then_some(order)
}
