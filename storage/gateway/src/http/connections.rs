//! The connections of a server: at most a fixed number, and an idle one makes room for a new one.

use crate::http::admission::RequestAdmission;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// The interval at which a full server looks for an idle connection.
const IDLE_POLL: Duration = Duration::from_millis(100);
/// The interval at which a full server logs a warning.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// The state of a connection, for the code that may have to end it.
#[derive(Debug)]
pub(crate) struct ConnectionHandle {
    state: Mutex<ConnectionState>,
    end_requested: Notify,
}

#[derive(Clone, Copy, Debug)]
enum ConnectionState {
    /// The connection negotiates TLS, or waits for the head of its first request, since this time. It has answered
    /// nothing yet.
    Connecting(Instant),
    /// The connection waits for the head of another request since this time.
    Idle(Instant),
    /// The server answers a request, or the client still receives the answer.
    Answering,
    /// The connection must end after the current request.
    Ending,
    /// The connection must end, and it has not answered anything.
    Discarded,
}

impl ConnectionHandle {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(ConnectionHandle {
            state: Mutex::new(ConnectionState::Connecting(Instant::now())),
            end_requested: Notify::new(),
        })
    }

    /// Marks the connection as answering, until the guard is dropped.
    pub(crate) fn answering(self: &Arc<Self>) -> AnsweringGuard {
        self.set(ConnectionState::Answering);
        AnsweringGuard { handle: Arc::clone(self), _admission: None }
    }

    fn set(&self, next: ConnectionState) {
        let mut state = self.state.lock();
        if !matches!(*state, ConnectionState::Ending | ConnectionState::Discarded) {
            *state = next;
        }
    }

    fn idle_since(&self) -> Option<Instant> {
        match *self.state.lock() {
            ConnectionState::Connecting(since) | ConnectionState::Idle(since) => Some(since),
            ConnectionState::Answering | ConnectionState::Ending | ConnectionState::Discarded => None,
        }
    }

    fn end(&self) {
        let mut state = self.state.lock();
        *state = match *state {
            ConnectionState::Connecting(_) | ConnectionState::Discarded => ConnectionState::Discarded,
            ConnectionState::Idle(_) | ConnectionState::Answering | ConnectionState::Ending => {
                ConnectionState::Ending
            }
        };
        self.end_requested.notify_one();
    }

    /// Waits until the connection must end. Returns `true` if it may end at once, because no client waits for an
    /// answer.
    pub(crate) async fn wait_for_end(&self) -> bool {
        self.end_requested.notified().await;
        matches!(*self.state.lock(), ConnectionState::Discarded)
    }
}

/// The guard of a request that is being answered. It is dropped when the answer was sent or given up.
#[derive(Debug)]
pub(crate) struct AnsweringGuard {
    handle: Arc<ConnectionHandle>,
    /// The permits of the request, which are free again with the last clone.
    _admission: Option<RequestAdmission>,
}

impl AnsweringGuard {
    /// Keeps the permits of this admission while the guard exists.
    pub(crate) fn with_admission(mut self, request_admission: RequestAdmission) -> Self {
        self._admission = Some(request_admission);
        self
    }
}

impl Drop for AnsweringGuard {
    fn drop(&mut self) {
        self.handle.set(ConnectionState::Idle(Instant::now()));
    }
}

/// All connections of a server.
pub(crate) struct Connections {
    max: usize,
    tasks: JoinSet<()>,
    handles: Vec<Weak<ConnectionHandle>>,
    last_warning: Option<Instant>,
}

impl Connections {
    pub(crate) fn new(max: usize) -> Self {
        Connections { max: max.max(1), tasks: JoinSet::new(), handles: Vec::new(), last_warning: None }
    }

    /// Returns when there is room for another connection. If there is none, ends the connection that has been idle for
    /// longest. The future may be dropped at any time.
    pub(crate) async fn wait_for_room(&mut self) {
        loop {
            while self.tasks.try_join_next().is_some() {}
            if self.tasks.len() < self.max {
                return;
            }
            let ended = self.end_longest_idle();
            if self.last_warning.is_none_or(|last_warning| last_warning.elapsed() > WARNING_INTERVAL) {
                self.last_warning = Some(Instant::now());
                let max = self.max;
                if ended {
                    tracing::warn!(max, "all connections are in use: idle ones are closed to make room");
                } else {
                    tracing::warn!(max, "all connections are in use and none is idle: new ones wait");
                }
            }
            let _ = tokio::time::timeout(IDLE_POLL, self.tasks.join_next()).await;
        }
    }

    fn end_longest_idle(&mut self) -> bool {
        self.handles.retain(|handle| handle.strong_count() > 0);
        let handles = self.handles.iter().filter_map(Weak::upgrade);
        let idle = handles.filter_map(|handle| Some((handle.idle_since()?, handle)));
        let longest = idle.min_by_key(|(since, _)| *since);
        longest.inspect(|(_, handle)| handle.end()).is_some()
    }

    /// Serves a connection to its end. It ends by itself when its handle requests that.
    pub(crate) fn serve(
        &mut self,
        handle: &Arc<ConnectionHandle>,
        connection: impl Future<Output = ()> + Send + 'static,
    ) {
        self.handles.retain(|handle| handle.strong_count() > 0);
        self.handles.push(Arc::downgrade(handle));
        self.tasks.spawn(connection);
    }

    /// Ends all connections: the idle ones at once, the others when their answer was received or the grace period is
    /// over. Returns true if no running request was aborted.
    pub(crate) async fn end(mut self, grace: Duration) -> bool {
        self.handles.iter().filter_map(Weak::upgrade).for_each(|handle| handle.end());
        let all_ended = async { while self.tasks.join_next().await.is_some() {} };
        let have_finished = tokio::time::timeout(grace, all_ended).await.is_ok();
        if !have_finished {
            tracing::warn!("running requests were aborted: the shutdown timeout has expired");
        }
        self.tasks.shutdown().await;
        have_finished
    }
}
