//! Buckets and blobs as objects: files, S3, Google Cloud Storage, Azure, anything that `object_store` reaches.

mod blobs;
mod failure;
mod folder;
mod names;
mod open;
mod versioning;

pub use open::{OpenError, OpenOptions};
pub use versioning::Versioning;

use crate::blobs::{Inventory, check_name};
use crate::requests::{RangeRequest, ReadPlan};
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError};
use ameles_core::tree::layout::Layout;
use ameles_core::types::Bytes;
use bytes::{Bytes as Chunk, BytesMut};
use failure::{read_failure, worst, write_failure};
use folder::Folder;
use futures::stream::{self, FuturesUnordered, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    GetOptions, GetRange, GetResultPayload, ObjectStore, ObjectStoreExt, PutMode, PutPayload,
};
use std::fmt;
use std::sync::Arc;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Untrusted memory in an object store: **one object for each bucket version**, one for each blob.
///
/// A bucket version's name follows from its bucket number, epoch and counter alone. A range of adjacent slots is one
/// range request that fetches exactly those bytes. All requests of a call are in flight together, up to the limit
/// of [`OpenOptions::in_flight`], which all calls share; a call that fails has nevertheless made all of its requests.
///
/// Over HTTP, a single request that fails for a passing reason is sent again a few times, identically, before the
/// call reports [`UntrustedError::Unavailable`]. A blob that is to be created is asked for only once: a repetition would
/// meet its own effect.
///
/// Files are written beside their place, synced, linked to it, and their folders synced: a write that returned survives
/// power loss as far as the disk keeps what it acknowledged. A removal is not synced: a removed file may be back after
/// power loss, as one more version that is not needed.
///
/// A clone is another handle on the same store and shares its connections.
#[derive(Clone)]
pub struct Objects {
    layout: Arc<Layout>,
    shared: Arc<Shared>,
}

struct Shared {
    store: Arc<dyn ObjectStore>,
    /// The same store with no repetition of requests, for creating what must not be there.
    once: Arc<dyn ObjectStore>,
    /// The beginning of every name.
    prefix: Path,
    /// Set if the store is a folder of this machine.
    folder: Option<Folder>,
    /// The way to ask for the bucket's versioning, where that can be asked.
    versioning: Option<versioning::Question>,
    in_flight: Semaphore,
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Objects")
            .field("store", &format_args!("{}", self.shared.store))
            .field("prefix", &self.shared.prefix.as_ref())
            .finish_non_exhaustive()
    }
}

impl Objects {
    /// Opens the store at `location`: a plain path, `file:///path`, `s3://bucket/prefix`, `gs://bucket/prefix`,
    /// `az://container/prefix`, or `memory:` (nothing outlives the process). A single request checks that it is there.
    ///
    /// Its layout is empty until [`with_layout`](Self::with_layout) gives it one; blobs can be read before.
    ///
    /// # Errors
    /// [`OpenError`], which says what is wrong and what to do.
    pub async fn open(location: &str, options: &OpenOptions) -> Result<Self, OpenError> {
        Ok(Objects {
            layout: Arc::new(Layout::default()),
            shared: Arc::new(open::open(location, options).await?),
        })
    }

    /// The same store under this layout of **sealed** sizes.
    pub fn with_layout(&self, layout: Layout) -> Self {
        Objects { layout: Arc::new(layout), shared: self.shared.clone() }
    }

    /// Tells whether the provider keeps deleted objects. This takes a request, to S3 only; a folder keeps nothing.
    pub async fn versioning(&self) -> Versioning {
        match &self.shared.versioning {
            Some(question) => question.ask().await,
            None if self.shared.folder.is_some() => Versioning::Off,
            None => Versioning::Unknown,
        }
    }

