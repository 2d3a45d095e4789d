//! Lists of the objects of a bucket, versions 1 and 2 of the verb.

use super::checksums::{algorithm_name, coverage_name};
use super::conversions::{Encoding, etag, list_request, listed_class, owner, size, timestamp};
use crate::catalogue;
use crate::objects::account::Account;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use s3s::dto::*;
use s3s::{S3Result, s3_error};
use std::sync::Arc;

pub(super) async fn list_objects(account: &Account, input: ListObjectsInput) -> S3Result<ListObjectsOutput> {
    let (encoding, listing_request) = list_request!(input, max_keys, "max-keys", input.marker.clone());
    let page = account.list(&input.bucket, &listing_request)?;
    Ok(ListObjectsOutput {
        name: Some(input.bucket),
        prefix: Some(encoding.name(listing_request.prefix)),
        marker: Some(encoding.name(listing_request.after)),
        max_keys: i32::try_from(listing_request.limit).ok(),
        is_truncated: Some(page.next.is_some()),
        contents: Some(contents(page.entries, encoding, Some(account.name()))),
        common_prefixes: encoding.prefixes(page.prefixes),
        delimiter: input.delimiter.map(|text| encoding.name(text)),
        next_marker: page.next.map(|text| encoding.name(text)),
        encoding_type: input.encoding_type,
        request_charged: None,
    })
}

pub(super) async fn list_objects_v2(
    account: &Account,
    input: ListObjectsV2Input,
) -> S3Result<ListObjectsV2Output> {
    let after = match &input.continuation_token {
        Some(token) => Some(read_token(token)?),
        None => input.start_after.clone(),
    };
    let (encoding, listing_request) = list_request!(input, max_keys, "max-keys", after);
    let page = account.list(&input.bucket, &listing_request)?;
    let count = page.entries.len() + page.prefixes.len();
    let with_owner = input.fetch_owner.unwrap_or(false);
    Ok(ListObjectsV2Output {
        name: Some(input.bucket),
        prefix: Some(encoding.name(listing_request.prefix)),
        max_keys: i32::try_from(listing_request.limit).ok(),
        key_count: i32::try_from(count).ok(),
        continuation_token: input.continuation_token,
        is_truncated: Some(page.next.is_some()),
        next_continuation_token: page.next.map(|next| BASE64.encode(next)),
        contents: Some(contents(page.entries, encoding, with_owner.then(|| account.name()))),
        common_prefixes: encoding.prefixes(page.prefixes),
        delimiter: input.delimiter.map(|text| encoding.name(text)),
        encoding_type: input.encoding_type,
        start_after: input.start_after.map(|text| encoding.name(text)),
        request_charged: None,
    })
}

fn read_token(token: &str) -> S3Result<String> {
    BASE64.decode(token).ok().and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(|| {
        s3_error!(InvalidArgument, "The continuation token is not one that an earlier page returned.")
    })
}

fn contents(
    entries: Vec<(String, Arc<catalogue::Object>)>,
    encoding: Encoding,
    of: Option<&str>,
) -> Vec<Object> {
    let describe = |(key, object): (String, Arc<catalogue::Object>)| Object {
        checksum_algorithm: object.checksum.as_ref().map(|checksum| vec![algorithm_name(checksum.algorithm)]),
        checksum_type: object.checksum.as_ref().map(|checksum| coverage_name(checksum.coverage)),
        e_tag: Some(etag(&object)),
        key: Some(encoding.name(key)),
        last_modified: Some(timestamp(object.modified)),
        owner: of.map(owner),
        restore_status: None,
        size: Some(size(object.bytes())),
        storage_class: listed_class(&object.details),
    };
    entries.into_iter().map(describe).collect()
}
