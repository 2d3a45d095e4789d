//! Signatures of version 2 in URLs and forms. `aws s3 presign` of the command line's version 1 and boto3 make them for
//! every endpoint that does not belong to Amazon.
//!
//! They are computed here, because s3s does not compare them in constant time. HMAC with SHA-1 is sound even though
//! SHA-1 alone is not. All headers that begin with `x-amz-` are signed, but only some parameters of the query. A
//! request with another parameter that could change its meaning is refused.

use super::refusal::bad_request;
use super::version_4::{has_version_4, pairs};
use crate::auth::identity::Users;
use crate::auth::principal::Principal;
use crate::catalogue::UnixMillis;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::header::{AUTHORIZATION, HeaderName};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, Uri};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use s3s::{S3Result, s3_error};
use sha1::Sha1;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// The query parameters that only a version 2 signature has.
const SIGNATURE_PARAMETERS: [&str; 3] = ["AWSAccessKeyId", "Expires", "Signature"];

/// The parameters that the signature covers.
const COVERED: [&str; 33] = [
    "accelerate",
    "acl",
    "analytics",
    "cors",
    "defaultObjectAcl",
    "delete",
    "inventory",
    "lifecycle",
    "location",
    "logging",
    "metrics",
    "notification",
    "object-lock",
    "partNumber",
    "policy",
    "replication",
    "requestPayment",
    "response-cache-control",
    "response-content-disposition",
    "response-content-encoding",
    "response-content-language",
    "response-content-type",
    "response-expires",
    "restore",
    "storageClass",
    "tagging",
    "torrent",
    "uploadId",
    "uploads",
    "versionId",
    "versioning",
    "versions",
    "website",
];

/// The parameters that the signature does not cover and that are still accepted: they choose the page of a list.
const PAGING: [&str; 15] = [
    "continuation-token",
    "delimiter",
    "encoding-type",
    "fetch-owner",
    "key-marker",
    "list-type",
    "marker",
    "max-keys",
    "max-parts",
    "max-uploads",
    "part-number-marker",
    "prefix",
    "start-after",
    "upload-id-marker",
    "version-id-marker",
];

/// The answer to an `Authorization` header with a version 2 signature. It is S3's own message, because some clients
/// look for it.
pub(super) const REFUSED: &str = "The authorization mechanism you have provided is not supported. Please use \
     AWS4-HMAC-SHA256.";

/// Returns whether a URL has a version 2 signature, or a part of one.
pub(super) fn is_signed(uri: &Uri) -> bool {
    let query = uri.query().unwrap_or_default();
    pairs(query).iter().any(|(name, _)| *name == SIGNATURE_PARAMETERS[0] || *name == SIGNATURE_PARAMETERS[2])
}

/// Returns the signature of a text.
fn sign(secret: &str, text: &[u8]) -> String {
    let mut mac = Hmac::<Sha1>::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of any length");
    mac.update(text);
    BASE64.encode(mac.finalize().into_bytes())
}

/// Returns the principal that signed one of these texts.
///
/// # Errors
/// `InvalidAccessKeyId`; `SignatureDoesNotMatch`.
pub(super) fn signer(
    users: &Arc<Users>,
    headers: &HeaderMap,
    access_key: &str,
    signature: &str,
    texts: &[&[u8]],
) -> S3Result<Principal> {
    let (identity, secret) = users.by_access_key(access_key).ok_or_else(|| s3_error!(InvalidAccessKeyId))?;
    let is_right = texts
        .iter()
        .map(|text| sign(&secret, text).as_bytes().ct_eq(signature.as_bytes()))
        .reduce(|a, b| a | b);
    if !is_right.is_some_and(bool::from) {
        return Err(s3_error!(SignatureDoesNotMatch));
    }
    Ok(Principal::new(Some(identity), headers))
}

