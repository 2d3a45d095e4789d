//! Errors for which a path that a flag names is to blame.

use std::io;

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
