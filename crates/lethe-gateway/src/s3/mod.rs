//! S3 for the gateway: [`s3s`] reads requests and checks their signatures, this module gives the verbs their meaning.
//!
//! Signatures are of version 4: in the header, in the URL and in a form, compared in constant time, those of version 2
//! in URLs and forms likewise; and chunk by chunk in a body, which s3s compares like any text, once the request's own
//! signature was found right. Their coverage is checked here. Each verb needs a right in a bucket or an object, which
//! the owner has and access control lists give to others; a verb that is not listed needs the owner. Requests that ask
//! for something that would not be kept are refused, not ignored.

mod absent;
mod access;
mod acl;
mod attributes;
mod body;
mod buckets;
mod checksums;
mod copy;
mod cors;
mod delete;
mod door;
mod errors;
mod form;
mod get;
mod keep_alive;
mod lenient;
mod lifecycle;
mod listing;
mod multipart;
mod ownership;
mod principal;
mod put;
mod sentences;
mod settings;
mod signature;
mod tagging;
mod values;
mod verified;
mod version_2;
mod versions;
mod xml;
mod xml_text;

pub use door::S3Door;
use sentences::complete;
use verified::Verified;

use crate::auth::identity::Users;
use crate::objects::gateway::Gateway;
use s3s::dto::*;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s::{S3, S3Request, S3Response, S3Result};
use std::sync::Arc;

/// The S3 service of a gateway. [`S3Door`] makes a door of it; s3s logs names and signatures at levels as high as
/// `error`, so another server of it must switch the logs of `s3s` off.
///
/// The signer is looked up in `users`; verbs find its [`Identity`](crate::auth::identity::Identity) in a request's
/// extensions.
pub fn service(gateway: Gateway, users: Arc<Users>) -> S3Service {
    services(gateway, users).0
}

/// The S3 service of a gateway, and the one behind it that asks for no signature.
fn services(gateway: Gateway, users: Arc<Users>) -> (S3Service, Verified) {
    let build = |verified| {
        let mut builder = S3ServiceBuilder::new(Face { gateway: gateway.clone() });
        builder.set_auth(access::Keys { users: Arc::clone(&users) });
        builder.set_access(access::Access { gateway: gateway.clone(), users: Arc::clone(&users), verified });
        builder
    };
    let verified = Verified { service: build(true).build(), memory: Arc::clone(&gateway.inner.memory) };
    let mut outer = build(false);
    outer.set_route(verified::Route { users: Arc::clone(&users), verified: verified.clone() });
    (outer.build(), verified)
}

/// The verbs of S3 over a gateway.
struct Face {
    gateway: Gateway,
}

macro_rules! verbs {
    ($($verb:ident: $input:ident -> $output:ident in $module:ident;)*) => {
        #[async_trait::async_trait]
        impl S3 for Face {
            $(async fn $verb(&self, request: S3Request<$input>) -> S3Result<S3Response<$output>> {
                let account = access::target(&self.gateway, &request.extensions)?;
                $module::$verb(&account, request).await
            })*
        }
    };
}

