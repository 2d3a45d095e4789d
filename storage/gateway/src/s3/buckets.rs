//! The verbs of buckets.

use super::access;
use super::conversions::{owner, timestamp};
use super::region::is_region;
use super::{acl, ownership, region};
use crate::catalogue::{ContainerSettings, Ownership};
use crate::error::Error;
use crate::objects::account::Account;
use crate::objects::listing::ListRequest;
use http::Extensions;
use s3s::dto::*;
use s3s::{S3Request, S3Response, S3Result, s3_error};

pub(super) async fn create_bucket(
    account: &Account,
    request: S3Request<CreateBucketInput>,
) -> S3Result<S3Response<CreateBucketOutput>> {
    let input = request.input;
    let requested =
        input.create_bucket_configuration.and_then(|configuration| configuration.location_constraint);
    let requested = requested.map(|place| place.as_str().to_owned()).filter(|place| !place.is_empty());
    let gateway_region = account.gateway.inner.options.region.as_deref();
    if requested.as_deref().is_some_and(|place| {
        !is_region(place) || gateway_region.is_some_and(|gateway_region| gateway_region != place)
    }) {
        return Err(s3_error!(InvalidLocationConstraint, "The specified location-constraint is not valid"));
    }
    // Without a constraint, it is the region that the client signs for.
    let region = requested.or_else(|| region::signed(&request.extensions).map(str::to_owned));
    let ownership = match &input.object_ownership {
        None => Ownership::Enforced,
        Some(name) => ownership::parse(name.as_str())?,
    };
    let users = access::users(&request.extensions)?;
    let grants = acl::parse_headers(&request.headers, account.name(), users)?.unwrap_or_default();
    if !grants.is_empty() && ownership == Ownership::Enforced {
        return Err(s3_error!(
            InvalidBucketAclWithObjectOwnership,
            "Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting"
        ));
    }
    let settings =
        ContainerSettings { ownership: Some(ownership), grants, region, ..ContainerSettings::default() };
    account.create_container(&input.bucket, settings).await?;
    Ok(S3Response::new(CreateBucketOutput { location: Some(format!("/{}", input.bucket)) }))
}

pub(super) async fn head_bucket(
    account: &Account,
    request: S3Request<HeadBucketInput>,
) -> S3Result<S3Response<HeadBucketOutput>> {
    let bucket_region = Some(region_of(account, &request.input.bucket, &request.extensions)?);
    Ok(S3Response::new(HeadBucketOutput { bucket_region, ..HeadBucketOutput::default() }))
}

pub(super) async fn delete_bucket(
    account: &Account,
    input: DeleteBucketInput,
) -> S3Result<DeleteBucketOutput> {
    let bucket = &input.bucket;
    let is_versioned = account.container(bucket)?.settings.versioning.is_some();
    account.delete_container(bucket).await.map_err(|error| match error {
        Error::ContainerNotEmpty { .. } if is_versioned => s3_error!(
            BucketNotEmpty,
            "The bucket you tried to delete is not empty. You must delete all versions in the bucket."
        ),
        other => other.into(),
    })?;
    Ok(DeleteBucketOutput::default())
}

pub(super) async fn list_buckets(
    account: &Account,
    request: S3Request<ListBucketsInput>,
) -> S3Result<S3Response<ListBucketsOutput>> {
    let input = request.input;
    let limit = match input.max_buckets {
        None => usize::MAX,
        Some(limit) => {
            usize::try_from(limit).ok().filter(|limit| (1..=10_000).contains(limit)).ok_or_else(|| {
                s3_error!(InvalidArgument, "Argument max-buckets must be an integer between 1 and 10000.")
            })?
        }
    };
    let requested = ListRequest {
        prefix: input.prefix.clone().unwrap_or_default(),
        after: input.continuation_token.unwrap_or_default(),
        limit,
        ..ListRequest::default()
    };
    let page = account.containers(&requested);
    let signed = region::signed(&request.extensions);
    let of_region = |settings: &ContainerSettings| {
        input
            .bucket_region
            .as_deref()
            .is_none_or(|requested| region::of_bucket(&account.gateway, settings, signed) == requested)
    };
    let entries = page.entries.into_iter().filter(|(_, container)| of_region(&container.settings));
    let buckets = entries.map(|(name, container)| Bucket {
        bucket_region: Some(region::of_bucket(&account.gateway, &container.settings, signed).to_owned()),
        creation_date: Some(timestamp(container.settings.created)),
        name: Some(name),
    });
    Ok(S3Response::new(ListBucketsOutput {
        buckets: Some(buckets.collect()),
        continuation_token: page.next,
        owner: Some(owner(account.name())),
        prefix: input.prefix,
    }))
}

pub(super) async fn get_bucket_location(
    account: &Account,
    request: S3Request<GetBucketLocationInput>,
) -> S3Result<S3Response<GetBucketLocationOutput>> {
    let region = region_of(account, &request.input.bucket, &request.extensions)?;
    let location_constraint = (region != region::FIRST).then(|| region.into());
    Ok(S3Response::new(GetBucketLocationOutput { location_constraint }))
}

/// Returns the region that a bucket shows to the sender of this request.
fn region_of(account: &Account, bucket: &str, extensions: &Extensions) -> S3Result<String> {
    let settings = account.container(bucket)?.settings;
    Ok(region::of_bucket(&account.gateway, &settings, region::signed(extensions)).to_owned())
}
