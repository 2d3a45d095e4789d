//! The errors of the local copy that a restore makes: it is no untrusted store, and nothing that the provider did.

use crate::error::VaultError;

/// Tells a failure of the local copy from one of the store.
pub(super) fn local_copy_error(error: impl Into<VaultError>) -> VaultError {
    match error.into() {
        VaultError::StoreFull => VaultError::LocalCopy("it is full".into()),
        VaultError::Refused(why) | VaultError::Unavailable(why) => VaultError::LocalCopy(why),
        other => other,
    }
}
