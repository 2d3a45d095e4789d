//! Copying: of an object to another name, and of a range of one into a part.

use super::checksums;
use super::multipart::part_number;
use super::values::{details, etag, moment, only_version, tag_match, timestamp, upload_id};
use crate::catalogue::{Details, Object};
use crate::checksums::hex;
use crate::conditions::{ReadConditions, WriteConditions};
use crate::device::Device;
use crate::error::Error;
use crate::gateway::Gateway;
use s3s::dto::*;
use s3s::{S3Request, S3Response, S3Result, s3_error};
use std::ops;
use std::sync::Arc;

/// The object to copy from, once its conditions hold.
macro_rules! source {
    ($gateway:expr, $input:expr) => {{
        let (bucket, key) = place(&$input.copy_source)?;
        let object = $gateway.object(bucket, key)?;
        let conditions = ReadConditions {
            if_match: tag_match($input.copy_source_if_match.take()),
            if_none_match: tag_match($input.copy_source_if_none_match.take()),
            if_modified_since: $input.copy_source_if_modified_since.as_ref().map(moment),
            if_unmodified_since: $input.copy_source_if_unmodified_since.as_ref().map(moment),
        };
        check(&conditions, &object)?;
        object
    }};
}

fn place(source: &CopySource) -> S3Result<(&str, &str)> {
    match source {
        CopySource::Bucket { bucket, key, version_id } => {
            only_version(version_id.as_deref())?;
            Ok((bucket, key))
        }
        _ => Err(s3_error!(NotImplemented, "Copy from a bucket and a key; there are no access points.")),
    }
}

/// For a copy, "not modified" is a condition that does not hold.
fn check(conditions: &ReadConditions, object: &Object) -> Result<(), Error> {
    conditions.check(object).map_err(|error| match error {
        Error::NotModified => Error::PreconditionFailed(
            "x-amz-copy-source-if-none-match or x-amz-copy-source-if-modified-since",
        ),
        other => other,
    })
}

pub(super) async fn copy_object<D: Device>(
    gateway: &Gateway<D>,
    request: S3Request<CopyObjectInput>,
) -> S3Result<S3Response<CopyObjectOutput>> {
    let mut input = request.input;
    let replace = replaces(input.metadata_directive.as_ref())?;
    if let (Ok((bucket, key)), false) = (place(&input.copy_source), replace)
        && bucket == input.bucket
        && key == input.key
    {
        return Err(s3_error!(
            InvalidRequest,
            "A copy onto itself must replace the metadata (x-amz-metadata-directive: REPLACE)."
        ));
    }
    let source: Arc<Object> = source!(gateway, input);
    let none = WriteConditions::default();
    gateway.check_put(&input.bucket, &input.key, &none)?;
    let details: Details = if replace { details!(input)? } else { source.details.clone() };
    let algorithm = checksums::algorithm(input.checksum_algorithm.as_ref())?;
    let written = gateway.copy_blocks(&source, None, algorithm).await?;
    let object = gateway.link(&input.bucket, &input.key, written, details, none).await?;
    let mut result = CopyObjectResult {
        e_tag: Some(etag(&object)),
        last_modified: Some(timestamp(object.modified)),
        ..CopyObjectResult::default()
    };
    checksums::set!(result, &object.checksum);
    Ok(S3Response::new(CopyObjectOutput { copy_object_result: Some(result), ..CopyObjectOutput::default() }))
}

fn replaces(directive: Option<&MetadataDirective>) -> S3Result<bool> {
    match directive.map(MetadataDirective::as_str) {
        None | Some(MetadataDirective::COPY) => Ok(false),
        Some(MetadataDirective::REPLACE) => Ok(true),
        Some(_) => Err(s3_error!(InvalidArgument, "The metadata directives are COPY and REPLACE.")),
    }
}

pub(super) async fn upload_part_copy<D: Device>(
    gateway: &Gateway<D>,
    request: S3Request<UploadPartCopyInput>,
) -> S3Result<S3Response<UploadPartCopyOutput>> {
    let mut input = request.input;
    let id = upload_id(&input.upload_id)?;
    let number = part_number(input.part_number)?;
    let upload = gateway.upload(&input.bucket, &input.key, id)?;
    let source: Arc<Object> = source!(gateway, input);
    let range =
        input.copy_source_range.as_deref().map(|text| copy_range(text, source.bytes())).transpose()?;
    let algorithm = upload.checksum.map(|(algorithm, _)| algorithm);
    let written = gateway.copy_blocks(&source, range, algorithm).await?;
    let part = gateway.link_part(&input.bucket, &input.key, id, number, written).await?;
    let mut result = CopyPartResult {
        e_tag: Some(ETag::Strong(hex(&part.md5))),
        last_modified: Some(timestamp(part.modified)),
        ..CopyPartResult::default()
    };
    checksums::set!(result, &part.checksum);
    Ok(S3Response::new(UploadPartCopyOutput {
        copy_part_result: Some(result),
        ..UploadPartCopyOutput::default()
    }))
}

/// `bytes=first-last`, both given and within the source.
fn copy_range(text: &str, bytes: u64) -> S3Result<ops::Range<u64>> {
    let range = match Range::parse(text) {
        Ok(Range::Int { first, last: Some(last) }) => first..last + 1,
        _ => {
            return Err(s3_error!(InvalidArgument, "x-amz-copy-source-range must read bytes=first-last."));
        }
    };
    if range.end > bytes {
        return Err(Error::RangeNotSatisfiable { bytes }.into());
    }
    Ok(range)
}
