//! The form and the coverage of a signature, checked before s3s computes it.
//!
//! s3s leaves one thing out: a header that changes the meaning of a request must be among those that are signed.
//! Without that, a client that was given the URL of a put could add `x-amz-copy-source`, and copy any object that its
//! signer can read.

use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode, Uri};
use percent_encoding::percent_decode_str;
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};
use std::borrow::Cow;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// S3's longest time that a URL is good for, in seconds: a week.
const LONGEST: u64 = 604_800;
/// Names in the query that only a signature has, in lower case.
const IN_QUERY: [&str; 6] = [
    "x-amz-algorithm",
    "x-amz-credential",
    "x-amz-date",
    "x-amz-expires",
    "x-amz-signature",
    "x-amz-signedheaders",
];

/// Checks the signature of a request, if it has one.
///
/// # Errors
/// Those that S3 has for a signature that is malformed, or that does not cover all that it must.
pub(super) fn check(uri: &Uri, headers: &HeaderMap) -> S3Result<()> {
    let query: Vec<(Cow<'_, str>, Cow<'_, str>)> = pairs(uri.query().unwrap_or_default());
    let in_query = |name: &str| {
        query.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    };
    let token = "x-amz-security-token";
    let authorization = headers.get(AUTHORIZATION).map(|value| value.to_str().unwrap_or_default());
    // s3s knows the names in their usual letters, and takes a request with others to be unsigned.
    let is_presigned = IN_QUERY.iter().any(|name| in_query(name).is_some());
    if (authorization.is_some() || is_presigned) && (headers.contains_key(token) || in_query(token).is_some())
    {
        return Err(custom("InvalidToken", "The provided token is malformed or otherwise invalid."));
    }
    let signed = match (authorization, is_presigned) {
        (None, false) => return Ok(()),
        (Some(_), true) => {
            return Err(s3_error!(
                InvalidArgument,
                "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string \
                 parameter or the Authorization header should be specified"
            ));
        }
        (Some(authorization), false) => in_header(authorization, headers)?,
        (None, true) => in_url(in_query)?,
    };
    covers(&signed, headers)
}

/// Tells whether a query has anything that only a signature of version 4 has.
pub(super) fn has_version_4(uri: &Uri) -> bool {
    let query = pairs(uri.query().unwrap_or_default());
    query.iter().any(|(name, _)| IN_QUERY.iter().any(|known| name.eq_ignore_ascii_case(known)))
}

/// Names and values of a query, decoded.
pub(super) fn pairs(query: &str) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
    let decode = |text| percent_decode_str(text).decode_utf8_lossy();
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decode(name), decode(value)))
        .collect()
}

fn custom(code: &'static str, message: impl Into<Cow<'static, str>>) -> S3Error {
    let mut error = S3Error::with_message(S3ErrorCode::Custom(code.into()), message);
    error.set_status_code(StatusCode::BAD_REQUEST);
    error
}

fn malformed(why: &str) -> S3Error {
    custom("AuthorizationHeaderMalformed", format!("The authorization header is malformed; {why}"))
}

/// The headers that a signature in a header covers.
fn in_header(authorization: &str, headers: &HeaderMap) -> S3Result<Vec<String>> {
    let (algorithm, components) = authorization.split_once(' ').ok_or_else(|| {
        s3_error!(
            InvalidArgument,
            "Authorization header is invalid -- one and only one ' ' (space) required."
        )
    })?;
    if algorithm != ALGORITHM {
        return Err(s3_error!(InvalidArgument, "Unsupported Authorization Type"));
    }
    let (mut credential, mut signed, mut signature) = (None, None, None);
    let components: Vec<&str> = components.split(',').map(str::trim).collect();
    if components.len() != 3 {
        return Err(malformed(
            "the authorization header requires three components: Credential, SignedHeaders, and Signature.",
        ));
    }
    for component in components {
        let (name, value) = component.split_once('=').ok_or_else(|| {
            malformed(&format!("the authorization component \"{component}\" is malformed."))
        })?;
        match name {
            "Credential" => credential = Some(value),
            "SignedHeaders" => signed = Some(value),
            "Signature" => signature = Some(value),
            _ => {}
        }
    }
    let credential = credential.ok_or_else(|| malformed("missing Credential."))?;
    let signed = signed.ok_or_else(|| malformed("missing SignedHeaders."))?;
    signature.ok_or_else(|| malformed("missing Signature."))?;
    check_scope(credential).map_err(|why| malformed(&why))?;
    let date = headers.get("x-amz-date").and_then(|date| date.to_str().ok()).unwrap_or_default();
    if !is_date(date) {
        return Err(s3_error!(
            AccessDenied,
            "AWS authentication requires a valid Date or x-amz-date header."
        ));
    }
    let digest = headers.get("x-amz-content-sha256").map(|digest| digest.to_str().unwrap_or_default());
    if digest.is_some_and(|digest| !is_payload(digest)) {
        return Err(s3_error!(
            InvalidArgument,
            "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, STREAMING-UNSIGNED-PAYLOAD-TRAILER, \
             STREAMING-AWS4-HMAC-SHA256-PAYLOAD, STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER, \
             STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD, STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER or a valid \
             sha256 value."
        ));
    }
    Ok(names(signed))
}

