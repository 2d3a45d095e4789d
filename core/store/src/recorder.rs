//! The trace: every request that passes through here, as an observer of the store sees it.

use crate::blobs::{Blob, BlobError, Blobs, Inventory};
use crate::requests::{RangeRequest, range_requests};
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError, split_buckets};
use ameles_core::tree::layout::Layout;
use ameles_core::types::Bytes;
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// A request: what is done, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Request {
    /// A range of slots is read.
    Read(RangeRequest),
    /// A bucket version is written whole.
    Write(BucketVersion),
    /// A bucket version is removed.
    Delete(BucketVersion),
    /// A blob is written.
    PutBlob(String),
    /// A blob is written if there is none.
    CreateBlob(String),
    /// A blob is read.
    GetBlob(String),
    /// Blobs are listed by the start of their names.
    ListBlobs(String),
    /// A blob is removed.
    DeleteBlob(String),
    /// All bucket versions are listed.
    ListVersions,
}

/// A request of the trace; its place in the trace is its place in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The call that made it, from 0. The requests of one call go out together.
    pub call: u64,
    /// The round that it belongs to, from 0: a new round begins with the first request after some call was answered. So
    /// all requests of a round went out before any of them was answered.
    pub round: u64,
    /// The time when it went out, by the caller's clock if there is one.
    pub at: Option<Duration>,
    /// The request itself.
    pub request: Request,
    /// The number of bytes of payload that it moves: up for writes, down for reads. Lists and removals count none, and
    /// a blob that was read counts once it is there.
    pub bytes: Bytes,
    /// The SHA-256 of the payload of a write, if that is recorded.
    pub digest: Option<[u8; 32]>,
}

/// A recorded trace. A clone is another handle on the same trace.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    recorded: Arc<Mutex<Recorded>>,
}

#[derive(Debug, Default)]
struct Recorded {
    events: Vec<Event>,
    calls: u64,
    round: u64,
    /// True if some call was answered since the last request went out.
    answered: bool,
    /// The number of calls of [`take`](Trace::take). A request that was removed from the trace no longer changes when
    /// its answer comes.
    takes: u64,
}

impl Trace {
    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock().expect("no holder of the trace panicked")
    }

    /// A copy of all requests so far.
    pub fn events(&self) -> Vec<Event> {
        self.lock().events.clone()
    }

    /// The requests so far, without times and sizes.
    pub fn requests(&self) -> Vec<Request> {
        self.lock().events.iter().map(|event| event.request.clone()).collect()
    }

    /// Takes all requests so far out of the trace. Calls and rounds count on.
    pub fn take(&self) -> Vec<Event> {
        let mut recorded = self.lock();
        recorded.takes += 1;
        std::mem::take(&mut recorded.events)
    }

    /// The number of requests.
    pub fn len(&self) -> usize {
        self.lock().events.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lock().events.is_empty()
    }
}

/// A store that records each request to the store below.
///
/// A call that reads, writes or removes nothing makes no request and is not recorded.
pub struct Recorder<S> {
    inner: S,
    trace: Trace,
    clock: Option<Box<dyn Fn() -> Duration + Send>>,
    digests: bool,
}

impl<S> Recorder<S> {
    /// Records the requests to `inner`, without times and digests.
    pub fn new(inner: S) -> Self {
        Recorder { inner, trace: Trace::default(), clock: None, digests: false }
    }

    /// Records the time of each request by `clock`.
    pub fn with_clock(mut self, clock: impl Fn() -> Duration + Send + 'static) -> Self {
        self.clock = Some(Box::new(clock));
        self
    }

    /// Records the SHA-256 of the written bytes, so that two traces can be compared in their ciphertext too.
    pub fn with_digests(mut self) -> Self {
        self.digests = true;
        self
    }

    /// Appends to an existing trace, for instance that of a store before it was reopened.
    pub fn with_trace(mut self, trace: Trace) -> Self {
        self.trace = trace;
        self
    }

    /// A handle on the trace.
    pub fn trace(&self) -> Trace {
        self.trace.clone()
    }

