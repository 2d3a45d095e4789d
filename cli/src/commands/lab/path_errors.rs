//! Errors for which a path that a flag names is to blame.

use std::io;

/// Tells whether a path that a flag names is to blame for an error, and not the machine.
pub(super) fn is_path_error(error: &io::Error) -> bool {
    use io::ErrorKind::{
        InvalidFilename, IsADirectory, NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem,
    };
    matches!(
        error.kind(),
        InvalidFilename | IsADirectory | NotADirectory | NotFound | PermissionDenied | ReadOnlyFilesystem
    )
}
