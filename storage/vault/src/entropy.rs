//! The source of salts and seeds: the operating system, or a simulation's seed.

use crate::engine::scheme::Seed;
use ameles_seal::derive::Salt;
use ameles_seal::slot_format::Nonces;
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, OsRng, SeedableRng, TryRngCore};

/// A source of secrets. Only simulations use another one than [`Entropy::system`].
pub struct Entropy {
    source: Box<dyn CryptoRng + Send>,
    is_system: bool,
}

impl Entropy {
    /// The operating system's source.
    pub fn system() -> Self {
        Entropy { source: Box::new(OsRng.unwrap_err()), is_system: true }
    }

    /// A source that the caller provides.
    pub fn of(source: impl CryptoRng + Send + 'static) -> Self {
        Entropy { source: Box::new(source), is_system: false }
    }

    /// A fresh salt.
    pub fn salt(&mut self) -> Salt {
        Salt::draw(&mut *self.source)
    }

    /// The nonces of slots. The operating system is asked at every sealing: a generator in memory would be copied with
    /// the memory.
    pub(crate) fn nonces(&mut self) -> Nonces {
        match self.is_system {
            true => Nonces::Salted(Box::new(OsRng.unwrap_err())),
            false => Nonces::Salted(Box::new(ChaCha20Rng::from_seed(self.seed()))),
        }
    }

    /// A source for another task.
    pub(crate) fn split(&mut self) -> Entropy {
        if self.is_system { Entropy::system() } else { Entropy::of(ChaCha20Rng::from_seed(self.seed())) }
    }

    pub(crate) fn seed(&mut self) -> Seed {
        let mut seed = Seed::default();
        self.source.fill_bytes(&mut seed);
        seed
    }

    pub(crate) fn source(&mut self) -> &mut dyn CryptoRng {
        &mut *self.source
    }
}
