//! The connections that a server has: never more than a limit, and an idle one makes room for a new one.

use crate::http::admission::Entrance;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// The time that a full server waits before it looks for an idle connection again.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// A server that stays full says so once in this time.
const SAY_AGAIN: Duration = Duration::from_secs(60);

/// The state of a connection, for the code that may have to end it.
#[derive(Debug)]
pub(crate) struct Presence {
    doing: Mutex<Doing>,
    leave: Notify,
}

#[derive(Clone, Copy, Debug)]
enum Doing {
    /// Since then it agrees on TLS, or waits for the head of its first request: nothing was ever answered.
    Arriving(Instant),
    /// It waits for the head of another request, since then.
    Idle(Instant),
    /// A request is being answered, or its client is taking the answer.
    Answering,
    /// It was told to end; a request that is under way is finished before.
    Leaving,
    /// It was told to end before it had answered anything.
    Unwanted,
}

impl Presence {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Presence { doing: Mutex::new(Doing::Arriving(Instant::now())), leave: Notify::new() })
    }

    /// A request has come; until the answer is dropped, it is being answered.
    pub(crate) fn answering(self: &Arc<Self>) -> Answering {
        self.set(Doing::Answering);
        Answering { presence: Arc::clone(self), _entrance: None }
    }

    fn set(&self, next: Doing) {
        let mut doing = self.lock();
        if !matches!(*doing, Doing::Leaving | Doing::Unwanted) {
            *doing = next;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Doing> {
        self.doing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn idle_since(&self) -> Option<Instant> {
        match *self.lock() {
            Doing::Arriving(since) | Doing::Idle(since) => Some(since),
            Doing::Answering | Doing::Leaving | Doing::Unwanted => None,
        }
    }

    fn end(&self) {
        let mut doing = self.lock();
        *doing = match *doing {
            Doing::Arriving(_) | Doing::Unwanted => Doing::Unwanted,
            Doing::Idle(_) | Doing::Answering | Doing::Leaving => Doing::Leaving,
        };
        self.leave.notify_one();
    }

    /// Returns when it is told to end: `true` if it may do so at once, since no client waits for an answer.
    pub(crate) async fn told_to_end(&self) -> bool {
        self.leave.notified().await;
        matches!(*self.lock(), Doing::Unwanted)
    }
}

/// A request that is being answered. Dropped when its answer was handed over, or given up.
#[derive(Debug)]
pub(crate) struct Answering {
    presence: Arc<Presence>,
    /// Its places, which are free again with the last clone.
    _entrance: Option<Entrance>,
}

impl Answering {
    /// It keeps the places that it takes at this entrance.
    pub(crate) fn at(mut self, entrance: Entrance) -> Self {
        self._entrance = Some(entrance);
        self
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.presence.set(Doing::Idle(Instant::now()));
    }
}

/// All connections of a server.
pub(crate) struct Connections {
    max: usize,
    tasks: JoinSet<()>,
    present: Vec<Weak<Presence>>,
    said: Option<Instant>,
}

impl Connections {
    pub(crate) fn new(max: usize) -> Self {
        Connections { max: max.max(1), tasks: JoinSet::new(), present: Vec::new(), said: None }
    }

    /// Returns once there is room for another one. While there is none, the connection that has been idle for longest
    /// is ended. May be dropped at any time.
    pub(crate) async fn room(&mut self) {
        loop {
            while self.tasks.try_join_next().is_some() {}
            if self.tasks.len() < self.max {
                return;
            }
            let ended = self.end_longest_idle();
            if self.said.is_none_or(|said| said.elapsed() > SAY_AGAIN) {
                self.said = Some(Instant::now());
                let max = self.max;
                if ended {
                    tracing::warn!(max, "all connections are taken: idle ones are ended to make room");
                } else {
                    tracing::warn!(max, "all connections are taken and none is idle: new ones wait");
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

    /// Serves a connection to its end. It ends by itself when its presence is told to.
    pub(crate) fn serve(
        &mut self,
        presence: &Arc<Presence>,
        connection: impl Future<Output = ()> + Send + 'static,
    ) {
        self.present.retain(|presence| presence.strong_count() > 0);
        self.present.push(Arc::downgrade(presence));
        self.tasks.spawn(connection);
    }

    /// Ends all of them: the idle ones at once, the others when their answer was taken, or when the time is over.
    pub(crate) async fn end(mut self, grace: Duration) {
        self.present.iter().filter_map(Weak::upgrade).for_each(|presence| presence.end());
        let all_ended = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, all_ended).await.is_err() {
            tracing::warn!("requests under way were cut off: the time to finish them is over");
        }
        self.tasks.shutdown().await;
    }
}
