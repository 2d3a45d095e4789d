//! Uploads in parts.

use super::body::{Incoming, receive, trailers};
use super::checksums::{self, algorithm_name, coverage, coverage_name};
use super::conversions::{
    details, etag, initiator, list_request, listed_class, owner, page_limit, size, timestamp, unix_millis,
    upload_id, upload_text, write_conditions,
};
use super::keep_alive::LongWork;
use super::principal::principal;
use super::{acl, encryption, lifecycle, tagging, versions};
use crate::error::Error;
use crate::http::percent::encode_path;
use crate::objects::account::Account;
use crate::objects::multipart::{ExpectedObject, MAX_PART, MIN_PART, NamedPart};
use base16ct::lower::encode_string as hex;
use s3s::dto::*;
use s3s::header::X_AMZ_SERVER_SIDE_ENCRYPTION;
use s3s::{S3Request, S3Response, S3Result, s3_error};

pub(super) fn part_number(number: i32) -> S3Result<u16> {
    u16::try_from(number)
        .ok()
        .filter(|number| (1..=MAX_PART).contains(number))
        .ok_or_else(|| Error::PartNumber(number.into()).into())
}

pub(super) async fn create_multipart_upload(
    account: &Account,
    request: S3Request<CreateMultipartUploadInput>,
) -> S3Result<S3Response<CreateMultipartUploadOutput>> {
    let mut input = request.input;
    checksums::parse_coverage(input.checksum_type.as_ref())?;
    let checksum = match checksums::algorithm(input.checksum_algorithm.as_ref())? {
        None if input.checksum_type.is_some() => {
            return Err(s3_error!(
                InvalidRequest,
                "The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header."
            ));
        }
        None => None,
        Some(algorithm) => Some((algorithm, coverage(algorithm, input.checksum_type.as_ref())?)),
    };
    account.container(&input.bucket)?;
    let mut details = details!(input)?;
    details.tags = tagging::for_new_object(account, &request.extensions, input.tagging.as_deref())?;
    details.grants = acl::for_new_object(account, &input.bucket, &request.headers, &request.extensions)?;
    details.encryption =
        encryption::for_new_object(account, &input.bucket, input.server_side_encryption.as_ref())?;
    let server_side_encryption = encryption::to_s3(details.encryption);
    let initiator = principal(&request.extensions)?.initiator(account.name());
    let id = account.begin_upload(&input.bucket, &input.key, details, checksum, initiator).await?;
    let started = account.upload(&input.bucket, &input.key, id).ok();
    let end =
        started.map(|upload| lifecycle::upload_abort(account, &input.bucket, &input.key, upload.started));
    let (abort_date, abort_rule_id) = end.unwrap_or_default();
    Ok(S3Response::new(CreateMultipartUploadOutput {
        abort_date,
        abort_rule_id,
        bucket: Some(input.bucket),
        key: Some(input.key),
        upload_id: Some(upload_text(id)),
        server_side_encryption,
        checksum_algorithm: checksum.map(|(algorithm, _)| algorithm_name(algorithm)),
        checksum_type: checksum.map(|(_, coverage)| coverage_name(coverage)),
        ..CreateMultipartUploadOutput::default()
    }))
}

pub(super) async fn upload_part(
    account: &Account,
    request: S3Request<UploadPartInput>,
) -> S3Result<S3Response<UploadPartOutput>> {
    let mut input = request.input;
    account.container(&input.bucket)?;
    let id = upload_id(&input.upload_id)?;
    let number = part_number(input.part_number)?;
    let upload = account.upload(&input.bucket, &input.key, id)?;
    let expected_algorithm = upload.checksum.map(|(algorithm, _)| algorithm);
    let given = checksums::given!(input).next();
    if let (Some(expected_algorithm), Some((given, _))) = (expected_algorithm, &given)
        && expected_algorithm != *given
    {
        return Err(checksums::other_algorithm(expected_algorithm, *given));
    }
    let incoming = Incoming {
        body: input.body.take(),
        length: input.content_length,
        length_unknown: false,
        md5: input.content_md5.take(),
        given,
        algorithm: expected_algorithm.or(checksums::algorithm(input.checksum_algorithm.as_ref())?),
        headers: &request.headers,
        trailers: trailers(&request.extensions),
    };
    account.check_part_room(&input.bucket, &input.key, id, number, incoming.bytes().unwrap_or(1))?;
    let written = receive(account, incoming).await?;
    let part = account.link_part(&input.bucket, &input.key, id, number, written).await?;
    let mut output =
        UploadPartOutput { e_tag: Some(ETag::Strong(hex(&part.md5))), ..UploadPartOutput::default() };
    output.server_side_encryption = encryption::to_s3(upload.details.encryption);
    match (&part.checksum, part.crc64nvme_checksum()) {
        (None, Some(computed)) if expected_algorithm.is_none() => checksums::set!(output, &Some(computed)),
        (checksum, _) => checksums::set!(output, checksum),
    }
    Ok(S3Response::new(output))
}

