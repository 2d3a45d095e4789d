//! The verb that returns the facts about an object and its parts as a document.

use super::checksums::{self, coverage_name};
use super::conversions::{etag, listed_class, page_limit, size, timestamp};
use super::versions;
use crate::catalogue::Object;
use crate::objects::account::Account;
use http::Response;
use s3s::dto::*;
use s3s::{Body, S3Error, S3Request, S3Response, S3Result, s3_error};

const ATTRIBUTES: [&str; 5] = [
    ObjectAttributes::ETAG,
    ObjectAttributes::CHECKSUM,
    ObjectAttributes::OBJECT_PARTS,
    ObjectAttributes::STORAGE_CLASS,
    ObjectAttributes::OBJECT_SIZE,
];

pub(super) async fn get_object_attributes(
    account: &Account,
    request: S3Request<GetObjectAttributesInput>,
) -> S3Result<S3Response<GetObjectAttributesOutput>> {
    let input = request.input;
    let version = versions::parse_id(input.version_id.as_deref())?;
    account.container(&input.bucket)?;
    // The header is a list with commas, and s3s returns it as one text.
    let texts = input.object_attributes.iter().map(ObjectAttributes::as_str);
    let names: Vec<&str> =
        texts.flat_map(|text| text.split(',')).map(str::trim).filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        return Err(s3_error!(
            InvalidRequest,
            "The x-amz-object-attributes header specifying the attributes to be retrieved is either missing or empty"
        ));
    }
    if names.iter().any(|name| !ATTRIBUTES.contains(name)) {
        return Err(s3_error!(InvalidArgument, "Invalid attribute name specified."));
    }
    let is_requested = |name: &str| names.contains(&name);
    let object = account.version(&input.bucket, &input.key, version).map_err(S3Error::from);
    let object = object.map_err(versions::as_missing_key)?;
    let mut output = GetObjectAttributesOutput {
        version_id: versions::shown_id(account, &input.bucket, &object),
        last_modified: Some(timestamp(object.modified)),
        ..GetObjectAttributesOutput::default()
    };
    if is_requested(ObjectAttributes::ETAG) {
        output.e_tag = Some(etag(&object));
    }
    if is_requested(ObjectAttributes::OBJECT_SIZE) {
        output.object_size = Some(size(object.bytes()));
    }
    if is_requested(ObjectAttributes::STORAGE_CLASS) {
        output.storage_class = listed_class(&object.details);
    }
    if is_requested(ObjectAttributes::CHECKSUM)
        && let Some(checksum) = &object.checksum
    {
        let mut answer =
            Checksum { checksum_type: Some(coverage_name(checksum.coverage)), ..Checksum::default() };
        // As in S3: in this answer only, the number of parts is omitted.
        checksums::set!(answer, Some(checksum.without_count()));
        output.checksum = Some(answer);
    }
    if is_requested(ObjectAttributes::OBJECT_PARTS) && object.parts().is_some() {
        output.object_parts = Some(parts(&object, input.max_parts, input.part_number_marker)?);
    }
    let mut response = S3Response::new(output);
    response.extensions.insert(UnquotedEtag);
    Ok(response)
}

/// An extension of an answer whose ETag must have no quotes; s3s writes quotes around every ETag.
#[derive(Clone, Copy)]
pub(super) struct UnquotedEtag;

impl UnquotedEtag {
    /// Returns the XML with the ETag as S3 writes it.
    pub(super) fn apply(response: Response<Body>) -> Response<Body> {
        let text = response.body().bytes().and_then(|bytes| String::from_utf8(bytes.into()).ok());
        match text {
            Some(text) => {
                let bare = bare(&text).unwrap_or(text);
                response.map(|_| Body::from(bare))
            }
            None => response,
        }
    }
}

fn bare(text: &str) -> Option<String> {
    let (before, rest) = text.split_once("<ETag>")?;
    let (etag, after) = rest.split_once("</ETag>")?;
    // A quote may be literal, or an entity.
    let etag = etag.replace("&quot;", "").replace('"', "");
    Some(format!("{before}<ETag>{etag}</ETag>{after}"))
}

fn parts(object: &Object, limit: Option<i32>, after: Option<i32>) -> S3Result<GetObjectAttributesParts> {
    let limit = page_limit(limit, "x-amz-max-parts")?;
    let skip = usize::try_from(after.unwrap_or(0)).unwrap_or(0);
    let page: Vec<ObjectPart> = (1..)
        .zip(&object.segments)
        .skip(skip)
        .take(limit)
        .map(|(number, segment)| {
            let mut part = ObjectPart {
                part_number: Some(number),
                size: Some(size(segment.bytes())),
                ..ObjectPart::default()
            };
            let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
            checksums::set!(part, index.and_then(|index| object.part_checksum(index)));
            part
        })
        .collect();
    Ok(GetObjectAttributesParts {
        is_truncated: Some(skip + page.len() < object.segments.len()),
        max_parts: i32::try_from(limit).ok(),
        next_part_number_marker: page.last().and_then(|part| part.part_number),
        part_number_marker: after,
        parts: Some(page),
        total_parts_count: i32::try_from(object.segments.len()).ok(),
    })
}
