//! The events of a session, and the tasks that end in one.

use super::command::Reply;
use super::upload::{CheckpointUpload, UploadedCheckpoint};
use crate::engine::deferred_store::OperationId;
use crate::error::VaultError;
use crate::session::check::Report;
use crate::trusted::position::Position;
use ameles_seal::error::SealError;
use futures::future::LocalBoxFuture;
use std::time::Duration;

/// The result of work outside the session's thread.
pub(super) enum Event {
    /// The records of the oldest flush are durable.
    Durable(Result<(), VaultError>),
    Operation(OperationId, Result<Vec<u8>, SealError>),
    Sealed(Result<Box<CheckpointUpload>, VaultError>),
    PieceSent(Result<Box<CheckpointUpload>, VaultError>),
    Shipped(Result<Box<UploadedCheckpoint>, VaultError>),
    Deleted(Result<(), VaultError>),
    Checked(Result<Report, VaultError>, Reply<Report>),
    LeaseChecked(Result<(), VaultError>),
    /// The log object at this position is in the store. It was sent at this time of the lease's clock.
    Logged(Result<(Position, Duration), VaultError>),
    /// The payloads of the log object at this position are in the store.
    PayloadsStored(Result<Position, VaultError>),
    KeyChanged(Result<(), VaultError>),
}

impl Event {
    /// Returns whether it shows that the store can be reached. Log objects may be elsewhere.
    pub(super) fn is_answer_of_store(&self) -> bool {
        match self {
            Event::Operation(_, answer) => answer.is_ok(),
            Event::PayloadsStored(stored) => stored.is_ok(),
            Event::PieceSent(sent) => sent.is_ok(),
            Event::Shipped(shipped) => shipped.is_ok(),
            Event::LeaseChecked(checked) => checked.is_ok(),
            Event::Durable(_)
            | Event::Sealed(_)
            | Event::Deleted(_)
            | Event::Checked(..)
            | Event::Logged(_)
            | Event::KeyChanged(_) => false,
        }
    }
}

/// A future that ends in an event.
pub(super) type Task = LocalBoxFuture<'static, Event>;
