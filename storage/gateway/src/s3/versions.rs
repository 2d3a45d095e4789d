//! Versions of objects: their names, their settings and their lists.

use super::checksums::{algorithm_name, coverage_name};
use super::conversions::{Encoding, etag, list_request, listed_class, owner, size, timestamp};
use crate::catalogue::{Object, VersionId, Versioning};
use crate::objects::account::Account;
use crate::objects::versions::ListedVersion;
use http::Uri;
use s3s::dto::*;
use s3s::{S3Error, S3Result, s3_error};
use std::sync::Arc;
use ulid::Ulid;

/// S3's name of the version without a number.
const NULL: &str = "null";

/// Returns the name of a version, as a ULID.
pub(super) fn id_text(id: VersionId) -> String {
    match id {
        VersionId::Null => NULL.into(),
        VersionId::Number(number) => Ulid(number).to_string(),
    }
}

/// Parses the version in a request, if there is one.
///
/// # Errors
/// `InvalidArgument`.
pub(super) fn parse_id(version: Option<&str>) -> S3Result<Option<VersionId>> {
    match version {
        None | Some("") => Ok(None),
        Some(NULL) => Ok(Some(VersionId::Null)),
        Some(name) => Ulid::from_string(name)
            .map(|number| Some(VersionId::Number(number.0)))
            .map_err(|_| s3_error!(InvalidArgument, "Invalid version id specified")),
    }
}

/// Finds the object that a request names, or the version of it.
///
/// # Errors
/// `InvalidArgument` for a malformed version; the errors of [`Account::version`].
pub(super) fn find(
    account: &Account,
    bucket: &str,
    key: &str,
    version: Option<&str>,
) -> S3Result<Arc<Object>> {
    Ok(account.version(bucket, key, parse_id(version)?)?)
}

/// Returns the version in a query, as s3s reads it.
///
/// # Errors
/// `InvalidArgument` if there are several: rights are checked for one.
pub(super) fn id_in_query(uri: &Uri) -> S3Result<Option<VersionId>> {
    let parameters = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let mut named = parameters.filter(|(name, _)| name == "versionId").map(|(_, value)| value);
    let first = named.next();
    if named.next().is_some() {
        return Err(s3_error!(InvalidArgument, "Name one version."));
    }
    parse_id(first.as_deref())
}

/// Returns the name of an object's version, if its bucket keeps or has kept versions.
pub(super) fn shown_id(account: &Account, bucket: &str, object: &Object) -> Option<String> {
    let view = account.container(bucket).ok()?;
    view.settings.versioning.map(|_| id_text(object.version.id()))
}

/// Returns the name of a version that was put, if it has a number.
pub(super) fn new_id_text(object: &Object) -> Option<String> {
    let id = object.version.id();
    (id != VersionId::Null).then(|| id_text(id))
}

pub(super) async fn get_bucket_versioning(
    account: &Account,
    input: GetBucketVersioningInput,
) -> S3Result<GetBucketVersioningOutput> {
    let versioning = account.container(&input.bucket)?.settings.versioning;
    let status = versioning.map(|versioning| match versioning {
        Versioning::Enabled => BucketVersioningStatus::ENABLED,
        Versioning::Suspended => BucketVersioningStatus::SUSPENDED,
    });
    let status = status.map(BucketVersioningStatus::from_static);
    Ok(GetBucketVersioningOutput { status, ..GetBucketVersioningOutput::default() })
}

pub(super) async fn put_bucket_versioning(
    account: &Account,
    input: PutBucketVersioningInput,
) -> S3Result<PutBucketVersioningOutput> {
    let settings = account.container(&input.bucket)?.settings;
    let configuration = input.versioning_configuration;
    if configuration.mfa_delete.is_some_and(|delete| delete.as_str() != MFADelete::DISABLED) {
        return Err(s3_error!(NotImplemented, "This gateway does not support MFA delete."));
    }
    let versioning = match configuration.status.as_ref().map(BucketVersioningStatus::as_str) {
        Some(BucketVersioningStatus::ENABLED) => Versioning::Enabled,
        Some(BucketVersioningStatus::SUSPENDED) => Versioning::Suspended,
        // A bucket that never had versioning shows no status, and that document may be set again.
        None if settings.versioning.is_none() => {
            return Ok(PutBucketVersioningOutput::default());
        }
        _ => return Err(s3_error!(MalformedXML)),
    };
    account.set_versioning(&input.bucket, versioning).await?;
    Ok(PutBucketVersioningOutput::default())
}