pub(super) async fn complete_multipart_upload(
    account: &Account,
    request: S3Request<CompleteMultipartUploadInput>,
) -> S3Result<S3Response<CompleteMultipartUploadOutput>> {
    let mut input = request.input;
    account.container(&input.bucket)?;
    let id = upload_id(&input.upload_id)?;
    let listed = input.multipart_upload.take().and_then(|upload| upload.parts).unwrap_or_default();
    let mut named = Vec::with_capacity(listed.len());
    for part in listed {
        if part.e_tag.is_none() || part.part_number.is_none() {
            return Err(s3_error!(MalformedXML));
        }
        checksums::check_of_part(&part)?;
        let checksum = checksums::given!(part).next();
        named.push(NamedPart {
            number: part_number(part.part_number.unwrap_or(0))?,
            etag: part.e_tag.map(ETag::into_value),
            checksum,
        });
    }
    checksums::check_final(&request.headers)?;
    // An upload that does not exist may have been completed, and the answer lost.
    let upload = account.upload(&input.bucket, &input.key, id).ok();
    let started = upload.as_ref().and_then(|upload| upload.checksum);
    let requested = checksums::parse_coverage(input.checksum_type.as_ref())?;
    if let (Some(requested), Some((_, started))) = (requested, started)
        && requested != started
    {
        let started = coverage_name(started);
        return Err(s3_error!(
            InvalidRequest,
            "The upload was created using the {} checksum mode. The complete request must use the same checksum mode.",
            started.as_str()
        ));
    }
    let expected = ExpectedObject {
        checksum: checksums::given!(input).next(),
        bytes: input.mpu_object_size.map(whole_size).transpose()?,
        min_part: Some(MIN_PART),
    };
    let conditions = write_conditions(input.if_match, input.if_none_match);
    let encryption = encryption::to_s3(upload.and_then(|upload| upload.details.encryption));
    let known = encryption.as_ref().map(ServerSideEncryption::as_str);
    LongWork::begin(&request.extensions, [(X_AMZ_SERVER_SIDE_ENCRYPTION, known)]);
    let object = account.complete_upload(&input.bucket, &input.key, id, named, expected, conditions).await?;
    let mut output = CompleteMultipartUploadOutput {
        expiration: lifecycle::expiration(account, &input.bucket, &input.key, &object),
        location: Some(format!("/{}/{}", input.bucket, encode_path(&input.key))),
        bucket: Some(input.bucket),
        key: Some(input.key),
        e_tag: Some(etag(&object)),
        version_id: versions::new_id_text(&object),
        server_side_encryption: encryption::to_s3(object.details.encryption),
        ..CompleteMultipartUploadOutput::default()
    };
    checksums::set!(output, &object.checksum);
    output.checksum_type = object.checksum.as_ref().map(|checksum| coverage_name(checksum.coverage));
    Ok(S3Response::new(output))
}

fn whole_size(size: i64) -> S3Result<u64> {
    u64::try_from(size).map_err(|_| {
        s3_error!(InvalidRequest, "Value for x-amz-mp-object-size header is less than zero: '{size}'")
    })
}

pub(super) async fn abort_multipart_upload(
    account: &Account,
    input: AbortMultipartUploadInput,
) -> S3Result<AbortMultipartUploadOutput> {
    account.container(&input.bucket)?;
    let id = upload_id(&input.upload_id)?;
    if let Some(initiated) = &input.if_match_initiated_time {
        let started = account.upload(&input.bucket, &input.key, id)?.started;
        if started.seconds() != unix_millis(initiated).seconds() {
            return Err(Error::PreconditionFailed("x-amz-if-match-initiated-time").into());
        }
    }
    account.abort_upload(&input.bucket, &input.key, id).await?;
    Ok(AbortMultipartUploadOutput::default())
}

