//! The first format of the catalogue: S3 buckets of one owner, rows in borsh. It is only read, to be written anew.

use super::encoding::{self, ContainerRow, FORMAT, FormatRow, ObjectRow, PartRow, SegmentRow, UploadRow};
use super::key::RowKey;
use crate::catalogue::{self, ContainerSettings, Moment, UploadId};
use crate::device::{Row, RowChange};
use crate::objects::allocate::Run;
use crate::objects::checksums::{Algorithm, Checksum, Coverage};
use borsh::BorshDeserialize;
use std::collections::BTreeMap;

/// The number of this format.
pub(crate) const NUMBER: u32 = 1;

#[derive(BorshDeserialize)]
struct Format {
    _number: u32,
    block_bytes: u64,
}

#[derive(BorshDeserialize)]
struct Bucket {
    created: Moment,
}

#[derive(BorshDeserialize)]
struct Segment {
    bytes: u64,
    runs: Vec<Run>,
}

#[derive(BorshDeserialize)]
struct Details {
    content_type: Option<String>,
    cache_control: Option<String>,
    content_disposition: Option<String>,
    content_encoding: Option<String>,
    content_language: Option<String>,
    expires: Option<Moment>,
    metadata: BTreeMap<String, String>,
}

#[derive(BorshDeserialize)]
struct Object {
    details: Details,
    etag: String,
    checksum: Option<Checksum>,
    modified: Moment,
    segments: Vec<Segment>,
}

#[derive(BorshDeserialize)]
struct Upload {
    bucket: String,
    key: String,
    details: Details,
    checksum: Option<(Algorithm, Coverage)>,
    started: Moment,
}

#[derive(BorshDeserialize)]
struct Part {
    segment: Segment,
    md5: [u8; 16],
    checksum: Option<Checksum>,
    modified: Moment,
}

impl From<Segment> for SegmentRow {
    fn from(old: Segment) -> Self {
        SegmentRow { bytes: old.bytes, runs: old.runs, fragment: None }
    }
}

impl From<Details> for catalogue::Details {
    fn from(old: Details) -> Self {
        catalogue::Details {
            content_type: old.content_type,
            cache_control: old.cache_control,
            content_disposition: old.content_disposition,
            content_encoding: old.content_encoding,
            content_language: old.content_language,
            expires: old.expires,
            metadata: old.metadata,
            ..catalogue::Details::default()
        }
    }
}

/// The number of a catalogue's format and the bytes of its blocks, if it is of this format.
pub(super) fn read_format(value: &[u8]) -> Option<u64> {
    let row: Format = borsh::from_slice(value).ok()?;
    Some(row.block_bytes)
}

/// The changes that make a catalogue of this format one of the present, all of it `account`'s; `None` if a row
/// cannot be read.
pub(super) fn upgrade(rows: &[Row], account: &str) -> Option<Vec<RowChange>> {
    let mut changes: BTreeMap<Vec<u8>, Option<Vec<u8>>> = BTreeMap::new();
    // A new key may be the same bytes as an old one: the new rows have the last word.
    changes.extend(rows.iter().map(|(key, _)| (key.clone(), None)));
    for (key, value) in rows {
        let (key, value) = translate(key, value, account)?;
        changes.insert(key.bytes(), Some(value));
    }
    Some(changes.into_iter().collect())
}

fn translate(key: &[u8], value: &[u8], account: &str) -> Option<(RowKey, Vec<u8>)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    let account = account.to_owned();
    let (&tag, rest) = key.split_first()?;
    Some(match tag {
        b'0' => {
            let block_bytes = read_format(value)?;
            (RowKey::Format, encoding::encode(&FormatRow { format: FORMAT, block_bytes }))
        }
        b'1' => {
            let old: Bucket = borsh::from_slice(value).ok()?;
            let settings = ContainerSettings { created: old.created, ..ContainerSettings::default() };
            (RowKey::Container(account, text(rest)?), encoding::encode(&ContainerRow { settings }))
        }
        b'2' => {
            let end = rest.iter().position(|&byte| byte == 0)?;
            let old: Object = borsh::from_slice(value).ok()?;
            let row = ObjectRow {
                details: old.details.into(),
                etag: old.etag,
                checksum: old.checksum,
                modified: old.modified,
                segments: old.segments.into_iter().map(SegmentRow::from).collect(),
                completed: None,
                version: None,
            };
            (RowKey::Object(account, text(&rest[..end])?, text(&rest[end + 1..])?), encoding::encode(&row))
        }
        b'3' => {
            let old: Upload = borsh::from_slice(value).ok()?;
            let row = UploadRow {
                account,
                container: old.bucket,
                key: old.key,
                details: old.details.into(),
                checksum: old.checksum,
                started: old.started,
                initiator: None,
            };
            (RowKey::Upload(UploadId(rest.try_into().ok()?)), encoding::encode(&row))
        }
        b'4' => {
            let (id, number) = rest.split_first_chunk::<16>()?;
            let old: Part = borsh::from_slice(value).ok()?;
            let row = PartRow {
                segment: old.segment.into(),
                md5: old.md5,
                checksum: old.checksum,
                modified: old.modified,
                crc64nvme: None,
            };
            let number = u16::from_be_bytes(number.try_into().ok()?);
            (RowKey::Part(UploadId(*id), number), encoding::encode(&row))
        }
        _ => return None,
    })
}
