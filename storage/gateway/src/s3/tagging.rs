//! Tags of buckets and objects.

use super::principal::principal;
use super::settings::{get, set};
use super::status::Status;
use super::versions;
use crate::catalogue::VersionId;
use crate::objects::account::Account;
use http::Extensions;
use percent_encoding::percent_decode_str;
use s3s::dto::*;
use s3s::{S3Error, S3ErrorCode, S3Request, S3Response, S3Result, s3_error};
use std::collections::BTreeMap;

/// S3's largest number of tags of an object.
const MAX_OBJECT_TAGS: usize = 10;
/// S3's largest number of tags of a bucket.
const MAX_BUCKET_TAGS: usize = 50;
/// S3's longest key of a tag, in characters.
const MAX_KEY_CHARS: usize = 128;
/// S3's longest value of a tag, in characters.
const MAX_VALUE_CHARS: usize = 256;

type Tags = BTreeMap<String, String>;

fn is_allowed(text: &str) -> bool {
    text.chars().all(|letter| letter.is_alphanumeric() || letter == ' ' || "+-=._:/@".contains(letter))
}

fn add(tags: &mut Tags, key: String, value: String) -> S3Result<()> {
    let length = key.chars().count();
    if length == 0 || length > MAX_KEY_CHARS || !is_allowed(&key) || key.starts_with("aws:") {
        return Err(s3_error!(InvalidTag, "The TagKey you have provided is invalid"));
    }
    if value.chars().count() > MAX_VALUE_CHARS || !is_allowed(&value) {
        return Err(s3_error!(InvalidTag, "The TagValue you have provided is invalid"));
    }
    if tags.insert(key, value).is_some() {
        return Err(s3_error!(InvalidTag, "Cannot provide multiple Tags with the same key"));
    }
    Ok(())
}

fn too_many(message: &'static str) -> S3Error {
    S3Error::with_message(S3ErrorCode::InvalidTag, message)
}

fn check_object_tags(tags: Tags) -> S3Result<Tags> {
    if tags.len() > MAX_OBJECT_TAGS {
        return Err(too_many("Object tags cannot be greater than 10"));
    }
    Ok(tags)
}

/// Checks the tags of a bucket.
///
/// # Errors
/// `InvalidTag`.
pub(super) fn bucket_tags(set: Vec<Tag>) -> S3Result<Tags> {
    if set.len() > MAX_BUCKET_TAGS {
        return Err(too_many("Bucket tag count cannot be greater than 50"));
    }
    parse_xml(set)
}

/// Checks the tags in a rule's filter.
///
/// # Errors
/// `InvalidTag`.
pub(super) fn rule_tags(set: Vec<Tag>) -> S3Result<Tags> {
    check_object_tags(parse_xml(set)?)
}

fn parse_xml(set: Vec<Tag>) -> S3Result<Tags> {
    let mut tags = Tags::new();
    for tag in set {
        add(&mut tags, tag.key.unwrap_or_default(), tag.value.unwrap_or_default())?;
    }
    Ok(tags)
}

/// Parses `x-amz-tagging`: names and values as in the query of a URL.
///
/// # Errors
/// `InvalidArgument` if it is something else; `InvalidTag`.
pub(super) fn parse_header(text: Option<&str>) -> S3Result<Tags> {
    let mut tags = Tags::new();
    for pair in text.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (key, value) = (decode(key)?, decode(value)?);
        if key.is_empty() || tags.contains_key(&key) {
            return Err(not_encoded());
        }
        add(&mut tags, key, value)?;
    }
    check_object_tags(tags)
}

fn not_encoded() -> S3Error {
    s3_error!(
        InvalidArgument,
        "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name \
         duplicates."
    )
}

