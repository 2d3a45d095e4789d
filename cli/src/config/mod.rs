//! The configuration: one TOML file for every command, with flags that override it. Each option is declared once.

mod choices;
mod error_location;
mod file;
pub mod folders;
pub mod interval;
mod key;
mod limits;
pub mod names;
mod option_table;
mod options;
mod origins;
mod pace_only;
mod settings;
mod settings_error;
pub mod size;
pub mod size_or_percent;
mod store_options;
mod store_settings;

pub use choices::{
    Cipher, Journal, KeySource, LogFormat, Objective, Padding, Scheme, SwiftListen, TreeTopOn,
};
pub use error_location::ConfigError;
pub use file::Config;
pub use key::KeyConfig;
pub use options::{LogConfig, PricesConfig, ServeConfig, StoreConfig, TlsConfig, VaultConfig};
pub use origins::Origins;
pub use pace_only::PaceOnly;
pub use settings::{KeySettings, SchemeSettings, ServeSettings, Settings};
pub use settings_error::SettingsError;
pub use store_options::{StoreOptions, key_and_value};
pub use store_settings::{EtcdSettings, StoreSettings, TlsSettings};
