//! The verbs that return an object, or the facts about it.

use super::checksums::{self, coverage_name};
use super::conversions::{answer_class, content_type, etag, read_conditions, size, timestamp};
use super::multipart::part_number;
use super::principal::principal;
use super::refusal::refusal;
use super::status::Status;
use super::{encryption, lifecycle, versions};
use crate::catalogue::Object;
use crate::error::Error;
use crate::objects::account::Account;
use crate::objects::checksums::{self as sums, Coverage};
use crate::objects::conditions::ReadConditions;
use http::header::{ETAG, LAST_MODIFIED};
use http::{HeaderMap, HeaderValue, StatusCode};
use s3s::dto::*;
use s3s::{S3Error, S3ErrorCode, S3Request, S3Response, S3Result, s3_error};
use std::ops;

/// Refuses override headers in anonymous requests.
macro_rules! check_overrides {
    ($input:expr, $extensions:expr) => {
        let requested = $input.response_cache_control.is_some()
            || $input.response_content_disposition.is_some()
            || $input.response_content_encoding.is_some()
            || $input.response_content_language.is_some()
            || $input.response_content_type.is_some()
            || $input.response_expires.is_some();
        if requested && principal($extensions)?.is_anonymous() {
            return Err(s3_error!(
                InvalidRequest,
                "Request specific response headers cannot be used for anonymous GET requests."
            ));
        }
    };
}

/// Returns the object for a get or a head, the requested range, and the answer with the fields that both have.
macro_rules! describe {
    ($output:ident, $account:expr, $input:expr, $extensions:expr) => {{
        let version = versions::parse_id($input.version_id.as_deref())?;
        check_part_number($input.part_number)?;
        check_overrides!($input, $extensions);
        let object = $account.version(&$input.bucket, &$input.key, version)?;
        let conditions = read_conditions(
            [$input.if_match.take(), $input.if_none_match.take()],
            [&$input.if_modified_since, &$input.if_unmodified_since],
        );
        check_conditions(&conditions, &object)?;
        let range = requested_range(&object, $input.range.as_ref(), $input.part_number)?;
        let details = object.details.clone();
        let total = object.bytes();
        let length = range.as_ref().map_or(total, |range| range.end - range.start);
        let mut output = $output {
            accept_ranges: Some("bytes".into()),
            cache_control: details.cache_control.clone(),
            content_disposition: details.content_disposition.clone(),
            content_encoding: details.content_encoding.clone(),
            content_language: details.content_language.clone(),
            content_length: Some(size(length)),
            content_range: range
                .as_ref()
                .map(|range| format!("bytes {}-{}/{total}", range.start, range.end - 1)),
            content_type: Some(content_type(&details)),
            e_tag: Some(etag(&object)),
            expiration: lifecycle::expiration($account, &$input.bucket, &$input.key, &object),
            expires: details.expires.map(timestamp),
            last_modified: Some(timestamp(object.modified)),
            storage_class: answer_class(&details),
            server_side_encryption: encryption::to_s3(details.encryption),
            metadata: Some(details.metadata.into_iter().collect()),
            parts_count: parts_count(&object, $input.part_number),
            version_id: versions::shown_id($account, &$input.bucket, &object),
            ..$output::default()
        };
        if $input.checksum_mode.is_some() {
            let (coverage, checksum) = checksum_of(&object, range.as_ref(), $input.part_number);
            checksums::set!(output, &checksum);
            output.checksum_type = coverage.map(coverage_name);
        }
        (object, range, output)
    }};
}

pub(super) async fn get_object(
    account: &Account,
    request: S3Request<GetObjectInput>,
) -> S3Result<S3Response<GetObjectOutput>> {
    let mut input = request.input;
    let (object, range, mut output) = describe!(GetObjectOutput, account, input, &request.extensions);
    output.tag_count = tag_count(&object);
    let reader = account.gateway().read(&object, range).await?;
    output.body = Some(StreamingBlob::wrap(reader));
    Ok(S3Response::new(output))
}

pub(super) async fn head_object(
    account: &Account,
    request: S3Request<HeadObjectInput>,
) -> S3Result<S3Response<HeadObjectOutput>> {
    let mut input = request.input;
    let (object, range, mut output) = describe!(HeadObjectOutput, account, input, &request.extensions);
    // For gets, s3s does this.
    override_value(&mut output.cache_control, input.response_cache_control);
    override_value(&mut output.content_disposition, input.response_content_disposition);
    override_value(&mut output.content_encoding, input.response_content_encoding);
    override_value(&mut output.content_language, input.response_content_language);
    override_value(&mut output.content_type, input.response_content_type);
    override_value(&mut output.expires, input.response_expires);
    let mut response = S3Response::new(output);
    if let Some(count) = tag_count(&object) {
        // s3s has no field for it in the answer to a head.
        response.headers.insert("x-amz-tagging-count", count.into());
    }
    if range.is_some() {
        response.extensions.insert(Status(StatusCode::PARTIAL_CONTENT));
    }
    Ok(response)
}

