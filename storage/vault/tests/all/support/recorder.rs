//! Records each request to the store, and kills the sender at a chosen request.

use super::fragile_disk::{Crash, FragileDisk};
use super::intercepted::{Intercepted, Interceptor, Request};
use super::rng::TestRng;
use ameles_core::store::UntrustedError;
use ameles_vault::Vault;
use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// An event, in order. All events are public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceEvent {
    /// An opening of the vault begins; its disk has this checkpoint.
    Opens {
        checkpoint: u64,
    },
    IsOpen,
    /// The machine was lost, and a restore on another one begins. It draws positions again, or it moves no bucket.
    Restores {
        draws_again: bool,
    },
    /// The machine was lost. The events of its standby follow, which has started from this checkpoint.
    Follows {
        checkpoint: u64,
    },
    /// A client requests a batch of this many accesses.
    Batch(usize),
    /// The vault has begun this many accesses in all.
    Begun(u64),
    /// The client has its answers.
    Served,
    /// The request with this number is sent, in this step; the vault has published this checkpoint before.
    Asks {
        nth: usize,
        step: u64,
        request: Request,
        checkpoint: u64,
    },
    Answered(usize),
    /// The vault is dead. Some of the requests in flight may still arrive.
    Dies,
}

/// An event and its virtual time.
pub type TimedEvent = (Duration, TraceEvent);

/// The recorder. Clones share the events.
#[derive(Clone)]
pub struct Recorder {
    state: Rc<RefCell<RecorderState>>,
    dies: Rc<Notify>,
}

struct RecorderState {
    trace: Vec<TimedEvent>,
    begin: Instant,
    requests: usize,
    /// The vault's steps, and the number of them when the store last answered or the opening began.
    steps: u64,
    steps_before: u64,
    /// The number of requests until the sender is killed. Lease checks do not count, or an idle vault would be killed.
    left: Option<u64>,
    disk: Option<FragileDisk>,
    is_dead: bool,
    vault: Option<Vault>,
    checkpoint: u64,
    accesses: u64,
}

impl Recorder {
    pub fn new() -> Self {
        let state = RecorderState {
            trace: Vec::new(),
            begin: Instant::now(),
            requests: 0,
            steps: 0,
            steps_before: 0,
            left: None,
            disk: None,
            is_dead: false,
            vault: None,
            checkpoint: 0,
            accesses: 0,
        };
        Recorder { state: Rc::new(RefCell::new(state)), dies: Rc::default() }
    }

    /// Wraps the store for the next opening.
    pub fn over<S>(&self, inner: S) -> Intercepted<S, Recorder> {
        Intercepted { inner, interceptor: self.clone() }
    }

    /// Forgets all events.
    pub fn clear(&self) {
        let mut state = self.state.borrow_mut();
        state.trace.clear();
        state.requests = 0;
        state.begin = Instant::now();
    }

    pub fn note(&self, event: TraceEvent) {
        let mut state = self.state.borrow_mut();
        state.note_status();
        state.note(event);
    }

    /// Unplugs this disk when the vault is killed, so that the dead vault writes nothing more to it.
    pub fn unplug_when_killed(&self, disk: &FragileDisk) {
        self.state.borrow_mut().disk = Some(disk.clone());
    }

    /// Records that an opening begins. The vault is killed at the request with this number, if it makes that many.
    pub fn note_opening(&self, dies_after: Option<u64>) {
        self.die_after(dies_after);
        self.note_start(None);
    }

    /// Records that a restore begins, and is followed by an opening. They are killed together.
    pub fn note_restore(&self, draws_again: bool, dies_after: Option<u64>) {
        self.die_after(dies_after);
        let mut state = self.state.borrow_mut();
        state.steps_before = state.steps;
        state.note(TraceEvent::Restores { draws_again });
    }

    /// Records that the vault is opened, from this checkpoint if another one than the last that it has published.
    pub fn note_start(&self, checkpoint: Option<u64>) {
        let mut state = self.state.borrow_mut();
        state.checkpoint = checkpoint.unwrap_or(state.checkpoint);
        let checkpoint = state.checkpoint;
        state.steps_before = state.steps;
        state.note(TraceEvent::Opens { checkpoint });
    }

    /// Kills the sender at the request with this number from now on.
    pub fn die_after(&self, dies_after: Option<u64>) {
        let mut state = self.state.borrow_mut();
        (state.left, state.is_dead) = (dies_after, false);
    }

    pub fn is_open(&self, vault: &Vault) {
        let mut state = self.state.borrow_mut();
        state.vault = Some(vault.clone());
        state.note_status();
        state.note(TraceEvent::IsOpen);
    }

