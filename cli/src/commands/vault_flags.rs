//! Flags of several commands: those that locate a vault, and those that shape a new one.

use crate::config::{Config, KeyConfig, StoreConfig, VaultConfig};
use clap::Args;

/// The flags that locate a vault: its store and its key.
#[derive(Args)]
pub(super) struct VaultFlags {
    #[command(flatten)]
    pub(super) store: StoreConfig,
    #[command(flatten)]
    pub(super) key: KeyConfig,
}

impl VaultFlags {
    /// Returns the configuration with these flags applied.
    pub(super) fn apply_to(self, config: Config) -> Config {
        config.overlay(Config { store: self.store, key: self.key, ..Config::default() })
    }
}

/// The flags that locate a vault, or shape a new one.
#[derive(Args)]
pub(super) struct ShapeFlags {
    #[command(flatten)]
    pub(super) shape: VaultConfig,
    #[command(flatten)]
    pub(super) vault: VaultFlags,
}

impl ShapeFlags {
    /// Returns the configuration with these flags applied.
    pub(super) fn apply_to(self, config: Config) -> Config {
        self.vault.apply_to(config.overlay(Config { vault: self.shape, ..Config::default() }))
    }
}
