//! Copies of an object to another name, and of a range of one into a part.

use super::checksums::coverage_name;
use super::conversions::{details, etag, owner_id, read_conditions, stored_class, timestamp, upload_id};
use super::keep_alive::LongWork;
use super::multipart::part_number;
use super::principal::principal;
use super::{acl, checksums, encryption, lifecycle, tagging, versions};
use crate::auth::rights::Action;
use crate::catalogue::{Details, Object, VersionId};
use crate::error::Error;
use crate::objects::account::Account;
use crate::objects::conditions::{ReadConditions, WriteConditions};
use base16ct::lower::encode_string as hex;
use http::Extensions;
use s3s::dto::*;
use s3s::header::{X_AMZ_COPY_SOURCE_VERSION_ID, X_AMZ_SERVER_SIDE_ENCRYPTION};
use s3s::{S3Error, S3ErrorCode, S3Request, S3Response, S3Result, s3_error};
use std::collections::BTreeMap;
use std::ops;
use std::sync::Arc;

/// Returns the object to copy from, if its conditions hold.
macro_rules! source {
    ($account:expr, $input:expr, $extensions:expr) => {{
        let (bucket, key, version) = bucket_and_key(&$input.copy_source)?;
        let from =
            principal($extensions)?.admit($account.gateway(), Action::Read, bucket, Some((key, version)))?;
        if $input.expected_source_bucket_owner.as_ref().is_some_and(|owner| owner != owner_id(from.name())) {
            return Err(s3_error!(AccessDenied));
        }
        let object = from.version(bucket, key, version).map_err(|error| match error {
            Error::DeleteMarker { is_named: true, .. } => s3_error!(
                InvalidRequest,
                "The source of a copy request may not specifically refer to a delete marker by version id."
            ),
            other => other.into(),
        })?;
        let conditions = read_conditions(
            [$input.copy_source_if_match.take(), $input.copy_source_if_none_match.take()],
            [&$input.copy_source_if_modified_since, &$input.copy_source_if_unmodified_since],
        );
        check(&conditions, &object)?;
        let version = versions::shown_id(&from, bucket, &object);
        (object, version)
    }};
}

fn bucket_and_key(source: &CopySource) -> S3Result<(&str, &str, Option<VersionId>)> {
    match source {
        CopySource::Bucket { bucket, key, version_id } => {
            Ok((bucket, key, versions::parse_id(version_id.as_deref())?))
        }
        _ => Err(s3_error!(
            NotImplemented,
            "The source must be a bucket and a key: this gateway has no access points."
        )),
    }
}

/// Checks conditions; for a copy, "not modified" is a condition that does not hold.
fn check(conditions: &ReadConditions, object: &Object) -> Result<(), Error> {
    conditions.check(object).map_err(|error| match error {
        Error::NotModified => Error::PreconditionFailed(
            "x-amz-copy-source-if-none-match or x-amz-copy-source-if-modified-since",
        ),
        other => other,
    })
}

pub(super) async fn copy_object(
    account: &Account,
    request: S3Request<CopyObjectInput>,
) -> S3Result<S3Response<CopyObjectOutput>> {
    let mut input = request.input;
    let directive = input.metadata_directive.as_ref().map(MetadataDirective::as_str);
    let replace = is_replace(directive, "Unknown metadata directive.")?;
    let directive = input.tagging_directive.as_ref().map(TaggingDirective::as_str);
    let replace_tags = is_replace(directive, "Unknown tagging directive.")?;
    let changes =
        replace || replace_tags || input.storage_class.is_some() || input.server_side_encryption.is_some();
    if let (Ok((bucket, key, None)), false) = (bucket_and_key(&input.copy_source), changes)
        && bucket == input.bucket
        && key == input.key
        && input.checksum_algorithm.is_none()
    {
        return Err(s3_error!(
            InvalidRequest,
            "This copy request is illegal because it is trying to copy an object to itself without changing the \
             object's metadata, storage class, website redirect location or encryption attributes."
        ));
    }
    let (source, copy_source_version_id): (Arc<Object>, _) = source!(account, input, &request.extensions);
    if source.details.manifest.is_some() && !principal(&request.extensions)?.owns(account.name()) {
        // Under the new name it would stand for objects of the account, which the principal may not read.
        return Err(s3_error!(
            AccessDenied,
            "Only the bucket's owner may copy one of Swift's large objects into it."
        ));
    }
    let none = WriteConditions::default();
    account.check_put(&input.bucket, &input.key, &none)?;
    let mut details: Details = if replace {
        details!(input)?
    } else {
        // S3 does not show an expiry time: its clients would lose the copy without a warning. As in S3, the class is
        // the request's.
        let storage_class = stored_class(input.storage_class.take());
        Details { tags: BTreeMap::new(), delete_at: None, storage_class, ..source.details.clone() }
    };
    let tags = tagging::for_new_object(account, &request.extensions, input.tagging.as_deref())?;
    details.tags = if replace_tags { tags } else { source.details.tags.clone() };
    // Grants are never copied: the copy has its own.
    details.grants = acl::for_new_object(account, &input.bucket, &request.headers, &request.extensions)?;
    details.encryption =
        encryption::for_new_object(account, &input.bucket, input.server_side_encryption.as_ref())?;
    account.check_room(&input.bucket, &input.key, Some(source.bytes()))?;
    let algorithm = checksums::algorithm(input.checksum_algorithm.as_ref())?;
    let source_algorithm = source.checksum.as_ref().map(|checksum| checksum.algorithm);
    let algorithm = algorithm.or(source_algorithm).or(Some(checksums::DEFAULT));
    let encryption = encryption::to_s3(details.encryption);
    begin_work(&request.extensions, copy_source_version_id.as_deref(), encryption.as_ref());
    let written = account.gateway().copy_blocks(&source, None, algorithm).await?;
    let object = account.link(&input.bucket, &input.key, written, details, none).await?;
    let mut result = CopyObjectResult {
        e_tag: Some(etag(&object)),
        last_modified: Some(timestamp(object.modified)),
        ..CopyObjectResult::default()
    };
    checksums::set!(result, &object.checksum);
    result.checksum_type = object.checksum.as_ref().map(|checksum| coverage_name(checksum.coverage));
    Ok(S3Response::new(CopyObjectOutput {
        copy_object_result: Some(result),
        copy_source_version_id,
        version_id: versions::new_id_text(&object),
        expiration: lifecycle::expiration(account, &input.bucket, &input.key, &object),
        server_side_encryption: encryption,
        ..CopyObjectOutput::default()
    }))
}

