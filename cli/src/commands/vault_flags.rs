//! The flags that several commands share: those that find a vault, and those that shape a new one.

use crate::config::{Config, KeyConfig, StoreConfig, VaultConfig};
use clap::Args;

/// The flags that find a vault: its store and its key.
#[derive(Args)]
pub(super) struct VaultFlags {
    #[command(flatten)]
    pub(super) store: StoreConfig,
    #[command(flatten)]
    pub(super) key: KeyConfig,
}

impl VaultFlags {
    /// Lays what was given over the configuration.
    pub(super) fn over(self, config: Config) -> Config {
        config.overlaid(Config { store: self.store, key: self.key, ..Config::default() })
    }
}

/// The flags that find a vault, or shape a new one.
#[derive(Args)]
pub(super) struct ShapeFlags {
    #[command(flatten)]
    pub(super) vault: VaultConfig,
    #[command(flatten)]
    pub(super) found: VaultFlags,
}

impl ShapeFlags {
    /// Lays what was given over the configuration.
    pub(super) fn over(self, config: Config) -> Config {
        self.found.over(config.overlaid(Config { vault: self.vault, ..Config::default() }))
    }
}
