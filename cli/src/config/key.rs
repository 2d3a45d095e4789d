//! The source of the master key: a file's `[key]`, or one of three flags.

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

/// `[key]`: the source of the master key. A flag names the kind of source together with its value.
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
    /// Take a passphrase, from AMELES_PASSPHRASE or from the terminal
    #[arg(long)]
    #[serde(skip)]
    passphrase: bool,
}

impl KeyConfig {
    /// The same as a file would say it.
    pub fn of_flags(self) -> Self {
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
    /// Naming a kind of source says that what the file says about another kind is not meant.
    fn overlaid(self, over: Self) -> Self {
        if over.source.is_some() { over } else { self }
    }

    /// A flag that names a kind of key replaces all that the file says of keys.
    fn given(&self) -> Vec<Name> {
        let has_source = self.source.is_some();
        let all = [
            (KEY_SOURCE, has_source),
            (KEY_FILE, has_source || self.file.is_some()),
            (KEY_ENV, has_source || self.variable.is_some()),
        ];
        all.into_iter().filter_map(|(name, is_given)| is_given.then_some(name)).collect()
    }
}
