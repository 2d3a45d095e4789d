//! Sub-keys for slots, each replaced well before its cipher's limit.
//!
//! A sub-key belongs to one vault, one cipher, one epoch and one run of write counters. A run is `2^k` bucket
//! writes, with the largest `k` such that one sub-key seals
//! - at most 2^32 slots, as many as NIST SP 800-38D allows one GCM key when nonces are drawn at random. Ours are
//!   counted, which allows more; the lower bound costs nothing;
//! - at most 2^38 bytes, or σ = 2^34 cipher blocks. An adversary tells GCM under one key from randomness with an
//!   advantage of about σ²/2^129 = 2^-61, and the figures for the other ciphers are lower.
//!
//! With 64 KiB slots and 16 of them in a bucket that is a new sub-key every 2^17 bucket writes (128 GiB).

use crate::cipher::Cipher;
use crate::derive::{DerivedKey, Purpose, Salt, derive, expand, extract};
use crate::epoch::Epochs;
use crate::key_ring::KeyRing;
use crate::master_key::MasterKey;
use crate::slot_format::SlotFormat;
use crate::slot_key::SlotKey;
use crate::versions::VaultId;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use ameles_core::tree::layout::Layout;
use ameles_core::types::Version;

/// The maximum number of slots that one sub-key seals, as a power of two.
pub const SLOTS_PER_KEY_LOG2: u32 = 32;

/// The maximum number of sealed bytes of one sub-key, as a power of two.
pub const BYTES_PER_KEY_LOG2: u32 = 38;

/// Cached expanded keys, at about half a KiB each. A miss costs a microsecond.
const CACHED_KEYS: usize = 256;

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

/// The identity of a sub-key: the epoch, and the run of counters within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SubKey {
    epoch: u32,
    run: u64,
}

struct CachedKey {
    sub_key: SubKey,
    key: Arc<SlotKey>,
}

/// Derives sub-keys and caches the expanded ones that were used last.
pub(crate) struct SlotKeys {
    cipher: Cipher,
    format: SlotFormat,
    root: DerivedKey,
    /// The root of the earlier master key, and the last epoch that belongs to it.
    earlier: Option<(DerivedKey, u32)>,
    epochs: BTreeMap<u32, DerivedKey>,
    cached: Vec<Option<CachedKey>>,
    writes_per_key_log2: u32,
}

impl SlotKeys {
    pub(crate) fn new(
        ring: &KeyRing,
        cipher: Cipher,
        format: SlotFormat,
        vault: &VaultId,
        epochs: &Epochs,
        writes_per_key_log2: u32,
    ) -> Self {
        let mut context = [0; 17];
        context[..16].copy_from_slice(&vault.0);
        context[16] = cipher.number();
        let root = |master: &MasterKey| derive(master, Purpose::SLOTS, &Salt([0; 32]), &context);
        let mut keys = SlotKeys {
            cipher,
            format,
            root: root(ring.newest()),
            earlier: ring.earlier().map(|earlier| (root(&earlier.key), earlier.last_epoch)),
            epochs: BTreeMap::new(),
            cached: Vec::new(),
            writes_per_key_log2,
        };
        keys.cached.resize_with(CACHED_KEYS, || None);
        for epoch in epochs.iter() {
            keys.begin(epoch.number, &epoch.salt);
        }
        keys
    }

    pub(crate) fn format(&self) -> SlotFormat {
        self.format
    }

    pub(crate) fn begin(&mut self, epoch: u32, salt: &Salt) {
        let root = match &self.earlier {
            Some((root, until)) if epoch <= *until => root,
            _ => &self.root,
        };
        self.epochs.insert(epoch, extract(root, salt));
    }

    /// The last epoch of the earlier master key; 0 without one.
    pub(crate) fn last_earlier_epoch(&self) -> u32 {
        self.earlier.as_ref().map_or(0, |(_, until)| *until)
    }

    /// Removes the earlier master key, and the keys of its epochs.
    pub(crate) fn forget_earlier(&mut self) {
        let until = self.last_earlier_epoch();
        self.earlier = None;
        self.epochs.retain(|&number, _| number > until);
        for place in &mut self.cached {
            place.take_if(|cached| cached.sub_key.epoch <= until);
        }
    }

    /// Removes the keys of epochs that the table no longer holds.
    pub(crate) fn retain(&mut self, epochs: &Epochs) {
        self.epochs.retain(|&number, _| epochs.salt(number).is_some());
        for place in &mut self.cached {
            place.take_if(|cached| epochs.salt(cached.sub_key.epoch).is_none());
        }
    }

    pub(crate) fn sub_key(&self, version: Version) -> SubKey {
        SubKey { epoch: version.epoch, run: version.counter >> self.writes_per_key_log2 }
    }

