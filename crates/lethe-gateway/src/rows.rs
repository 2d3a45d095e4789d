//! The catalogue as rows: borsh-encoded, under a row that numbers the format.
//!
//! | key | value |
//! |---|---|
//! | `0` | format number (u32), bytes of a block (u64) |
//! | `1` bucket | when it was made |
//! | `2` bucket `0` key | details, ETag, checksum, modified, segments (bytes, runs of blocks) |
//! | `3` upload id | bucket, key, details, checksum, started |
//! | `4` upload id, part number (u16, big-endian) | segment, MD5, checksum, modified |
//!
//! Free blocks are those that no row names. A crash before a commit leaves blocks that no row names: free ones.

use crate::allocate::{Allocator, Run};
use crate::catalogue::{Bucket, Catalogue, Change, Details, Moment, Object, Part, Segment, Upload, UploadId};
use crate::checksums::{Algorithm, Checksum, Coverage};
use crate::device::{Row, RowChange};
use crate::error::OpenError;
use borsh::{BorshDeserialize, BorshSerialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of the format written and read here.
pub(crate) const FORMAT: u32 = 1;

/// What a row is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RowKey {
    Format,
    Bucket(String),
    Object(String, String),
    Upload(UploadId),
    Part(UploadId, u16),
}

#[derive(BorshSerialize, BorshDeserialize)]
struct FormatRow {
    format: u32,
    block_bytes: u64,
}

#[derive(BorshSerialize, BorshDeserialize)]
struct BucketRow {
    created: Moment,
}

#[derive(BorshSerialize, BorshDeserialize)]
struct SegmentRow {
    bytes: u64,
    runs: Vec<Run>,
}

#[derive(BorshSerialize, BorshDeserialize)]
struct ObjectRow {
    details: Details,
    etag: String,
    checksum: Option<Checksum>,
    modified: Moment,
    segments: Vec<SegmentRow>,
}

#[derive(BorshSerialize, BorshDeserialize)]
struct UploadRow {
    bucket: String,
    key: String,
    details: Details,
    checksum: Option<(Algorithm, Coverage)>,
    started: Moment,
}

#[derive(BorshSerialize, BorshDeserialize)]
struct PartRow {
    segment: SegmentRow,
    md5: [u8; 16],
    checksum: Option<Checksum>,
    modified: Moment,
}

fn encode(row: &impl BorshSerialize) -> Vec<u8> {
    borsh::to_vec(row).expect("writing to memory does not fail")
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
        SegmentRow { bytes: segment.bytes, runs }
    }
}

impl RowKey {
    fn bytes(&self) -> Vec<u8> {
        match self {
            RowKey::Format => vec![b'0'],
            RowKey::Bucket(name) => [b"1", name.as_bytes()].concat(),
            RowKey::Object(bucket, key) => [b"2", bucket.as_bytes(), b"\0", key.as_bytes()].concat(),
            RowKey::Upload(id) => [b"3", &id.0[..]].concat(),
            RowKey::Part(id, number) => [b"4", &id.0[..], &number.to_be_bytes()].concat(),
        }
    }

    fn parse(bytes: &[u8]) -> Option<RowKey> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let (&tag, rest) = bytes.split_first()?;
        Some(match tag {
            b'0' if rest.is_empty() => RowKey::Format,
            b'1' => RowKey::Bucket(text(rest)?),
            b'2' => {
                let end = rest.iter().position(|&byte| byte == 0)?;
                RowKey::Object(text(&rest[..end])?, text(&rest[end + 1..])?)
            }
            b'3' => RowKey::Upload(UploadId(rest.try_into().ok()?)),
            b'4' => {
                let (id, number) = rest.split_first_chunk::<16>()?;
                RowKey::Part(UploadId(*id), u16::from_be_bytes(number.try_into().ok()?))
            }
            _ => return None,
        })
    }

    fn kind(&self) -> &'static str {
        match self {
            RowKey::Format => "the format",
            RowKey::Bucket(_) => "a bucket",
            RowKey::Object(..) => "an object",
            RowKey::Upload(_) => "a multipart upload",
            RowKey::Part(..) => "a part of a multipart upload",
        }
    }
}

