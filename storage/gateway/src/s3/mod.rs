//! S3 for the gateway: [`s3s`] parses requests; this module checks their signatures and implements the verbs.
//!
//! Signatures of version 4 may be in the header, in the URL, in a form, and on each chunk of a body; those of version 2
//! in URLs and forms. All are compared in constant time. Each verb needs a right in a bucket or an object. The owner
//! has all rights, and access control lists give rights to others. A verb that is not listed is for the owner only.
//! Requests with unsupported features are refused, not ignored.

mod access;
mod acl;
mod attributes;
mod body;
mod buckets;
mod checksums;
mod copy;
mod cors;
mod delete;
mod encryption;
mod error_messages;
mod errors;
mod form;
mod get;
mod header_compat;
mod keep_alive;
mod lifecycle;
mod listing;
mod multipart;
mod ownership;
mod principal;
mod put;
mod refusal;
mod region;
mod retryable;
mod server;
mod settings;
mod tagging;
mod unconfigured;
mod unsupported;
mod values;
mod verified;
mod version_2;
mod version_4;
mod versions;
mod xml;
mod xml_text;

use error_messages::complete;
pub use region::is_region;
pub use server::S3Server;
use verified::Verified;

use crate::auth::identity::Users;
use crate::objects::gateway::Gateway;
use s3s::dto::*;
use s3s::service::S3ServiceBuilder;
use s3s::{S3, S3Request, S3Response, S3Result};
use std::sync::Arc;

/// Creates the service that serves verified requests.
fn verified(gateway: Gateway, users: Arc<Users>) -> Verified {
    let memory = Arc::clone(&gateway.inner.memory);
    let mut builder = S3ServiceBuilder::new(S3Api { gateway: gateway.clone() });
    builder.set_auth(access::NoKeys);
    builder.set_access(access::Access { gateway, users });
    Verified { service: builder.build(), memory }
}

/// The verbs of S3 over a gateway.
struct S3Api {
    gateway: Gateway,
}

macro_rules! verbs {
    (
        of the input { $($verb:ident: $input:ident -> $output:ident in $module:ident;)* }
        that reset settings {
            $($reset:ident: $reset_input:ident -> $reset_output:ident by |$settings:ident| $change:expr;)*
        }
        of the request { $($long_verb:ident: $request:ident -> $response:ident in $long_module:ident;)* }
    ) => {
        #[async_trait::async_trait]
        impl S3 for S3Api {
            $(async fn $verb(&self, request: S3Request<$input>) -> S3Result<S3Response<$output>> {
                let account = access::target(&self.gateway, &request.extensions)?;
                Ok(S3Response::new($module::$verb(&account, request.input).await?))
            })*
            $(async fn $reset(&self, request: S3Request<$reset_input>) -> S3Result<S3Response<$reset_output>> {
                let account = access::target(&self.gateway, &request.extensions)?;
                settings::set(&account, &request.input.bucket, |$settings| $change).await?;
                Ok(S3Response::new($reset_output::default()))
            })*
            $(async fn $long_verb(&self, request: S3Request<$request>) -> S3Result<S3Response<$response>> {
                let account = access::target(&self.gateway, &request.extensions)?;
                $long_module::$long_verb(&account, request).await
            })*
        }
    };
}

