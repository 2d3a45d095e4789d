//! The source of salts and seeds: the operating system, or a simulation's seed.

use crate::engine::scheme::Seed;
use lethe_seal::derive::Salt;
use rand_core::{CryptoRng, OsRng, TryRngCore};

/// A source of secrets. Only a simulation gives anything but [`Entropy::system`].
pub struct Entropy(Box<dyn CryptoRng + Send>);

impl Entropy {
    /// The operating system's source.
    pub fn system() -> Self {
        Entropy(Box::new(OsRng.unwrap_err()))
    }

    /// A source of the caller's own.
    pub fn of(source: impl CryptoRng + Send + 'static) -> Self {
        Entropy(Box::new(source))
    }

    /// A fresh salt.
    pub fn salt(&mut self) -> Salt {
        Salt::draw(&mut *self.0)
    }

    pub(crate) fn seed(&mut self) -> Seed {
        let mut seed = Seed::default();
        self.0.fill_bytes(&mut seed);
        seed
    }

    pub(crate) fn source(&mut self) -> &mut dyn CryptoRng {
        &mut *self.0
    }
}
