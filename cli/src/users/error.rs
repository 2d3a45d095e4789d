//! The errors of changes of users.

use crate::users::file::UsersFileError;

/// The maximum bytes of a password.
pub(crate) const MAX_PASSWORD_BYTES: u64 = 4096;

/// The error of adding or changing a user.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    /// A user with this name exists.
    #[error("{0} already exists: change a user with `ameles user password` or `ameles user keys`")]
    Exists(String),
    /// No user has this name.
    #[error("there is no user {0}: list all users with `ameles user list`")]
    Missing(String),
    /// The user is the only one.
    #[error("{0} is the only user: add another user first")]
    Last(String),
    /// The user has no such key.
    #[error("the user has no such access key: list all keys with `ameles user list`")]
    MissingKey,
    /// Standard input has no password.
    #[error(
        "standard input has no password: its first line must be a password of at most {MAX_PASSWORD_BYTES} bytes"
    )]
    NoPassword,
    /// The file of users cannot be used.
    #[error(transparent)]
    File(#[from] UsersFileError),
}