// Most verbs need only the input that s3s has parsed. The others also look at headers or at what the checks left in the
// extensions, or add headers to the response.
verbs! {
    of the input {
        delete_bucket: DeleteBucketInput -> DeleteBucketOutput in buckets;
        get_bucket_versioning: GetBucketVersioningInput -> GetBucketVersioningOutput in versions;
        list_objects: ListObjectsInput -> ListObjectsOutput in listing;
        list_objects_v2: ListObjectsV2Input -> ListObjectsV2Output in listing;
        list_object_versions: ListObjectVersionsInput -> ListObjectVersionsOutput in versions;
        abort_multipart_upload: AbortMultipartUploadInput -> AbortMultipartUploadOutput in multipart;
        list_parts: ListPartsInput -> ListPartsOutput in multipart;
        list_multipart_uploads: ListMultipartUploadsInput -> ListMultipartUploadsOutput in multipart;
        get_bucket_acl: GetBucketAclInput -> GetBucketAclOutput in acl;
        get_object_acl: GetObjectAclInput -> GetObjectAclOutput in acl;
        get_bucket_ownership_controls:
            GetBucketOwnershipControlsInput -> GetBucketOwnershipControlsOutput in ownership;
        put_bucket_ownership_controls:
            PutBucketOwnershipControlsInput -> PutBucketOwnershipControlsOutput in ownership;
        get_bucket_tagging: GetBucketTaggingInput -> GetBucketTaggingOutput in tagging;
        get_object_tagging: GetObjectTaggingInput -> GetObjectTaggingOutput in tagging;
        put_object_tagging: PutObjectTaggingInput -> PutObjectTaggingOutput in tagging;
        delete_object_tagging: DeleteObjectTaggingInput -> DeleteObjectTaggingOutput in tagging;
        get_bucket_cors: GetBucketCorsInput -> GetBucketCorsOutput in cors;
        put_bucket_cors: PutBucketCorsInput -> PutBucketCorsOutput in cors;
        get_bucket_lifecycle_configuration:
            GetBucketLifecycleConfigurationInput -> GetBucketLifecycleConfigurationOutput in lifecycle;
        put_bucket_lifecycle_configuration:
            PutBucketLifecycleConfigurationInput -> PutBucketLifecycleConfigurationOutput in lifecycle;
        get_bucket_accelerate_configuration:
            GetBucketAccelerateConfigurationInput -> GetBucketAccelerateConfigurationOutput in unconfigured;
        get_bucket_logging: GetBucketLoggingInput -> GetBucketLoggingOutput in unconfigured;
        get_bucket_notification_configuration:
            GetBucketNotificationConfigurationInput -> GetBucketNotificationConfigurationOutput in unconfigured;
        get_bucket_encryption: GetBucketEncryptionInput -> GetBucketEncryptionOutput in encryption;
        put_bucket_encryption: PutBucketEncryptionInput -> PutBucketEncryptionOutput in encryption;
        get_bucket_policy: GetBucketPolicyInput -> GetBucketPolicyOutput in unconfigured;
        get_bucket_policy_status: GetBucketPolicyStatusInput -> GetBucketPolicyStatusOutput in unconfigured;
        get_bucket_replication: GetBucketReplicationInput -> GetBucketReplicationOutput in unconfigured;
        get_bucket_request_payment:
            GetBucketRequestPaymentInput -> GetBucketRequestPaymentOutput in unconfigured;
        get_bucket_website: GetBucketWebsiteInput -> GetBucketWebsiteOutput in unconfigured;
        delete_bucket_policy: DeleteBucketPolicyInput -> DeleteBucketPolicyOutput in unconfigured;
        delete_bucket_replication:
            DeleteBucketReplicationInput -> DeleteBucketReplicationOutput in unconfigured;
        delete_bucket_website: DeleteBucketWebsiteInput -> DeleteBucketWebsiteOutput in unconfigured;
        get_public_access_block: GetPublicAccessBlockInput -> GetPublicAccessBlockOutput in unconfigured;
        delete_public_access_block:
            DeletePublicAccessBlockInput -> DeletePublicAccessBlockOutput in unconfigured;
        get_object_lock_configuration:
            GetObjectLockConfigurationInput -> GetObjectLockConfigurationOutput in unconfigured;
        get_object_retention: GetObjectRetentionInput -> GetObjectRetentionOutput in unconfigured;
        get_object_legal_hold: GetObjectLegalHoldInput -> GetObjectLegalHoldOutput in unconfigured;
        put_bucket_versioning: PutBucketVersioningInput -> PutBucketVersioningOutput in versions;
    }
    that reset settings {
        delete_bucket_cors: DeleteBucketCorsInput -> DeleteBucketCorsOutput by |settings| settings.cors.clear();
        delete_bucket_encryption: DeleteBucketEncryptionInput -> DeleteBucketEncryptionOutput by |settings| settings.encryption = None;
        delete_bucket_lifecycle: DeleteBucketLifecycleInput -> DeleteBucketLifecycleOutput by |settings| settings.lifecycle.clear();
        delete_bucket_ownership_controls: DeleteBucketOwnershipControlsInput -> DeleteBucketOwnershipControlsOutput by |settings| settings.ownership = None;
        delete_bucket_tagging: DeleteBucketTaggingInput -> DeleteBucketTaggingOutput by |settings| settings.tags.clear();
    }
    of the request {
        create_bucket: CreateBucketInput -> CreateBucketOutput in buckets;
        head_bucket: HeadBucketInput -> HeadBucketOutput in buckets;
        list_buckets: ListBucketsInput -> ListBucketsOutput in buckets;
        get_bucket_location: GetBucketLocationInput -> GetBucketLocationOutput in buckets;
        put_object: PutObjectInput -> PutObjectOutput in put;
        get_object: GetObjectInput -> GetObjectOutput in get;
        head_object: HeadObjectInput -> HeadObjectOutput in get;
        get_object_attributes: GetObjectAttributesInput -> GetObjectAttributesOutput in attributes;
        delete_object: DeleteObjectInput -> DeleteObjectOutput in delete;
        delete_objects: DeleteObjectsInput -> DeleteObjectsOutput in delete;
        copy_object: CopyObjectInput -> CopyObjectOutput in copy;
        upload_part_copy: UploadPartCopyInput -> UploadPartCopyOutput in copy;
        create_multipart_upload: CreateMultipartUploadInput -> CreateMultipartUploadOutput in multipart;
        upload_part: UploadPartInput -> UploadPartOutput in multipart;
        complete_multipart_upload: CompleteMultipartUploadInput -> CompleteMultipartUploadOutput in multipart;
        put_bucket_acl: PutBucketAclInput -> PutBucketAclOutput in acl;
        put_object_acl: PutObjectAclInput -> PutObjectAclOutput in acl;
        put_bucket_tagging: PutBucketTaggingInput -> PutBucketTaggingOutput in tagging;
    }
}