fn object_row(object: &Object) -> Vec<u8> {
    encode(&ObjectRow {
        details: object.details.clone(),
        etag: object.etag.clone(),
        checksum: object.checksum.clone(),
        modified: object.modified,
        segments: object.segments.iter().map(|segment| SegmentRow::from(&**segment)).collect(),
    })
}

fn upload_row(upload: &Upload) -> Vec<u8> {
    encode(&UploadRow {
        bucket: upload.bucket.clone(),
        key: upload.key.clone(),
        details: upload.details.clone(),
        checksum: upload.checksum,
        started: upload.started,
    })
}

fn part_row(part: &Part) -> Vec<u8> {
    encode(&PartRow {
        segment: SegmentRow::from(&*part.segment),
        md5: part.md5,
        checksum: part.checksum.clone(),
        modified: part.modified,
    })
}

fn format_row(block_bytes: usize) -> Vec<u8> {
    encode(&FormatRow { format: FORMAT, block_bytes: block_bytes as u64 })
}

/// The rows of an empty catalogue.
pub(crate) fn first_rows(block_bytes: usize) -> Vec<RowChange> {
    vec![(RowKey::Format.bytes(), Some(format_row(block_bytes)))]
}

impl Catalogue {
    /// The row of this key as the catalogue stands.
    fn row(&self, key: &RowKey) -> Option<Vec<u8>> {
        match key {
            RowKey::Format => None,
            RowKey::Bucket(name) => {
                self.buckets.get(name).map(|bucket| encode(&BucketRow { created: bucket.created }))
            }
            RowKey::Object(bucket, key) => {
                self.buckets.get(bucket)?.objects.get(key).map(|object| object_row(object))
            }
            RowKey::Upload(id) => self.uploads.get(id).map(upload_row),
            RowKey::Part(id, number) => self.uploads.get(id)?.parts.get(number).map(|part| part_row(part)),
        }
    }

    fn changed_rows(&self, changes: &[Change]) -> BTreeMap<RowKey, Option<Vec<u8>>> {
        let mut rows = BTreeMap::new();
        for change in changes {
            match change {
                Change::AddBucket { name, created } => {
                    let row = encode(&BucketRow { created: *created });
                    rows.insert(RowKey::Bucket(name.clone()), Some(row));
                }
                Change::DropBucket { name } => {
                    rows.insert(RowKey::Bucket(name.clone()), None);
                }
                Change::PutObject { bucket, key, object } => {
                    let row = object_row(object);
                    rows.insert(RowKey::Object(bucket.clone(), key.clone()), Some(row));
                }
                Change::DropObject { bucket, key } => {
                    rows.insert(RowKey::Object(bucket.clone(), key.clone()), None);
                }
                Change::AddUpload { id, upload } => {
                    rows.insert(RowKey::Upload(*id), Some(upload_row(upload)));
                }
                Change::DropUpload { id } => {
                    rows.insert(RowKey::Upload(*id), None);
                    if let Some(upload) = self.uploads.get(id) {
                        for &number in upload.parts.keys() {
                            rows.insert(RowKey::Part(*id, number), None);
                        }
                    }
                }
                Change::PutPart { id, number, part } => {
                    rows.insert(RowKey::Part(*id, *number), Some(part_row(part)));
                }
            }
        }
        rows
    }

    /// The rows to commit for these changes, and the rows that would take them back.
    pub(crate) fn rows_of(&self, changes: &[Change]) -> (Vec<RowChange>, Vec<RowChange>) {
        let rows = self.changed_rows(changes);
        let back = rows.keys().map(|key| (key.bytes(), self.row(key))).collect();
        let forth = rows.into_iter().map(|(key, value)| (key.bytes(), value)).collect();
        (forth, back)
    }

