//! The contents of a shipped checkpoint, read as the owner of the key can.

use super::master;
use borsh::BorshDeserialize;
use lethe_core::position_map::flat::Positions;
use lethe_core::schemes::path::{PathParameters, PathSnapshot};
use lethe_core::schemes::ring::RingSnapshot;
use lethe_core::schemes::trivial::TrivialParameters;
use lethe_core::store::BucketVersion;
use lethe_seal::blob;
use lethe_seal::derive::Purpose;
use lethe_seal::versions::TrustedVersions;
use lethe_vault::{Receipt, Row, VaultHeader};
use std::collections::BTreeSet;

/// The format of a shipped checkpoint, written down a second time.
#[derive(BorshDeserialize)]
pub struct Shipped {
    pub number: u64,
    pub epoch: u32,
    pub accesses: u64,
    pub scheme: SchemeSnapshot,
    pub versions: TrustedVersions,
    pub rows: Vec<Row>,
    pub history: Vec<(u64, [u8; 32])>,
}

/// A scheme's trusted state; its variants are told apart by their number.
#[derive(BorshDeserialize)]
pub enum SchemeSnapshot {
    Ring(RingSnapshot),
    Path(PathParameters, Positions, PathSnapshot),
    Trivial(TrivialParameters),
}

impl Shipped {
    /// Opens the blob of this name.
    ///
    /// # Panics
    /// If it is not what a vault ships.
    pub fn open(header: &VaultHeader, name: &str, sealed: &[u8]) -> Shipped {
        let context = [header.vault.0.as_slice(), name.as_bytes()].concat();
        let text =
            blob::open(&master(), Purpose::CHECKPOINT, &context, sealed).expect("a shipped checkpoint opens");
        let (padded, length) = text.split_last_chunk().expect("it ends in its length");
        let text = &padded[..u64::from_le_bytes(*length) as usize];
        borsh::from_slice(text).expect("a shipped checkpoint decodes")
    }

    /// The bucket versions that a restore from it reads.
    pub fn needed(&self) -> BTreeSet<BucketVersion> {
        self.versions.live().collect()
    }
}

/// The epoch and the number in the name of a checkpoint's blob.
pub fn order(name: &str) -> Option<(u32, u64)> {
    let (epoch, number) = name.strip_prefix("checkpoint/")?.split_once('-')?;
    Some((u32::from_str_radix(epoch, 16).ok()?, u64::from_str_radix(number, 16).ok()?))
}

/// The name of the checkpoint that a receipt is for.
pub fn name(receipt: &Receipt) -> String {
    format!("checkpoint/{:08x}-{:016x}", receipt.epoch, receipt.checkpoint)
}
