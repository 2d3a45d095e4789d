//! The identity of a session.

use crate::claims::Claims;
use crate::trusted::header::VaultHeader;
use lethe_seal::master_key::MasterKey;

/// The vault's header and key, and the epoch that this opening has claimed.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) header: VaultHeader,
    pub(crate) master: MasterKey,
    pub(crate) epoch: u32,
}

impl Identity {
    /// The claims of the vault's epochs in its store.
    pub(super) fn claims<'a, U>(&'a self, blobs: &'a U) -> Claims<'a, U> {
        Claims { blobs, master: &self.master, vault: self.header.vault }
    }
}