/// Checks a URL's signature, and removes it from the request. Puts the principal into the extensions, and moves
/// parameters that S3 accepts in place of headers into the headers.
///
/// # Errors
/// S3's errors for a signature that is wrong, has expired, or does not cover the request.
pub(super) fn check(parts: &mut Parts, users: &Arc<Users>, now: UnixMillis) -> S3Result<()> {
    let uri = parts.uri.clone();
    let query = query(&uri)?;
    if parts.headers.contains_key(AUTHORIZATION) || has_version_4(&uri) {
        return Err(s3_error!(
            InvalidArgument,
            "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string parameter \
             or the Authorization header should be specified"
        ));
    }
    move_to_headers(&query, &mut parts.headers)?;
    let headers = &parts.headers;
    if headers.contains_key("x-amz-security-token") {
        return Err(bad_request("InvalidToken", "The provided token is malformed or otherwise invalid."));
    }
    let parameter = |name: &str| {
        query.get(name).map(|value| &**value).ok_or_else(|| {
            s3_error!(
                AccessDenied,
                "Query-string authentication requires the Signature, Expires and AWSAccessKeyId parameters"
            )
        })
    };
    let (access_key, expires, signature) = (
        parameter(SIGNATURE_PARAMETERS[0])?,
        parameter(SIGNATURE_PARAMETERS[1])?,
        parameter(SIGNATURE_PARAMETERS[2])?,
    );
    let seconds: u64 = expires
        .parse()
        .map_err(|_| s3_error!(AccessDenied, "Invalid date (should be seconds since epoch): {expires}"))?;
    if seconds <= now.seconds() {
        return Err(s3_error!(AccessDenied, "Request has expired"));
    }
    let string_to_sign = |path: &str| string_to_sign(&parts.method, path, &query, headers, expires);
    let path = uri.path();
    // A bucket may be signed with a slash after it or without.
    let is_bucket = path.len() > 1 && !path[1..].contains('/');
    let other = if is_bucket { format!("{path}/") } else { path.to_owned() };
    let principal =
        signer(users, headers, access_key, signature, &[&string_to_sign(path), &string_to_sign(&other)])?;
    parts.uri = without_signature(&uri, &query)?;
    parts.extensions.insert(principal);
    Ok(())
}

type Parameters<'a> = BTreeMap<Cow<'a, str>, Cow<'a, str>>;

/// Parses a query; each name occurs once.
fn query(uri: &Uri) -> S3Result<Parameters<'_>> {
    let mut query = Parameters::new();
    for (name, value) in pairs(uri.query().unwrap_or_default()) {
        let is_known =
            SIGNATURE_PARAMETERS.contains(&&*name) || COVERED.contains(&&*name) || PAGING.contains(&&*name);
        // It only names the operation for logs.
        if name == "x-id" {
            continue;
        }
        if !is_known && header_of(&name).is_none() {
            return Err(s3_error!(
                AccessDenied,
                "A signature of version 2 does not cover the query parameter {name}. Sign the URL with version 4."
            ));
        }
        if query.insert(name, value).is_some() {
            return Err(s3_error!(InvalidArgument, "A parameter of the query is given twice."));
        }
    }
    Ok(query)
}

/// Returns the header that a parameter of the query stands for.
fn header_of(name: &str) -> Option<HeaderName> {
    let name = name.to_ascii_lowercase();
    let is_header = name.starts_with("x-amz-") || name == "content-md5" || name == "content-type";
    is_header.then(|| HeaderName::try_from(name).ok())?
}

/// Moves the parameters that stand for headers into the headers.
fn move_to_headers(query: &Parameters<'_>, headers: &mut HeaderMap) -> S3Result<()> {
    for (name, value) in query {
        let Some(header_of) = header_of(name) else { continue };
        if !headers.contains_key(&header_of) {
            let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| {
                s3_error!(InvalidArgument, "A parameter of the query cannot be the value of a header.")
            })?;
            headers.insert(header_of, value);
        }
    }
    Ok(())
}

/// Returns the text that is signed.
fn string_to_sign(
    method: &Method,
    path: &str,
    query: &Parameters<'_>,
    headers: &HeaderMap,
    expires: &str,
) -> Vec<u8> {
    let value = |name: &str| headers.get(name).map_or(&b""[..], HeaderValue::as_bytes);
    let lines = [method.as_str().as_bytes(), value("content-md5"), value("content-type"), expires.as_bytes()];
    let mut string_to_sign = Vec::new();
    for line in lines {
        string_to_sign.extend_from_slice(line);
        string_to_sign.push(b'\n');
    }
    let mut names: Vec<&str> =
        headers.keys().map(HeaderName::as_str).filter(|name| name.starts_with("x-amz-")).collect();
    names.sort_unstable();
    for name in names {
        let values: Vec<&[u8]> =
            headers.get_all(name).iter().map(|value| value.as_bytes().trim_ascii()).collect();
        string_to_sign.extend_from_slice(name.as_bytes());
        string_to_sign.push(b':');
        string_to_sign.extend_from_slice(&values.join(&b","[..]));
        string_to_sign.push(b'\n');
    }
    string_to_sign.extend_from_slice(path.as_bytes());
    for (index, (name, value)) in query.iter().filter(|(name, _)| COVERED.contains(&&***name)).enumerate() {
        string_to_sign.push(if index == 0 { b'?' } else { b'&' });
        string_to_sign.extend_from_slice(name.as_bytes());
        if !value.is_empty() {
            string_to_sign.push(b'=');
            string_to_sign.extend_from_slice(value.as_bytes());
        }
    }
    string_to_sign
}

