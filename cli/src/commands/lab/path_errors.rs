//! Errors that the path of a flag causes.

use std::io;

/// Returns true if an error is caused by the path of a flag, and not by the machine.
pub(super) fn is_path_error(error: &io::Error) -> bool {
    use io::ErrorKind::{
        InvalidFilename, IsADirectory, NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem,
    };
    matches!(
        error.kind(),
        InvalidFilename | IsADirectory | NotADirectory | NotFound | PermissionDenied | ReadOnlyFilesystem
    )
}
