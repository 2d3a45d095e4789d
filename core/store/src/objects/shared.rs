//! The state that all handles on a store share, and its requests.

use super::failure::{http_status, worst_failure, write_failure};
use super::folder::{Folder, blocking};
use super::versioning::VersioningQuery;
use ameles_core::store::UntrustedError;
use bytes::{Bytes as Chunk, BytesMut};
use futures::stream::{self, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    GetOptions, GetRange, GetResultPayload, ObjectStore, ObjectStoreExt, PutMode, PutPayload,
};
use std::ops::Range;
use std::sync::Arc;
use tokio::sync::{Semaphore, SemaphorePermit};

/// The state that all handles on a store share.
pub(super) struct Shared {
    pub(super) store: Arc<dyn ObjectStore>,
    /// The store without repetition of requests, to create objects that must not exist yet.
    pub(super) once: Arc<dyn ObjectStore>,
    /// The beginning of every name.
    pub(super) prefix: Path,
    /// The folder, if the store is a local one.
    pub(super) folder: Option<Folder>,
    /// The query for the bucket's versioning, if the provider answers one.
    pub(super) versioning: Option<VersioningQuery>,
    pub(super) in_flight: Semaphore,
}

impl Shared {
    pub(super) fn path(&self, name: &str) -> Path {
        // Names are of this crate's own making or checked, so the parts need no encoding.
        name.split('/').fold(self.prefix.clone(), |path, part| path.join(part))
    }

    /// The name below the prefix.
    pub(super) fn name<'a>(&self, path: &'a Path) -> Option<&'a str> {
        let below = path.as_ref().strip_prefix(self.prefix.as_ref())?;
        Some(below.strip_prefix('/').unwrap_or(below))
    }

    pub(super) async fn permit(&self) -> SemaphorePermit<'_> {
        self.in_flight.acquire().await.expect("the semaphore is never closed")
    }

    pub(super) async fn put(&self, name: &str, bytes: Chunk) -> Result<(), object_store::Error> {
        let _permit = self.permit().await;
        let path = self.path(name);
        if let Some(folder) = &self.folder {
            folder.make_durable_parent(name).await?;
        }
        self.store.put(&path, PutPayload::from_bytes(bytes)).await?;
        Ok(())
    }

    /// Removes objects; one that is already gone is not an error.
    pub(super) async fn delete(
        &self,
        paths: Vec<Result<Path, object_store::Error>>,
    ) -> Result<(), UntrustedError> {
        let _permit = self.permit().await;
        let mut answers = self.store.delete_stream(stream::iter(paths).boxed());
        let mut failures = Vec::new();
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => failures.push((failures.len(), write_failure(error))),
            }
        }
        worst_failure(failures)
    }

    /// Creates an object that is never written again. `true` also means that an existing object has these bytes: an
    /// earlier request of the caller had its effect, and its answer was lost.
    pub(super) async fn create(&self, name: &str, bytes: Chunk) -> Result<bool, object_store::Error> {
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
    pub(super) async fn fetch(&self, path: &Path, ranges: &[Range<u64>]) -> Result<Vec<Chunk>, Fetch> {
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

    async fn fetch_range(&self, path: &Path, range: Range<u64>) -> Result<Chunk, Fetch> {
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

    /// Distinguishes a file or object that is too short from one that cannot be read. Stores report the former in many
    /// ways.
    async fn explain(&self, path: &Path, ranges: &[Range<u64>], error: object_store::Error) -> Fetch {
        if http_status(&error) == Some(416) {
            return Fetch::Short;
        }
        let local = self.folder.is_some() || http_status(&error).is_none();
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
pub(super) enum Fetch {
    /// The object ends before the range does.
    Short,
    /// The store failed.
    Failed(object_store::Error),
}

/// The first `max` bytes of an answer. If the store sends more than requested, the rest is not read.
pub(super) async fn take(payload: GetResultPayload, max: usize) -> Result<Chunk, object_store::Error> {
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
            return Ok(blocking(read).await?.into());
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
