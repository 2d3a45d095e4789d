//! The setup of a vault.

use crate::any_store::AnyStore;
use crate::entropy::Entropy;
use crate::lease::Host;
use crate::session::pace::Pace;
use crate::store::VaultStore;
use crate::trusted::disk::TrustedDisk;
use ameles_seal::master_key::MasterKey;
use ameles_seal::parallel::SealThreads;
use std::time::Duration;

/// The parts that are needed to create or open a vault.
pub struct Setup<U> {
    /// The trusted disk.
    pub disk: TrustedDisk,
    /// The store, with the layout of the vault's header ([`VaultParameters::layout`]).
    ///
    /// [`VaultParameters::layout`]: crate::trusted::header::VaultParameters::layout
    pub store: U,
    /// The master key.
    pub master: MasterKey,
    /// The source of salts and seeds.
    pub entropy: Entropy,
    /// The threads for sealing.
    pub workers: SealThreads,
    /// The rate of batches while the vault is open. `None` sends a batch whenever a caller asks.
    pub pace: Option<Pace>,
    /// The time for which the store lacks accesses at most, until a checkpoint with them is made, if the journal is on
    /// the trusted disk: usually [`SHIP_AFTER`](crate::SHIP_AFTER).
    pub ship_after: Duration,
    /// The machine, which the lease needs.
    pub host: Host,
}

impl<U: VaultStore> Setup<U> {
    /// This setup, with the store behind the type for which vaults are compiled.
    pub(crate) fn erase_store(self) -> Setup<AnyStore> {
        let Setup { disk, store, master, entropy, workers, pace, ship_after, host } = self;
        Setup { disk, store: AnyStore::new(store), master, entropy, workers, pace, ship_after, host }
    }
}