    /// Reads the rows back and claims the blocks that they name.
    pub(crate) fn load(
        mut rows: Vec<Row>,
        allocator: &Arc<Allocator>,
        block_bytes: usize,
    ) -> Result<Catalogue, OpenError> {
        rows.sort();
        let count = rows.len();
        let mut catalogue = Catalogue::default();
        for (index, (key, value)) in rows.iter().enumerate() {
            let key = RowKey::parse(key);
            let corrupt = |why| OpenError::Corrupt {
                row: index + 1,
                rows: count,
                kind: key.as_ref().map_or("of no known kind", RowKey::kind),
                why,
            };
            let key = key.as_ref().ok_or_else(|| corrupt("has a key that cannot be read"))?;
            if index == 0 && *key != RowKey::Format {
                return Err(corrupt("stands where the format's row should be"));
            }
            let loader = Loader { allocator, block_bytes: block_bytes as u64 };
            match key {
                RowKey::Format => loader.check_format(value, &corrupt)?,
                _ => loader.load(&mut catalogue, key, value).map_err(&corrupt)?,
            }
        }
        Ok(catalogue)
    }
}

struct Loader<'a> {
    allocator: &'a Arc<Allocator>,
    block_bytes: u64,
}

const UNREADABLE: &str = "cannot be decoded";

impl Loader<'_> {
    fn check_format(
        &self,
        value: &[u8],
        corrupt: &dyn Fn(&'static str) -> OpenError,
    ) -> Result<(), OpenError> {
        // A newer format may say more in its row, so only the number is read before it is known.
        let found = u32::deserialize(&mut &value[..]).map_err(|_| corrupt(UNREADABLE))?;
        if found != FORMAT {
            return Err(OpenError::Format { found, known: FORMAT });
        }
        let row: FormatRow = borsh::from_slice(value).map_err(|_| corrupt(UNREADABLE))?;
        if row.block_bytes != self.block_bytes {
            return Err(OpenError::BlockBytes { found: row.block_bytes, block_bytes: self.block_bytes });
        }
        Ok(())
    }

    /// Rows come in the order of their keys: buckets before objects, uploads before parts.
    fn load(&self, catalogue: &mut Catalogue, key: &RowKey, value: &[u8]) -> Result<(), &'static str> {
        match key {
            RowKey::Format => {}
            RowKey::Bucket(name) => {
                let row: BucketRow = read(value)?;
                let bucket = Bucket { created: row.created, objects: BTreeMap::new() };
                catalogue.buckets.insert(name.clone(), bucket);
            }
            RowKey::Object(bucket, key) => {
                let row: ObjectRow = read(value)?;
                let segments: Result<_, _> =
                    row.segments.into_iter().map(|segment| self.segment(segment)).collect();
                let object = Object {
                    details: row.details,
                    etag: row.etag,
                    checksum: row.checksum,
                    modified: row.modified,
                    segments: segments?,
                };
                let bucket =
                    catalogue.buckets.get_mut(bucket).ok_or("belongs to a bucket that does not exist")?;
                bucket.objects.insert(key.clone(), Arc::new(object));
            }
            RowKey::Upload(id) => {
                let row: UploadRow = read(value)?;
                if !catalogue.buckets.contains_key(&row.bucket) {
                    return Err("belongs to a bucket that does not exist");
                }
                let upload = Upload {
                    bucket: row.bucket,
                    key: row.key,
                    details: row.details,
                    checksum: row.checksum,
                    started: row.started,
                    parts: BTreeMap::new(),
                };
                catalogue.uploads.insert(*id, upload);
            }
            RowKey::Part(id, number) => {
                let row: PartRow = read(value)?;
                let part = Part {
                    segment: self.segment(row.segment)?,
                    md5: row.md5,
                    checksum: row.checksum,
                    modified: row.modified,
                };
                let upload =
                    catalogue.uploads.get_mut(id).ok_or("belongs to an upload that does not exist")?;
                upload.parts.insert(*number, Arc::new(part));
            }
        }
        Ok(())
    }

    fn segment(&self, row: SegmentRow) -> Result<Arc<Segment>, &'static str> {
        let lease = self
            .allocator
            .claim(row.runs)
            .ok_or("names a block that another row holds or that does not exist")?;
        if lease.len() < row.bytes.div_ceil(self.block_bytes) {
            return Err("has more bytes than its blocks hold");
        }
        Ok(Arc::new(Segment { bytes: row.bytes, leases: vec![Arc::new(lease)] }))
    }
}