    /// The expanded key, or `None` if its epoch is unknown.
    pub(crate) fn get(&mut self, sub_key: SubKey) -> Option<Arc<SlotKey>> {
        // Neighbouring runs and epochs have different indices.
        let at = (u64::from(sub_key.epoch).wrapping_mul(61).wrapping_add(sub_key.run) % CACHED_KEYS as u64)
            as usize;
        if let Some(cached) = &self.cached[at]
            && cached.sub_key == sub_key
        {
            return Some(Arc::clone(&cached.key));
        }
        let prk = self.epochs.get(&sub_key.epoch)?;
        let epoch = sub_key.epoch.to_be_bytes();
        let run = sub_key.run.to_be_bytes();
        let bytes = expand(prk, &[b"ameles/1/slot-key/", &epoch, &run]);
        let key = Arc::new(SlotKey::new(self.format, self.cipher, &bytes));
        self.cached[at] = Some(CachedKey { sub_key, key: Arc::clone(&key) });
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_ring::EarlierKey;
    use crate::slot_format::Fresh;
    use alloc::vec;
    use ameles_core::store::Place;
    use ameles_core::tree::layout::Extent;
    use ameles_core::types::{Bucket, Slot};

    fn layout(slots: u32, slot_bytes: u32) -> Layout {
        let small = Extent { buckets: 1, slots: 1, slot_bytes: 16 };
        Layout::new(vec![small, Extent { buckets: 3, slots, slot_bytes }])
    }

    #[test]
    fn a_sub_key_seals_at_most_its_slots_and_its_bytes_and_more_than_half_of_one() {
        for (slots, slot_bytes) in
            [(1, 16), (5, 336), (16, (64 << 10) + 16), (1000, 17), (3, 1 << 30), (1, u32::MAX)]
        {
            let writes = 1u128 << writes_per_key_log2(&layout(slots, slot_bytes));
            let (sealed_slots, bytes) =
                (writes * u128::from(slots), writes * u128::from(slots) * u128::from(slot_bytes));
            assert!(sealed_slots <= 1 << SLOTS_PER_KEY_LOG2 && bytes <= 1 << BYTES_PER_KEY_LOG2);
            assert!(2 * sealed_slots > 1 << SLOTS_PER_KEY_LOG2 || 2 * bytes > 1 << BYTES_PER_KEY_LOG2);
        }
        assert_eq!(writes_per_key_log2(&layout(16, 64 << 10)), 18);
        assert_eq!(writes_per_key_log2(&layout(16, (64 << 10) + 16)), 17);
    }

    /// The tag of a text under the sub-key, which identifies the key.
    fn tag(keys: &mut SlotKeys, epoch: u32, counter: u64) -> [u8; 16] {
        let sub_key = keys.sub_key(Version { epoch, counter });
        let slot = Slot { bucket: Bucket(0), index: 0 };
        let place = Place { slot, version: Version { epoch: 0, counter: 0 } };
        let mut tag = [0; 16];
        keys.get(sub_key).expect("the epoch is known").seal(&place, &Fresh([0; 32]), &[], &mut tag);
        tag
    }

    #[test]
    fn keys_change_with_every_run_and_epoch_and_come_back_the_same_after_they_were_displaced() {
        let master = MasterKey::take(&mut [1; 32]);
        let vault = VaultId([2; 16]);
        let mut keys = SlotKeys::new(
            &(&master).into(),
            Cipher::default(),
            SlotFormat::Counted,
            &vault,
            &Epochs::new(),
            2,
        );
        // The same salt in all epochs: only the epochs' numbers make the keys differ.
        (1..=20).for_each(|epoch| keys.begin(epoch, &Salt([3; 32])));
        let mut first = BTreeMap::new();
        for epoch in 1..=20 {
            for counter in 0..200 {
                first.insert(tag(&mut keys, epoch, counter), (epoch, counter / 4));
            }
        }
        // 20 epochs of 50 runs of 4 writes; far more than are kept.
        assert_eq!(first.len(), 1000);
        assert!(first.len() > CACHED_KEYS);
        for counter in 0..200 {
            assert_eq!(first[&tag(&mut keys, 7, counter)], (7, counter / 4));
        }
    }

    #[test]
    fn the_keys_of_forgotten_epochs_are_gone() {
        let master = MasterKey::take(&mut [1; 32]);
        let mut keys = SlotKeys::new(
            &(&master).into(),
            Cipher::default(),
            SlotFormat::Counted,
            &VaultId([2; 16]),
            &Epochs::new(),
            2,
        );
        keys.begin(1, &Salt([3; 32]));
        tag(&mut keys, 1, 1);
        keys.retain(&Epochs::new());
        let sub_key = keys.sub_key(Version { epoch: 1, counter: 1 });
        assert!(keys.get(sub_key).is_none());
    }

    #[test]
    fn an_epoch_has_the_keys_of_the_master_key_that_it_belongs_to_until_that_is_forgotten() {
        let (old, new) = (MasterKey::take(&mut [1; 32]), MasterKey::take(&mut [2; 32]));
        let keys_of = |ring: &KeyRing| {
            let (cipher, vault) = (Cipher::default(), VaultId([2; 16]));
            let mut keys = SlotKeys::new(ring, cipher, SlotFormat::Counted, &vault, &Epochs::new(), 2);
            (1..=3).for_each(|epoch| keys.begin(epoch, &Salt([3; 32])));
            keys
        };
        let mut under_old = keys_of(&(&old).into());
        let mut under_new = keys_of(&(&new).into());
        let mut both = keys_of(&KeyRing::new(new, Some(EarlierKey { key: old, last_epoch: 2 })));
        for epoch in 1..=2 {
            assert_eq!(tag(&mut both, epoch, 1), tag(&mut under_old, epoch, 1));
        }
        assert_eq!(tag(&mut both, 3, 1), tag(&mut under_new, 3, 1));
        both.forget_earlier();
        for (epoch, is_known) in [(1, false), (2, false), (3, true)] {
            let sub_key = both.sub_key(Version { epoch, counter: 1 });
            assert_eq!(both.get(sub_key).is_some(), is_known, "{epoch}");
        }
    }
}
