//! The verbs of buckets.

use super::values::{owner, timestamp};
use crate::device::Device;
use crate::gateway::Gateway;
use s3s::dto::*;
use s3s::{S3Request, S3Response, S3Result, s3_error};

pub(super) async fn create_bucket<D: Device>(
    gateway: &Gateway<D>,
    request: S3Request<CreateBucketInput>,
) -> S3Result<S3Response<CreateBucketOutput>> {
    gateway.create_bucket(&request.input.bucket).await?;
    Ok(S3Response::new(CreateBucketOutput { location: Some(format!("/{}", request.input.bucket)) }))
}

pub(super) async fn head_bucket<D: Device>(
    gateway: &Gateway<D>,
    request: S3Request<HeadBucketInput>,
) -> S3Result<S3Response<HeadBucketOutput>> {
    gateway.bucket(&request.input.bucket)?;
    Ok(S3Response::new(HeadBucketOutput::default()))
}

pub(super) async fn delete_bucket<D: Device>(
    gateway: &Gateway<D>,
    request: S3Request<DeleteBucketInput>,
) -> S3Result<S3Response<DeleteBucketOutput>> {
    gateway.delete_bucket(&request.input.bucket).await?;
    Ok(S3Response::new(DeleteBucketOutput::default()))
}

pub(super) async fn list_buckets<D: Device>(
    gateway: &Gateway<D>,
    request: S3Request<ListBucketsInput>,
) -> S3Result<S3Response<ListBucketsOutput>> {
    let input = request.input;
    let prefix = input.prefix.as_deref().unwrap_or_default();
    let after = input.continuation_token.as_deref().unwrap_or_default();
    let limit = match input.max_buckets {
        None => usize::MAX,
        Some(limit) => usize::try_from(limit)
            .ok()
            .filter(|limit| (1..=10_000).contains(limit))
            .ok_or_else(|| s3_error!(InvalidArgument, "max-buckets must lie between 1 and 10000."))?,
    };
    let mut found: Vec<_> = gateway
        .buckets()
        .into_iter()
        .filter(|(name, _)| name.starts_with(prefix) && name.as_str() > after)
        .collect();
    let more = found.len() > limit;
    found.truncate(limit);
    let continuation_token = found.last().filter(|_| more).map(|(name, _)| name.clone());
    let buckets = found.into_iter().map(|(name, created)| Bucket {
        bucket_region: None,
        creation_date: Some(timestamp(created)),
        name: Some(name),
    });
    Ok(S3Response::new(ListBucketsOutput {
        buckets: Some(buckets.collect()),
        continuation_token,
        owner: Some(owner()),
        prefix: input.prefix,
    }))
}

pub(super) async fn get_bucket_location<D: Device>(
    gateway: &Gateway<D>,
    request: S3Request<GetBucketLocationInput>,
) -> S3Result<S3Response<GetBucketLocationOutput>> {
    gateway.bucket(&request.input.bucket)?;
    Ok(S3Response::new(GetBucketLocationOutput::default()))
}

pub(super) async fn get_bucket_versioning<D: Device>(
    gateway: &Gateway<D>,
    request: S3Request<GetBucketVersioningInput>,
) -> S3Result<S3Response<GetBucketVersioningOutput>> {
    gateway.bucket(&request.input.bucket)?;
    Ok(S3Response::new(GetBucketVersioningOutput::default()))
}
