//! Names and what they stand for, in memory; `rows.rs` says how the same is kept durably.

use crate::allocate::{Lease, Run};
use crate::checksums::{Algorithm, Checksum, Coverage};
use crate::error::Error;
use borsh::{BorshDeserialize, BorshSerialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A moment, in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct Moment(pub u64);

impl Moment {
    /// The present, by the system's clock.
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Moment(since.map_or(0, |since| since.as_millis() as u64))
    }

    /// Whole seconds since the Unix epoch: as exact as HTTP dates are.
    pub fn seconds(self) -> u64 {
        self.0 / 1000
    }
}

impl From<Moment> for SystemTime {
    fn from(moment: Moment) -> Self {
        SystemTime::UNIX_EPOCH + Duration::from_millis(moment.0)
    }
}

/// What a client says about an object and gets back with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Details {
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// `Cache-Control`.
    pub cache_control: Option<String>,
    /// `Content-Disposition`.
    pub content_disposition: Option<String>,
    /// `Content-Encoding`.
    pub content_encoding: Option<String>,
    /// `Content-Language`.
    pub content_language: Option<String>,
    /// `Expires`.
    pub expires: Option<Moment>,
    /// The user's own metadata.
    pub metadata: BTreeMap<String, String>,
}

/// Bytes written in one go, and the blocks that hold them until the last user of them is gone.
#[derive(Debug)]
pub struct Segment {
    pub(crate) bytes: u64,
    pub(crate) leases: Vec<Arc<Lease>>,
}

impl Segment {
    /// Blocks that stand for it, padding included.
    pub fn blocks(&self) -> u64 {
        self.leases.iter().map(|lease| lease.len()).sum()
    }

    /// Its bytes, without padding.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn block_numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.leases.iter().flat_map(|lease| lease.blocks())
    }

    pub(crate) fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        self.leases.iter().flat_map(|lease| lease.runs().iter().copied())
    }
}

/// One version of an object. Whoever holds it can read it, even after its name stands for another.
#[derive(Debug)]
pub struct Object {
    /// What the client said about it.
    pub details: Details,
    /// Without quotes.
    pub etag: String,
    /// The checksum that came with it, if one did.
    pub checksum: Option<Checksum>,
    /// When its name came to stand for it.
    pub modified: Moment,
    /// Its bytes, one piece after the other: one, or those of its parts.
    pub segments: Vec<Arc<Segment>>,
}

impl Object {
    /// Its size in bytes, without padding.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// Blocks that stand for it, padding included.
    pub fn blocks(&self) -> u64 {
        self.segments.iter().map(|segment| segment.blocks()).sum()
    }

    /// The number of parts if it was uploaded in parts.
    pub fn parts(&self) -> Option<usize> {
        self.etag.contains('-').then_some(self.segments.len())
    }
}

/// The name of a multipart upload: random, and unique in a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct UploadId(pub [u8; 16]);

/// A multipart upload that is neither completed nor aborted.
#[derive(Clone, Debug)]
pub struct Upload {
    /// Where the object will be.
    pub bucket: String,
    /// Under which key.
    pub key: String,
    /// What the client said about the object to be.
    pub details: Details,
    /// The checksum that the object shall have.
    pub checksum: Option<(Algorithm, Coverage)>,
    /// When it was begun.
    pub started: Moment,
    /// The parts uploaded so far, by number.
    pub parts: BTreeMap<u16, Arc<Part>>,
}

/// An uploaded part: a durable piece of an object to be.
#[derive(Debug)]
pub struct Part {
    /// Its bytes.
    pub segment: Arc<Segment>,
    /// MD5 of its bytes.
    pub md5: [u8; 16],
    /// The checksum that came with it, if one did.
    pub checksum: Option<Checksum>,
    /// When it was uploaded.
    pub modified: Moment,
}

/// A bucket and the objects in it.
#[derive(Debug)]
pub(crate) struct Bucket {
    pub(crate) created: Moment,
    pub(crate) objects: BTreeMap<String, Arc<Object>>,
}

/// All names.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    pub(crate) buckets: BTreeMap<String, Bucket>,
    pub(crate) uploads: BTreeMap<UploadId, Upload>,
}

/// One change of the catalogue. Several of them are committed as one.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    AddBucket {
        name: String,
        created: Moment,
    },
    DropBucket {
        name: String,
    },
    PutObject {
        bucket: String,
        key: String,
        object: Arc<Object>,
    },
    DropObject {
        bucket: String,
        key: String,
    },
    AddUpload {
        id: UploadId,
        upload: Box<Upload>,
    },
    /// With its parts.
    DropUpload {
        id: UploadId,
    },
    PutPart {
        id: UploadId,
        number: u16,
        part: Arc<Part>,
    },
}

impl Catalogue {
    pub(crate) fn bucket(&self, name: &str) -> Result<&Bucket, Error> {
        self.buckets.get(name).ok_or(Error::NoSuchBucket)
    }

    pub(crate) fn object(&self, bucket: &str, key: &str) -> Result<&Arc<Object>, Error> {
        self.bucket(bucket)?.objects.get(key).ok_or(Error::NoSuchKey)
    }

    /// The upload of this name, if it is one for this bucket and key.
    pub(crate) fn upload(&self, bucket: &str, key: &str, id: UploadId) -> Result<&Upload, Error> {
        self.bucket(bucket)?;
        self.uploads
            .get(&id)
            .filter(|upload| upload.bucket == bucket && upload.key == key)
            .ok_or(Error::NoSuchUpload)
    }

    /// Applies a committed change. What it replaces is dropped, and with its last reader its blocks become free.
    pub(crate) fn apply(&mut self, change: Change) {
        match change {
            Change::AddBucket { name, created } => {
                let objects = BTreeMap::new();
                self.buckets.insert(name, Bucket { created, objects });
            }
            Change::DropBucket { name } => {
                self.buckets.remove(&name);
            }
            Change::PutObject { bucket, key, object } => {
                if let Some(bucket) = self.buckets.get_mut(&bucket) {
                    bucket.objects.insert(key, object);
                }
            }
            Change::DropObject { bucket, key } => {
                if let Some(bucket) = self.buckets.get_mut(&bucket) {
                    bucket.objects.remove(&key);
                }
            }
            Change::AddUpload { id, upload } => {
                self.uploads.insert(id, *upload);
            }
            Change::DropUpload { id } => {
                self.uploads.remove(&id);
            }
            Change::PutPart { id, number, part } => {
                if let Some(upload) = self.uploads.get_mut(&id) {
                    upload.parts.insert(number, part);
                }
            }
        }
    }
}
