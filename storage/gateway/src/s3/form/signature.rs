//! The signature of a form: version 4 or 2, over the encoded policy in the form.

use super::fields::Fields;
use crate::auth::identity::Users;
use crate::auth::principal::Principal;
use crate::catalogue::UnixMillis;
use crate::s3::version_4::{Credential, SigningKey, is_ahead, parse_time, too_skewed};
use crate::s3::{region, version_2};
use http::HeaderMap;
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};
use std::sync::Arc;
use subtle::ConstantTimeEq;

const FIELDS: [&str; 5] = ["policy", "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-signature"];

/// Returns the principal that signed a form; `None` if it has no field of a signature.
///
/// # Errors
/// S3's errors for a wrong signature.
pub(super) fn signed(
    fields: &Fields,
    users: &Arc<Users>,
    headers: &HeaderMap,
    now: UnixMillis,
    gateway_region: Option<&str>,
) -> S3Result<Option<Principal>> {
    let field = |name: &str| {
        fields.get(name).ok_or_else(|| {
            let message = format!("Bucket POST must contain a field named '{name}'.  If it is specified, please check the order of the fields.");
            S3Error::with_message(S3ErrorCode::InvalidArgument, message)
        })
    };
    if fields.get("signature").is_some() || fields.get("awsaccesskeyid").is_some() {
        if FIELDS[1..].iter().any(|name| fields.get(name).is_some()) {
            return Err(s3_error!(
                InvalidArgument,
                "A form has one signature, of version 4 or of version 2."
            ));
        }
        let (policy, key) = (field("policy")?, field("awsaccesskeyid")?);
        let signer = version_2::signer(users, headers, key, field("signature")?, &[policy.as_bytes()])?;
        return Ok(Some(signer));
    }
    if FIELDS.iter().all(|name| fields.get(name).is_none()) {
        return Ok(None);
    }
    let policy = field("policy")?;
    let signature = field("x-amz-signature")?;
    let credential = field("x-amz-credential")?;
    let date = field("x-amz-date")?;
    if field("x-amz-algorithm")? != "AWS4-HMAC-SHA256" {
        return Err(s3_error!(InvalidArgument, "Only AWS4-HMAC-SHA256 is supported"));
    }
    let dated = parse_time(date)
        .ok_or_else(|| s3_error!(InvalidArgument, "X-Amz-Date must be formated via ISO8601 Long format"))?;
    let bad = |why| S3Error::with_message(S3ErrorCode::InvalidArgument, why);
    let Credential { access_key, day, region: signed_region } = Credential::parse(credential).map_err(bad)?;
    if !date.starts_with(&day) {
        return Err(bad(format!("the Credential is of the day {day} and X-Amz-Date of another.")));
    }
    region::check(&signed_region, gateway_region, "InvalidArgument", "the Credential is mal-formed")?;
    if is_ahead(dated, now) {
        return Err(too_skewed());
    }
    let (identity, secret) = users.by_access_key(&access_key).ok_or_else(|| s3_error!(InvalidAccessKeyId))?;
    let expected = SigningKey::new(&secret, &day, &signed_region).sign(policy.as_bytes());
    if !bool::from(expected.as_bytes().ct_eq(signature.as_bytes())) {
        return Err(s3_error!(SignatureDoesNotMatch));
    }
    Ok(Some(Principal::new(Some(identity), headers)))
}