fn override_value<T>(value: &mut Option<T>, requested: Option<T>) {
    if requested.is_some() {
        *value = requested;
    }
}

/// Returns the requested checksum and its coverage: of the object, or of a part if that is stored. As in S3, an object
/// with a checksum over all its bytes shows no checksums of parts.
fn checksum_of(
    object: &Object,
    range: Option<&ops::Range<u64>>,
    part: Option<i32>,
) -> (Option<Coverage>, Option<sums::Checksum>) {
    let Some(whole) = &object.checksum else { return (None, None) };
    let index = part.and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
    let checksum = match (index, range) {
        (Some(index), _) if whole.coverage == Coverage::Composite => object.part_checksum(index),
        (Some(_), _) if object.segments.len() <= 1 => Some(whole.clone()),
        (None, None) => Some(whole.clone()),
        // A range has no checksum.
        (None, Some(_)) => return (None, None),
        (Some(_), _) => None,
    };
    (Some(whole.coverage), checksum)
}

fn check_part_number(number: Option<i32>) -> S3Result<()> {
    number.map_or(Ok(()), |number| part_number(number).map(drop))
}

/// Checks conditions. A 304 has the headers that the client needs to keep its copy.
fn check_conditions(conditions: &ReadConditions, object: &Object) -> S3Result<()> {
    let Err(error) = conditions.check(object) else {
        return Ok(());
    };
    let unmodified = matches!(error, Error::NotModified);
    let mut answer = S3Error::from(error);
    if unmodified {
        let date = HeaderValue::try_from(httpdate::fmt_http_date(object.modified.into()));
        let mut headers: HeaderMap = date.into_iter().map(|date| (LAST_MODIFIED, date)).collect();
        headers.extend(etag(object).to_http_header().map(|etag| (ETAG, etag)));
        answer.set_headers(headers);
    }
    Err(answer)
}

/// Returns the range that a `Range` header or a part number requests.
fn requested_range(
    object: &Object,
    range: Option<&Range>,
    part: Option<i32>,
) -> S3Result<Option<ops::Range<u64>>> {
    let bytes = object.bytes();
    match (range, part) {
        (None, None) => Ok(None),
        (Some(range), None) => {
            // A suffix of an empty object is empty, and has no last byte to name (RFC 9110, section 14.1.2).
            if bytes == 0 && matches!(range, Range::Suffix { length } if *length > 0) {
                return Ok(None);
            }
            let inside = range.check(bytes).ok().filter(|inside| !inside.is_empty());
            inside.map(Some).ok_or_else(|| Error::RangeNotSatisfiable { bytes }.into())
        }
        (None, Some(number)) => part_range(object, number),
        (Some(_), Some(_)) => {
            Err(s3_error!(InvalidRequest, "Cannot specify both Range header and partNumber query parameter"))
        }
    }
}

fn part_range(object: &Object, number: i32) -> S3Result<Option<ops::Range<u64>>> {
    let index = usize::try_from(number)
        .ok()
        .and_then(|number| number.checked_sub(1))
        .filter(|&index| index < object.segments.len().max(1))
        .ok_or_else(no_such_part)?;
    let start: u64 = object.segments[..index].iter().map(|segment| segment.bytes()).sum();
    let length = object.segments.get(index).map_or(0, |segment| segment.bytes());
    if object.bytes() == 0 {
        return Ok(None);
    }
    if length == 0 {
        return Err(Error::RangeNotSatisfiable { bytes: object.bytes() }.into());
    }
    Ok(Some(start..start + length))
}

fn no_such_part() -> S3Error {
    let code = S3ErrorCode::Custom("InvalidPartNumber".into());
    refusal(code, StatusCode::RANGE_NOT_SATISFIABLE, "The requested partnumber is not satisfiable.")
}

fn tag_count(object: &Object) -> Option<i32> {
    i32::try_from(object.details.tags.len()).ok().filter(|&count| count > 0)
}

fn parts_count(object: &Object, requested: Option<i32>) -> Option<i32> {
    requested?;
    object.parts().and_then(|parts| i32::try_from(parts).ok())
}
