//! The events that a session waits for, and the tasks that end in one.

use super::command::Reply;
use super::upload::CheckpointUpload;
use crate::engine::deferred_store::OperationId;
use crate::error::VaultError;
use crate::session::check::Report;
use crate::trusted::checkpoint::ShippedCheckpoint;
use ameles_seal::error::SealError;
use futures::future::LocalBoxFuture;

/// The end of a piece of work in the outside world.
pub(super) enum Event {
    Operation(OperationId, Result<Vec<u8>, SealError>),
    Sealed(Result<Box<CheckpointUpload>, VaultError>),
    PieceSent(Result<Box<CheckpointUpload>, VaultError>),
    Shipped(Result<ShippedCheckpoint, VaultError>),
    Deleted(Result<(), VaultError>),
    Checked(Result<Report, VaultError>, Reply<Report>),
    LeaseChecked(Result<(), VaultError>),
    Logged(Result<(), VaultError>),
    KeyChanged(Result<(), VaultError>),
}

/// A request that ends in an event.
pub(super) type Task = LocalBoxFuture<'static, Event>;
