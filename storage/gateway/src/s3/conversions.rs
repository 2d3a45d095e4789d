//! Conversions between the values of S3's requests and answers and those of the gateway.

use crate::catalogue::{Details, Object, UnixMillis, Upload, UploadId};
use crate::error::Error;
use crate::http::percent::encode_path;
use crate::objects::checksums::from_hex;
use crate::objects::conditions::{ReadConditions, TagMatch, WriteConditions};
use crate::objects::row_bound;
use base16ct::lower::encode_string as hex;
use s3s::dto::{self, ETag, ETagCondition, Timestamp};
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};
use std::time::SystemTime;

pub(super) fn timestamp(time: UnixMillis) -> Timestamp {
    Timestamp::from(SystemTime::from(time))
}

pub(super) fn unix_millis(timestamp: &Timestamp) -> UnixMillis {
    let time = time::OffsetDateTime::from(timestamp.clone());
    let milliseconds = time.unix_timestamp_nanos() / 1_000_000;
    UnixMillis(u64::try_from(milliseconds).unwrap_or(0))
}

pub(super) fn etag(object: &Object) -> ETag {
    ETag::Strong(object.etag.clone())
}

fn tag_match(condition: Option<ETagCondition>) -> Option<TagMatch> {
    condition.map(|condition| match condition {
        ETagCondition::Any => TagMatch::Any,
        ETagCondition::ETag(tag) => TagMatch::Tag(tag.into_value()),
    })
}

/// Returns the conditions in the headers of a reading verb.
pub(super) fn read_conditions(
    [if_match, if_none_match]: [Option<ETagCondition>; 2],
    [if_modified_since, if_unmodified_since]: [&Option<Timestamp>; 2],
) -> ReadConditions {
    ReadConditions {
        if_match: tag_match(if_match),
        if_none_match: tag_match(if_none_match),
        if_modified_since: if_modified_since.as_ref().map(unix_millis),
        if_unmodified_since: if_unmodified_since.as_ref().map(unix_millis),
    }
}

/// Returns the conditions in the headers of a writing verb.
pub(super) fn write_conditions(
    if_match: Option<ETagCondition>,
    if_none_match: Option<ETagCondition>,
) -> WriteConditions {
    WriteConditions { if_match: tag_match(if_match), if_none_match: tag_match(if_none_match) }
}

pub(super) fn size(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Returns the name of an account in S3: its own name.
pub(super) fn owner_id(account: &str) -> &str {
    account
}

pub(super) fn owner(account: &str) -> dto::Owner {
    dto::Owner { display_name: Some(account.into()), id: Some(owner_id(account).into()) }
}

/// The name of an anonymous initiator.
pub(super) const ANONYMOUS: &str = "anonymous";

/// Returns the initiator of an upload: the account, or another principal. Members are shown by their own names.
pub(super) fn initiator(account: &str, upload: &Upload) -> dto::Initiator {
    let id = upload.initiator.as_deref().unwrap_or(owner_id(account));
    let display_name = id.split_once('/').map_or(id, |(_, user)| user);
    dto::Initiator { display_name: Some(display_name.into()), id: Some(id.into()) }
}

/// The storage classes of S3's buckets, without those of other services (`OUTPOSTS`, `SNOW`, `EXPRESS_ONEZONE`).
const STORAGE_CLASSES: [&str; 8] = [
    STANDARD,
    "REDUCED_REDUNDANCY",
    "STANDARD_IA",
    "ONEZONE_IA",
    "INTELLIGENT_TIERING",
    "GLACIER",
    "GLACIER_IR",
    "DEEP_ARCHIVE",
];

const STANDARD: &str = "STANDARD";

pub(super) fn is_storage_class(name: &[u8]) -> bool {
    STORAGE_CLASSES.iter().any(|class| class.as_bytes() == name)
}

/// Returns the class as it is stored.
pub(super) fn stored_class(requested: Option<dto::StorageClass>) -> Option<String> {
    requested.map(|class| class.as_str().to_owned()).filter(|class| class != STANDARD)
}

/// Returns the class as lists show it, which name every class.
pub(super) fn listed_class<T: From<String>>(details: &Details) -> Option<T> {
    Some(T::from(details.storage_class.clone().unwrap_or_else(|| STANDARD.into())))
}

/// Returns the class as the headers of an object show it, which do not name `STANDARD`.
pub(super) fn answer_class(details: &Details) -> Option<dto::StorageClass> {
    details.storage_class.clone().map(dto::StorageClass::from)
}

/// Takes the details from the headers of a verb.
macro_rules! details {
    ($input:expr) => {
        $crate::s3::conversions::bounded($crate::catalogue::Details {
            content_type: $input.content_type.take(),
            cache_control: $input.cache_control.take(),
            content_disposition: $input.content_disposition.take(),
            content_encoding: $crate::s3::conversions::without_chunking($input.content_encoding.take()),
            content_language: $input.content_language.take(),
            expires: $input.expires.as_ref().map($crate::s3::conversions::unix_millis),
            metadata: $input.metadata.take().unwrap_or_default().into_iter().collect(),
            storage_class: $crate::s3::conversions::stored_class($input.storage_class.take()),
            ..$crate::catalogue::Details::default()
        })
    };
}
pub(super) use details;

/// The largest number of bytes of user metadata, names and values together, as in S3.
const MAX_METADATA: usize = 2048;

/// Returns the details, unless they are longer than S3 allows. Checked before a body is read.
pub(super) fn bounded(details: Details) -> Result<Details, Error> {
    let bytes = details.metadata_bytes();
    if bytes > MAX_METADATA {
        return Err(Error::MetadataTooLarge { bytes, max: MAX_METADATA });
    }
    row_bound::check(&details)?;
    Ok(details)
}

/// Removes `aws-chunked`, which describes the transfer and not the object.
pub(super) fn without_chunking(encoding: Option<String>) -> Option<String> {
    let encoding = encoding?;
    let kept: Vec<&str> = encoding
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty() && !part.eq_ignore_ascii_case("aws-chunked"))
        .collect();
    (!kept.is_empty()).then(|| kept.join(", "))
}