fn read<T: BorshDeserialize>(value: &[u8]) -> Result<T, &'static str> {
    borsh::from_slice(value).map_err(|_| UNREADABLE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_as_rows_are_an_error_or_a_catalogue_but_never_a_panic(
            rows in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..30), prop::collection::vec(any::<u8>(), 0..120)), 0..6),
        ) {
            let mut rows = rows;
            rows.push((RowKey::Format.bytes(), format_row(16)));
            let allocator = Allocator::new(50);
            let _ = Catalogue::load(rows, &allocator, 16);
        }

        #[test]
        fn a_flipped_byte_never_gives_a_block_two_holders(at in any::<prop::sample::Index>(), flip in 1u8..) {
            let allocator = Allocator::new(50);
            let segment = |n, bytes| Arc::new(Segment { bytes, leases: vec![Arc::new(allocator.allocate(n).expect("free"))] });
            let object = |n| Arc::new(Object {
                details: Details::default(),
                etag: "0".repeat(32),
                checksum: None,
                modified: Moment(5),
                segments: vec![segment(n, n * 16), segment(n, n * 16)],
            });
            let changes = [
                Change::AddBucket { name: "b".into(), created: Moment(1) },
                Change::PutObject { bucket: "b".into(), key: "one".into(), object: object(3) },
                Change::PutObject { bucket: "b".into(), key: "two".into(), object: object(5) },
            ];
            let (forth, _) = Catalogue::default().rows_of(&changes);
            let mut rows: Vec<_> = first_rows(16).into_iter().chain(forth)
                .map(|(key, value)| (key, value.expect("added"))).collect();
            let total: usize = rows.iter().map(|(_, value)| value.len()).sum();
            let mut at = at.index(total);
            for (_, value) in &mut rows {
                if at < value.len() {
                    value[at] ^= flip;
                    break;
                }
                at -= value.len();
            }
            let fresh = Allocator::new(50);
            if let Ok(loaded) = Catalogue::load(rows, &fresh, 16) {
                let mut held: Vec<u64> = loaded.buckets.values().flat_map(|bucket| bucket.objects.values())
                    .flat_map(|object| &object.segments).flat_map(|segment| segment.block_numbers()).collect();
                let count = held.len();
                held.sort_unstable();
                held.dedup();
                prop_assert_eq!(held.len(), count);
                prop_assert_eq!(fresh.free_blocks(), 50 - count as u64);
            }
        }
    }

    #[test]
    fn keys_come_back_as_they_were() {
        let id = UploadId([7; 16]);
        let keys = [
            RowKey::Format,
            RowKey::Bucket("bucket".into()),
            RowKey::Object("bucket".into(), "a\0b".into()),
            RowKey::Upload(id),
            RowKey::Part(id, 10_000),
        ];
        for key in keys {
            assert_eq!(RowKey::parse(&key.bytes()), Some(key));
        }
    }

    #[test]
    fn a_newer_format_is_named_not_misread() {
        let newer = [&2u32.to_le_bytes()[..], b"and more"].concat();
        let loaded = Catalogue::load(vec![(RowKey::Format.bytes(), newer)], &Allocator::new(5), 16);
        assert!(matches!(loaded, Err(OpenError::Format { found: 2, known: 1 })));
    }
}
