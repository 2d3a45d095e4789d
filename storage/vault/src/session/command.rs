//! The requests of callers to a session.

use crate::engine::Answers;
use crate::engine::record::Call;
use crate::error::VaultError;
use crate::session::check::{Progress, Report};
use crate::session::queue::Flow;
use crate::trusted::checkpoint::Receipt;
use crate::trusted::unlogged::CommitId;
use tokio::sync::oneshot;

/// The way back to a caller.
pub(super) type Reply<T> = oneshot::Sender<Result<T, VaultError>>;

/// A caller's request to a session.
pub(crate) enum Command {
    /// Calls, at most a batch of them, checked before.
    Access(Option<Flow>, Vec<Call>, Reply<Answers>),
    /// Waits until the journal in the store holds this commit of rows.
    Log(CommitId, Reply<()>),
    /// A checkpoint now, shipped.
    Checkpoint(Reply<Receipt>),
    /// Reads and authenticates everything in the store.
    Check(Progress, Reply<Report>),
    /// Finish, ship a checkpoint, end.
    Close(Reply<Receipt>),
    /// Stop at once: this machine was resumed from a snapshot.
    StopResumed,
    /// Stop at once: a commit of rows has found that the disk has failed.
    Fail(VaultError),
}

impl Command {
    /// Tells the caller why nothing comes of it.
    pub(super) fn refuse(self, why: &VaultError) {
        // A caller that has gone away needs no answer.
        match self {
            Command::Access(_, _, reply) => drop(reply.send(Err(why.clone()))),
            Command::Log(_, reply) => drop(reply.send(Err(why.clone()))),
            Command::Check(_, reply) => drop(reply.send(Err(why.clone()))),
            Command::Checkpoint(reply) | Command::Close(reply) => drop(reply.send(Err(why.clone()))),
            Command::StopResumed | Command::Fail(_) => {}
        }
    }
}
