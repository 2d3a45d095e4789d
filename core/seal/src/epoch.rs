//! Epochs: each opening of a vault seals under its own key.

use crate::derive::Salt;
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize, io};

/// An opening of a vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Epoch {
    /// The epoch's number, from 1. Numbers grow and may skip some.
    pub number: u32,
    /// The salt, drawn for this epoch only: 256 bits. So no key is derived twice, even if two machines restore the same
    /// backup.
    pub salt: Salt,
}

/// The epochs whose slots may still be read, including the newest. Public: it holds salts, no keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize)]
pub struct Epochs {
    /// The epochs, ascending by number.
    table: Vec<Epoch>,
}

/// The error for an epoch that is not newer than the ones before it, or whose salt was used before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaleEpoch;

impl Epochs {
    /// No epoch yet.
    pub fn new() -> Self {
        Epochs::default()
    }

    /// The newest epoch's number; 0 before the first.
    pub fn newest(&self) -> u32 {
        self.table.last().map_or(0, |e| e.number)
    }

    /// Appends an epoch.
    ///
    /// # Errors
    /// [`StaleEpoch`], and nothing was changed.
    pub fn begin(&mut self, epoch: Epoch) -> Result<(), StaleEpoch> {
        let known = self.table.iter().any(|e| e.salt == epoch.salt);
        if epoch.number <= self.newest() || known {
            return Err(StaleEpoch);
        }
        self.table.push(epoch);
        Ok(())
    }

    /// The salt of an epoch, if it is still known.
    pub fn salt(&self, number: u32) -> Option<&Salt> {
        let at = self.table.binary_search_by_key(&number, |e| e.number).ok()?;
        Some(&self.table[at].salt)
    }

    /// The known epochs, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Epoch> {
        self.table.iter()
    }

    /// The number of known epochs.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns whether no epoch has begun.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Removes the epochs that are not `used`; the newest always stays, so that numbers keep growing.
    pub fn retain(&mut self, mut used: impl FnMut(u32) -> bool) {
        let newest = self.newest();
        self.table.retain(|e| e.number == newest || used(e.number));
    }
}

impl BorshDeserialize for Epochs {
    fn deserialize_reader<R: io::Read>(reader: &mut R) -> io::Result<Self> {
        let mut epochs = Epochs::new();
        for epoch in Vec::<Epoch>::deserialize_reader(reader)? {
            epochs.begin(epoch).map_err(|StaleEpoch| {
                io::Error::new(io::ErrorKind::InvalidData, "the epochs are not in order")
            })?;
        }
        Ok(epochs)
    }
}
