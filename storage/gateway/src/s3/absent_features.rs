//! Features of S3 buckets that buckets of this gateway never have. A read of such a feature returns S3's error for a
//! bucket without it, and a removal succeeds. s3s refuses to set it with `NotImplemented`. It does so for every verb
//! that [`S3Api`](super::verbs::S3Api) leaves out.

use super::refusal::not_found;
use super::versions;
use crate::objects::account::Account;
use s3s::dto::*;
use s3s::{S3ErrorCode, S3Result, s3_error};

/// Verbs that return a fixed result if the bucket exists.
macro_rules! verbs_of_buckets {
    ($($verb:ident: $result:expr;)*) => {
        pastey::paste! {
            $(pub(super) async fn $verb(
                account: &Account,
                input: [<$verb:camel Input>],
            ) -> S3Result<[<$verb:camel Output>]> {
                account.container(&input.bucket)?;
                $result
            })*
        }
    };
}

/// The verbs of object lock. If the object exists, they return the error for a bucket without object lock.
macro_rules! verbs_of_locked_objects {
    ($($verb:ident)*) => {
        pastey::paste! {
            $(pub(super) async fn $verb(
                account: &Account,
                input: [<$verb:camel Input>],
            ) -> S3Result<[<$verb:camel Output>]> {
                versions::find(account, &input.bucket, &input.key, input.version_id.as_deref())?;
                Err(s3_error!(InvalidRequest, "Bucket is missing Object Lock Configuration"))
            })*
        }
    };
}

fn missing<T>(code: S3ErrorCode, message: &'static str) -> S3Result<T> {
    Err(not_found(code, message))
}

fn nothing<T: Default>() -> S3Result<T> {
    Ok(T::default())
}

const NO_BLOCK: &str = "NoSuchPublicAccessBlockConfiguration";

verbs_of_buckets! {
    get_bucket_policy: missing(S3ErrorCode::NoSuchBucketPolicy, "The bucket policy does not exist.");
    get_bucket_policy_status: missing(S3ErrorCode::NoSuchBucketPolicy, "The bucket policy does not exist.");
    get_bucket_replication: missing(
        S3ErrorCode::ReplicationConfigurationNotFoundError,
        "The replication configuration was not found"
    );
    get_bucket_website: missing(
        S3ErrorCode::NoSuchWebsiteConfiguration,
        "The specified bucket does not have a website configuration"
    );
    get_object_lock_configuration: missing(
        S3ErrorCode::ObjectLockConfigurationNotFoundError,
        "Object Lock configuration does not exist for this bucket."
    );
    get_public_access_block: missing(
        S3ErrorCode::Custom(NO_BLOCK.into()),
        "The public access block configuration was not found"
    );
    get_bucket_request_payment: Ok(GetBucketRequestPaymentOutput {
        payer: Some(Payer::from_static(Payer::BUCKET_OWNER))
    });
    get_bucket_accelerate_configuration: nothing();
    get_bucket_logging: nothing();
    get_bucket_notification_configuration: nothing();
    delete_bucket_policy: nothing();
    delete_bucket_replication: nothing();
    delete_bucket_website: nothing();
    delete_public_access_block: nothing();
}

verbs_of_locked_objects! { get_object_retention get_object_legal_hold }
