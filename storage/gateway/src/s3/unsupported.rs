//! Parts of a request's head that S3 knows and this gateway does not: each is refused by its name.
//!
//! It would do harm to ignore them. A `PUT` of `?renameObject` would put an empty object. A `DELETE` of `?acl` would
//! delete the object. A conditional copy would replace an object against its condition.

use super::checksums;
use super::conversions::{self, owner_id};
use super::version_4::pairs;
use crate::objects::conditions;
use http::{HeaderMap, Uri};
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};

/// The verbs that no parameter of the query chooses.
const PLAIN: [&str; 11] = [
    "CopyObject",
    "CreateBucket",
    "DeleteBucket",
    "DeleteObject",
    "GetObject",
    "HeadBucket",
    "HeadObject",
    "ListBuckets",
    "ListObjects",
    "ListObjectsV2",
    "PutObject",
];

/// The parameters of the query that choose a verb, in S3 or in servers that extend it (`append`, `storageClass`).
const SUBRESOURCES: [&str; 42] = [
    "abac",
    "accelerate",
    "acl",
    "analytics",
    "append",
    "attributes",
    "cors",
    "defaultObjectAcl",
    "delete",
    "encryption",
    "intelligent-tiering",
    "inventory",
    "legal-hold",
    "lifecycle",
    "location",
    "logging",
    "metadataConfiguration",
    "metadataInventoryTable",
    "metadataJournalTable",
    "metadataTable",
    "metrics",
    "notification",
    "object-lock",
    "ownershipControls",
    "policy",
    "policyStatus",
    "publicAccessBlock",
    "renameObject",
    "replication",
    "replication-metrics",
    "requestPayment",
    "restore",
    "retention",
    "select",
    "session",
    "storageClass",
    "tagging",
    "torrent",
    "uploads",
    "versioning",
    "versions",
    "website",
];

/// Refuses a query that chooses an unknown verb or two verbs, or that names a part without its upload.
///
/// # Errors
/// `NotImplemented` and `InvalidArgument`, which name the parameter.
pub(super) fn check_query(verb: &str, uri: &Uri) -> S3Result<()> {
    let query = pairs(uri.query().unwrap_or_default());
    let has = |wanted: &str| query.iter().any(|(name, _)| name == wanted);
    let chosen: Vec<&str> = SUBRESOURCES.into_iter().filter(|name| has(name)).collect();
    match *chosen {
        [one] if PLAIN.contains(&verb) => {
            return Err(s3_error!(
                NotImplemented,
                "This gateway does not serve ?{one} with this method and path."
            ));
        }
        [one, another, ..] => {
            return Err(s3_error!(InvalidArgument, "Conflicting query string parameters: {one}, {another}"));
        }
        _ => {}
    }
    let is_put = matches!(verb, "PutObject" | "CopyObject");
    if (is_put || verb == "DeleteObject") && (has("partNumber") || has("uploadId")) {
        return Err(s3_error!(
            InvalidArgument,
            "A part is named by both partNumber and uploadId, and an upload is named by uploadId alone."
        ));
    }
    if (is_put || matches!(verb, "CreateMultipartUpload" | "UploadPart" | "UploadPartCopy"))
        && has("versionId")
    {
        return Err(s3_error!(InvalidArgument, "This operation does not accept a version-id."));
    }
    Ok(())
}

/// Returns whether a verb supports a condition, or may ignore it because it only reads.
fn has_condition(verb: &str, name: &str) -> bool {
    match verb {
        "PutObject" | "CompleteMultipartUpload" => matches!(name, "if-match" | "if-none-match"),
        "DeleteObject" => name == "if-match",
        verb => ["Get", "Head", "List"].iter().any(|reads| verb.starts_with(reads)),
    }
}

/// Returns the error for a header that the verb does not support.
fn not_supported(header: &str, verb: &str) -> S3Error {
    s3_error!(
        NotImplemented,
        "This gateway does not support {verb} with the header {header}. Leave the header out."
    )
}

/// Refuses headers that request unsupported features, or that are about another account.
///
/// # Errors
/// `NotImplemented`, which names the header or the feature; `AccessDenied`; `InvalidStorageClass`; `InvalidRequest`.
pub(super) fn check_headers(verb: &str, headers: &HeaderMap, account: &str) -> S3Result<()> {
    for (name, value) in headers {
        let value = value.as_bytes();
        match name.as_str() {
            name @ "content-range" => return Err(not_supported(name, verb)),
            name @ "x-amz-copy-source-range" if verb == "CopyObject" => {
                return Err(not_supported(name, verb));
            }
            name if conditions::HEADERS.contains(&name) && !has_condition(verb, name) => {
                return Err(not_supported(name, verb));
            }
            "x-amz-expected-bucket-owner" if value != owner_id(account).as_bytes() => {
                return Err(s3_error!(AccessDenied));
            }
            "x-amz-server-side-encryption" if value != b"AES256" => {
                return Err(unsupported_feature(
                    "keys of a key service: everything is encrypted with the vault's key",
                ));
            }
            "x-amz-bucket-object-lock-enabled" if value == b"true" => {
                return Err(unsupported_feature("object lock"));
            }
            "x-amz-website-redirect-location" => return Err(unsupported_feature("redirects")),
            "x-amz-storage-class" if !conversions::is_storage_class(value) => {
                return Err(s3_error!(InvalidStorageClass, "The storage class you specified is not valid"));
            }
            name if name.starts_with("x-amz-checksum-") && !is_known_checksum(name) => {
                return Err(s3_error!(
                    InvalidRequest,
                    "The algorithm type you specified in x-amz-checksum- header is invalid."
                ));
            }
            name if name.starts_with("x-amz-object-lock-") => return Err(unsupported_feature("object lock")),
            "x-amz-server-side-encryption-bucket-key-enabled" if value == b"false" => {}
            name if name.starts_with("x-amz-server-side-encryption-")
                && !name.starts_with("x-amz-server-side-encryption-customer-") =>
            {
                return Err(unsupported_feature(
                    "keys of a key service: everything is encrypted with the vault's key",
                ));
            }
            name if name.contains("server-side-encryption-customer-") => {
                return Err(unsupported_feature(
                    "customer keys: everything is encrypted with the vault's key",
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_known_checksum(name: &str) -> bool {
    let others = ["x-amz-checksum-algorithm", "x-amz-checksum-mode", "x-amz-checksum-type"];
    checksums::HEADERS.iter().any(|(known, _)| *known == name) || others.contains(&name)
}

fn unsupported_feature(what: &str) -> S3Error {
    S3Error::with_message(
        S3ErrorCode::NotImplemented,
        format!("This gateway has no {what}. Leave the header out."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_the_query_counts_however_it_is_encoded() {
        let refused = |uri: &'static str| check_query("DeleteObject", &Uri::from_static(uri)).is_err();
        assert!(refused("/b/k?%61cl") && refused("/b/k?x-id=DeleteObject&acl=") && refused("/b/k?acl=x"));
        assert!(!refused("/b/k?versionId=acl") && !refused("/b/k?Acl") && !refused("/b/acl"));
    }
}