/// The headers that a signature in a URL covers.
fn in_url<'a>(parameter: impl Fn(&str) -> Option<&'a str>) -> S3Result<Vec<String>> {
    let bad = |why: Cow<'static, str>| custom("AuthorizationQueryParametersError", why);
    let needed = |name| {
        parameter(name).filter(|value| !value.is_empty()).ok_or_else(|| {
            bad("Query-string authentication version 4 requires the X-Amz-Algorithm, X-Amz-Credential, \
                 X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters."
                .into())
        })
    };
    let algorithm = needed("x-amz-algorithm")?;
    let credential = needed("x-amz-credential")?;
    let date = needed("x-amz-date")?;
    let expires = needed("x-amz-expires")?;
    let signed = needed("x-amz-signedheaders")?;
    needed("x-amz-signature")?;
    if algorithm != ALGORITHM {
        return Err(bad("X-Amz-Algorithm only supports \"AWS4-HMAC-SHA256\"".into()));
    }
    check_scope(credential)
        .map_err(|why| bad(format!("Error parsing the X-Amz-Credential parameter; {why}").into()))?;
    if !is_date(date) {
        return Err(bad("X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"".into()));
    }
    match expires.parse::<i64>() {
        Err(_) => Err(bad("X-Amz-Expires should be a number".into())),
        Ok(seconds) if seconds < 0 => Err(bad("X-Amz-Expires must be non-negative".into())),
        Ok(seconds) if seconds.unsigned_abs() > LONGEST => Err(bad(
            "X-Amz-Expires must be less than a week (in seconds); that is, the given X-Amz-Expires must be less than \
             604800 seconds"
                .into(),
        )),
        Ok(_) => Ok(names(signed)),
    }
}

/// `key/date/region/s3/aws4_request`.
fn check_scope(credential: &str) -> Result<(), String> {
    let parts: Vec<&str> = credential.split('/').collect();
    let &[_, date, _, service, terminal] = &parts[..] else {
        return Err(
            "the Credential is mal-formed; expecting \"<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request\"."
                .into(),
        );
    };
    if date.len() != 8 || !date.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(format!(
            "incorrect date format \"{date}\". This date in the credential must be in the format \"yyyyMMdd\"."
        ));
    }
    if service != "s3" {
        return Err(format!("incorrect service \"{service}\". This endpoint belongs to \"s3\"."));
    }
    if terminal != "aws4_request" {
        return Err(format!("incorrect terminal \"{terminal}\". This endpoint uses \"aws4_request\"."));
    }
    Ok(())
}

/// `20261122T080000Z`.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 16
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 => *byte == b'T',
            15 => *byte == b'Z',
            _ => byte.is_ascii_digit(),
        })
}

