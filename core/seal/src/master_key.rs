//! The master key: the one secret of a vault.

use alloc::boxed::Box;
use core::fmt;
use rand_core::CryptoRng;
use subtle::{Choice, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The number of bytes of a master key.
pub const MASTER_KEY_BYTES: usize = 32;

/// The 256-bit secret from which every other key is derived. Wiped when dropped; never printed.
///
/// It is stored behind a pointer, so that moving it leaves no copy.
#[derive(Clone, ZeroizeOnDrop)]
pub struct MasterKey {
    bytes: Box<[u8; MASTER_KEY_BYTES]>,
}

impl MasterKey {
    /// Draws a key.
    pub fn draw<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut key = MasterKey::blank();
        rng.fill_bytes(&mut *key.bytes);
        key
    }

    /// Takes a key, and wipes its source.
    pub fn take(bytes: &mut [u8; MASTER_KEY_BYTES]) -> Self {
        let mut key = MasterKey::blank();
        key.bytes.copy_from_slice(bytes);
        bytes.zeroize();
        key
    }

    pub(crate) fn blank() -> Self {
        MasterKey { bytes: Box::new([0; MASTER_KEY_BYTES]) }
    }

    pub(crate) fn expose(&self) -> &[u8; MASTER_KEY_BYTES] {
        &self.bytes
    }

    pub(crate) fn expose_mut(&mut self) -> &mut [u8; MASTER_KEY_BYTES] {
        &mut self.bytes
    }
}

impl ConstantTimeEq for MasterKey {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.bytes.ct_eq(&*other.bytes)
    }
}

impl PartialEq for MasterKey {
    fn eq(&self, other: &Self) -> bool {
        self.ct_eq(other).into()
    }
}

impl Eq for MasterKey {}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MasterKey").finish_non_exhaustive()
    }
}
