//! The master key of a vault and, during a rotation, the one before it.
//!
//! Everything in the store belongs to an epoch. So the number of the last epoch under the earlier key determines which
//! of the two keys an object was sealed with.

use crate::master_key::{MASTER_KEY_BYTES, MasterKey};
use zeroize::Zeroizing;

/// A retired master key: it opens what was sealed up to an epoch, and seals nothing any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierKey {
    /// The retired key.
    pub key: MasterKey,
    /// The last epoch of this key.
    pub last_epoch: u32,
}

impl EarlierKey {
    /// The number of bytes of an encoded one.
    pub const BYTES: usize = 4 + MASTER_KEY_BYTES;

    /// The encoded bytes, which are as secret as the key. Wiped when dropped.
    pub fn to_bytes(&self) -> Zeroizing<[u8; Self::BYTES]> {
        let mut bytes = Zeroizing::new([0; Self::BYTES]);
        bytes[..4].copy_from_slice(&self.last_epoch.to_le_bytes());
        bytes[4..].copy_from_slice(self.key.expose());
        bytes
    }

    /// Decodes the result of [`to_bytes`](Self::to_bytes).
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let ([a, b, c, d], rest) = bytes.split_first_chunk().expect("it is longer than a number");
        let mut key = MasterKey::blank();
        key.expose_mut().copy_from_slice(rest);
        EarlierKey { key, last_epoch: u32::from_le_bytes([*a, *b, *c, *d]) }
    }
}

/// The master keys with which a vault is opened: the newest, and perhaps an earlier one.
#[derive(Clone, Debug)]
pub struct KeyRing {
    newest: MasterKey,
    earlier: Option<EarlierKey>,
}

impl KeyRing {
    /// A ring of these keys.
    pub fn new(newest: MasterKey, earlier: Option<EarlierKey>) -> Self {
        KeyRing { newest, earlier }
    }

    /// The key for sealing.
    pub fn newest(&self) -> &MasterKey {
        &self.newest
    }

    /// The earlier key, if there is one.
    pub fn earlier(&self) -> Option<&EarlierKey> {
        self.earlier.as_ref()
    }

    /// The last epoch of the earlier key; 0 without one.
    pub fn last_earlier_epoch(&self) -> u32 {
        self.earlier.as_ref().map_or(0, |earlier| earlier.last_epoch)
    }

    /// The key under which an epoch was sealed.
    pub fn key_of_epoch(&self, epoch: u32) -> &MasterKey {
        match &self.earlier {
            Some(earlier) if epoch <= earlier.last_epoch => &earlier.key,
            _ => &self.newest,
        }
    }

    /// The keys that may open an object of an epoch that is sealed again in its place: the newest first.
    pub fn keys_that_open(&self, epoch: u32) -> impl Iterator<Item = &MasterKey> {
        let earlier = self.earlier.iter().filter(move |earlier| epoch <= earlier.last_epoch);
        [&self.newest].into_iter().chain(earlier.map(|earlier| &earlier.key))
    }
}

impl From<&MasterKey> for KeyRing {
    fn from(key: &MasterKey) -> Self {
        KeyRing::new(key.clone(), None)
    }
}

impl From<&KeyRing> for KeyRing {
    fn from(ring: &KeyRing) -> Self {
        ring.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    #[test]
    fn an_epoch_belongs_to_one_key_and_an_earlier_key_outlives_its_bytes() {
        let (old, new) = (MasterKey::take(&mut [1; 32]), MasterKey::take(&mut [2; 32]));
        let earlier = EarlierKey { key: old.clone(), last_epoch: 0x0102_0304 };
        assert_eq!(EarlierKey::from_bytes(&earlier.to_bytes()), earlier);
        let ring = KeyRing::new(new.clone(), Some(earlier));
        for (epoch, key, opening) in [
            (1, &old, vec![&new, &old]),
            (0x0102_0304, &old, vec![&new, &old]),
            (0x0102_0305, &new, vec![&new]),
        ] {
            assert_eq!(ring.key_of_epoch(epoch), key, "{epoch}");
            assert_eq!(ring.keys_that_open(epoch).collect::<Vec<_>>(), opening, "{epoch}");
        }
    }
}