fn decode(text: &str) -> S3Result<String> {
    let bytes = text.as_bytes();
    let is_encoded = (0..bytes.len()).filter(|&index| bytes[index] == b'%').all(|index| {
        bytes.get(index + 1..index + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8().ok().filter(|_| is_encoded);
    decoded.map(Into::into).ok_or_else(not_encoded)
}

/// Returns the tags that a put, a copy or an upload in parts sets for its object.
///
/// # Errors
/// The errors of the header; `AccessDenied` for a principal that may only write.
pub(super) fn for_new_object(
    account: &Account,
    extensions: &Extensions,
    header: Option<&str>,
) -> S3Result<Tags> {
    let tags = parse_header(header)?;
    if !tags.is_empty() && !principal(extensions)?.owns(account.name()) {
        return Err(s3_error!(AccessDenied, "Only the bucket's owner may tag objects."));
    }
    Ok(tags)
}

fn to_s3(tags: &Tags) -> TagSet {
    let tags = tags.iter();
    tags.map(|(key, value)| Tag { key: Some(key.clone()), value: Some(value.clone()) }).collect()
}

pub(super) async fn get_object_tagging(
    account: &Account,
    input: GetObjectTaggingInput,
) -> S3Result<GetObjectTaggingOutput> {
    let object = versions::find(account, &input.bucket, &input.key, input.version_id.as_deref())?;
    let tag_set = to_s3(&object.details.tags);
    let version_id = versions::shown_id(account, &input.bucket, &object);
    Ok(GetObjectTaggingOutput { tag_set, version_id })
}

pub(super) async fn put_object_tagging(
    account: &Account,
    input: PutObjectTaggingInput,
) -> S3Result<PutObjectTaggingOutput> {
    let version = versions::parse_id(input.version_id.as_deref())?;
    account.version(&input.bucket, &input.key, version)?;
    if input.tagging.tag_set.len() > MAX_OBJECT_TAGS {
        return Err(too_many("Object tags cannot be greater than 10"));
    }
    let tags = parse_xml(input.tagging.tag_set)?;
    let version_id = set_object_tags(account, &input.bucket, &input.key, version, tags).await?;
    Ok(PutObjectTaggingOutput { version_id })
}

pub(super) async fn delete_object_tagging(
    account: &Account,
    input: DeleteObjectTaggingInput,
) -> S3Result<DeleteObjectTaggingOutput> {
    let version = versions::parse_id(input.version_id.as_deref())?;
    let version_id = set_object_tags(account, &input.bucket, &input.key, version, Tags::new()).await?;
    Ok(DeleteObjectTaggingOutput { version_id })
}

/// Sets the tags of a version, and returns the version's name.
async fn set_object_tags(
    account: &Account,
    bucket: &str,
    key: &str,
    version: Option<VersionId>,
    tags: Tags,
) -> S3Result<Option<String>> {
    let object = account
        .update_version(bucket, key, version, move |details| {
            details.tags = tags;
            Ok(())
        })
        .await?;
    Ok(versions::shown_id(account, bucket, &object))
}

pub(super) async fn get_bucket_tagging(
    account: &Account,
    input: GetBucketTaggingInput,
) -> S3Result<GetBucketTaggingOutput> {
    let missing = (S3ErrorCode::NoSuchTagSet, "The TagSet does not exist.");
    let tag_set = get(account, &input.bucket, |settings| to_s3(&settings.tags), missing)?;
    Ok(GetBucketTaggingOutput { tag_set })
}

pub(super) async fn put_bucket_tagging(
    account: &Account,
    request: S3Request<PutBucketTaggingInput>,
) -> S3Result<S3Response<PutBucketTaggingOutput>> {
    let input = request.input;
    account.container(&input.bucket)?;
    let tags = bucket_tags(input.tagging.tag_set)?;
    set(account, &input.bucket, |settings| settings.tags = tags).await?;
    let mut response = S3Response::new(PutBucketTaggingOutput::default());
    response.extensions.insert(Status(http::StatusCode::NO_CONTENT));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(String, String)>, String> {
        let tags = parse_header(Some(text)).map_err(|error| error.code().as_str().to_owned())?;
        Ok(tags.into_iter().collect())
    }

    #[test]
    fn a_header_of_tags_is_read_as_a_query() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(read(""), Ok(vec![]));
        assert_eq!(read("&&"), Ok(vec![]));
        assert_eq!(read("a=1&b"), Ok(vec![pair("a", "1"), pair("b", "")]));
        assert_eq!(read("a+b%2F=c%20d%2B"), Ok(vec![pair("a b/", "c d+")]));
        assert_eq!(read("é=%C3%A9"), Ok(vec![pair("é", "é")]));
    }

    #[test]
    fn tags_that_s3_does_not_take_are_refused() {
        for text in ["=", "a%", "a%zz=1", "a%FF=1", "a=1&a=1"] {
            assert_eq!(read(text), Err("InvalidArgument".into()), "{text}");
        }
        let long = format!("{}=1", "k".repeat(MAX_KEY_CHARS + 1));
        let long_value = format!("k={}", "v".repeat(MAX_VALUE_CHARS + 1));
        for text in ["a!=1", "a=1*", "aws:a=1", &long, &long_value] {
            assert_eq!(read(text), Err("InvalidTag".into()), "{text}");
        }
        let eleven: Vec<String> = (0..11).map(|number| format!("k{number}=v")).collect();
        assert_eq!(read(&eleven[..10].join("&")).map(|tags| tags.len()), Ok(10));
        assert_eq!(read(&eleven.join("&")), Err("InvalidTag".into()));
    }
}