pub(super) async fn list_parts(account: &Account, input: ListPartsInput) -> S3Result<ListPartsOutput> {
    account.container(&input.bucket)?;
    let id = upload_id(&input.upload_id)?;
    let limit = page_limit(input.max_parts, "max-parts")?;
    let upload = account.upload(&input.bucket, &input.key, id)?;
    let after = input.part_number_marker.unwrap_or(0);
    let mut listed = Vec::new();
    let mut truncated = false;
    for (&number, part) in &upload.parts {
        let number = i32::from(number);
        if number <= after {
            continue;
        }
        if listed.len() == limit {
            truncated = limit > 0;
            break;
        }
        let mut entry = Part {
            e_tag: Some(ETag::Strong(hex(&part.md5))),
            last_modified: Some(timestamp(part.modified)),
            part_number: Some(number),
            size: Some(size(part.segment.bytes())),
            ..Part::default()
        };
        checksums::set!(entry, &part.checksum);
        listed.push(entry);
    }
    let (abort_date, abort_rule_id) =
        lifecycle::upload_abort(account, &input.bucket, &input.key, upload.started);
    Ok(ListPartsOutput {
        abort_date,
        abort_rule_id,
        bucket: Some(input.bucket),
        key: Some(input.key),
        upload_id: Some(input.upload_id),
        checksum_algorithm: upload.checksum.map(|(algorithm, _)| algorithm_name(algorithm)),
        checksum_type: upload.checksum.map(|(_, coverage)| coverage_name(coverage)),
        initiator: Some(initiator(account.name(), &upload)),
        owner: Some(owner(account.name())),
        is_truncated: Some(truncated),
        max_parts: i32::try_from(limit).ok(),
        next_part_number_marker: listed.last().filter(|_| truncated).and_then(|part| part.part_number),
        part_number_marker: input.part_number_marker,
        parts: Some(listed),
        storage_class: listed_class(&upload.details),
        ..ListPartsOutput::default()
    })
}

pub(super) async fn list_multipart_uploads(
    account: &Account,
    input: ListMultipartUploadsInput,
) -> S3Result<ListMultipartUploadsOutput> {
    let (encoding, listing_request) =
        list_request!(input, max_uploads, "max-uploads", input.key_marker.clone());
    let after_id = match input.upload_id_marker.as_deref() {
        None | Some("") => None,
        // Without a key marker, S3 ignores it.
        Some(_) if listing_request.after.is_empty() => None,
        Some(text) => {
            Some(upload_id(text).map_err(|_| s3_error!(InvalidArgument, "Invalid uploadId marker"))?)
        }
    };
    let page = account.list_uploads(&input.bucket, &listing_request, after_id)?;
    let truncated = page.next.is_some();
    let (next_key, next_id) = page.next.unzip();
    let uploads = page.entries.into_iter().map(|(id, upload)| MultipartUpload {
        checksum_algorithm: upload.checksum.map(|(algorithm, _)| algorithm_name(algorithm)),
        checksum_type: upload.checksum.map(|(_, coverage)| coverage_name(coverage)),
        initiated: Some(timestamp(upload.started)),
        initiator: Some(initiator(account.name(), &upload)),
        key: Some(encoding.name(upload.key)),
        owner: Some(owner(account.name())),
        storage_class: listed_class(&upload.details),
        upload_id: Some(upload_text(id)),
    });
    Ok(ListMultipartUploadsOutput {
        bucket: Some(input.bucket),
        common_prefixes: encoding.prefixes(page.prefixes),
        delimiter: input.delimiter.map(|text| encoding.name(text)),
        encoding_type: input.encoding_type,
        is_truncated: Some(truncated),
        key_marker: input.key_marker.map(|text| encoding.name(text)),
        max_uploads: i32::try_from(listing_request.limit).ok(),
        next_key_marker: next_key.map(|text| encoding.name(text)),
        next_upload_id_marker: next_id.flatten().map(upload_text),
        prefix: input.prefix.map(|text| encoding.name(text)),
        request_charged: None,
        upload_id_marker: input.upload_id_marker,
        uploads: Some(uploads.collect()),
    })
}