    /// Calls `found` with each object below the prefix that is neither a bucket version nor a blob: its name below the
    /// prefix, and its size as the store tells it.
    ///
    /// # Errors
    /// Those of the lists.
    pub async fn list_unknown(&self, found: &mut dyn FnMut(&str, Bytes)) -> Result<(), UntrustedError> {
        let prefix = Some(&self.shared.prefix).filter(|prefix| !prefix.as_ref().is_empty());
        let _permit = self.shared.permit().await;
        let mut listed = self.shared.store.list(prefix);
        while let Some(object) = listed.try_next().await.map_err(write_failure)? {
            let Some(name) = self.shared.name(&object.location) else { continue };
            let is_blob = names::parse_blob(name).is_some_and(|blob| check_name(blob).is_ok());
            if names::parse_bucket_version(name).is_none() && !is_blob {
                found(name, Bytes(object.size));
            }
        }
        Ok(())
    }

    fn bucket_path(&self, of: BucketVersion) -> Path {
        self.shared.path(&names::bucket_version(of))
    }
}

impl Shared {
    fn path(&self, name: &str) -> Path {
        // Names are of this crate's own making or checked, so the parts need no encoding.
        name.split('/').fold(self.prefix.clone(), |path, part| path.join(part))
    }

    /// The name below the prefix.
    fn name<'a>(&self, path: &'a Path) -> Option<&'a str> {
        let below = path.as_ref().strip_prefix(self.prefix.as_ref())?;
        Some(below.strip_prefix('/').unwrap_or(below))
    }

    async fn permit(&self) -> SemaphorePermit<'_> {
        self.in_flight.acquire().await.expect("the semaphore is never closed")
    }

    async fn put(&self, name: &str, bytes: Chunk) -> Result<(), object_store::Error> {
        let _permit = self.permit().await;
        let path = self.path(name);
        if let Some(folder) = &self.folder {
            folder.make_durable_parent(name).await?;
        }
        self.store.put(&path, PutPayload::from_bytes(bytes)).await?;
        Ok(())
    }

    /// Creates an object that is never written again. If it is there already, `true` says that it holds these bytes: an
    /// earlier request of the caller's has had its effect, and its answer was lost.
    async fn create(&self, name: &str, bytes: Chunk) -> Result<bool, object_store::Error> {
        let _permit = self.permit().await;
        let path = self.path(name);
        if let Some(folder) = &self.folder {
            folder.make_durable_parent(name).await?;
        }
        let payload = PutPayload::from_bytes(bytes.clone());
        let taken = match self.store.put_opts(&path, payload, PutMode::Create.into()).await {
            Err(error @ object_store::Error::AlreadyExists { .. }) => error,
            answer => return answer.map(|_| true),
        };
        // S3 answers so, too, when another creation is under way that may yet fail.
        let held = match self.store.get(&path).await {
            Err(object_store::Error::NotFound { .. }) => {
                return Err(object_store::Error::Generic { store: "the store", source: Box::new(taken) });
            }
            held => held?,
        };
        if held.meta.size != bytes.len() as u64 || held.bytes().await? != bytes {
            return Ok(false);
        }
        if let Some(folder) = &self.folder {
            // The earlier request may have ended before it had synced what it wrote.
            folder.make_durable(name).await?;
        }
        Ok(true)
    }

    /// Fetches ranges of one bucket version; the answers are exactly as long as the ranges.
    async fn fetch(&self, path: &Path, ranges: &[std::ops::Range<u64>]) -> Result<Vec<Chunk>, Fetch> {
        let _permit = self.permit().await;
        if self.folder.is_some() {
            // A single opening of the file serves all its ranges.
            let answers = self.store.get_ranges(path, ranges).await;
            return match answers {
                Ok(answers) => Ok(answers),
                Err(error) => Err(self.explain(path, ranges, error).await),
            };
        }
        let mut answers = Vec::with_capacity(ranges.len());
        for range in ranges {
            match self.fetch_range(path, range.clone()).await {
                Ok(answer) => answers.push(answer),
                Err(Fetch::Failed(error)) => return Err(self.explain(path, ranges, error).await),
                Err(short) => return Err(short),
            }
        }
        Ok(answers)
    }

    async fn fetch_range(&self, path: &Path, range: std::ops::Range<u64>) -> Result<Chunk, Fetch> {
        let wanted = range.end - range.start;
        let options = GetOptions { range: Some(GetRange::Bounded(range.clone())), ..GetOptions::default() };
        let answer = self.store.get_opts(path, options).await.map_err(Fetch::Failed)?;
        if answer.range.start != range.start || answer.range.end < range.end {
            return Err(Fetch::Short);
        }
        let bytes = take(answer.payload, wanted as usize).await.map_err(Fetch::Failed)?;
        if (bytes.len() as u64) < wanted {
            return Err(Fetch::Short);
        }
        Ok(bytes)
    }

    /// Tells a file or object that is too short from one that cannot be read: stores say the former in many ways.
    async fn explain(
        &self,
        path: &Path,
        ranges: &[std::ops::Range<u64>],
        error: object_store::Error,
    ) -> Fetch {
        if failure::http_status(&error) == Some(416) {
            return Fetch::Short;
        }
        let local = self.folder.is_some() || failure::http_status(&error).is_none();
        if local && matches!(error, object_store::Error::Generic { .. }) {
            let end = ranges.iter().map(|range| range.end).max().unwrap_or(0);
            if let Ok(held) = self.store.head(path).await
                && held.size < end
            {
                return Fetch::Short;
            }
        }
        Fetch::Failed(error)
    }
}