pub(super) async fn list_object_versions(
    account: &Account,
    input: ListObjectVersionsInput,
) -> S3Result<ListObjectVersionsOutput> {
    let (encoding, listing_request) = list_request!(input, max_keys, "max-keys", input.key_marker.clone());
    let after = parse_id(input.version_id_marker.as_deref())?;
    if after.is_some() && listing_request.after.is_empty() {
        return Err(s3_error!(
            InvalidArgument,
            "A version-id marker cannot be specified without a key marker."
        ));
    }
    let page = account.list_versions(&input.bucket, &listing_request, after)?;
    let (markers, versions): (Vec<_>, Vec<_>) =
        page.entries.into_iter().partition(|listed| listed.object.version.is_marker());
    let (next_key, next_version) = page.next.clone().unzip();
    let owner = owner(account.name());
    Ok(ListObjectVersionsOutput {
        name: Some(input.bucket),
        prefix: Some(encoding.name(listing_request.prefix)),
        key_marker: Some(encoding.name(listing_request.after)),
        version_id_marker: input.version_id_marker,
        max_keys: i32::try_from(listing_request.limit).ok(),
        is_truncated: Some(page.next.is_some()),
        versions: Some(versions.into_iter().map(|listed| version(listed, encoding, &owner)).collect()),
        delete_markers: Some(markers.into_iter().map(|listed| marker(listed, encoding, &owner)).collect()),
        common_prefixes: encoding.prefixes(page.prefixes),
        delimiter: input.delimiter.map(|text| encoding.name(text)),
        next_key_marker: next_key.map(|text| encoding.name(text)),
        next_version_id_marker: next_version.flatten().map(id_text),
        encoding_type: input.encoding_type,
        ..ListObjectVersionsOutput::default()
    })
}

fn version(listed: ListedVersion, encoding: Encoding, owner: &Owner) -> ObjectVersion {
    let ListedVersion { key, object, is_latest } = listed;
    ObjectVersion {
        e_tag: Some(etag(&object)),
        is_latest: Some(is_latest),
        key: Some(encoding.name(key)),
        last_modified: Some(timestamp(object.modified)),
        owner: Some(owner.clone()),
        size: Some(size(object.bytes())),
        storage_class: listed_class(&object.details),
        version_id: Some(id_text(object.version.id())),
        checksum_algorithm: object.checksum.as_ref().map(|checksum| vec![algorithm_name(checksum.algorithm)]),
        checksum_type: object.checksum.as_ref().map(|checksum| coverage_name(checksum.coverage)),
        ..ObjectVersion::default()
    }
}

fn marker(listed: ListedVersion, encoding: Encoding, owner: &Owner) -> DeleteMarkerEntry {
    DeleteMarkerEntry {
        is_latest: Some(listed.is_latest),
        key: Some(encoding.name(listed.key)),
        last_modified: Some(timestamp(listed.object.modified)),
        owner: Some(owner.clone()),
        version_id: Some(id_text(listed.object.version.id())),
    }
}

/// Returns the answer for a named delete marker as if the request had named only the key.
pub(super) fn as_missing_key(refusal: S3Error) -> S3Error {
    match refusal.code() {
        s3s::S3ErrorCode::MethodNotAllowed => {
            let mut answer = s3_error!(NoSuchKey, "The specified key does not exist.");
            if let Some(headers) = refusal.headers() {
                answer.set_headers(headers.clone());
            }
            answer
        }
        _ => refusal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_versions_come_back_as_they_were() {
        for id in [VersionId::Null, VersionId::Number(0), VersionId::Number(u128::MAX)] {
            assert_eq!(parse_id(Some(&id_text(id))).expect("a name"), Some(id));
        }
        assert_eq!(parse_id(Some("")).expect("none"), None);
        for name in ["invalid_versionId", "01BX5ZZKBKACTAV9WEVGEMMVR", "01BX5ZZKBKACTAV9WEVGEMMVR\u{e9}"] {
            assert_eq!(parse_id(Some(name)).expect_err("no name").code().as_str(), "InvalidArgument");
        }
    }

    #[test]
    fn an_address_names_one_version_however_it_is_written() {
        let version = Some(VersionId::Number(1));
        let name = id_text(VersionId::Number(1));
        let read = |query: String| id_in_query(&Uri::try_from(format!("/b/k?{query}")).expect("valid"));
        assert_eq!(read(format!("x-id=GetObject&versionId={name}")).expect("one"), version);
        assert_eq!(read(format!("version%49d=%30{}", &name[1..])).expect("one"), version);
        assert_eq!(read("versionid=1".into()).expect("none"), None);
        read(format!("versionId={name}&version%49d=null")).expect_err("two");
    }
}
