//! Regions: any region that clients sign for, or the one that the gateway is set to.

use super::refusal::{bad_request, with_headers};
use crate::catalogue::ContainerSettings;
use crate::objects::gateway::Gateway;
use http::{Extensions, HeaderName};
use s3s::S3Result;
use std::sync::Arc;

/// The header with a region: of a bucket, or the one that a refused request should have been signed for.
pub(super) const BUCKET_REGION: &str = "x-amz-bucket-region";

/// S3's first region, which its own answers never name.
pub(super) const FIRST: &str = "us-east-1";

/// An extension of a request: the region that it was signed for.
#[derive(Clone, Debug)]
pub(super) struct SignedRegion(pub(super) Arc<str>);

/// Returns whether a text could be the name of a region. Other services choose names such as `US`, `RegionOne` or
/// `dc_2`.
pub fn is_region(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=63).contains(&text.len()) && text.bytes().all(is_part)
}

/// Checks the region that a request is signed for.
///
/// # Errors
/// An error with this code, and with the expected region in the header `x-amz-bucket-region`: clients sign again for
/// that one.
pub(super) fn check(signed: &str, expected: Option<&str>, code: &'static str, words: &str) -> S3Result<()> {
    let Some(expected) = expected.filter(|expected| *expected != signed) else { return Ok(()) };
    let message = format!("{words}; the region '{signed}' is wrong; expecting '{expected}'");
    let header = (HeaderName::from_static(BUCKET_REGION), expected.to_owned());
    Err(with_headers(bad_request(code, message), [header]))
}

/// Returns the region of a bucket: the gateway's setting, or the region in which the bucket was created. A bucket
/// created by Swift is in the region that the client signs for.
pub(super) fn of_bucket<'a>(
    gateway: &'a Gateway,
    settings: &'a ContainerSettings,
    signed: Option<&'a str>,
) -> &'a str {
    gateway.inner.options.region.as_deref().or(settings.region.as_deref()).or(signed).unwrap_or(FIRST)
}

/// Returns the region that a request was signed for, if it has a signature of version 4.
pub(super) fn signed(extensions: &Extensions) -> Option<&str> {
    extensions.get().map(|SignedRegion(region)| &**region)
}
