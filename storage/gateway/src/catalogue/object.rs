//! Objects: their details, and the blocks that hold their bytes.

use super::grant::Grant;
use super::unix_millis::UnixMillis;
use super::upload_id::UploadId;
use super::version::Version;
use crate::objects::allocate::{Allocation, Run};
use crate::objects::checksums::{self, Checksum};
use crate::objects::packing::Fragment;
use minicbor::{Decode, Encode};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The details of an object, which a client sets and gets back.
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
    /// `Expires`: for caches only.
    #[n(5)]
    pub expires: Option<UnixMillis>,
    /// The user's own metadata, by names in lower case.
    #[n(6)]
    #[cbor(default)]
    pub metadata: BTreeMap<String, String>,
    /// The time at which the object expires (`X-Delete-At`).
    #[n(7)]
    pub delete_at: Option<UnixMillis>,
    /// The manifest, if the object stands for other bytes than its own.
    #[n(8)]
    pub manifest: Option<Manifest>,
    /// The tags, by name.
    #[n(9)]
    #[cbor(default)]
    pub tags: BTreeMap<String, String>,
    /// The S3 grants.
    #[n(10)]
    #[cbor(default)]
    pub grants: Vec<Grant>,
    /// The storage class that was requested, unless it is S3's `STANDARD`. It changes nothing here.
    #[n(11)]
    pub storage_class: Option<String>,
    /// The encryption that was requested. It changes nothing here: everything is sealed.
    #[n(12)]
    pub encryption: Option<Encryption>,
}

/// Encryption as S3 names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Encryption {
    /// The keys are the server's (SSE-S3, `AES256`).
    #[n(0)]
    OfServer,
}

impl Details {
    /// Returns the bytes of a row that the headers of an object take: values, and the names of the user's own metadata.
    /// Tags and grants have bounds of their own and do not count.
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

    /// Returns the bytes of the user's own metadata, names and values.
    pub(crate) fn metadata_bytes(&self) -> usize {
        self.metadata.iter().map(|(name, value)| name.len() + value.len()).sum()
    }
}

/// A large object: other objects, one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Manifest {
    /// All objects of a container of the same account whose keys have this prefix, in order.
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
        /// The total size of the objects.
        #[n(0)]
        bytes: u64,
        /// The ETag of the whole, without quotes.
        #[n(1)]
        etag: String,
    },
}

/// Bytes written in one go, and the place that holds them until their last user is gone.
#[derive(Debug)]
pub struct Segment {
    pub(crate) bytes: u64,
    pub(crate) place: SegmentPlace,
}

/// The place of the bytes of a segment.
#[derive(Debug)]
pub(crate) enum SegmentPlace {
    /// Blocks of its own.
    Blocks(Vec<Arc<Allocation>>),
    /// A part of a block.
    Fragment(Arc<Fragment>),
}

impl Segment {
    /// Returns the number of blocks of its own, padding included: 0 if it shares a block.
    pub fn blocks(&self) -> u64 {
        self.allocations().iter().map(|allocation| allocation.len()).sum()
    }

    /// Returns the number of accesses of a complete read.
    pub fn accesses(&self) -> u64 {
        match &self.place {
            SegmentPlace::Blocks(_) => self.blocks(),
            SegmentPlace::Fragment(_) => 1,
        }
    }

    /// Returns the size of the segment in bytes, without padding.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn fragment(&self) -> Option<&Arc<Fragment>> {
        match &self.place {
            SegmentPlace::Blocks(_) => None,
            SegmentPlace::Fragment(fragment) => Some(fragment),
        }
    }

    fn allocations(&self) -> &[Arc<Allocation>] {
        match &self.place {
            SegmentPlace::Blocks(allocations) => allocations,
            SegmentPlace::Fragment(_) => &[],
        }
    }

    pub(crate) fn block_numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.allocations().iter().flat_map(|allocation| allocation.blocks())
    }

    pub(crate) fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        self.allocations().iter().flat_map(|allocation| allocation.runs().iter().copied())
    }
}

/// A version of an object. It stays readable while somebody holds it, even after it was replaced.
#[derive(Clone, Debug, Default)]
pub struct Object {
    /// The details from the client.
    pub details: Details,
    /// The ETag, without quotes.
    pub etag: String,
    /// The checksum from the client, if it sent one.
    pub checksum: Option<Checksum>,
    /// The time at which the object got its name, or its details were changed.
    pub modified: UnixMillis,
    /// The object's bytes: one segment, or one for each part.
    pub segments: Vec<Arc<Segment>>,
    /// The upload in parts from which the object was completed, if there was one.
    pub completed: Option<Arc<Completed>>,
    /// The version of its key that it is.
    pub version: Version,
}

/// The facts about an upload in parts that the object keeps.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Completed {
    /// The upload's name. A client that lost the answer may complete the upload again and gets the same answer.
    #[n(0)]
    pub upload: UploadId,
    /// The checksums of the parts, concatenated, with the algorithm of the object's checksum.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub checksums: Box<[u8]>,
}

impl Object {
    /// Returns its size in bytes, without padding. For a large object this is the size of its list, not of the objects
    /// in it.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// Returns the number of the segment's own blocks, padding included.
    pub fn blocks(&self) -> u64 {
        self.segments.iter().map(|segment| segment.blocks()).sum()
    }

    /// Returns the number of accesses of a complete read.
    pub fn accesses(&self) -> u64 {
        self.segments.iter().map(|segment| segment.accesses()).sum()
    }

    /// Returns the number of parts if the object was uploaded in parts.
    pub fn parts(&self) -> Option<usize> {
        self.etag.contains('-').then_some(self.segments.len())
    }

    /// Returns the checksum of a part, counted from 0, if it is known.
    pub fn part_checksum(&self, index: usize) -> Option<Checksum> {
        checksums::nth(self.checksum.as_ref()?, &self.completed.as_ref()?.checksums, index)
    }

    /// Returns whether the object has expired.
    pub fn has_expired(&self, now: UnixMillis) -> bool {
        self.details.delete_at.is_some_and(|gone| gone <= now)
    }
}
