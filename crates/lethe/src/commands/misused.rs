//! Flags that cannot be meant.

use clap::error::ErrorKind;
use std::io;

/// The error of flags that cannot be meant, with which the command line ends as for a mistyped one.
pub(super) fn misused(why: impl Into<String>) -> clap::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("{}\n", why.into().trim_end()))
}

/// Tells whether a path that a flag names is to blame for an error, and not the machine.
pub(super) fn blames_the_path(error: &io::Error) -> bool {
    use io::ErrorKind::{
        InvalidFilename, IsADirectory, NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem,
    };
    matches!(
        error.kind(),
        InvalidFilename | IsADirectory | NotADirectory | NotFound | PermissionDenied | ReadOnlyFilesystem
    )
}
