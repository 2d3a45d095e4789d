//! Deleting objects, one or many.

use super::values::{only_version, tag_match};
use crate::account::Account;
use crate::conditions::{TagMatch, WriteConditions};
use crate::device::Device;
use s3s::dto::*;
use s3s::{S3Error, S3Request, S3Response, S3Result, s3_error};

pub(super) async fn delete_object<D: Device>(
    account: &Account<D>,
    request: S3Request<DeleteObjectInput>,
) -> S3Result<S3Response<DeleteObjectOutput>> {
    let input = request.input;
    only_version(input.version_id.as_deref())?;
    if input.if_match_size.is_some() || input.if_match_last_modified_time.is_some() {
        return Err(s3_error!(NotImplemented, "Of the conditions on deletes only If-Match is known."));
    }
    let conditions = WriteConditions { if_match: tag_match(input.if_match), if_none_match: None };
    let outcomes = account.delete(&input.bucket, vec![(input.key, conditions)]).await?;
    for outcome in outcomes {
        outcome?;
    }
    Ok(S3Response::new(DeleteObjectOutput::default()))
}

pub(super) async fn delete_objects<D: Device>(
    account: &Account<D>,
    request: S3Request<DeleteObjectsInput>,
) -> S3Result<S3Response<DeleteObjectsOutput>> {
    let input = request.input;
    let wanted = input.delete.objects;
    if wanted.is_empty() || wanted.len() > 1000 {
        return Err(s3_error!(MalformedXML, "Name at least one and at most 1000 objects."));
    }
    let mut keys = Vec::with_capacity(wanted.len());
    for object in &wanted {
        only_version(object.version_id.as_deref())?;
        if object.size.is_some() || object.last_modified_time.is_some() {
            return Err(s3_error!(NotImplemented, "Of the conditions on deletes only the ETag is known."));
        }
        let if_match = object.e_tag.as_ref().map(|tag| match tag.value() {
            "*" => TagMatch::Any,
            tag => TagMatch::Tag(tag.to_owned()),
        });
        let conditions = WriteConditions { if_match, if_none_match: None };
        keys.push((object.key.clone(), conditions));
    }
    let outcomes = account.delete(&input.bucket, keys).await?;
    let quiet = input.delete.quiet.unwrap_or(false);
    let (mut deleted, mut errors) = (Vec::new(), Vec::new());
    for (object, outcome) in wanted.into_iter().zip(outcomes) {
        match outcome {
            Ok(_) if quiet => {}
            Ok(_) => deleted.push(DeletedObject { key: Some(object.key), ..DeletedObject::default() }),
            Err(error) => {
                let error = S3Error::from(error);
                errors.push(Error {
                    code: Some(error.code().as_str().to_owned()),
                    key: Some(object.key),
                    message: error.message().map(str::to_owned),
                    version_id: None,
                });
            }
        }
    }
    Ok(S3Response::new(DeleteObjectsOutput {
        deleted: Some(deleted),
        errors: Some(errors),
        request_charged: None,
    }))
}
