//! The macro that declares an option: its flag, its key in the file, its type, its default and its help.

use clap::builder::ValueParser;
use clap::{Arg, Command};

/// The two names of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// The flag, such as `--capacity`.
    pub(super) flag: &'static str,
    /// The key in the file, such as `vault.capacity`.
    pub(super) key: &'static str,
}

/// The options of a table of the file.
pub(super) trait Options {
    /// Returns these options with `other` applied: its values win.
    #[must_use]
    fn overlay(self, other: Self) -> Self;

    /// Returns the names of all values that are set.
    fn names(&self) -> Vec<Name>;
}

/// Parses the default of an option like a value of its flag.
pub(super) fn default<T: Clone + Send + Sync + 'static>(parser: impl Into<ValueParser>, text: &str) -> T {
    let command =
        Command::new("ameles").no_binary_name(true).arg(Arg::new("default").value_parser(parser.into()));
    let read = command.try_get_matches_from([text]).ok().and_then(|mut read| read.remove_one("default"));
    read.expect("a default is a valid value of its option")
}

/// Declares the table `$table` of the file, whose flags appear under `$heading` in the help:
///
/// ```text
/// NAME: key: Type = "flag" [or "DEFAULT"], "the help";
/// ```
///
/// declares the field `key: Option<Type>`, the flag `--flag`, the constant [`NAME`](Name), and for an option with a
/// default the method `key()`. Attributes of clap and serde may come before it. `with key: Type` adds a nested table.
macro_rules! options {
    (
        $(#[$about:meta])*
        $group:ident($table:literal, $heading:literal) {
            $(
                $(#[$attribute:meta])*
                $name:ident: $field:ident: $kind:ty = $flag:literal $(or $default:literal)?, $help:literal;
            )*
        } $(with $inner:ident: $inner_kind:ty)?
    ) => {
        $(#[$about])*
        #[derive(clap::Args, Clone, Debug, Default, PartialEq, serde::Deserialize)]
        #[command(next_help_heading = $heading)]
        #[serde(deny_unknown_fields, default)]
        pub struct $group {
            $(
                #[doc = $help]
                #[arg(id = $flag, long = $flag)]
                #[arg(help = concat!($help $(, " [default: ", $default, "]")?))]
                $(#[$attribute])*
                pub $field: Option<$kind>,
            )*
            $(
                #[doc = concat!("`[", $table, ".", stringify!($inner), "]`")]
                #[command(flatten)]
                pub $inner: $inner_kind,
            )?
        }

        impl $group {
            $($(
                #[doc = concat!($help, ". The default is `", $default, "`.")]
                pub fn $field(&self) -> $kind {
                    let value = self.$field.clone();
                    value.unwrap_or_else(|| $crate::config::option_table::default(clap::value_parser!($kind), $default))
                }
            )?)*
        }

        impl $crate::config::option_table::Options for $group {
            fn overlay(self, other: Self) -> Self {
                $group {
                    $($field: other.$field.or(self.$field),)*
                    $($inner: self.$inner.overlay(other.$inner),)?
                }
            }

            fn names(&self) -> Vec<Name> {
                let mut names = Vec::new();
                $(names.extend(self.$field.is_some().then_some($name));)*
                $(names.extend(self.$inner.names());)?
                names
            }
        }

        $(
            #[doc = $help]
            pub const $name: Name =
                Name { flag: concat!("--", $flag), key: concat!($table, ".", stringify!($field)) };
        )*
    };
}
pub(super) use options;
