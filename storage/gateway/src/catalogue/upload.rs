//! Uploads in parts that are neither completed nor aborted.

use super::object::{Details, Segment};
use super::totals::Totals;
use super::unix_millis::UnixMillis;
use crate::objects::checksums::{Algorithm, Checksum, Coverage};
use minicbor::{Decode, Encode};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A multipart upload that is neither completed nor aborted.
#[derive(Clone, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Upload {
    /// The account of the upload.
    #[n(0)]
    pub account: String,
    /// The container of the object.
    #[n(1)]
    pub container: String,
    /// The key of the object.
    #[n(2)]
    pub key: String,
    /// The details of the object.
    #[n(3)]
    pub details: Details,
    /// The checksum that the object must have.
    #[n(4)]
    pub checksum: Option<(Algorithm, Coverage)>,
    /// The time at which the upload began.
    #[n(5)]
    pub started: UnixMillis,
    /// The principal that began the upload, if it is not the account itself.
    #[n(6)]
    pub initiator: Option<String>,
    /// The parts uploaded so far, by number. Each has a row of its own.
    #[cbor(skip)]
    pub parts: BTreeMap<u16, Arc<Part>>,
}

impl Upload {
    /// Returns the totals for which the upload counts while it is unfinished.
    pub(crate) fn totals(&self) -> Totals {
        Totals { objects: 1, bytes: self.parts.values().map(|part| part.segment.bytes()).sum() }
    }
}

/// An uploaded part: a durable piece of a later object.
#[derive(Debug)]
pub struct Part {
    /// The part's bytes.
    pub segment: Arc<Segment>,
    /// The MD5 of its bytes.
    pub md5: [u8; 16],
    /// The checksum from the client, if it sent one.
    pub checksum: Option<Checksum>,
    /// The CRC64NVME of its bytes. Parts of older vaults lack it.
    pub crc64nvme: Option<u64>,
    /// The time of the upload.
    pub modified: UnixMillis,
}

impl Part {
    /// Returns the CRC64NVME of the part as a checksum, if it is known.
    pub(crate) fn crc64nvme_checksum(&self) -> Option<Checksum> {
        let algorithm = Algorithm::Crc64Nvme;
        let bytes = algorithm.crc_bytes(self.crc64nvme?);
        Some(Checksum::new(algorithm, Coverage::FullObject, &bytes))
    }

    /// Returns the bytes of its checksum of this algorithm, if known.
    pub(crate) fn checksum_bytes(&self, algorithm: Algorithm) -> Option<Vec<u8>> {
        let given = self.checksum.as_ref().filter(|checksum| checksum.algorithm == algorithm);
        let computed = || self.crc64nvme.filter(|_| algorithm == Algorithm::Crc64Nvme);
        let bytes = match given {
            Some(checksum) => checksum.bytes(),
            None => computed().map(|crc| algorithm.crc_bytes(crc)),
        };
        bytes.filter(|bytes| bytes.len() == algorithm.bytes())
    }
}