fn is_payload(text: &str) -> bool {
    text == "UNSIGNED-PAYLOAD"
        || text.starts_with("STREAMING-")
        || (text.len() == 64 && text.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

fn names(signed: &str) -> Vec<String> {
    signed.split(';').map(str::to_ascii_lowercase).collect()
}

/// Tells whether the host and all that changes the request's meaning are signed. The digest of a body is checked either
/// way; a change of `x-amz-user-agent` changes nothing.
fn covers(signed: &[String], headers: &HeaderMap) -> S3Result<()> {
    let free = ["x-amz-content-sha256", "x-amz-user-agent"];
    let matters = |name: &str| name == "host" || (name.starts_with("x-amz-") && !free.contains(&name));
    let all = headers.keys().all(|name| {
        let name = name.as_str();
        !matters(name) || signed.iter().any(|signed| signed == name)
    });
    if all {
        return Ok(());
    }
    Err(s3_error!(AccessDenied, "There were headers present in the request which were not signed"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    const GOOD: &str = "AWS4-HMAC-SHA256 Credential=key/20261122/us-east-1/s3/aws4_request, \
        SignedHeaders=host;x-amz-date, Signature=00";

    fn verdict(uri: &str, authorization: Option<&str>, more: &[(&'static str, &'static str)]) -> String {
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static("localhost"));
        if let Some(authorization) = authorization {
            headers.insert(AUTHORIZATION, authorization.parse().expect("a header"));
            headers.insert("x-amz-date", HeaderValue::from_static("20261122T080000Z"));
        }
        for (name, value) in more {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        match check(&uri.parse().expect("a URI"), &headers) {
            Ok(()) => "ok".into(),
            Err(error) => error.code().as_str().to_owned(),
        }
    }

    #[test]
    fn a_header_that_is_no_signature_is_refused_for_what_is_wrong_with_it() {
        assert_eq!(verdict("/b/k", None, &[]), "ok");
        assert_eq!(verdict("/b/k", Some(GOOD), &[]), "ok");
        for (from, to, expected) in [
            ("AWS4-HMAC-SHA256 ", "AWS4-HMAC-SHA256", "InvalidArgument"),
            ("AWS4-HMAC-SHA256", "AWS2-HMAC-SHA1", "InvalidArgument"),
            (", Signature=00", "", "AuthorizationHeaderMalformed"),
            ("Signature=00", "Signature00", "AuthorizationHeaderMalformed"),
            ("Signature=00", "Other=00", "AuthorizationHeaderMalformed"),
            ("Credential=", "Other=", "AuthorizationHeaderMalformed"),
            ("SignedHeaders=", "Other=", "AuthorizationHeaderMalformed"),
            ("/s3/", "/iam/", "AuthorizationHeaderMalformed"),
            ("/us-east-1/", "/", "AuthorizationHeaderMalformed"),
            ("20261122", "2026112", "AuthorizationHeaderMalformed"),
            ("aws4_request", "aws5_request", "AuthorizationHeaderMalformed"),
            ("host;", "", "AccessDenied"),
            (";x-amz-date", "", "AccessDenied"),
        ] {
            assert_eq!(verdict("/b/k", Some(&GOOD.replacen(from, to, 1)), &[]), expected, "{from} -> {to}");
        }
    }

    #[test]
    fn a_url_that_is_not_signed_as_it_must_be_is_refused() {
        let good = "/b/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=key%2F20261122%2Fus-east-1%2Fs3%2F\
            aws4_request&X-Amz-Date=20261122T080000Z&X-Amz-Expires=604800&X-Amz-SignedHeaders=host&X-Amz-Signature=00";
        assert_eq!(verdict(good, None, &[]), "ok");
        for (from, to) in [
            ("X-Amz-Signature=00", ""),
            ("X-Amz-Expires=604800", "X-Amz-Expires=604801"),
            ("X-Amz-Expires=604800", "X-Amz-Expires=-1"),
            ("X-Amz-Expires=604800", "X-Amz-Expires=soon"),
            ("SHA256", "SHA1"),
            ("%2Fs3%2F", "%2Fs4%2F"),
            ("20261122T", "20261122"),
        ] {
            assert_eq!(
                verdict(&good.replacen(from, to, 1), None, &[]),
                "AuthorizationQueryParametersError",
                "{from} -> {to}"
            );
        }
        assert_eq!(verdict(good, Some(GOOD), &[]), "InvalidArgument");
        assert_eq!(verdict(&format!("{good}&X-Amz-Security-Token=t"), None, &[]), "InvalidToken");
        assert_eq!(verdict(&good.replacen("=host", "=other", 1), None, &[]), "AccessDenied");
    }

    #[test]
    fn a_header_that_changes_what_is_asked_must_be_signed() {
        for header in
            [("x-amz-copy-source", "/b/secret"), ("x-amz-acl", "public-read"), ("x-amz-tagging", "a=b")]
        {
            assert_eq!(verdict("/b/k", Some(GOOD), &[header]), "AccessDenied", "{header:?}");
            assert_eq!(verdict("/b/k", None, &[header]), "ok", "{header:?}: nothing is signed");
            let signed = GOOD.replacen("x-amz-date", &format!("x-amz-date;{}", header.0), 1);
            assert_eq!(verdict("/b/k", Some(&signed), &[header]), "ok", "{header:?}");
        }
        assert_eq!(verdict("/b/k", Some(GOOD), &[("content-type", "a/b"), ("x-amz-user-agent", "c")]), "ok");
    }
}
