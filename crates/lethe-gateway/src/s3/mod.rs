//! S3 for the gateway: [`s3s`] reads requests and checks their signatures, this module gives the verbs their meaning.
//!
//! Known and done: buckets (create, head, delete, list, location, versioning: never on), objects (put, get, head,
//! delete, delete many, copy, attributes, tags: always none), listing (v1, v2), uploads in parts (begin, part, part by
//! copy, complete, abort, list parts, list uploads). Signatures are of version 4: in the header and in the URL, compared
//! in constant time; and chunk by chunk in a body, which s3s compares like any text, once the request's own signature
//! was found right. Requests that ask for something that would not be kept (an ACL that lets others in, a customer's key,
//! object lock, tags) are refused, not ignored.

mod access;
mod body;
mod buckets;
mod checksums;
mod copy;
mod delete;
mod errors;
mod get;
mod listing;
mod multipart;
mod put;
mod range;
mod sentences;
mod values;

pub(crate) use access::{Verb, refuse_unsigned_forms};
pub(crate) use sentences::complete;

use crate::device::Device;
use crate::gateway::Gateway;
use s3s::dto::*;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s::{S3, S3Request, S3Response, S3Result};
use zeroize::Zeroizing;

/// The one pair of keys that may do everything. Never printed, wiped when dropped.
#[derive(Clone)]
pub struct Credentials {
    access_key: String,
    secret_key: Zeroizing<String>,
}

impl Credentials {
    /// A pair of keys. The access key is public and names the secret one.
    pub fn new(access_key: impl Into<String>, secret_key: impl Into<String>) -> Self {
        Credentials { access_key: access_key.into(), secret_key: Zeroizing::new(secret_key.into()) }
    }
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials(..)")
    }
}

/// The S3 service of a gateway. [`server::serve`](crate::server::serve) serves it; s3s logs names and signatures at
/// levels as high as `error`, so whoever serves it otherwise must switch the logs of `s3s` off.
pub fn service<D: Device>(gateway: Gateway<D>, credentials: Credentials) -> S3Service {
    let build = |verified| {
        let mut builder = S3ServiceBuilder::new(Face { gateway: gateway.clone() });
        builder.set_auth(access::OnePair::new(credentials.clone()));
        builder.set_access(access::Refusals { verified });
        builder
    };
    let inner = build(true).build();
    let mut outer = build(false);
    outer.set_route(range::Lenient { inner });
    outer.build()
}

/// The verbs of S3 over a gateway.
struct Face<D> {
    gateway: Gateway<D>,
}

macro_rules! verbs {
    ($($verb:ident: $input:ident -> $output:ident in $module:ident;)*) => {
        #[async_trait::async_trait]
        impl<D: Device> S3 for Face<D> {
            $(async fn $verb(&self, request: S3Request<$input>) -> S3Result<S3Response<$output>> {
                $module::$verb(&self.gateway, request).await
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
    get_bucket_versioning: GetBucketVersioningInput -> GetBucketVersioningOutput in buckets;
    put_object: PutObjectInput -> PutObjectOutput in put;
    get_object: GetObjectInput -> GetObjectOutput in get;
    head_object: HeadObjectInput -> HeadObjectOutput in get;
    get_object_attributes: GetObjectAttributesInput -> GetObjectAttributesOutput in get;
    get_object_tagging: GetObjectTaggingInput -> GetObjectTaggingOutput in get;
    delete_object: DeleteObjectInput -> DeleteObjectOutput in delete;
    delete_objects: DeleteObjectsInput -> DeleteObjectsOutput in delete;
    copy_object: CopyObjectInput -> CopyObjectOutput in copy;
    upload_part_copy: UploadPartCopyInput -> UploadPartCopyOutput in copy;
    list_objects: ListObjectsInput -> ListObjectsOutput in listing;
    list_objects_v2: ListObjectsV2Input -> ListObjectsV2Output in listing;
    create_multipart_upload: CreateMultipartUploadInput -> CreateMultipartUploadOutput in multipart;
    upload_part: UploadPartInput -> UploadPartOutput in multipart;
    complete_multipart_upload: CompleteMultipartUploadInput -> CompleteMultipartUploadOutput in multipart;
    abort_multipart_upload: AbortMultipartUploadInput -> AbortMultipartUploadOutput in multipart;
    list_parts: ListPartsInput -> ListPartsOutput in multipart;
    list_multipart_uploads: ListMultipartUploadsInput -> ListMultipartUploadsOutput in multipart;
}
