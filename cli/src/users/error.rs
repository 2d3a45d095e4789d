//! The reason why users cannot be changed.

use crate::users::file::UsersFileError;

/// The most bytes of a password: more than any has, and less than would hurt.
pub(crate) const MAX_PASSWORD_BYTES: u64 = 4096;

/// The reason why a user cannot be added or changed.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    /// There is a user of this name.
    #[error("{0} is there already: `ameles user password` and `ameles user keys` change a user")]
    Exists(String),
    /// There is no user of this name.
    #[error("there is no user {0}: `ameles user list` names all")]
    Missing(String),
    /// The user is the only one.
    #[error("{0} is the only user: add another one first, or nobody could use the vault")]
    Last(String),
    /// The user has no such key.
    #[error("the user has no access key of this name: `ameles user list` names all")]
    MissingKey,
    /// Standard input holds no password.
    #[error(
        "standard input holds no password: its first line must be one, of at most {MAX_PASSWORD_BYTES} bytes"
    )]
    NoPassword,
    /// The file of users cannot be used.
    #[error(transparent)]
    File(#[from] UsersFileError),
}
