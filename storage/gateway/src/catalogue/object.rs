//! Objects: their details from a client, and the blocks that hold their bytes.

use super::grant::Grant;
use super::unix_millis::UnixMillis;
use super::upload_id::UploadId;
use super::version::Version;
use crate::objects::allocate::{Lease, Run};
use crate::objects::checksums::{self, Checksum};
use crate::objects::packing::Fragment;
use minicbor::{Decode, Encode};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The details of an object that a client says and gets back with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Details {
    /// `Content-Type`.
    #[n(0)]
    pub content_type: Option<String>,
    /// `Cache-Control`.
    #[n(1)]
    pub cache_control: Option<String>,
    /// `Content-Disposition`.
    #[n(2)]
    pub content_disposition: Option<String>,
    /// `Content-Encoding`.
    #[n(3)]
    pub content_encoding: Option<String>,
    /// `Content-Language`.
    #[n(4)]
    pub content_language: Option<String>,
    /// `Expires`: for caches, and of no meaning here.
    #[n(5)]
    pub expires: Option<UnixMillis>,
    /// The user's own metadata, by names in lower case.
    #[n(6)]
    #[cbor(default)]
    pub metadata: BTreeMap<String, String>,
    /// The moment from which on the object is gone (`X-Delete-At`).
    #[n(7)]
    pub delete_at: Option<UnixMillis>,
    /// The manifest, if the object stands for other bytes than its own.
    #[n(8)]
    pub manifest: Option<Manifest>,
    /// Tags, by name.
    #[n(9)]
    #[cbor(default)]
    pub tags: BTreeMap<String, String>,
    /// The principals that the owner lets in.
    #[n(10)]
    #[cbor(default)]
    pub grants: Vec<Grant>,
    /// The storage class that was asked for, unless it is S3's `STANDARD`. It changes nothing here.
    #[n(11)]
    pub storage_class: Option<String>,
    /// The encryption that was asked for. It changes nothing here: all is sealed.
    #[n(12)]
    pub encryption: Option<Encryption>,
}

/// Encryption as S3 names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Encryption {
    /// With keys of the server (SSE-S3, `AES256`).
    #[n(0)]
    OfServer,
}

impl Details {
    /// Bytes of the headers that a client says, values and the names of its own ones: what they take of a row. Tags and
    /// grants, which have bounds of their own, are not among them.
    pub(crate) fn header_bytes(&self) -> usize {
        let headers = [
            &self.content_type,
            &self.cache_control,
            &self.content_disposition,
            &self.content_encoding,
            &self.content_language,
            &self.storage_class,
        ];
        let headers: usize = headers.into_iter().flatten().map(String::len).sum();
        let manifest = match &self.manifest {
            Some(Manifest::Dynamic { container, prefix }) => container.len() + prefix.len(),
            Some(Manifest::Static { .. }) | None => 0,
        };
        headers + manifest + self.metadata_bytes()
    }

    /// Bytes of the user's own metadata, names and values.
    pub(crate) fn metadata_bytes(&self) -> usize {
        self.metadata.iter().map(|(name, value)| name.len() + value.len()).sum()
    }
}

/// A large object: other objects, one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Manifest {
    /// All objects of a container of the same account whose keys begin so, in order.
    #[n(0)]
    Dynamic {
        /// The container.
        #[n(0)]
        container: String,
        /// The prefix of the keys.
        #[n(1)]
        prefix: String,
    },
    /// The objects that the object's own bytes list.
    #[n(1)]
    Static {
        /// Bytes of all of them together.
        #[n(0)]
        bytes: u64,
        /// The ETag of the whole, without quotes.
        #[n(1)]
        etag: String,
    },
}

/// Bytes written in one go, and the place that holds them until the last user of them is gone.
#[derive(Debug)]
pub struct Segment {
    pub(crate) bytes: u64,
    pub(crate) place: SegmentPlace,
}

/// The place of the bytes of a segment.
#[derive(Debug)]
pub(crate) enum SegmentPlace {
    /// Blocks of its own.
    Blocks(Vec<Arc<Lease>>),
    /// A part of a block.
    Fragment(Arc<Fragment>),
}

impl Segment {
    /// Blocks of its own, padding included: 0 if it shares one.
    pub fn blocks(&self) -> u64 {
        self.leases().iter().map(|lease| lease.len()).sum()
    }

    /// Accesses that reading all of it takes.
    pub fn accesses(&self) -> u64 {
        match &self.place {
            SegmentPlace::Blocks(_) => self.blocks(),
            SegmentPlace::Fragment(_) => 1,
        }
    }

    /// Its bytes, without padding.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn fragment(&self) -> Option<&Arc<Fragment>> {
        match &self.place {
            SegmentPlace::Blocks(_) => None,
            SegmentPlace::Fragment(fragment) => Some(fragment),
        }
    }

    fn leases(&self) -> &[Arc<Lease>] {
        match &self.place {
            SegmentPlace::Blocks(leases) => leases,
            SegmentPlace::Fragment(_) => &[],
        }
    }

    pub(crate) fn block_numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.leases().iter().flat_map(|lease| lease.blocks())
    }

    pub(crate) fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        self.leases().iter().flat_map(|lease| lease.runs().iter().copied())
    }
}

/// A version of an object. A holder of it can read it, even after its name stands for another.
#[derive(Clone, Debug, Default)]
pub struct Object {
    /// The details that the client said about it.
    pub details: Details,
    /// Without quotes.
    pub etag: String,
    /// The checksum that came with it, if one did.
    pub checksum: Option<Checksum>,
    /// The moment at which its name came to stand for it, or its details were changed.
    pub modified: UnixMillis,
    /// Its bytes, one piece after the other: one piece, or those of its parts.
    pub segments: Vec<Arc<Segment>>,
    /// The upload in parts that it came from, if it did.
    pub completed: Option<Arc<Completed>>,
    /// The version of its key that it is.
    pub version: Version,
}

/// The facts that an object keeps of its upload in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The upload's name. A client that completes it again, because the answer was lost, is answered the same.
    pub upload: UploadId,
    /// The bytes of the parts' checksums, of the algorithm of the object's, one after the other.
    pub checksums: Box<[u8]>,
}

impl Object {
    /// Its size in bytes, without padding. Of a large object those of its list, not of the objects that it stands for.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// Blocks of its own, padding included.
    pub fn blocks(&self) -> u64 {
        self.segments.iter().map(|segment| segment.blocks()).sum()
    }

    /// Accesses that reading all of it takes.
    pub fn accesses(&self) -> u64 {
        self.segments.iter().map(|segment| segment.accesses()).sum()
    }

    /// The number of parts if it was uploaded in parts.
    pub fn parts(&self) -> Option<usize> {
        self.etag.contains('-').then_some(self.segments.len())
    }

    /// The checksum of a part, counted from 0, if it is known.
    pub fn part_checksum(&self, index: usize) -> Option<Checksum> {
        checksums::nth(self.checksum.as_ref()?, &self.completed.as_ref()?.checksums, index)
    }

    /// Tells whether its time is over.
    pub fn has_expired(&self, now: UnixMillis) -> bool {
        self.details.delete_at.is_some_and(|gone| gone <= now)
    }
}
