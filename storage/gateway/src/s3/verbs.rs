//! The verbs of S3, each handed to its module.

use super::{
    absent_features, access, acl, attributes, buckets, copy, cors, delete, encryption, get, lifecycle,
    listing, multipart, ownership, put, settings, tagging, versions,
};
use crate::objects::gateway::Gateway;
use s3s::dto::*;
use s3s::{S3, S3Request, S3Response, S3Result};

/// The verbs of S3 over a gateway.
pub(super) struct S3Api {
    pub(super) gateway: Gateway,
}

// s3s names the input and the output of a verb after it.
macro_rules! verbs {
    (
        of the input { $($module:ident: $($verb:ident)*;)* }
        that reset settings { $($reset:ident: |$settings:ident| $change:expr;)* }
        of the request { $($request_module:ident: $($request_verb:ident)*;)* }
    ) => {
        pastey::paste! {
            #[async_trait::async_trait]
            impl S3 for S3Api {
                $($(async fn $verb(
                    &self,
                    request: S3Request<[<$verb:camel Input>]>,
                ) -> S3Result<S3Response<[<$verb:camel Output>]>> {
                    let account = access::target(&self.gateway, &request.extensions)?;
                    Ok(S3Response::new($module::$verb(&account, request.input).await?))
                })*)*
                $(async fn $reset(
                    &self,
                    request: S3Request<[<$reset:camel Input>]>,
                ) -> S3Result<S3Response<[<$reset:camel Output>]>> {
                    let account = access::target(&self.gateway, &request.extensions)?;
                    settings::set(&account, &request.input.bucket, |$settings| $change).await?;
                    Ok(S3Response::new([<$reset:camel Output>]::default()))
                })*
                $($(async fn $request_verb(
                    &self,
                    request: S3Request<[<$request_verb:camel Input>]>,
                ) -> S3Result<S3Response<[<$request_verb:camel Output>]>> {
                    let account = access::target(&self.gateway, &request.extensions)?;
                    $request_module::$request_verb(&account, request).await
                })*)*
            }
        }
    };
}

// Most verbs need only the input that s3s has parsed. The others also look at headers or at what the checks left in the
// extensions, or add headers to the response.
verbs! {
    of the input {
        acl: get_bucket_acl get_object_acl;
        buckets: delete_bucket;
        cors: get_bucket_cors put_bucket_cors;
        encryption: get_bucket_encryption put_bucket_encryption;
        lifecycle: get_bucket_lifecycle_configuration put_bucket_lifecycle_configuration;
        listing: list_objects list_objects_v2;
        multipart: abort_multipart_upload list_parts list_multipart_uploads;
        ownership: get_bucket_ownership_controls put_bucket_ownership_controls;
        tagging: get_bucket_tagging get_object_tagging put_object_tagging delete_object_tagging;
        absent_features: get_bucket_accelerate_configuration get_bucket_logging get_bucket_notification_configuration
            get_bucket_policy get_bucket_policy_status delete_bucket_policy
            get_bucket_replication delete_bucket_replication get_bucket_request_payment
            get_bucket_website delete_bucket_website get_public_access_block delete_public_access_block
            get_object_lock_configuration get_object_retention get_object_legal_hold;
        versions: get_bucket_versioning put_bucket_versioning list_object_versions;
    }
    that reset settings {
        delete_bucket_cors: |settings| settings.cors.clear();
        delete_bucket_encryption: |settings| settings.encryption = None;
        delete_bucket_lifecycle: |settings| settings.lifecycle.clear();
        delete_bucket_ownership_controls: |settings| settings.ownership = None;
        delete_bucket_tagging: |settings| settings.tags.clear();
    }
    of the request {
        acl: put_bucket_acl put_object_acl;
        attributes: get_object_attributes;
        buckets: create_bucket head_bucket list_buckets get_bucket_location;
        copy: copy_object upload_part_copy;
        delete: delete_object delete_objects;
        get: get_object head_object;
        multipart: create_multipart_upload upload_part complete_multipart_upload;
        put: put_object;
        tagging: put_bucket_tagging;
    }
}
