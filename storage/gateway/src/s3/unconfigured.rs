//! Features of S3 buckets that buckets of this gateway never have. A read of such a feature returns S3's error for a
//! bucket without it, and a removal succeeds. s3s refuses to set it with `NotImplemented`, as it does for every verb
//! that [`S3Api`](super::S3Api) leaves out.

use super::refusal::not_found;
use super::versions;
use crate::objects::account::Account;
use s3s::dto::*;
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};

/// Verbs that return "not found" if the bucket exists.
macro_rules! not_found {
    ($($verb:ident: $input:ident -> $output:ident = $code:ident, $default_message:literal;)*) => {
        $(pub(super) async fn $verb(account: &Account, input: $input) -> S3Result<$output> {
            account.container(&input.bucket)?;
            Err(not_found(S3ErrorCode::$code, $default_message))
        })*
    };
}

/// Verbs that return an empty answer if the bucket exists.
macro_rules! nothing {
    ($($verb:ident: $input:ident -> $output:ident;)*) => {
        $(pub(super) async fn $verb(account: &Account, input: $input) -> S3Result<$output> {
            account.container(&input.bucket)?;
            Ok($output::default())
        })*
    };
}

not_found! {
    get_bucket_policy: GetBucketPolicyInput -> GetBucketPolicyOutput
        = NoSuchBucketPolicy, "The bucket policy does not exist.";
    get_bucket_policy_status: GetBucketPolicyStatusInput -> GetBucketPolicyStatusOutput
        = NoSuchBucketPolicy, "The bucket policy does not exist.";
    get_bucket_replication: GetBucketReplicationInput -> GetBucketReplicationOutput
        = ReplicationConfigurationNotFoundError, "The replication configuration was not found";
    get_bucket_website: GetBucketWebsiteInput -> GetBucketWebsiteOutput
        = NoSuchWebsiteConfiguration, "The specified bucket does not have a website configuration";
    get_object_lock_configuration: GetObjectLockConfigurationInput -> GetObjectLockConfigurationOutput
        = ObjectLockConfigurationNotFoundError, "Object Lock configuration does not exist for this bucket.";
}

nothing! {
    get_bucket_accelerate_configuration:
        GetBucketAccelerateConfigurationInput -> GetBucketAccelerateConfigurationOutput;
    get_bucket_logging: GetBucketLoggingInput -> GetBucketLoggingOutput;
    get_bucket_notification_configuration:
        GetBucketNotificationConfigurationInput -> GetBucketNotificationConfigurationOutput;
    delete_bucket_policy: DeleteBucketPolicyInput -> DeleteBucketPolicyOutput;
    delete_bucket_replication: DeleteBucketReplicationInput -> DeleteBucketReplicationOutput;
    delete_bucket_website: DeleteBucketWebsiteInput -> DeleteBucketWebsiteOutput;
    delete_public_access_block: DeletePublicAccessBlockInput -> DeletePublicAccessBlockOutput;
}

pub(super) async fn get_public_access_block(
    account: &Account,
    input: GetPublicAccessBlockInput,
) -> S3Result<GetPublicAccessBlockOutput> {
    account.container(&input.bucket)?;
    let code = S3ErrorCode::Custom("NoSuchPublicAccessBlockConfiguration".into());
    Err(not_found(code, "The public access block configuration was not found"))
}

pub(super) async fn get_bucket_request_payment(
    account: &Account,
    input: GetBucketRequestPaymentInput,
) -> S3Result<GetBucketRequestPaymentOutput> {
    account.container(&input.bucket)?;
    let payer = Some(Payer::from_static(Payer::BUCKET_OWNER));
    Ok(GetBucketRequestPaymentOutput { payer })
}

fn no_lock() -> S3Error {
    s3_error!(InvalidRequest, "Bucket is missing Object Lock Configuration")
}

pub(super) async fn get_object_retention(
    account: &Account,
    input: GetObjectRetentionInput,
) -> S3Result<GetObjectRetentionOutput> {
    let version = versions::parse_id(input.version_id.as_deref())?;
    account.version(&input.bucket, &input.key, version)?;
    Err(no_lock())
}

pub(super) async fn get_object_legal_hold(
    account: &Account,
    input: GetObjectLegalHoldInput,
) -> S3Result<GetObjectLegalHoldOutput> {
    let version = versions::parse_id(input.version_id.as_deref())?;
    account.version(&input.bucket, &input.key, version)?;
    Err(no_lock())
}
