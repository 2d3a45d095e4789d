//! The identity of a session: header, keys and epoch.

use crate::claims::Claims;
use crate::trusted::header::VaultHeader;
use ameles_seal::key_ring::{EarlierKey, KeyRing};
use ameles_seal::master_key::MasterKey;
use std::cell::RefCell;

/// The vault's header and keys, and the epoch that this opening has claimed.
pub(crate) struct Identity {
    pub(crate) header: VaultHeader,
    pub(crate) master: MasterKey,
    /// The earlier key, while the vault's key is being changed.
    earlier: RefCell<Option<EarlierKey>>,
    pub(crate) epoch: u32,
}

impl Identity {
    pub(crate) fn new(header: VaultHeader, ring: KeyRing, epoch: u32) -> Self {
        let earlier = RefCell::new(ring.earlier().cloned());
        Identity { header, master: ring.newest().clone(), earlier, epoch }
    }

    /// The keys that are valid now.
    pub(super) fn ring(&self) -> KeyRing {
        KeyRing::new(self.master.clone(), self.earlier.borrow().clone())
    }

    /// Forgets the earlier key.
    pub(super) fn forget_earlier_key(&self) {
        self.earlier.replace(None);
    }

    /// The claims of the vault's epochs in its store.
    pub(super) fn claims<'a, U>(&'a self, blobs: &'a U) -> Claims<'a, U> {
        Claims { blobs, ring: self.ring(), vault: self.header.vault }
    }
}
