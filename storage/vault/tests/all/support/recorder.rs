//! A watcher of the store that remembers each request, and kills its sender at a moment counted in requests.

use super::fragile_disk::{Crash, FragileDisk};
use super::rng::TestRng;
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError};
use ameles_core::tree::layout::Layout;
use ameles_core::types::Bytes;
use ameles_store::{Blob, BlobError, Blobs, Inventory};
use ameles_vault::Vault;
use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// A request to a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    Read(Vec<Place>),
    Write(Vec<BucketVersion>),
    Delete(Vec<BucketVersion>),
    Put { name: String, bytes: usize },
    PutIfAbsent { name: String, bytes: usize },
    Get(String),
    List(String),
    Remove(String),
    ListVersions,
    Sweep,
}

impl Request {
    /// Returns whether it is a look for a newer claim, which comes with time and not with what is asked.
    pub fn is_look(&self) -> bool {
        matches!(self, Request::Get(name) if name.starts_with("epoch/"))
    }
}

/// An event, in order. All of it is public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceEvent {
    /// The vault begins to be opened, after this checkpoint on its disk.
    Opens {
        checkpoint: u64,
    },
    IsOpen,
    /// A client asks for a batch of so many accesses.
    Batch(usize),
    /// The vault has begun so many accesses in all.
    Begun(u64),
    /// The client has got its answers.
    Served,
    /// The request of this number goes out, in this step; the vault has told of this checkpoint before.
    Asks {
        nth: usize,
        step: u64,
        request: Request,
        checkpoint: u64,
    },
    Answered(usize),
    /// The vault is dead. Some of the requests under way may still arrive.
    Dies,
}

/// A moment, and when it was in virtual time.
pub type TimedEvent = (Duration, TraceEvent);

/// The recorder; clones share what was seen.
#[derive(Clone)]
pub struct Recorder {
    state: Rc<RefCell<RecorderState>>,
    dies: Rc<Notify>,
}

struct RecorderState {
    trace: Vec<TimedEvent>,
    begin: Instant,
    requests: usize,
    /// Steps of the vault, and how many there had been when the store last answered or the vault began to be opened.
    steps: u64,
    steps_before: u64,
    /// Requests until the sender dies, but for looks: an idle vault would live on them.
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

    /// The store as the next opening sees it.
    pub fn over<S>(&self, inner: S) -> RecordedStore<S> {
        RecordedStore { inner, recorder: self.clone() }
    }

    /// Forgets all.
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

    /// Unplugs this disk at a death: a dead vault writes nothing more to it, not even until the others have their turn.
    pub fn unplugs(&self, disk: &FragileDisk) {
        self.state.borrow_mut().disk = Some(disk.clone());
    }

    /// Records that a vault begins to be opened; it dies with the request of this number, if it makes so many.
    pub fn opens(&self, dies_after: Option<u64>) {
        let mut state = self.state.borrow_mut();
        (state.left, state.is_dead) = (dies_after, false);
        let checkpoint = state.checkpoint;
        state.steps_before = state.steps;
        state.note(TraceEvent::Opens { checkpoint });
    }

    pub fn is_open(&self, vault: &Vault) {
        let mut state = self.state.borrow_mut();
        state.vault = Some(vault.clone());
        state.note_status();
        state.note(TraceEvent::IsOpen);
    }

    /// Records that the vault is dead, or was closed.
    pub fn is_gone(&self) {
        let mut state = self.state.borrow_mut();
        state.note_status();
        state.vault = None;
        state.is_dead = true;
        state.note(TraceEvent::Dies);
    }

    /// Records that the vault was killed or its machine lost its power, and leaves on the disk what that leaves.
    pub fn dies(&self, disk: &FragileDisk, rng: &mut TestRng) {
        disk.unplug();
        self.is_gone();
        let how = rng.one_of(&[Crash::Kill, Crash::PowerLoss]);
        disk.crash(how, rng);
    }

    /// Counts the steps of a vault, or of its opening: how often it goes on.
    pub fn counts_steps<V: Future>(&self, vault: V) -> impl Future<Output = V::Output> + use<V> {
        let (state, mut vault) = (self.state.clone(), Box::pin(vault));
        poll_fn(move |context| {
            state.borrow_mut().steps += 1;
            vault.as_mut().poll(context)
        })
    }

    /// Waits until the vault dies.
    pub async fn death(&self) {
        while !self.state.borrow().is_dead {
            self.dies.notified().await;
        }
    }

    pub fn take_trace(&self) -> Vec<TimedEvent> {
        std::mem::take(&mut self.state.borrow_mut().trace)
    }

    /// Returns whether a vault is being opened: it has not told its checkpoint yet.
    pub fn is_opening(&self) -> bool {
        self.state.borrow().vault.is_none()
    }

    /// The requests since something was last answered, the newest first.
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
        let is_look = request.is_look();
        let step = state.steps - state.steps_before;
        state.note(TraceEvent::Asks { nth, step, request, checkpoint });
        if let Some(left) = state.left.as_mut().filter(|_| !is_look) {
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

    /// Records the status: the vault publishes what it has begun and where it stands before any request that follows from
    /// it.
    fn note_status(&mut self) {
        let Some(status) = self.vault.as_ref().map(Vault::status) else { return };
        self.checkpoint = status.checkpoints.newest;
        if status.accesses != self.accesses {
            self.accesses = status.accesses;
            self.note(TraceEvent::Begun(status.accesses));
        }
    }
}

/// A store that is watched.
pub struct RecordedStore<S> {
    inner: S,
    recorder: Recorder,
}

impl<S> RecordedStore<S> {
    async fn pass<T>(&self, request: Request, inner: impl Future<Output = T>) -> T {
        let nth = self.recorder.asks(request).await;
        let answer = inner.await;
        self.recorder.answered(nth).await;
        answer
    }
}

impl<S: Untrusted> Untrusted for RecordedStore<S> {
    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        self.pass(Request::Read(places.to_vec()), self.inner.read(places, into)).await
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        self.pass(Request::Write(buckets.to_vec()), self.inner.write(buckets, from)).await
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        self.pass(Request::Delete(buckets.to_vec()), self.inner.delete(buckets)).await
    }
}

impl<S: Blobs> Blobs for RecordedStore<S> {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        let request = Request::Put { name: name.to_owned(), bytes: bytes.len() };
        self.pass(request, self.inner.put(name, bytes)).await
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        let request = Request::PutIfAbsent { name: name.to_owned(), bytes: bytes.len() };
        self.pass(request, self.inner.put_if_absent(name, bytes)).await
    }

    async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        self.pass(Request::Get(name.to_owned()), self.inner.get(name, max)).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError> {
        self.pass(Request::List(prefix.to_owned()), self.inner.list(prefix)).await
    }

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        self.pass(Request::Remove(name.to_owned()), self.inner.remove(name)).await
    }
}

impl<S: Inventory> Inventory for RecordedStore<S> {
    async fn list_bucket_versions(
        &self,
        found: &mut dyn FnMut(BucketVersion, Bytes),
    ) -> Result<u64, UntrustedError> {
        self.pass(Request::ListVersions, self.inner.list_bucket_versions(found)).await
    }

    async fn sweep_unfinished(&self) -> Result<u64, UntrustedError> {
        self.pass(Request::Sweep, self.inner.sweep_unfinished()).await
    }
}