/// The reason why a fetch gave no answer.
enum Fetch {
    /// The object ends before the range does.
    Short,
    /// The store failed.
    Failed(object_store::Error),
}

/// The first `max` bytes of an answer: a store that sends more than it was asked for is not listened to further.
async fn take(payload: GetResultPayload, max: usize) -> Result<Chunk, object_store::Error> {
    let mut stream = match payload {
        GetResultPayload::Stream(stream) => stream,
        GetResultPayload::File(file, _) => {
            let read = move || {
                // As much as is there, and a byte that shows the end: `max` may be far more.
                let len = usize::try_from(file.metadata()?.len()).unwrap_or(max);
                let mut bytes = Vec::with_capacity(max.min(len.saturating_add(1)));
                std::io::Read::read_to_end(&mut std::io::Read::take(file, max as u64), &mut bytes)?;
                Ok(bytes)
            };
            return Ok(folder::blocking(read).await?.into());
        }
    };
    let mut first: Option<Chunk> = None;
    let mut more = BytesMut::new();
    while let Some(chunk) = stream.try_next().await? {
        let held = first.as_ref().map_or(0, Chunk::len) + more.len();
        let chunk = chunk.slice(..chunk.len().min(max - held));
        let full = held + chunk.len() == max;
        if first.is_none() && !chunk.is_empty() {
            first = Some(chunk);
        } else {
            more.extend_from_slice(&chunk);
        }
        if full {
            break;
        }
    }
    let first = first.unwrap_or_default();
    if more.is_empty() {
        return Ok(first);
    }
    let mut whole = BytesMut::with_capacity(first.len() + more.len());
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&more);
    Ok(whole.freeze())
}

/// Requests that go to the store as one: all ranges of a file's version, or one range of a remote object.
struct Group<'a> {
    requests: &'a [RangeRequest],
    /// The place of each of their slots in the caller's buffer.
    offsets: &'a [usize],
    slot_bytes: usize,
}

impl Group<'_> {
    fn of(&self) -> BucketVersion {
        self.requests[0].of
    }

    fn ranges(&self) -> Vec<std::ops::Range<u64>> {
        let slot = self.slot_bytes as u64;
        self.requests
            .iter()
            .map(|r| u64::from(r.first_slot) * slot..u64::from(r.first_slot + r.slots) * slot)
            .collect()
    }
}

