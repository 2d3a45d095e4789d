//! The requests of callers to a session.

use crate::engine::Answers;
use crate::engine::record::Call;
use crate::error::VaultError;
use crate::session::check::{Progress, Report};
use crate::session::queue::Flow;
use crate::trusted::checkpoint::Receipt;
use crate::trusted::unlogged_commits::CommitId;
use tokio::sync::oneshot;

/// The treatment of a session's last checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtClose {
    /// Ships it to the store.
    Ship,
    /// Leaves it on the trusted disk.
    Keep,
}

/// The channel back to a caller.
pub(super) type Reply<T> = oneshot::Sender<Result<T, VaultError>>;

/// A caller's request to a session.
pub(crate) enum Command {
    /// Carries out calls, at most a batch of them. They were checked before.
    Access(Option<Flow>, Vec<Call>, Reply<Answers>),
    /// Waits until the journal in the store holds this commit of rows.
    Log(CommitId, Reply<()>),
    /// Makes a checkpoint now, and ships it.
    Checkpoint(Reply<Receipt>),
    /// Reads and authenticates everything in the store.
    Check(Progress, Reply<Report>),
    /// Finishes the accepted requests, ships a checkpoint unless told otherwise, and ends the session.
    Close(AtClose, Reply<Receipt>),
    /// Stops at once: this machine was resumed from a snapshot.
    StopResumed,
    /// Stops at once: a commit of rows has found that the disk failed.
    Fail(VaultError),
}

impl Command {
    /// Tells the caller why its command was not carried out.
    pub(super) fn refuse(self, why: &VaultError) {
        // A caller that has gone away needs no answer.
        match self {
            Command::Access(_, _, reply) => drop(reply.send(Err(why.clone()))),
            Command::Log(_, reply) => drop(reply.send(Err(why.clone()))),
            Command::Check(_, reply) => drop(reply.send(Err(why.clone()))),
            Command::Checkpoint(reply) | Command::Close(_, reply) => drop(reply.send(Err(why.clone()))),
            Command::StopResumed | Command::Fail(_) => {}
        }
    }
}
