//! The flags for the location and the key of a vault's successor.

use crate::config::names::{ENDPOINT, KEY_ENV, KEY_FILE, KEY_SOURCE, Name, STORE, STORE_OPTION};
use crate::config::{Settings, key_and_value};
use clap::Args;
use std::path::PathBuf;

/// The flags for the location and the key of a vault's successor.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Successor")]
pub struct SuccessorFlags {
    /// The store of the successor [default: DATA/untrusted-2, if the vault is in DATA/untrusted]
    #[arg(long, value_name = "URL")]
    pub to: Option<String>,
    /// The address of a server with the protocol of the successor's provider
    #[arg(long, value_name = "URL", requires = "to")]
    pub to_endpoint: Option<String>,
    /// Another option of the client of the successor's provider (may be given several times)
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value, requires = "to")]
    pub to_option: Vec<(String, String)>,
    /// The file of the successor's key, created if it does not exist [default: the vault's key]
    #[arg(long, value_name = "FILE", group = "new_key")]
    pub new_key_file: Option<PathBuf>,
    /// The environment variable that holds the successor's key
    #[arg(long, value_name = "NAME", group = "new_key")]
    pub new_key_env: Option<String>,
    /// Use a passphrase for the successor, from AMELES_NEW_PASSPHRASE or from the terminal
    #[arg(long, group = "new_key")]
    pub new_passphrase: bool,
}

impl SuccessorFlags {
    /// Returns true if no flag is given.
    pub fn is_empty(&self) -> bool {
        self.to.is_none() && self.to_endpoint.is_none() && self.to_option.is_empty() && !self.has_key()
    }

    /// Returns true if the successor gets its own key.
    pub fn has_key(&self) -> bool {
        self.new_key_file.is_some() || self.new_key_env.is_some() || self.new_passphrase
    }
}

/// The flags of a new key, in place of those of the key.
pub const NEW_KEY_FLAGS: [(Name, &str); 3] =
    [(KEY_FILE, "--new-key-file"), (KEY_ENV, "--new-key-env"), (KEY_SOURCE, "--new-passphrase")];

/// Returns the settings with errors that name the flags of a successor's store and key.
#[must_use]
pub fn with_successor_origins(settings: Settings, has_own_key: bool) -> Settings {
    let place = [(STORE, "--to"), (ENDPOINT, "--to-endpoint"), (STORE_OPTION, "--to-option")];
    let key = NEW_KEY_FLAGS.into_iter().filter(|_| has_own_key);
    let origins = settings.origins.clone().with_flags(place.into_iter().chain(key));
    Settings { origins, ..settings }
}
