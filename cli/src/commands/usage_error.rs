//! Flags that cannot be meant.

use clap::error::ErrorKind;

/// The error of flags that cannot be meant, with which the command line ends as for a mistyped one.
pub(super) fn usage_error(why: impl Into<String>) -> clap::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("{}\n", why.into().trim_end()))
}
