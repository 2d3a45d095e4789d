//! Regions: of any name that clients sign for, or the one that the gateway is set to.

use super::refusal::{bad_request, xml_headers};
use crate::catalogue::ContainerSettings;
use crate::objects::gateway::Gateway;
use http::{Extensions, HeaderName, HeaderValue};
use s3s::S3Result;
use std::sync::Arc;

/// The header that names a region: of a bucket, or the one that a refused request should have been signed for.
pub(super) const BUCKET_REGION: &str = "x-amz-bucket-region";

/// The region that is S3's first, and that its own answers never name.
pub(super) const FIRST: &str = "us-east-1";

/// The region that a request was signed for, in its extensions.
#[derive(Clone, Debug)]
pub(super) struct SignedRegion(pub(super) Arc<str>);

/// Tells whether a text could be the name of a region, which services of their own name as they like: `us-east-1`, `US`,
/// `RegionOne`, `dc_2`.
pub fn is_region(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=63).contains(&text.len()) && text.bytes().all(is_part)
}

/// Checks the region that a request is signed for.
///
/// # Errors
/// The code given, with the region that is expected in the header `x-amz-bucket-region`: clients sign again for that one.
pub(super) fn check(signed: &str, expected: Option<&str>, code: &'static str, words: &str) -> S3Result<()> {
    let Some(expected) = expected.filter(|expected| *expected != signed) else { return Ok(()) };
    let message = format!("{words}; the region '{signed}' is wrong; expecting '{expected}'");
    let mut error = bad_request(code, message);
    let mut headers = xml_headers();
    headers.extend(
        HeaderValue::from_str(expected).map(|expected| (HeaderName::from_static(BUCKET_REGION), expected)),
    );
    error.set_headers(headers);
    Err(error)
}

/// The region of a bucket. Without a setting it is the one that it was made in; one that was made at another door is in the
/// region that a client takes it to be in.
pub(super) fn of_bucket<'a>(
    gateway: &'a Gateway,
    settings: &'a ContainerSettings,
    signed: Option<&'a str>,
) -> &'a str {
    gateway.inner.options.region.as_deref().or(settings.region.as_deref()).or(signed).unwrap_or(FIRST)
}

/// The region that a request was signed for, if it has a signature of version 4.
pub(super) fn signed(extensions: &Extensions) -> Option<&str> {
    extensions.get().map(|SignedRegion(region)| &**region)
}
