//! Errors of flags.

use clap::error::ErrorKind;

/// Returns the error of an invalid flag. The command then exits like clap on a mistyped flag.
pub(super) fn usage_error(why: impl Into<String>) -> clap::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("{}\n", why.into().trim_end()))
}
