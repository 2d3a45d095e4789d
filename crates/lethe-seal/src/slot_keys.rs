//! The keys that seal slots, each changed well before its cipher's limit.
//!
//! A sub-key belongs to one vault, one cipher, one epoch and one run of write counters. A run is `2^k` bucket
//! writes, with the largest `k` such that one sub-key seals
//! - at most 2^32 slots, what NIST SP 800-38D allows one GCM key when nonces are drawn at random. Ours are counted,
//!   which allows more; the lower bound costs nothing;
//! - at most 2^38 bytes, or σ = 2^34 cipher blocks. An adversary tells GCM under one key from randomness with an
//!   advantage of about σ²/2^129 = 2^-61, and the figures for the other ciphers are lower.
//!
//! With 64 KiB slots and 16 of them in a bucket that is a new sub-key every 2^17 bucket writes (128 GiB).

use crate::cipher::{Cipher, CipherKey};
use crate::derive::{DerivedKey, Purpose, Salt, derive, expand, extract};
use crate::epoch::Epochs;
use crate::master_key::MasterKey;
use crate::versions::VaultId;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use lethe_core::layout::Layout;
use lethe_core::words::Version;

/// The most slots that one sub-key seals, as a power of two.
pub const SLOTS_PER_KEY_LOG2: u32 = 32;

/// The most sealed bytes of one sub-key, as a power of two.
pub const BYTES_PER_KEY_LOG2: u32 = 38;

/// Expanded keys kept, at about half a KiB each. A miss costs a microsecond.
const KEPT: usize = 256;

/// Bucket writes of one sub-key, as a power of two, for a **sealed** layout.
pub fn writes_per_key_log2(sealed: &Layout) -> u32 {
    sealed
        .extents()
        .iter()
        .map(|extent| {
            let slots = u128::from(extent.slots.max(1));
            let bytes = slots * u128::from(extent.slot_bytes.max(1));
            let by_slots = ((1u128 << SLOTS_PER_KEY_LOG2) / slots).max(1).ilog2();
            let by_bytes = ((1u128 << BYTES_PER_KEY_LOG2) / bytes).max(1).ilog2();
            by_slots.min(by_bytes)
        })
        .min()
        .unwrap_or(0)
}

/// Which sub-key: the epoch, and the run of counters within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SubKey {
    epoch: u32,
    run: u64,
}

struct Kept {
    sub_key: SubKey,
    key: Arc<CipherKey>,
}

/// Derives sub-keys and keeps the expanded ones that were used last.
pub(crate) struct SlotKeys {
    cipher: Cipher,
    root: DerivedKey,
    epochs: BTreeMap<u32, DerivedKey>,
    kept: Vec<Option<Kept>>,
    writes_per_key_log2: u32,
}

impl SlotKeys {
    pub(crate) fn new(
        master: &MasterKey,
        cipher: Cipher,
        vault: &VaultId,
        epochs: &Epochs,
        writes_per_key_log2: u32,
    ) -> Self {
        let mut context = [0; 17];
        context[..16].copy_from_slice(&vault.0);
        context[16] = cipher.number();
        let mut keys = SlotKeys {
            cipher,
            root: derive(master, Purpose::SLOTS, &Salt([0; 32]), &context),
            epochs: BTreeMap::new(),
            kept: Vec::new(),
            writes_per_key_log2,
        };
        keys.kept.resize_with(KEPT, || None);
        for epoch in epochs.iter() {
            keys.begin(epoch.number, &epoch.salt);
        }
        keys
    }

    pub(crate) fn begin(&mut self, epoch: u32, salt: &Salt) {
        self.epochs.insert(epoch, extract(&self.root, salt));
    }

    /// Forgets the keys of epochs that the table no longer holds.
    pub(crate) fn retain(&mut self, epochs: &Epochs) {
        self.epochs.retain(|&number, _| epochs.salt(number).is_some());
        for place in &mut self.kept {
            place.take_if(|kept| epochs.salt(kept.sub_key.epoch).is_none());
        }
    }

    pub(crate) fn sub_key(&self, version: Version) -> SubKey {
        SubKey { epoch: version.epoch, run: version.counter >> self.writes_per_key_log2 }
    }

    /// The expanded key, or `None` if its epoch is unknown.
    pub(crate) fn get(&mut self, sub_key: SubKey) -> Option<Arc<CipherKey>> {
        // Neighbouring runs and epochs fall on different places.
        let at = (u64::from(sub_key.epoch).wrapping_mul(61).wrapping_add(sub_key.run) % KEPT as u64) as usize;
        if let Some(kept) = &self.kept[at]
            && kept.sub_key == sub_key
        {
            return Some(Arc::clone(&kept.key));
        }
        let prk = self.epochs.get(&sub_key.epoch)?;
        let epoch = sub_key.epoch.to_be_bytes();
        let run = sub_key.run.to_be_bytes();
        let bytes = expand(prk, &[b"lethe/1/slot-key/", &epoch, &run]);
        let key = Arc::new(CipherKey::new(self.cipher, &bytes));
        self.kept[at] = Some(Kept { sub_key, key: Arc::clone(&key) });
        Some(key)
    }
}
