//! One TOML file configures every command; flags override it.

mod defaults;
mod file;
mod locate;
pub mod origins;
mod settings;

pub use file::{
    Cipher, Config, KeyConfig, KeySource, LogConfig, LogFormat, Padding, PricesConfig, Scheme, ServeConfig,
    StoreConfig, StoreOptions, SwiftListen, TlsConfig, VaultConfig,
};
pub use locate::ConfigError;
pub use origins::Origins;
pub use settings::{
    KeySettings, SchemeSettings, ServeSettings, Settings, SettingsError, StoreSettings, TlsSettings,
};
