//! Buckets and blobs as objects: files, S3, Google Cloud Storage, Azure, anything that `object_store` reaches.

mod blobs;
mod config_check;
mod failure;
mod folder;
mod inventory;
mod names;
mod open;
mod open_error;
mod open_options;
mod shared;
mod versioning;

pub use names::bucket_version as object_name;
pub use open::folder_of;
pub use open_error::OpenError;
pub use open_options::OpenOptions;
pub use versioning::Versioning;

use crate::blobs::check_name;
use crate::requests::{RangeRequest, ReadPlan};
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError, split_buckets};
use ameles_core::tree::layout::Layout;
use ameles_core::types::Bytes;
use bytes::Bytes as Chunk;
use failure::{read_failure, worst_failure, write_failure};
use futures::stream::{FuturesUnordered, StreamExt, TryStreamExt};
use object_store::ObjectStore;
use object_store::path::Path;
use shared::{Fetch, Shared};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Untrusted memory in an object store: **one object for each bucket version**, one for each blob.
///
/// A bucket version's name follows from its bucket number, epoch and counter alone. A range of adjacent slots is one
/// range request that fetches exactly those bytes. All requests of a call are in flight together, up to the limit of
/// [`OpenOptions::in_flight`], which all calls share. A call makes all of its requests, even if it fails.
///
/// Over HTTP, a single request that fails for a passing reason is sent again a few times, identically, before the call
/// reports [`UntrustedError::Unavailable`]. A blob that is to be created is requested only once: a repetition would
/// find its own effect.
///
/// Files are written under a temporary name, synced and linked to their own name. Their folders are also synced. A
/// write that returned survives power loss if the disk keeps what it acknowledged. A removal is not synced: a removed
/// file may be back after power loss, as one more version that is not needed.
///
/// A clone is another handle on the same store and shares its connections.
#[derive(Clone)]
pub struct Objects {
    layout: Arc<Layout>,
    shared: Arc<Shared>,
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
    /// Its layout is empty until [`with_layout`](Self::with_layout) gives it one. Even then, blobs can be read.
    ///
    /// # Errors
    /// [`OpenError`], which says what is wrong and what to do.
    pub async fn open(location: &str, options: &OpenOptions) -> Result<Self, OpenError> {
        Ok(Objects {
            layout: Arc::new(Layout::default()),
            shared: Arc::new(open::open(location, options).await?),
        })
    }

    /// This store under this layout of **sealed** sizes.
    pub fn with_layout(&self, layout: Layout) -> Self {
        Objects { layout: Arc::new(layout), shared: self.shared.clone() }
    }

    /// Returns whether the provider keeps deleted objects. This takes a request, to S3 only; a folder keeps nothing.
    pub async fn versioning(&self) -> Versioning {
        match &self.shared.versioning {
            Some(query) => query.send().await,
            None if self.shared.folder.is_some() => Versioning::Off,
            None => Versioning::Unknown,
        }
    }

    /// Calls `found` with each object below the prefix that is neither a bucket version nor a blob. It gets the
    /// object's name below the prefix, and its size as the store reports it.
    ///
    /// # Errors
    /// The errors of the lists.
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

    fn ranges(&self) -> Vec<Range<u64>> {
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
        worst_failure(failures)
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        let mut answers: FuturesUnordered<_> = split_buckets(&self.layout, buckets, from)
            .enumerate()
            .map(|(index, (written, bytes))| {
                let (name, bytes) = (names::bucket_version(written), Chunk::copy_from_slice(bytes));
                async move { (index, self.shared.create(&name, bytes).await) }
            })
            .collect();
        let mut failures = Vec::new();
        while let Some((index, answer)) = answers.next().await {
            match answer {
                Ok(true) => {}
                Ok(false) => failures.push((index, UntrustedError::Taken(buckets[index]))),
                Err(error) => failures.push((index, write_failure(error))),
            }
        }
        worst_failure(failures)
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        if buckets.is_empty() {
            return Ok(());
        }
        let paths: Vec<_> = buckets.iter().map(|deleted| Ok(self.bucket_path(*deleted))).collect();
        self.shared.delete(paths).await
    }
}

#[cfg(test)]
mod tests;
