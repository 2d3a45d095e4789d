//! The values of rows: CBOR maps with numbered fields, so that a later format can add fields and read older rows.

use crate::catalogue::{Completed, Details, Object, Part, Segment, UnixMillis, Version};
use crate::objects::allocate::Run;
use crate::objects::checksums::Checksum;
use crate::objects::packing::Location;
use minicbor::{Decode, Encode};
use std::sync::Arc;

/// The number of the current format.
pub(crate) const FORMAT: u32 = 1;

#[derive(Encode, Decode)]
#[cbor(map)]
pub(super) struct FormatRow {
    #[n(0)]
    pub(super) format: u32,
    #[n(1)]
    pub(super) block_bytes: u64,
}

#[derive(Encode, Decode)]
#[cbor(map)]
pub(super) struct SegmentRow {
    #[n(0)]
    pub(super) bytes: u64,
    /// The runs of blocks, for a segment with blocks of its own.
    #[n(1)]
    #[cbor(default)]
    pub(super) runs: Vec<Run>,
    /// The fragment, for a segment that shares a block.
    #[n(2)]
    pub(super) fragment: Option<u64>,
}

/// The place of a fragment: its bytes, or a block and the offset in it.
#[derive(Encode, Decode)]
pub(super) enum FragmentRow {
    #[n(0)]
    Waiting(#[cbor(n(0), with = "minicbor::bytes")] Vec<u8>),
    #[n(1)]
    Packed {
        #[n(0)]
        block: u64,
        #[n(1)]
        offset: u64,
        #[n(2)]
        bytes: u64,
    },
}

#[derive(Encode, Decode)]
#[cbor(map)]
pub(super) struct ObjectRow {
    #[n(0)]
    pub(super) details: Details,
    #[n(1)]
    pub(super) etag: String,
    #[n(2)]
    pub(super) checksum: Option<Checksum>,
    #[n(3)]
    pub(super) modified: UnixMillis,
    #[n(4)]
    pub(super) segments: Vec<SegmentRow>,
    /// The facts about the upload in parts.
    #[n(5)]
    pub(super) completed: Option<Completed>,
    /// The version; `None` for an object that is the only version that its key ever had.
    #[n(8)]
    pub(super) version: Option<Version>,
}

#[derive(Encode, Decode)]
#[cbor(map)]
pub(super) struct PartRow {
    #[n(0)]
    pub(super) segment: SegmentRow,
    #[cbor(n(1), with = "minicbor::bytes")]
    pub(super) md5: [u8; 16],
    #[n(2)]
    pub(super) checksum: Option<Checksum>,
    #[n(3)]
    pub(super) modified: UnixMillis,
    #[n(4)]
    pub(super) crc64nvme: Option<u64>,
}

impl From<&Segment> for SegmentRow {
    fn from(segment: &Segment) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        for run in segment.runs() {
            match runs.last_mut() {
                Some(last) if last.start + last.blocks == run.start => last.blocks += run.blocks,
                _ => runs.push(run),
            }
        }
        SegmentRow {
            bytes: segment.bytes,
            runs,
            fragment: segment.fragment().map(|fragment| fragment.id().0),
        }
    }
}

/// Returns the row of a fragment of this many bytes in this place.
pub(super) fn fragment(bytes: u64, location: &Location) -> Vec<u8> {
    encode(&match location {
        Location::Waiting(bytes) => FragmentRow::Waiting(bytes.to_vec()),
        Location::Packed { pack, offset } => {
            FragmentRow::Packed { block: pack.block(), offset: *offset, bytes }
        }
    })
}

/// Encodes a row's value.
pub(super) fn encode(row: &impl minicbor::Encode<()>) -> Vec<u8> {
    minicbor::to_vec(row).expect("writing to memory does not fail")
}

/// Decodes a row's value, if it is exactly one row of this kind.
pub(super) fn decode<'b, T: minicbor::Decode<'b, ()>>(value: &'b [u8]) -> Option<T> {
    let mut decoder = minicbor::Decoder::new(value);
    let row = decoder.decode().ok()?;
    (decoder.position() == value.len()).then_some(row)
}

pub(super) fn object(object: &Arc<Object>) -> Vec<u8> {
    encode(&ObjectRow {
        details: object.details.clone(),
        etag: object.etag.clone(),
        checksum: object.checksum.clone(),
        modified: object.modified,
        segments: object.segments.iter().map(|segment| SegmentRow::from(&**segment)).collect(),
        completed: object.completed.as_deref().cloned(),
        version: (object.version != Version::default()).then_some(object.version),
    })
}

pub(super) fn part(part: &Arc<Part>) -> Vec<u8> {
    encode(&PartRow {
        segment: SegmentRow::from(&*part.segment),
        md5: part.md5,
        checksum: part.checksum.clone(),
        modified: part.modified,
        crc64nvme: part.crc64nvme,
    })
}
