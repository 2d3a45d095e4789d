//! The verb that puts an object.

use super::body::{Incoming, receive, trailers};
use super::checksums::{self, coverage_name};
use super::conversions::{details, etag, write_conditions};
use super::form::LengthUnknown;
use super::{acl, encryption, lifecycle, tagging, versions};
use crate::objects::account::Account;
use s3s::dto::*;
use s3s::{S3Request, S3Response, S3Result, s3_error};

pub(super) async fn put_object(
    account: &Account,
    request: S3Request<PutObjectInput>,
) -> S3Result<S3Response<PutObjectOutput>> {
    let mut input = request.input;
    if input.write_offset_bytes.is_some() {
        return Err(s3_error!(NotImplemented, "Objects cannot be appended to; put them whole or in parts."));
    }
    let conditions = write_conditions(input.if_match, input.if_none_match);
    account.check_put(&input.bucket, &input.key, &conditions)?;
    // Before the body: a put that is refused because of its head moves no block.
    let mut details = details!(input)?;
    details.tags = tagging::for_new_object(account, &request.extensions, input.tagging.as_deref())?;
    details.grants = acl::for_new_object(account, &input.bucket, &request.headers, &request.extensions)?;
    details.encryption =
        encryption::for_new_object(account, &input.bucket, input.server_side_encryption.as_ref())?;
    let incoming = Incoming {
        body: input.body.take(),
        length: input.content_length,
        length_unknown: request.extensions.get::<LengthUnknown>().is_some(),
        md5: input.content_md5.take(),
        given: checksums::given!(input).next(),
        algorithm: checksums::algorithm(input.checksum_algorithm.as_ref())?.or(Some(checksums::DEFAULT)),
        headers: &request.headers,
        trailers: trailers(&request.extensions),
    };
    account.check_room(&input.bucket, &input.key, incoming.bytes())?;
    let written = receive(account, incoming).await?;
    let object = account.link(&input.bucket, &input.key, written, details, conditions).await?;
    let mut output = PutObjectOutput { e_tag: Some(etag(&object)), ..PutObjectOutput::default() };
    output.version_id = versions::new_id_text(&object);
    output.expiration = lifecycle::expiration(account, &input.bucket, &input.key, &object);
    output.server_side_encryption = encryption::to_s3(object.details.encryption);
    checksums::set!(output, &object.checksum);
    output.checksum_type = object.checksum.as_ref().map(|checksum| coverage_name(checksum.coverage));
    Ok(S3Response::new(output))
}