impl Objects {
    fn groups<'a>(&self, plan: &'a ReadPlan) -> Vec<Group<'a>> {
        let together = self.shared.folder.is_some();
        let mut offsets = &plan.offsets[..];
        plan.requests
            .chunk_by(|one, next| together && one.of == next.of)
            .map(|requests| {
                let slots: usize = requests.iter().map(|r| r.slots as usize).sum();
                let (mine, rest) = offsets.split_at(slots);
                offsets = rest;
                Group {
                    requests,
                    offsets: mine,
                    slot_bytes: self.layout.extent(requests[0].of.bucket).slot_bytes as usize,
                }
            })
            .collect()
    }
}

impl Untrusted for Objects {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        let plan = ReadPlan::new(&self.layout, places, into.len());
        let groups = self.groups(&plan);
        let mut answers: FuturesUnordered<_> = groups
            .iter()
            .enumerate()
            .map(|(index, group)| async move {
                let answer = self.shared.fetch(&self.bucket_path(group.of()), &group.ranges()).await;
                (index, answer)
            })
            .collect();
        let mut failures = Vec::new();
        while let Some((index, answer)) = answers.next().await {
            let group = &groups[index];
            match answer {
                Ok(chunks) => {
                    let slots = chunks.iter().flat_map(|chunk| chunk.chunks_exact(group.slot_bytes.max(1)));
                    for (slot, offset) in slots.zip(group.offsets) {
                        into[*offset..*offset + group.slot_bytes].copy_from_slice(slot);
                    }
                }
                Err(Fetch::Short) => failures.push((index, UntrustedError::Truncated(group.of()))),
                Err(Fetch::Failed(error)) => failures.push((index, read_failure(group.of(), error))),
            }
        }
        worst(failures)
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        let mut rest = from;
        let mut answers: FuturesUnordered<_> = buckets
            .iter()
            .enumerate()
            .map(|(index, written)| {
                let (bytes, after) = rest.split_at(self.layout.bucket_bytes(written.bucket));
                rest = after;
                let (name, bytes) = (names::bucket_version(*written), Chunk::copy_from_slice(bytes));
                async move { (index, self.shared.create(&name, bytes).await) }
            })
            .collect();
        assert!(rest.is_empty(), "the buffer must be exactly the buckets' lengths");
        let mut failures = Vec::new();
        while let Some((index, answer)) = answers.next().await {
            match answer {
                Ok(true) => {}
                Ok(false) => failures.push((index, UntrustedError::Taken(buckets[index]))),
                Err(error) => failures.push((index, write_failure(error))),
            }
        }
        worst(failures)
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        if buckets.is_empty() {
            return Ok(());
        }
        let paths: Vec<_> = buckets.iter().map(|deleted| Ok(self.bucket_path(*deleted))).collect();
        self.shared.delete(paths).await
    }
}

impl Shared {
    async fn delete(&self, paths: Vec<Result<Path, object_store::Error>>) -> Result<(), UntrustedError> {
        let _permit = self.permit().await;
        let mut answers = self.store.delete_stream(stream::iter(paths).boxed());
        let mut failures = Vec::new();
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => failures.push((failures.len(), write_failure(error))),
            }
        }
        worst(failures)
    }
}

impl Inventory for Objects {
    async fn list_bucket_versions(
        &self,
        found: &mut dyn FnMut(BucketVersion, Bytes),
    ) -> Result<u64, UntrustedError> {
        let below = self.shared.path(names::BUCKETS);
        let _permit = self.shared.permit().await;
        let mut listed = self.shared.store.list(Some(&below));
        let mut strangers = 0;
        while let Some(object) = listed.try_next().await.map_err(write_failure)? {
            match self.shared.name(&object.location).and_then(names::parse_bucket_version) {
                Some(version) => found(version, Bytes(object.size)),
                None => strangers += 1,
            }
        }
        Ok(strangers)
    }

    async fn sweep_unfinished(&self) -> Result<u64, UntrustedError> {
        match &self.shared.folder {
            Some(folder) => folder.sweep_unfinished().await.map_err(write_failure),
            None => Ok(0),
        }
    }
}

#[cfg(test)]
mod tests;
