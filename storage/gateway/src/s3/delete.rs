//! Deletes of objects and versions, one or many.

use super::conversions::write_conditions;
use super::principal::principal;
use super::versions;
use crate::catalogue::VersionId;
use crate::objects::account::Account;
use crate::objects::conditions::{TagMatch, WriteConditions};
use crate::objects::versions::{Deleted, Removal};
use http::Extensions;
use s3s::dto::*;
use s3s::{S3Error, S3Request, S3Response, S3Result, s3_error};

/// Refuses deletes of versions by others than the owner: they may only put a delete marker.
fn check_right(extensions: &Extensions, owner: &str, version: Option<VersionId>) -> S3Result<()> {
    if version.is_some() && !principal(extensions)?.owns(owner) {
        return Err(s3_error!(AccessDenied, "Only the bucket's owner may delete versions."));
    }
    Ok(())
}

/// Returns true if a delete marker was put or removed.
fn delete_marker(deleted: &Deleted, by_version: bool) -> Option<bool> {
    let removed = || deleted.target.as_ref().is_some_and(|target| by_version && target.version.is_marker());
    (deleted.marker.is_some() || removed()).then_some(true)
}

pub(super) async fn delete_object(
    account: &Account,
    request: S3Request<DeleteObjectInput>,
) -> S3Result<S3Response<DeleteObjectOutput>> {
    let input = request.input;
    let version = versions::parse_id(input.version_id.as_deref())?;
    check_right(&request.extensions, account.name(), version)?;
    if input.if_match_size.is_some() || input.if_match_last_modified_time.is_some() {
        return Err(s3_error!(NotImplemented, "The only supported condition of a delete is If-Match."));
    }
    let conditions = write_conditions(input.if_match, None);
    let removal = Removal { key: input.key, version, conditions, marks_missing: true };
    let mut output = DeleteObjectOutput::default();
    for outcome in account.remove(&input.bucket, vec![removal]).await? {
        let deleted = outcome?;
        output.delete_marker = delete_marker(&deleted, version.is_some());
        let marker = deleted.marker.map(|marker| marker.version.id());
        output.version_id = version.or(marker).map(versions::id_text);
    }
    Ok(S3Response::new(output))
}

pub(super) async fn delete_objects(
    account: &Account,
    request: S3Request<DeleteObjectsInput>,
) -> S3Result<S3Response<DeleteObjectsOutput>> {
    let input = request.input;
    let objects = input.delete.objects;
    if objects.is_empty() || objects.len() > 1000 {
        return Err(s3_error!(MalformedXML, "Name at least one and at most 1000 objects."));
    }
    let mut refusals = Vec::with_capacity(objects.len());
    let mut removals = Vec::with_capacity(objects.len());
    for object in &objects {
        let version = versions::parse_id(object.version_id.as_deref());
        let version = version
            .and_then(|version| check_right(&request.extensions, account.name(), version).map(|()| version));
        if object.size.is_some() || object.last_modified_time.is_some() {
            return Err(s3_error!(NotImplemented, "The only supported condition of a delete is the ETag."));
        }
        let if_match = object.e_tag.as_ref().map(|tag| match tag.value() {
            "*" => TagMatch::Any,
            tag => TagMatch::Tag(tag.to_owned()),
        });
        let conditions = WriteConditions { if_match, if_none_match: None };
        match version {
            Ok(version) => {
                removals.push(Removal { key: object.key.clone(), version, conditions, marks_missing: true });
                refusals.push(None);
            }
            Err(refusal) => refusals.push(Some(refusal)),
        }
    }
    let mut outcomes = account.remove(&input.bucket, removals).await?.into_iter();
    let quiet = input.delete.quiet.unwrap_or(false);
    let (mut deleted, mut errors) = (Vec::new(), Vec::new());
    for (object, refusal) in objects.into_iter().zip(refusals) {
        let outcome = match refusal {
            Some(refusal) => Err(refusal),
            None => outcomes.next().unwrap_or_else(|| Ok(Deleted::default())).map_err(S3Error::from),
        };
        match outcome {
            Ok(_) if quiet => {}
            Ok(done) => deleted.push(entry(object, &done)),
            Err(error) => errors.push(Error {
                code: Some(error.code().as_str().to_owned()),
                key: Some(object.key),
                message: error.message().map(str::to_owned),
                version_id: object.version_id,
            }),
        }
    }
    Ok(S3Response::new(DeleteObjectsOutput {
        deleted: Some(deleted),
        errors: Some(errors),
        request_charged: None,
    }))
}

fn entry(object: ObjectIdentifier, deleted: &Deleted) -> DeletedObject {
    let version_id = object.version_id.filter(|version| !version.is_empty());
    let delete_marker = delete_marker(deleted, version_id.is_some());
    let put = deleted.marker.as_ref().map(|marker| versions::id_text(marker.version.id()));
    let removed = version_id.clone().filter(|_| delete_marker.is_some());
    DeletedObject {
        delete_marker,
        delete_marker_version_id: put.or(removed),
        key: Some(object.key),
        version_id,
    }
}
