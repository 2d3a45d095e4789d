//! Further options of the provider's client, such as its region, as keys and values.

use super::option_table::{Name, Options};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

/// `store.options` and `--store-option`.
pub const STORE_OPTION: Name = Name { flag: "--store-option", key: "store.options" };

/// Options of the provider's client. They may hold credentials, so values are never printed.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct StoreOptions(pub BTreeMap<String, String>);

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Options for StoreOptions {
    /// Merges key by key.
    fn overlay(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    fn names(&self) -> Vec<Name> {
        if self.0.is_empty() { Vec::new() } else { vec![STORE_OPTION] }
    }
}

const FLAG: &str = "store-option";

impl Args for StoreOptions {
    fn augment_args(command: Command) -> Command {
        command.arg(
            Arg::new(FLAG)
                .long(FLAG)
                .value_name("KEY=VALUE")
                .value_parser(key_and_value)
                .action(ArgAction::Append)
                .help("Another option of the provider's client, such as region=eu-north-1 (may be given several times)"),
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for StoreOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let values = matches.get_many::<(String, String)>(FLAG);
        Ok(StoreOptions(values.into_iter().flatten().cloned().collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.extend(Self::from_arg_matches(matches)?.0);
        Ok(())
    }
}

/// Parses `KEY=VALUE`.
///
/// # Errors
/// The text has no `=`, or nothing before it.
pub fn key_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE, such as region=eu-north-1".to_owned()),
    }
}
