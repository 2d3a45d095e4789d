//! The two formats of sealed slots: what is stored with the ciphertext, and how nonces are kept unique.

use crate::cipher::TAG_BYTES;
use alloc::boxed::Box;
use borsh::{BorshDeserialize, BorshSerialize};
use core::fmt;
use rand_core::CryptoRng;

/// The number of bytes of a slot's salt.
pub const SALT_BYTES: usize = 16;

/// The format of sealed slots. Public, and fixed when a vault is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
#[borsh(use_discriminant = true)]
#[repr(u8)]
pub enum SlotFormat {
    /// Ciphertext and tag. The nonce is a counter: it repeats if the memory of the running process is copied, and both
    /// copies continue.
    #[default]
    Counted = 1,
    /// Salt, ciphertext and tag. Each slot has its own key, derived from the salt. The salt depends on fresh
    /// randomness, on the slot's identity and on its plaintext. So copies of a process repeat no nonce under one key.
    Salted = 2,
}

impl SlotFormat {
    /// Returns the number of bytes that sealing adds to a slot.
    pub const fn overhead_bytes(self) -> usize {
        match self {
            SlotFormat::Counted => TAG_BYTES,
            SlotFormat::Salted => SALT_BYTES + TAG_BYTES,
        }
    }

    /// The number that is authenticated with each slot.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

/// The way in which nonces are kept unique.
pub enum Nonces {
    /// [`SlotFormat::Counted`].
    Counted,
    /// [`SlotFormat::Salted`], with this source of fresh randomness. It is used at every sealing: a generator with
    /// state in the memory of the process would be copied with it.
    Salted(Box<dyn CryptoRng + Send>),
}

impl Nonces {
    /// The format for these nonces.
    pub fn format(&self) -> SlotFormat {
        match self {
            Nonces::Counted => SlotFormat::Counted,
            Nonces::Salted(_) => SlotFormat::Salted,
        }
    }

    /// Draws the common part of the salts of one sealing.
    pub(crate) fn draw(&mut self) -> Fresh {
        let mut fresh = Fresh([0; 32]);
        if let Nonces::Salted(source) = self {
            source.fill_bytes(&mut fresh.0);
        }
        fresh
    }
}

impl fmt::Debug for Nonces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Nonces").field(&self.format()).finish()
    }
}

/// Fresh randomness of one sealing; zeros if the format needs none.
#[derive(Clone, Copy)]
pub(crate) struct Fresh(pub(crate) [u8; 32]);
