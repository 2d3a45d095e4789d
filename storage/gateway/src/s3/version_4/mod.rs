//! Signatures of version 4, in the header or in the URL.
//!
//! They are computed here and not by s3s. s3s refuses the regions of many private clouds (`RegionOne`). It holds whole
//! chunks of a body in memory, and accepts a body in chunks that ends early. The source is AWS, "Authenticating
//! Requests (AWS Signature Version 4)".

mod canonical;
mod chunks;
mod claim;
mod key;
mod payload;
mod payload_error;
mod signed;

pub(super) use claim::{Credential, has_version_4, pairs, parse_time};
pub(super) use key::SigningKey;
pub(super) use payload::{Payload, Trailers};
pub(super) use payload_error::PayloadError;

use super::region::{self, SignedRegion};
use crate::auth::identity::Users;
use crate::auth::principal::Principal;
use crate::catalogue::UnixMillis;
use claim::{Claim, Place};
use http::Uri;
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::uri::PathAndQuery;
use payload::{CONTENT_SHA256, UNSIGNED, no_chunks_in_url};
use s3s::{S3Error, S3Result, s3_error};
use signed::Signed;
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// The largest difference between the clocks of a client and the gateway, in milliseconds.
const MAX_SKEW: u64 = 15 * 60 * 1000;

/// Checks the signature of a request, if it has one, and removes it; puts the principal into the extensions. With a
/// region, the request must be signed for that one.
///
/// # Errors
/// S3's errors for a signature that is malformed, that does not cover what it must, that is too old, or that is wrong.
pub(super) fn check(
    parts: &mut Parts,
    payload: Payload,
    users: &Arc<Users>,
    now: UnixMillis,
    region: Option<&str>,
) -> S3Result<Option<Signed>> {
    let Some(claim) = Claim::read(&parts.uri, &parts.headers)? else {
        parts.extensions.insert(Principal::new(None, &parts.headers));
        return Ok(None);
    };
    let (code, words) = match claim.place {
        Place::Header => ("AuthorizationHeaderMalformed", "The authorization header is malformed"),
        Place::Url { .. } => {
            ("AuthorizationQueryParametersError", "Error parsing the X-Amz-Credential parameter")
        }
    };
    region::check(&claim.credential.region, region, code, words)?;
    check_time(&claim, now)?;
    let signed_payload = match (claim.place, payload) {
        (Place::Header, Payload::Unnamed) => {
            return Err(s3_error!(
                InvalidRequest,
                "Missing required header for this request: x-amz-content-sha256"
            ));
        }
        (Place::Header, _) => parts.headers[CONTENT_SHA256].to_str().unwrap_or_default(),
        (Place::Url { .. }, Payload::Chunks { .. }) => return Err(no_chunks_in_url()),
        (Place::Url { .. }, _) => UNSIGNED,
    };
    let (identity, secret) =
        users.by_access_key(&claim.credential.access_key).ok_or_else(|| s3_error!(InvalidAccessKeyId))?;
    let key = SigningKey::new(&secret, &claim.credential.day, &claim.credential.region);
    let is_right = canonical::requests(parts, &claim.signed, signed_payload)
        .map(|text| key.sign(&canonical::string_to_sign(&claim, &text)))
        .map(|signature| signature.as_bytes().ct_eq(claim.signature.as_bytes()))
        .reduce(|one, other| one | other);
    if !is_right.is_some_and(bool::from) {
        return Err(s3_error!(SignatureDoesNotMatch));
    }
    parts.extensions.insert(Principal::new(Some(identity), &parts.headers));
    parts.extensions.insert(SignedRegion(claim.credential.region.as_str().into()));
    parts.headers.remove(AUTHORIZATION);
    parts.uri = without_signature(&parts.uri);
    let scope = claim.credential.scope();
    Ok(Some(Signed { key, date: claim.date, scope, signature: claim.signature }))
}

fn check_time(claim: &Claim, now: UnixMillis) -> S3Result<()> {
    let age = now.0.saturating_sub(claim.time.0);
    match claim.place {
        _ if is_ahead(claim.time, now) => Err(too_skewed()),
        Place::Header if age > MAX_SKEW => Err(too_skewed()),
        Place::Url { seconds } if age > seconds * 1000 => Err(s3_error!(AccessDenied, "Request has expired")),
        _ => Ok(()),
    }
}

/// Returns whether a signature's time is further ahead than clocks may differ.
pub(super) fn is_ahead(dated: UnixMillis, now: UnixMillis) -> bool {
    dated.0.saturating_sub(now.0) > MAX_SKEW
}

pub(super) fn too_skewed() -> S3Error {
    s3_error!(
        RequestTimeTooSkewed,
        "The difference between the request time and the current time is too large."
    )
}

/// Returns the URL without the parameters of a signature.
fn without_signature(uri: &Uri) -> Uri {
    let query = uri.query().unwrap_or_default();
    let is_signature = |pair: &&str| pair.get(..6).is_some_and(|name| name.eq_ignore_ascii_case("x-amz-"));
    let kept: Vec<&str> = query.split('&').filter(|pair| !is_signature(pair)).collect();
    let target = format!("{}?{}", uri.path(), kept.join("&"));
    let mut parts = uri.clone().into_parts();
    // The rest of a valid target is valid.
    parts.path_and_query = PathAndQuery::try_from(target).ok();
    Uri::from_parts(parts).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_goes_out_of_the_url_and_nothing_else_does() {
        let signed =
            Uri::from_static("/b/k%20?x-id=GetObject&X-Amz-Signature=aa&versionId=null&X-Amz-Date=1");
        assert_eq!(without_signature(&signed), "/b/k%20?x-id=GetObject&versionId=null");
    }
}