    /// Records that the vault is dead or was closed.
    pub fn note_end(&self) {
        let mut state = self.state.borrow_mut();
        state.note_status();
        state.vault = None;
        state.is_dead = true;
        state.note(TraceEvent::Dies);
    }

    /// Records that the vault was killed or lost power, and applies the crash to the disk.
    pub fn note_kill(&self, disk: &FragileDisk, rng: &mut TestRng) {
        disk.unplug();
        self.note_end();
        let how = rng.one_of(&[Crash::Kill, Crash::PowerLoss]);
        disk.crash(how, rng);
    }

    /// Counts the steps of a vault, or of its opening: how often it is polled.
    pub fn count_steps<V: Future>(&self, vault: V) -> impl Future<Output = V::Output> + use<V> {
        let (state, mut vault) = (self.state.clone(), Box::pin(vault));
        poll_fn(move |context| {
            state.borrow_mut().steps += 1;
            vault.as_mut().poll(context)
        })
    }

    /// Waits until the vault is killed.
    pub async fn death(&self) {
        while !self.state.borrow().is_dead {
            self.dies.notified().await;
        }
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Request> {
        let state = self.state.borrow();
        let request = |(_, event): &TimedEvent| match event {
            TraceEvent::Asks { request, .. } => Some(request.clone()),
            _ => None,
        };
        state.trace.iter().filter_map(request).collect()
    }

    /// The reads of buckets so far.
    pub fn reads(&self) -> Vec<Request> {
        self.requests().into_iter().filter(|request| matches!(request, Request::Read(_))).collect()
    }

    /// The numbers of the checkpoints whose manifests were fetched so far, or before the first object of the journal.
    pub fn fetched_checkpoints(&self, before_journal: bool) -> Vec<u64> {
        let is_of_journal =
            |request: &Request| matches!(request, Request::Get(name) if name.starts_with("log/"));
        let number = |request: &Request| match request {
            Request::Get(name) => {
                u64::from_str_radix(name.strip_prefix("checkpoint/")?.split_once('-')?.1, 16).ok()
            }
            _ => None,
        };
        let requests = self.requests();
        let considered = requests.iter().take_while(|request| !(before_journal && is_of_journal(request)));
        considered.filter_map(number).collect()
    }

    /// Takes the events so far.
    pub fn take_trace(&self) -> Vec<TimedEvent> {
        std::mem::take(&mut self.state.borrow_mut().trace)
    }

    /// Returns whether a vault is being opened: it has not published a checkpoint yet.
    pub fn is_opening(&self) -> bool {
        self.state.borrow().vault.is_none()
    }

    /// The requests since the last answer, the newest first.
    pub fn last_requests(&self) -> Vec<Request> {
        let state = self.state.borrow();
        let since =
            state.trace.iter().rev().take_while(|(_, event)| !matches!(event, TraceEvent::Answered(_)));
        let requests = since.filter_map(|(_, event)| match event {
            TraceEvent::Asks { request, .. } => Some(request.clone()),
            _ => None,
        });
        requests.collect()
    }

    async fn asks(&self, request: Request) -> usize {
        if self.state.borrow().is_dead {
            return pending().await;
        }
        let mut state = self.state.borrow_mut();
        state.note_status();
        let (nth, checkpoint) = (state.requests, state.checkpoint);
        state.requests += 1;
        let is_lease_check = request.is_lease_check();
        let step = state.steps - state.steps_before;
        state.note(TraceEvent::Asks { nth, step, request, checkpoint });
        if let Some(left) = state.left.as_mut().filter(|_| !is_lease_check) {
            *left -= 1;
            if *left == 0 {
                state.is_dead = true;
                if let Some(disk) = &state.disk {
                    disk.unplug();
                }
                self.dies.notify_one();
            }
        }
        nth
    }

    async fn answered(&self, nth: usize) {
        if self.state.borrow().is_dead {
            return pending().await;
        }
        self.note(TraceEvent::Answered(nth));
        let mut state = self.state.borrow_mut();
        state.steps_before = state.steps;
    }
}

impl RecorderState {
    fn note(&mut self, event: TraceEvent) {
        self.trace.push((self.begin.elapsed(), event));
    }

    /// Records the status: the vault publishes what it has begun and its checkpoint before any request that follows
    /// from them.
    fn note_status(&mut self) {
        let Some(status) = self.vault.as_ref().map(Vault::status) else { return };
        self.checkpoint = status.checkpoints.newest;
        if status.accesses != self.accesses {
            self.accesses = status.accesses;
            self.note(TraceEvent::Begun(status.accesses));
        }
    }
}

impl Interceptor for Recorder {
    async fn before(&self, request: &Request) -> Result<usize, UntrustedError> {
        Ok(self.asks(request.clone()).await)
    }

    async fn after(&self, _: &Request, nth: usize) {
        self.answered(nth).await;
    }
}