fn is_replace(directive: Option<&str>, unknown: &'static str) -> S3Result<bool> {
    match directive {
        None | Some("COPY") => Ok(false),
        Some("REPLACE") => Ok(true),
        Some(_) => Err(S3Error::with_message(S3ErrorCode::InvalidArgument, unknown)),
    }
}

pub(super) async fn upload_part_copy(
    account: &Account,
    request: S3Request<UploadPartCopyInput>,
) -> S3Result<S3Response<UploadPartCopyOutput>> {
    let mut input = request.input;
    account.container(&input.bucket)?;
    let number = part_number(input.part_number)?;
    let id = upload_id(&input.upload_id)?;
    let upload = account.upload(&input.bucket, &input.key, id)?;
    let (source, copy_source_version_id): (Arc<Object>, _) = source!(account, input, &request.extensions);
    let range =
        input.copy_source_range.as_deref().map(|text| copy_range(text, source.bytes())).transpose()?;
    let algorithm = upload.checksum.map(|(algorithm, _)| algorithm);
    let bytes = range.as_ref().map_or(source.bytes(), |range| range.end - range.start);
    account.check_part_room(&input.bucket, &input.key, id, number, bytes)?;
    let encryption = encryption::to_s3(upload.details.encryption);
    begin_work(&request.extensions, copy_source_version_id.as_deref(), encryption.as_ref());
    let written = account.gateway().copy_blocks(&source, range, algorithm).await?;
    let part = account.link_part(&input.bucket, &input.key, id, number, written).await?;
    let mut result = CopyPartResult {
        e_tag: Some(ETag::Strong(hex(&part.md5))),
        last_modified: Some(timestamp(part.modified)),
        ..CopyPartResult::default()
    };
    checksums::set!(result, &part.checksum);
    Ok(S3Response::new(UploadPartCopyOutput {
        copy_part_result: Some(result),
        copy_source_version_id,
        server_side_encryption: encryption,
        ..UploadPartCopyOutput::default()
    }))
}

/// Begins the long work of a copy, with the headers of its answer that are known before its bytes are copied.
fn begin_work(extensions: &Extensions, source: Option<&str>, encryption: Option<&ServerSideEncryption>) {
    let encryption = encryption.map(ServerSideEncryption::as_str);
    let headers = [(X_AMZ_COPY_SOURCE_VERSION_ID, source), (X_AMZ_SERVER_SIDE_ENCRYPTION, encryption)];
    LongWork::begin(extensions, headers);
}

/// Parses `bytes=first-last`, both present and within the source.
fn copy_range(text: &str, bytes: u64) -> S3Result<ops::Range<u64>> {
    let range = match Range::parse(text) {
        Ok(Range::Int { first, last: Some(last) }) => first..last.saturating_add(1),
        _ => {
            return Err(s3_error!(
                InvalidArgument,
                "The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the \
                 zero-based offsets of the first and last bytes to copy"
            ));
        }
    };
    if range.end > bytes {
        return Err(s3_error!(
            InvalidArgument,
            "Range specified is not valid for source object of size: {bytes}"
        ));
    }
    Ok(range)
}
