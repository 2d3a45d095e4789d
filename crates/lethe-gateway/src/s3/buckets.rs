//! The verbs of buckets.

use super::access::requester;
use super::values::{owner, timestamp};
use super::{acl, ownership};
use crate::account::Account;
use crate::catalogue::{ContainerSettings, Ownership};
use crate::device::Device;
use crate::listing::ListRequest;
use s3s::dto::*;
use s3s::region::Region;
use s3s::{S3Request, S3Response, S3Result, s3_error};

pub(super) async fn create_bucket<D: Device>(
    account: &Account<D>,
    request: S3Request<CreateBucketInput>,
) -> S3Result<S3Response<CreateBucketOutput>> {
    let input = request.input;
    if let Some(place) = input
        .create_bucket_configuration
        .as_ref()
        .and_then(|configuration| configuration.location_constraint.as_ref())
        && place.as_str() != region(request.region.as_ref())
    {
        return Err(s3_error!(InvalidLocationConstraint, "The specified location-constraint is not valid"));
    }
    let ownership = match &input.object_ownership {
        None => Ownership::Enforced,
        Some(name) => ownership::asked(name.as_str())?,
    };
    let requester = requester(&request.extensions)?;
    let grants = acl::in_headers(&request.headers, account.name(), requester)?.unwrap_or_default();
    if !grants.is_empty() && ownership == Ownership::Enforced {
        return Err(s3_error!(
            InvalidBucketAclWithObjectOwnership,
            "Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting"
        ));
    }
    let settings = ContainerSettings { ownership: Some(ownership), grants, ..ContainerSettings::default() };
    account.create_container(&input.bucket, settings).await?;
    Ok(S3Response::new(CreateBucketOutput { location: Some(format!("/{}", input.bucket)) }))
}

pub(super) async fn head_bucket<D: Device>(
    account: &Account<D>,
    request: S3Request<HeadBucketInput>,
) -> S3Result<S3Response<HeadBucketOutput>> {
    account.container(&request.input.bucket)?;
    let bucket_region = Some(region(request.region.as_ref()).to_owned());
    Ok(S3Response::new(HeadBucketOutput { bucket_region, ..HeadBucketOutput::default() }))
}

/// The gateway is in whatever region a client takes it to be in.
fn region(signed: Option<&Region>) -> &str {
    signed.map_or("us-east-1", Region::as_str)
}

pub(super) async fn delete_bucket<D: Device>(
    account: &Account<D>,
    request: S3Request<DeleteBucketInput>,
) -> S3Result<S3Response<DeleteBucketOutput>> {
    account.delete_container(&request.input.bucket).await?;
    Ok(S3Response::new(DeleteBucketOutput::default()))
}

pub(super) async fn list_buckets<D: Device>(
    account: &Account<D>,
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
    let wanted = ListRequest {
        prefix: input.prefix.clone().unwrap_or_default(),
        after: input.continuation_token.unwrap_or_default(),
        limit,
        ..ListRequest::default()
    };
    let page = account.containers(&wanted);
    let buckets = page.entries.into_iter().map(|(name, container)| Bucket {
        bucket_region: None,
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

pub(super) async fn get_bucket_location<D: Device>(
    account: &Account<D>,
    request: S3Request<GetBucketLocationInput>,
) -> S3Result<S3Response<GetBucketLocationOutput>> {
    account.container(&request.input.bucket)?;
    Ok(S3Response::new(GetBucketLocationOutput::default()))
}

pub(super) async fn get_bucket_versioning<D: Device>(
    account: &Account<D>,
    request: S3Request<GetBucketVersioningInput>,
) -> S3Result<S3Response<GetBucketVersioningOutput>> {
    account.container(&request.input.bucket)?;
    Ok(S3Response::new(GetBucketVersioningOutput::default()))
}