/// Returns the target without the signature and without the parameters that became headers.
fn without_signature(uri: &Uri, query: &Parameters<'_>) -> S3Result<Uri> {
    let kept = query.iter().filter(|(name, _)| COVERED.contains(&&***name) || PAGING.contains(&&***name));
    let encode = |string_to_sign: &str| utf8_percent_encode(string_to_sign, NON_ALPHANUMERIC).to_string();
    let kept: Vec<String> = kept.map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
    let target = match kept.is_empty() {
        true => uri.path().to_owned(),
        false => format!("{}?{}", uri.path(), kept.join("&")),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(target).map_err(|_| s3_error!(InvalidURI))?);
    Uri::from_parts(parts).map_err(|_| s3_error!(InvalidURI))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Amazon's own example of a URL with a version 2 signature, with the headers of its upload: the exact signed text.
    #[test]
    fn what_is_signed_is_what_s3_documents() {
        let uri = Uri::from_static(
            "/bucket/photos/puppy.jpg?versionId=3&acl&prefix=p&response-content-type=text%2Fplain&Expires=1&Signature=s&\
             AWSAccessKeyId=k",
        );
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("content-md5", "4gJE4saaMU4BqNR0kLY+lw=="),
            ("content-type", "image/jpeg"),
            ("host", "localhost"),
            ("x-amz-meta-b", " two "),
            ("x-amz-meta-a", "one"),
            ("x-amz-meta-b", "three"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        let query = query(&uri).expect("a query");
        let string_to_sign = string_to_sign(&Method::PUT, uri.path(), &query, &headers, "1");
        assert_eq!(
            String::from_utf8(string_to_sign).expect("text"),
            "PUT\n4gJE4saaMU4BqNR0kLY+lw==\nimage/jpeg\n1\nx-amz-meta-a:one\nx-amz-meta-b:two,three\n\
             /bucket/photos/puppy.jpg?acl&response-content-type=text/plain&versionId=3"
        );
    }

    #[test]
    fn a_signature_is_the_one_of_amazons_documentation() {
        let string_to_sign = b"GET\n\n\nTue, 27 Mar 2007 19:36:42 +0000\n/awsexamplebucket1/photos/puppy.jpg";
        let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
        assert_eq!(sign(secret, string_to_sign), "qgk2+6Sv9/oM7G3qLEjTH1a1l1g=");
    }

    #[test]
    fn what_the_signature_does_not_cover_is_refused_or_left_out() {
        let verdict = |target: &'static str| {
            let uri = Uri::from_static(target);
            let query = query(&uri).map_err(|error| error.code().as_str().to_owned())?;
            without_signature(&uri, &query)
                .map(|uri| uri.to_string())
                .map_err(|error| error.code().as_str().to_owned())
        };
        assert_eq!(verdict("/b/k?Expires=1&Signature=a&AWSAccessKeyId=k&x-id=GetObject"), Ok("/b/k".into()));
        assert_eq!(
            verdict("/b?Signature=a&list-type=2&prefix=a%2F"),
            Ok("/b?list%2Dtype=2&prefix=a%2F".into())
        );
        assert_eq!(verdict("/b/k?Signature=a&x-amz-acl=private&uploads"), Ok("/b/k?uploads=".into()));
        for name in ["ownershipControls", "attributes", "encryption", "publicAccessBlock", "nonsense", "ACL"]
        {
            let target: &'static str = format!("/b/k?Signature=a&{name}").leak();
            assert_eq!(verdict(target), Err("AccessDenied".into()), "{name}");
        }
        assert_eq!(verdict("/b/k?Signature=a&acl&acl"), Err("InvalidArgument".into()));
        assert_eq!(verdict("/b/k?Signature=a&%53ignature=b"), Err("InvalidArgument".into()));
    }
}
