//! Pacers outside the vault, most of them deliberately broken.
//!
//! Each sends batches to a vault that is not paced itself: the vault's work follows from the batches.

use ameles_vault::{Call, Vault};
use bytes::Bytes;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep_until};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// The vault's own pacer.
    Sound,
    /// The test's own pacer, without a flaw.
    SoundOutside,
    /// A turn in which no client waits is skipped.
    SkipsIdleTurns,
    /// A full batch is sent at once.
    SendsEarlyWhenBusy,
    /// Batches are not filled up; an idle turn is one dummy.
    BatchesAsLongAsAsked,
}

type Answers = Vec<Option<Bytes>>;
type Request = (Vec<Call>, oneshot::Sender<Answers>);

/// The interface that clients use.
#[derive(Clone)]
pub enum ClientSide {
    Vault(Vault),
    Queue(Queue),
}

/// Requests that wait for a pacer.
#[derive(Clone, Default)]
pub struct Queue {
    waiting: Rc<RefCell<VecDeque<Request>>>,
    more: Rc<Notify>,
}

impl ClientSide {
    /// The answers; `None` if the vault has stopped.
    pub async fn access(&self, calls: Vec<Call>) -> Option<Answers> {
        match self {
            ClientSide::Vault(vault) => vault.access(calls).await.ok(),
            ClientSide::Queue(queue) => {
                let (reply, answers) = oneshot::channel();
                queue.waiting.borrow_mut().push_back((calls, reply));
                queue.more.notify_one();
                answers.await.ok()
            }
        }
    }
}

/// Sends batches to the vault until `until`.
pub async fn pace(pacing: Pacing, vault: Vault, queue: Queue, turn: Duration, until: Instant) {
    let mut due = Instant::now() + turn;
    while due < until {
        let is_full = || {
            let waiting: usize = queue.waiting.borrow().iter().map(|(calls, _)| calls.len()).sum();
            pacing == Pacing::SendsEarlyWhenBusy && waiting >= vault.max_batch()
        };
        tokio::select! {
            biased;
            () = sleep_until(due) => due += turn,
            () = queue.more.notified() => if !is_full() { continue },
        }
        let (mut batch, mut replies) = (Vec::new(), Vec::new());
        while let Some((calls, reply)) = queue
            .waiting
            .borrow_mut()
            .pop_front_if(|(calls, _)| batch.len() + calls.len() <= vault.max_batch())
        {
            replies.push((calls.len(), reply));
            batch.extend(calls);
        }
        match pacing {
            Pacing::SkipsIdleTurns if batch.is_empty() => continue,
            Pacing::BatchesAsLongAsAsked if batch.is_empty() => batch.push(Call::Dummy),
            Pacing::BatchesAsLongAsAsked => {}
            _ => batch.resize(vault.max_batch(), Call::Dummy),
        }
        let vault = vault.clone();
        spawn_local(async move {
            let Ok(answers) = vault.access(batch).await else { return };
            let mut answers = answers.into_iter();
            for (calls, reply) in replies {
                let _ = reply.send(answers.by_ref().take(calls).collect());
            }
        });
    }
}