verbs! {
    create_bucket: CreateBucketInput -> CreateBucketOutput in buckets;
    head_bucket: HeadBucketInput -> HeadBucketOutput in buckets;
    delete_bucket: DeleteBucketInput -> DeleteBucketOutput in buckets;
    list_buckets: ListBucketsInput -> ListBucketsOutput in buckets;
    get_bucket_location: GetBucketLocationInput -> GetBucketLocationOutput in buckets;
    get_bucket_versioning: GetBucketVersioningInput -> GetBucketVersioningOutput in versions;
    put_object: PutObjectInput -> PutObjectOutput in put;
    get_object: GetObjectInput -> GetObjectOutput in get;
    head_object: HeadObjectInput -> HeadObjectOutput in get;
    get_object_attributes: GetObjectAttributesInput -> GetObjectAttributesOutput in attributes;
    delete_object: DeleteObjectInput -> DeleteObjectOutput in delete;
    delete_objects: DeleteObjectsInput -> DeleteObjectsOutput in delete;
    copy_object: CopyObjectInput -> CopyObjectOutput in copy;
    upload_part_copy: UploadPartCopyInput -> UploadPartCopyOutput in copy;
    list_objects: ListObjectsInput -> ListObjectsOutput in listing;
    list_objects_v2: ListObjectsV2Input -> ListObjectsV2Output in listing;
    list_object_versions: ListObjectVersionsInput -> ListObjectVersionsOutput in versions;
    create_multipart_upload: CreateMultipartUploadInput -> CreateMultipartUploadOutput in multipart;
    upload_part: UploadPartInput -> UploadPartOutput in multipart;
    complete_multipart_upload: CompleteMultipartUploadInput -> CompleteMultipartUploadOutput in multipart;
    abort_multipart_upload: AbortMultipartUploadInput -> AbortMultipartUploadOutput in multipart;
    list_parts: ListPartsInput -> ListPartsOutput in multipart;
    list_multipart_uploads: ListMultipartUploadsInput -> ListMultipartUploadsOutput in multipart;
    get_bucket_acl: GetBucketAclInput -> GetBucketAclOutput in acl;
    put_bucket_acl: PutBucketAclInput -> PutBucketAclOutput in acl;
    get_object_acl: GetObjectAclInput -> GetObjectAclOutput in acl;
    put_object_acl: PutObjectAclInput -> PutObjectAclOutput in acl;
    get_bucket_ownership_controls:
        GetBucketOwnershipControlsInput -> GetBucketOwnershipControlsOutput in ownership;
    put_bucket_ownership_controls:
        PutBucketOwnershipControlsInput -> PutBucketOwnershipControlsOutput in ownership;
    delete_bucket_ownership_controls:
        DeleteBucketOwnershipControlsInput -> DeleteBucketOwnershipControlsOutput in ownership;
    get_bucket_tagging: GetBucketTaggingInput -> GetBucketTaggingOutput in tagging;
    put_bucket_tagging: PutBucketTaggingInput -> PutBucketTaggingOutput in tagging;
    delete_bucket_tagging: DeleteBucketTaggingInput -> DeleteBucketTaggingOutput in tagging;
    get_object_tagging: GetObjectTaggingInput -> GetObjectTaggingOutput in tagging;
    put_object_tagging: PutObjectTaggingInput -> PutObjectTaggingOutput in tagging;
    delete_object_tagging: DeleteObjectTaggingInput -> DeleteObjectTaggingOutput in tagging;
    get_bucket_cors: GetBucketCorsInput -> GetBucketCorsOutput in cors;
    put_bucket_cors: PutBucketCorsInput -> PutBucketCorsOutput in cors;
    delete_bucket_cors: DeleteBucketCorsInput -> DeleteBucketCorsOutput in cors;
    get_bucket_lifecycle_configuration:
        GetBucketLifecycleConfigurationInput -> GetBucketLifecycleConfigurationOutput in lifecycle;
    put_bucket_lifecycle_configuration:
        PutBucketLifecycleConfigurationInput -> PutBucketLifecycleConfigurationOutput in lifecycle;
    delete_bucket_lifecycle: DeleteBucketLifecycleInput -> DeleteBucketLifecycleOutput in lifecycle;
    get_bucket_accelerate_configuration:
        GetBucketAccelerateConfigurationInput -> GetBucketAccelerateConfigurationOutput in absent;
    get_bucket_logging:
        GetBucketLoggingInput -> GetBucketLoggingOutput in absent;
    get_bucket_notification_configuration:
        GetBucketNotificationConfigurationInput -> GetBucketNotificationConfigurationOutput in absent;
    get_bucket_encryption:
        GetBucketEncryptionInput -> GetBucketEncryptionOutput in absent;
    get_bucket_policy:
        GetBucketPolicyInput -> GetBucketPolicyOutput in absent;
    get_bucket_policy_status:
        GetBucketPolicyStatusInput -> GetBucketPolicyStatusOutput in absent;
    get_bucket_replication:
        GetBucketReplicationInput -> GetBucketReplicationOutput in absent;
    get_bucket_request_payment:
        GetBucketRequestPaymentInput -> GetBucketRequestPaymentOutput in absent;
    get_bucket_website:
        GetBucketWebsiteInput -> GetBucketWebsiteOutput in absent;
    delete_bucket_encryption: DeleteBucketEncryptionInput -> DeleteBucketEncryptionOutput in absent;
    delete_bucket_policy: DeleteBucketPolicyInput -> DeleteBucketPolicyOutput in absent;
    delete_bucket_replication: DeleteBucketReplicationInput -> DeleteBucketReplicationOutput in absent;
    delete_bucket_website: DeleteBucketWebsiteInput -> DeleteBucketWebsiteOutput in absent;
    get_public_access_block: GetPublicAccessBlockInput -> GetPublicAccessBlockOutput in absent;
    delete_public_access_block: DeletePublicAccessBlockInput -> DeletePublicAccessBlockOutput in absent;
    get_object_lock_configuration:
        GetObjectLockConfigurationInput -> GetObjectLockConfigurationOutput in absent;
    get_object_retention: GetObjectRetentionInput -> GetObjectRetentionOutput in absent;
    get_object_legal_hold: GetObjectLegalHoldInput -> GetObjectLegalHoldOutput in absent;
    put_bucket_versioning: PutBucketVersioningInput -> PutBucketVersioningOutput in versions;
}