pub(super) fn content_type(details: &Details) -> String {
    details.content_type.clone().unwrap_or_else(|| "binary/octet-stream".into())
}

pub(super) fn upload_id(text: &str) -> S3Result<UploadId> {
    from_hex(text).map(UploadId).ok_or_else(|| S3Error::from(Error::NoSuchUpload))
}

pub(super) fn upload_text(id: UploadId) -> String {
    hex(&id.0)
}

/// Returns the largest number of entries of a page; S3 returns at most 1000.
pub(super) fn page_limit(requested: Option<i32>, name: &str) -> S3Result<usize> {
    match requested {
        None => Ok(1000),
        Some(requested) => usize::try_from(requested).map(|limit| limit.min(1000)).map_err(|_| {
            S3Error::with_message(S3ErrorCode::InvalidArgument, format!("{name} must not be negative"))
        }),
    }
}

/// Reads the encoding of names, and the request for a list: a page of at most `$max` entries that begins after a name.
macro_rules! list_request {
    ($input:expr, $max:ident, $name:literal, $after:expr) => {{
        let encoding = crate::s3::conversions::Encoding::new($input.encoding_type.as_ref())?;
        let listing_request = crate::objects::listing::ListRequest {
            prefix: $input.prefix.clone().unwrap_or_default(),
            delimiter: $input.delimiter.clone().unwrap_or_default(),
            after: $after.unwrap_or_default(),
            limit: crate::s3::conversions::page_limit($input.$max, $name)?,
            ..crate::objects::listing::ListRequest::default()
        };
        (encoding, listing_request)
    }};
}
pub(super) use list_request;

/// Encodes names as the request demands with `encoding-type`.
#[derive(Clone, Copy)]
pub(super) struct Encoding {
    url: bool,
}

impl Encoding {
    pub(super) fn new(requested: Option<&dto::EncodingType>) -> S3Result<Self> {
        match requested.map(dto::EncodingType::as_str) {
            None => Ok(Encoding { url: false }),
            Some("url") => Ok(Encoding { url: true }),
            Some(_) => Err(s3_error!(InvalidArgument, "The only encoding-type is url.")),
        }
    }

    pub(super) fn name(self, name: String) -> String {
        if self.url { encode_path(&name) } else { name }
    }

    pub(super) fn prefixes(self, prefixes: Vec<String>) -> Option<Vec<dto::CommonPrefix>> {
        let encoded =
            prefixes.into_iter().map(|prefix| dto::CommonPrefix { prefix: Some(self.name(prefix)) });
        Some(encoded.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_of_the_transfer_is_no_encoding_of_the_object() {
        let kept = |text: &str| without_chunking(Some(text.into()));
        assert_eq!(kept("aws-chunked"), None);
        assert_eq!(kept("gzip,aws-chunked"), Some("gzip".into()));
        assert_eq!(kept("gzip, br"), Some("gzip, br".into()));
    }

    #[test]
    fn upload_names_come_back_as_they_were() {
        let id = UploadId(*b"0123456789abcdef");
        assert_eq!(from_hex(&upload_text(id)), Some(id.0));
        assert_eq!(from_hex("0123"), None);
        assert_eq!(from_hex(&"é".repeat(16)), None);
    }
}
