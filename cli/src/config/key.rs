//! The source of the master key: `[key]` of the file, or one of three flags.

use super::choices::KeySource;
use super::option_table::{Name, Options};
use clap::Args;
use serde::Deserialize;
use std::path::PathBuf;

/// The key's file.
pub const KEY_FILE: Name = Name { flag: "--key-file", key: "key.file" };
/// The environment variable of the key.
pub const KEY_ENV: Name = Name { flag: "--key-env", key: "key.variable" };
/// The kind of key.
pub const KEY_SOURCE: Name = Name { flag: "--passphrase", key: "key.source" };

/// `[key]`: the source of the master key. A flag gives the kind of source together with its value.
#[derive(Args, Clone, Debug, Default, PartialEq, Deserialize)]
#[command(next_help_heading = "Master key")]
#[group(multiple = false)]
#[serde(deny_unknown_fields, default)]
pub struct KeyConfig {
    /// The kind of source
    #[arg(skip)]
    pub source: Option<KeySource>,
    /// The key's file [default: DATA/master.key]
    #[arg(id = "key-file", long = "key-file", value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The environment variable that holds the key
    #[arg(id = "key-env", long = "key-env", value_name = "NAME")]
    pub variable: Option<String>,
    /// Use a passphrase, from AMELES_PASSPHRASE or from the terminal
    #[arg(long)]
    #[serde(skip)]
    passphrase: bool,
}

impl KeyConfig {
    /// Returns the same configuration in the form of the file, with its `source`.
    pub fn with_source(self) -> Self {
        let source = match (&self.file, &self.variable, self.passphrase) {
            (Some(_), _, _) => Some(KeySource::File),
            (_, Some(_), _) => Some(KeySource::Env),
            (_, _, true) => Some(KeySource::Passphrase),
            _ => self.source,
        };
        KeyConfig { source, passphrase: false, ..self }
    }
}

impl Options for KeyConfig {
    /// A flag that gives a source replaces the whole `[key]` of the file.
    fn overlay(self, other: Self) -> Self {
        if other.source.is_some() { other } else { self }
    }

    /// A flag that gives a source replaces all three values.
    fn names(&self) -> Vec<Name> {
        let has_source = self.source.is_some();
        let all = [
            (KEY_SOURCE, has_source),
            (KEY_FILE, has_source || self.file.is_some()),
            (KEY_ENV, has_source || self.variable.is_some()),
        ];
        all.into_iter().filter_map(|(name, is_set)| is_set.then_some(name)).collect()
    }
}
