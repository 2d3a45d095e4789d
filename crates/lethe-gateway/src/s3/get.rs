//! Getting an object, or what is known about it.

use super::access::requester;
use super::checksums::{self, coverage_name};
use super::door::Status;
use super::multipart::part_number;
use super::values::{content_type, etag, moment, only_version, page_limit, size, tag_match, timestamp};
use crate::account::Account;
use crate::catalogue::Object;
use crate::conditions::ReadConditions;
use crate::device::Device;
use crate::error::Error;
use http::header::{ETAG, LAST_MODIFIED};
use http::{HeaderMap, HeaderValue, StatusCode};
use s3s::dto::*;
use s3s::{S3Error, S3ErrorCode, S3Request, S3Response, S3Result, s3_error};
use std::ops;

/// The conditions in the headers of a verb that reads.
macro_rules! conditions {
    ($input:expr) => {
        ReadConditions {
            if_match: tag_match($input.if_match.take()),
            if_none_match: tag_match($input.if_none_match.take()),
            if_modified_since: $input.if_modified_since.as_ref().map(moment),
            if_unmodified_since: $input.if_unmodified_since.as_ref().map(moment),
        }
    };
}

/// Only who signs may have an object given out under other headers.
macro_rules! check_overrides {
    ($input:expr, $extensions:expr) => {
        let asked = $input.response_cache_control.is_some()
            || $input.response_content_disposition.is_some()
            || $input.response_content_encoding.is_some()
            || $input.response_content_language.is_some()
            || $input.response_content_type.is_some()
            || $input.response_expires.is_some();
        if asked && requester($extensions)?.is_nobody() {
            return Err(s3_error!(
                InvalidRequest,
                "Request specific response headers cannot be used for anonymous GET requests."
            ));
        }
    };
}

/// What get and head answer alike.
macro_rules! describe {
    ($output:ident, $object:expr, $range:expr, $with_checksum:expr) => {{
        let object: &Object = $object;
        let details = object.details.clone();
        let total = object.bytes();
        let range: Option<ops::Range<u64>> = $range;
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
            e_tag: Some(etag(object)),
            expires: details.expires.map(timestamp),
            last_modified: Some(timestamp(object.modified)),
            metadata: Some(details.metadata.into_iter().collect()),
            ..$output::default()
        };
        if $with_checksum && range.is_none() {
            checksums::set!(output, &object.checksum);
            output.checksum_type = object.checksum.as_ref().map(|checksum| coverage_name(checksum.coverage));
        }
        output
    }};
}

pub(super) async fn get_object<D: Device>(
    account: &Account<D>,
    request: S3Request<GetObjectInput>,
) -> S3Result<S3Response<GetObjectOutput>> {
    let mut input = request.input;
    only_version(input.version_id.as_deref())?;
    check_part_number(input.part_number)?;
    check_overrides!(input, &request.extensions);
    let object = account.object(&input.bucket, &input.key)?;
    check(&conditions!(input), &object)?;
    let range = wanted(&object, input.range.as_ref(), input.part_number)?;
    let with_checksum = input.checksum_mode.is_some();
    let mut output = describe!(GetObjectOutput, &object, range.clone(), with_checksum);
    output.parts_count = parts_count(&object, input.part_number);
    output.tag_count = tag_count(&object);
    let reader = account.gateway().read(&object, range).await?;
    output.body = Some(StreamingBlob::wrap(reader));
    Ok(S3Response::new(output))
}

pub(super) async fn head_object<D: Device>(
    account: &Account<D>,
    request: S3Request<HeadObjectInput>,
) -> S3Result<S3Response<HeadObjectOutput>> {
    let mut input = request.input;
    only_version(input.version_id.as_deref())?;
    check_part_number(input.part_number)?;
    check_overrides!(input, &request.extensions);
    let object = account.object(&input.bucket, &input.key)?;
    check(&conditions!(input), &object)?;
    let range = wanted(&object, input.range.as_ref(), input.part_number)?;
    let with_checksum = input.checksum_mode.is_some();
    let mut output = describe!(HeadObjectOutput, &object, range.clone(), with_checksum);
    // s3s does this for gets.
    replace(&mut output.cache_control, input.response_cache_control);
    replace(&mut output.content_disposition, input.response_content_disposition);
    replace(&mut output.content_encoding, input.response_content_encoding);
    replace(&mut output.content_language, input.response_content_language);
    replace(&mut output.content_type, input.response_content_type);
    replace(&mut output.expires, input.response_expires);
    output.parts_count = parts_count(&object, input.part_number);
    let mut response = S3Response::new(output);
    if range.is_some() {
        response.extensions.insert(Status(StatusCode::PARTIAL_CONTENT));
    }
    Ok(response)
}

fn replace<T>(said: &mut Option<T>, asked: Option<T>) {
    if asked.is_some() {
        *said = asked;
    }
}

fn check_part_number(number: Option<i32>) -> S3Result<()> {
    number.map_or(Ok(()), |number| part_number(number).map(drop))
}

