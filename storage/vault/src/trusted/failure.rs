//! The failures of the database, and the first of them.
//!
//! After one failure of the file, redb refuses everything, and does not give the reason any more. Of two concurrent
//! callers, one may be refused before the other has got the reason. So the reason is recorded below redb, before any
//! caller is refused.

use crate::error::VaultError;
use crate::error_reason::ErrorReason;
use std::io::{self, ErrorKind};
use std::sync::{Arc, OnceLock};

/// The first failure of the database's file. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct FirstFailure(Arc<OnceLock<VaultError>>);

impl FirstFailure {
    /// Records a failure if it is the first, and returns the result.
    pub(super) fn note<T>(&self, done: io::Result<T>) -> io::Result<T> {
        done.inspect_err(|error| {
            self.0.get_or_init(|| failure(redb::Error::Io(copy(error))));
        })
    }

    /// The reason of a database error.
    pub(super) fn explain(&self, error: redb::Error) -> VaultError {
        match (error, self.0.get()) {
            (redb::Error::PreviousIo, Some(first)) => first.clone(),
            (error, _) => failure(error),
        }
    }
}

fn copy(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(number) => io::Error::from_raw_os_error(number),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

/// Returns whether the disk had no room.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// Converts a database error.
pub(super) fn failure(error: impl Into<redb::Error>) -> VaultError {
    match error.into() {
        redb::Error::DatabaseAlreadyOpen => VaultError::Locked,
        redb::Error::Io(io) if is_full(&io) => VaultError::DiskFull,
        redb::Error::Io(io) if matches!(io.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof) => {
            VaultError::Damaged(ErrorReason::of(io))
        }
        redb::Error::Corrupted(what) => VaultError::Damaged(what.into()),
        upgrade @ redb::Error::UpgradeRequired(_) => VaultError::Damaged(ErrorReason::of(upgrade)),
        other => VaultError::Disk(ErrorReason::of(other)),
    }
}
