//! The connections that a server has: never more than a limit, and an idle one makes room for a new one.

use hyper_util::server::graceful::GracefulConnection;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// How long a full server waits before it looks for an idle connection again.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// A server that stays full says so once in this time.
const SAY_AGAIN: Duration = Duration::from_secs(60);

/// What a connection is doing, for whoever may have to end it.
#[derive(Debug)]
pub(crate) struct Presence {
    doing: Mutex<Doing>,
    leave: Notify,
}

#[derive(Clone, Copy, Debug)]
enum Doing {
    /// It waits for the head of a request, or its client takes an answer, since then.
    Idle(Instant),
    Answering,
    /// It was told to end; a request that is under way is finished before.
    Leaving,
}

impl Presence {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Presence { doing: Mutex::new(Doing::Idle(Instant::now())), leave: Notify::new() })
    }

    pub(crate) fn answering(&self) {
        self.set(Doing::Answering);
    }

    pub(crate) fn idle(&self) {
        self.set(Doing::Idle(Instant::now()));
    }

    fn set(&self, next: Doing) {
        let mut doing = self.doing.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*doing, Doing::Leaving) {
            *doing = next;
        }
    }

    fn idle_since(&self) -> Option<Instant> {
        match *self.doing.lock().unwrap_or_else(PoisonError::into_inner) {
            Doing::Idle(since) => Some(since),
            Doing::Answering | Doing::Leaving => None,
        }
    }

    fn end(&self) {
        *self.doing.lock().unwrap_or_else(PoisonError::into_inner) = Doing::Leaving;
        self.leave.notify_one();
    }
}

/// All connections of a server.
pub(crate) struct Connections {
    most: usize,
    tasks: JoinSet<()>,
    present: Vec<Weak<Presence>>,
    said: Option<Instant>,
}

impl Connections {
    pub(crate) fn new(most: usize) -> Self {
        Connections { most: most.max(1), tasks: JoinSet::new(), present: Vec::new(), said: None }
    }

    /// Returns once there is room for another one. While there is none, the connection that has been idle for longest
    /// is ended. May be dropped at any time.
    pub(crate) async fn room(&mut self) {
        loop {
            while self.tasks.try_join_next().is_some() {}
            if self.tasks.len() < self.most {
                return;
            }
            let ended = self.end_longest_idle();
            if self.said.is_none_or(|said| said.elapsed() > SAY_AGAIN) {
                self.said = Some(Instant::now());
                let most = self.most;
                if ended {
                    tracing::warn!(most, "all connections are taken: idle ones are ended to make room");
                } else {
                    tracing::warn!(most, "all connections are taken and none is idle: new ones wait");
                }
            }
            let _ = tokio::time::timeout(LOOK_AGAIN, self.tasks.join_next()).await;
        }
    }

    fn end_longest_idle(&mut self) -> bool {
        self.present.retain(|presence| presence.strong_count() > 0);
        let present = self.present.iter().filter_map(Weak::upgrade);
        let idle = present.filter_map(|presence| Some((presence.idle_since()?, presence)));
        let longest = idle.min_by_key(|(since, _)| *since);
        longest.inspect(|(_, presence)| presence.end()).is_some()
    }

    /// Serves a connection to its end.
    pub(crate) fn serve<C>(&mut self, connection: C, presence: Arc<Presence>)
    where
        C: GracefulConnection<Error = hyper::Error> + Send + 'static,
    {
        self.present.retain(|presence| presence.strong_count() > 0);
        self.present.push(Arc::downgrade(&presence));
        self.tasks.spawn(async move {
            let mut connection = pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = presence.leave.notified() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }

    /// Ends all of them: the idle ones at once, the others when their request is answered, or when the time is over.
    pub(crate) async fn end(mut self, grace: Duration) {
        self.present.iter().filter_map(Weak::upgrade).for_each(|presence| presence.end());
        let all_ended = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, all_ended).await.is_err() {
            tracing::warn!("requests under way were cut off: the time to finish them is over");
        }
        self.tasks.shutdown().await;
    }
}
