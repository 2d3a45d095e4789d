//! The errors of a restore's local copy. They are faults of this machine, not of the provider's store.

use crate::error::VaultError;

/// Converts an error of the local copy.
pub(super) fn local_copy_error(error: impl Into<VaultError>) -> VaultError {
    match error.into() {
        VaultError::StoreFull => VaultError::LocalCopy("it is full".into()),
        VaultError::Refused(why) | VaultError::Unavailable(why) => VaultError::LocalCopy(why),
        other => other,
    }
}