/// A 304 carries what the client needs to go on trusting its copy.
fn check(conditions: &ReadConditions, object: &Object) -> S3Result<()> {
    let Err(error) = conditions.check(object) else {
        return Ok(());
    };
    let unmodified = matches!(error, Error::NotModified);
    let mut answer = S3Error::from(error);
    if unmodified {
        let mut headers = HeaderMap::new();
        let mut date = Vec::new();
        let modified = timestamp(object.modified);
        if modified.format(TimestampFormat::HttpDate, &mut date).is_ok()
            && let Ok(value) = HeaderValue::from_bytes(&date)
        {
            headers.insert(LAST_MODIFIED, value);
        }
        if let Ok(value) = etag(object).to_http_header() {
            headers.insert(ETAG, value);
        }
        answer.set_headers(headers);
    }
    Err(answer)
}

/// The bytes that a `Range` or a part number asks for.
fn wanted(object: &Object, range: Option<&Range>, part: Option<i32>) -> S3Result<Option<ops::Range<u64>>> {
    let bytes = object.bytes();
    match (range, part) {
        (None, None) => Ok(None),
        (Some(range), None) => {
            match range {
                // All of nothing is nothing, and there is no last byte to name (RFC 9110, section 14.1.2).
                Range::Suffix { length } if bytes == 0 && *length > 0 => return Ok(None),
                _ => {}
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
    let mut answer = S3Error::with_message(code, "The requested partnumber is not satisfiable.");
    answer.set_status_code(StatusCode::RANGE_NOT_SATISFIABLE);
    answer
}

fn tag_count(object: &Object) -> Option<i32> {
    i32::try_from(object.details.tags.len()).ok().filter(|&count| count > 0)
}

fn parts_count(object: &Object, asked: Option<i32>) -> Option<i32> {
    asked?;
    object.parts().and_then(|parts| i32::try_from(parts).ok())
}

const ATTRIBUTES: [&str; 5] = [
    ObjectAttributes::ETAG,
    ObjectAttributes::CHECKSUM,
    ObjectAttributes::OBJECT_PARTS,
    ObjectAttributes::STORAGE_CLASS,
    ObjectAttributes::OBJECT_SIZE,
];

pub(super) async fn get_object_attributes<D: Device>(
    account: &Account<D>,
    request: S3Request<GetObjectAttributesInput>,
) -> S3Result<S3Response<GetObjectAttributesOutput>> {
    let input = request.input;
    only_version(input.version_id.as_deref())?;
    account.container(&input.bucket)?;
    // The header is a list with commas, of which s3s makes one text.
    let texts = input.object_attributes.iter().map(ObjectAttributes::as_str);
    let names: Vec<&str> =
        texts.flat_map(|text| text.split(',')).map(str::trim).filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        return Err(s3_error!(
            InvalidRequest,
            "The x-amz-object-attributes header specifying the attributes to be retrieved is either missing or empty"
        ));
    }
    if names.iter().any(|name| !ATTRIBUTES.contains(name)) {
        return Err(s3_error!(InvalidArgument, "Invalid attribute name specified."));
    }
    let asked = |name: &str| names.contains(&name);
    let object = account.object(&input.bucket, &input.key)?;
    let mut output = GetObjectAttributesOutput {
        last_modified: Some(timestamp(object.modified)),
        ..GetObjectAttributesOutput::default()
    };
    if asked(ObjectAttributes::ETAG) {
        output.e_tag = Some(etag(&object));
    }
    if asked(ObjectAttributes::OBJECT_SIZE) {
        output.object_size = Some(size(object.bytes()));
    }
    if asked(ObjectAttributes::STORAGE_CLASS) {
        output.storage_class = Some(StorageClass::from_static(StorageClass::STANDARD));
    }
    if asked(ObjectAttributes::CHECKSUM)
        && let Some(checksum) = &object.checksum
    {
        let mut answer =
            Checksum { checksum_type: Some(coverage_name(checksum.coverage)), ..Checksum::default() };
        checksums::set!(answer, Some(checksum));
        output.checksum = Some(answer);
    }
    if asked(ObjectAttributes::OBJECT_PARTS) && object.parts().is_some() {
        output.object_parts = Some(parts(&object, input.max_parts, input.part_number_marker)?);
    }
    Ok(S3Response::new(output))
}

fn parts(object: &Object, limit: Option<i32>, after: Option<i32>) -> S3Result<GetObjectAttributesParts> {
    let limit = page_limit(limit, "x-amz-max-parts")?;
    let skip = usize::try_from(after.unwrap_or(0)).unwrap_or(0);
    let page: Vec<ObjectPart> = (1..)
        .zip(&object.segments)
        .skip(skip)
        .take(limit)
        .map(|(number, segment)| ObjectPart {
            part_number: Some(number),
            size: Some(size(segment.bytes())),
            ..ObjectPart::default()
        })
        .collect();
    Ok(GetObjectAttributesParts {
        is_truncated: Some(skip + page.len() < object.segments.len()),
        max_parts: i32::try_from(limit).ok(),
        next_part_number_marker: page.last().and_then(|part| part.part_number),
        part_number_marker: after,
        parts: Some(page),
        total_parts_count: i32::try_from(object.segments.len()).ok(),
    })
}
