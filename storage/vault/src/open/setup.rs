//! The parts of which a vault is made or opened.

use crate::any_store::AnyStore;
use crate::entropy::Entropy;
use crate::lease::Host;
use crate::session::pace::Pace;
use crate::store::VaultStore;
use crate::trusted::disk::TrustedDisk;
use ameles_seal::master_key::MasterKey;
use ameles_seal::parallel::SealThreads;

/// The parts that are needed to make or open a vault.
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
    /// The cores to seal on.
    pub workers: SealThreads,
    /// The rate at which batches are sent while the vault is open; `None` sends one whenever a caller asks.
    pub pace: Option<Pace>,
    /// The machine, for the lease.
    pub host: Host,
}

impl<U: VaultStore> Setup<U> {
    /// The same with the store under the type for which a vault is compiled.
    pub(crate) fn erase_store(self) -> Setup<AnyStore> {
        let Setup { disk, store, master, entropy, workers, pace, host } = self;
        Setup { disk, store: AnyStore::new(store), master, entropy, workers, pace, host }
    }
}