    /// The store below.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    fn digest(&self, bytes: &[u8]) -> Option<[u8; 32]> {
        self.digests.then(|| Sha256::digest(bytes).into())
    }

    /// Records the requests of one call.
    fn note(&self, requests: impl Iterator<Item = (Request, Bytes, Option<[u8; 32]>)>) -> Noted<'_> {
        let at = self.clock.as_ref().map(|clock| clock());
        let mut recorded = self.trace.lock();
        let before = recorded.events.len();
        let (call, mut round) = (recorded.calls, recorded.round);
        if recorded.answered {
            round += 1;
        }
        recorded.events.extend(requests.map(|(request, bytes, digest)| Event {
            call,
            round,
            at,
            request,
            bytes,
            digest,
        }));
        let noted = recorded.events.len() > before;
        if noted {
            recorded.calls += 1;
            recorded.round = round;
            recorded.answered = false;
        }
        Noted {
            trace: &self.trace,
            noted,
            taking: recorded.takes,
            last: recorded.events.len().saturating_sub(1),
        }
    }

    fn note_one(&self, request: Request, bytes: u64, digest: Option<[u8; 32]>) -> Noted<'_> {
        self.note(std::iter::once((request, Bytes(bytes), digest)))
    }
}

/// A call that is under way.
struct Noted<'a> {
    trace: &'a Trace,
    noted: bool,
    taking: u64,
    last: usize,
}

impl Noted<'_> {
    fn answered(self) {
        self.answered_with(None);
    }

    fn answered_with(self, bytes: Option<u64>) {
        let mut recorded = self.trace.lock();
        recorded.answered |= self.noted;
        if let Some(bytes) = bytes
            && recorded.takes == self.taking
        {
            recorded.events[self.last].bytes = Bytes(bytes);
        }
    }
}

impl<S: Untrusted> Untrusted for Recorder<S> {
    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        let noted = self.note(range_requests(places).into_iter().map(|range| {
            let slot = u64::from(self.layout().extent(range.of.bucket).slot_bytes);
            (Request::Read(range), Bytes(slot * u64::from(range.slots)), None)
        }));
        let answer = self.inner.read(places, into).await;
        noted.answered();
        answer
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        let noted = self.note(split_buckets(self.layout(), buckets, from).map(|(written, bytes)| {
            (Request::Write(written), Bytes(bytes.len() as u64), self.digest(bytes))
        }));
        let answer = self.inner.write(buckets, from).await;
        noted.answered();
        answer
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        let noted = self.note(buckets.iter().map(|deleted| (Request::Delete(*deleted), Bytes(0), None)));
        let answer = self.inner.delete(buckets).await;
        noted.answered();
        answer
    }
}

impl<S: Blobs> Blobs for Recorder<S> {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        let request = Request::PutBlob(name.to_owned());
        let noted = self.note_one(request, bytes.len() as u64, self.digest(bytes));
        let answer = self.inner.put(name, bytes).await;
        noted.answered();
        answer
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        let request = Request::CreateBlob(name.to_owned());
        let noted = self.note_one(request, bytes.len() as u64, self.digest(bytes));
        let answer = self.inner.put_if_absent(name, bytes).await;
        noted.answered();
        answer
    }

    async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        let noted = self.note_one(Request::GetBlob(name.to_owned()), 0, None);
        let answer = self.inner.get(name, max).await;
        let bytes = answer.as_ref().ok().and_then(|found| Some(found.as_ref()?.len() as u64));
        noted.answered_with(bytes);
        answer
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError> {
        let noted = self.note_one(Request::ListBlobs(prefix.to_owned()), 0, None);
        let answer = self.inner.list(prefix).await;
        noted.answered();
        answer
    }

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        let noted = self.note_one(Request::DeleteBlob(name.to_owned()), 0, None);
        let answer = self.inner.remove(name).await;
        noted.answered();
        answer
    }
}

impl<S: Inventory> Inventory for Recorder<S> {
    async fn list_bucket_versions(
        &self,
        found: &mut dyn FnMut(BucketVersion, Bytes),
    ) -> Result<u64, UntrustedError> {
        let noted = self.note_one(Request::ListVersions, 0, None);
        let answer = self.inner.list_bucket_versions(found).await;
        noted.answered();
        answer
    }

    async fn sweep_unfinished(&self) -> Result<u64, UntrustedError> {
        self.inner.sweep_unfinished().await
    }
}
