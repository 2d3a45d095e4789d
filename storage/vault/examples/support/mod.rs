//! The vaults of the examples, whose trusted disk is a folder, and the link of those that have one.

#![allow(dead_code, reason = "each example uses its share")]

use ameles_seal::master_key::MasterKey;
use ameles_seal::parallel::SealThreads;
use ameles_store::{BitsPerSecond, LinkSpeed};
use ameles_vault::{Entropy, Host, SHIP_AFTER, Setup, TrustedDisk, VaultStore};
use std::error::Error;
use std::path::Path;
use std::time::Duration;

/// The bytes of a block.
pub(crate) const BLOCK: u32 = 64 << 10;
/// The link: 23.6 ms and 510 Mbit/s each way.
pub(crate) const SPEED: LinkSpeed = LinkSpeed {
    round_trip: Duration::from_micros(23_600),
    up: BitsPerSecond::mega(510),
    down: BitsPerSecond::mega(510),
};

/// A block filled with one byte.
pub(crate) fn payload(fill: u64) -> bytes::Bytes {
    vec![fill as u8; BLOCK as usize].into()
}

/// The setup of a vault over a store, with its trusted disk in a folder.
pub(crate) fn setup<S: VaultStore>(folder: &Path, store: S) -> Result<Setup<S>, Box<dyn Error>> {
    let file = folder.join("trusted.redb");
    Ok(Setup {
        disk: TrustedDisk::open(&file)?,
        store,
        master: MasterKey::take(&mut [7; 32]),
        entropy: Entropy::system(),
        workers: SealThreads::threads(2)?,
        pace: None,
        ship_after: SHIP_AFTER,
        host: Host::system(&file),
    })
}
