//! Declares an option once: its flag, its key in the file, its type, its default and what it is for.

use clap::builder::ValueParser;
use clap::{Arg, Command};

/// A value, by its two names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// The flag, such as `--capacity`.
    pub(super) flag: &'static str,
    /// The key in the file, such as `vault.capacity`.
    pub(super) key: &'static str,
}

/// The options of a table of the file.
pub(super) trait Options {
    /// Lays `over` over these: the values that it gives win.
    #[must_use]
    fn overlaid(self, over: Self) -> Self;

    /// Names all values that are given here.
    fn given(&self) -> Vec<Name>;
}

/// Reads the default of an option as its flag would be read.
pub(super) fn default<T: Clone + Send + Sync + 'static>(parser: impl Into<ValueParser>, text: &str) -> T {
    let command =
        Command::new("ameles").no_binary_name(true).arg(Arg::new("default").value_parser(parser.into()));
    let read = command.try_get_matches_from([text]).ok().and_then(|mut read| read.remove_one("default"));
    read.expect("a default is a value of its option")
}

/// Declares the table `$table` of the file, whose flags stand under `$heading` in the help:
///
/// ```text
/// NAME: key: Type = "flag" [or "DEFAULT"], "what it is for";
/// ```
///
/// makes the field `key: Option<Type>`, the flag `--flag`, the constant [`NAME`](Name), and for an option with a default
/// the method `key()`. Attributes of clap and serde may stand before it. `with key: Type` adds a table within the
/// table.
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
                #[doc = concat!($help, ". `", $default, "` if nothing was said.")]
                pub fn $field(&self) -> $kind {
                    let given = self.$field.clone();
                    given.unwrap_or_else(|| $crate::config::option_table::default(clap::value_parser!($kind), $default))
                }
            )?)*
        }

        impl $crate::config::option_table::Options for $group {
            fn overlaid(self, over: Self) -> Self {
                $group {
                    $($field: over.$field.or(self.$field),)*
                    $($inner: self.$inner.overlaid(over.$inner),)?
                }
            }

            fn given(&self) -> Vec<Name> {
                let mut given = Vec::new();
                $(given.extend(self.$field.is_some().then_some($name));)*
                $(given.extend(self.$inner.given());)?
                given
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
