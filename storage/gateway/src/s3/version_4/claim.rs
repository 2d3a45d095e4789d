//! The signature in a request: its form, its scope, and the headers that it covers.
//!
//! A header that changes the meaning of a request must be signed. Otherwise a client with the signed URL of a put could
//! add `x-amz-copy-source`, and copy any object that the signer can read.

use super::payload::CONTENT_SHA256;
use crate::catalogue::UnixMillis;
use crate::s3::refusal::bad_request;
use crate::s3::region::is_region;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Uri};
use percent_encoding::percent_decode_str;
use s3s::{S3Error, S3Result, s3_error};
use std::borrow::Cow;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// S3's longest validity of a URL, in seconds: a week.
const MAX_EXPIRY_SECONDS: u64 = 604_800;
/// The parameters of the query that only a signature has, in lower case.
const IN_QUERY: [&str; 6] = [
    "x-amz-algorithm",
    "x-amz-credential",
    "x-amz-date",
    "x-amz-expires",
    "x-amz-signature",
    "x-amz-signedheaders",
];

/// The format of a time in a signature: `20261122T080000Z`.
const DATE: &[BorrowedFormatItem<'_>] = format_description!("[year][month][day]T[hour][minute][second]Z");

/// A signature, with the scope and the headers that it covers.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) credential: Credential,
    /// The time of the signature in its signed form.
    pub(super) date: String,
    pub(super) time: UnixMillis,
    /// The names of the signed headers, in lower case.
    pub(super) signed: Vec<String>,
    pub(super) signature: String,
    pub(super) place: Place,
}

/// The place of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Header,
    /// The signature is in the URL, which is valid for this many seconds.
    Url {
        seconds: u64,
    },
}

impl Claim {
    /// Returns the signature of a request; `None` if it has none.
    ///
    /// # Errors
    /// S3's errors for a signature that is malformed, or that does not cover what it must.
    pub(super) fn read(uri: &Uri, headers: &HeaderMap) -> S3Result<Option<Claim>> {
        let claim = read(uri, headers)?;
        if let Some(claim) = &claim {
            check_signed_headers(&claim.signed, headers)?;
            if !claim.date.starts_with(&claim.credential.day) {
                return Err(s3_error!(
                    SignatureDoesNotMatch,
                    "The day of the credential is not the day of the date."
                ));
            }
        }
        Ok(claim)
    }
}

fn read(uri: &Uri, headers: &HeaderMap) -> S3Result<Option<Claim>> {
    let query: Vec<(Cow<'_, str>, Cow<'_, str>)> = pairs(uri.query().unwrap_or_default());
    let in_query = |name: &str| {
        query.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    };
    let token = "x-amz-security-token";
    let authorization = headers.get(AUTHORIZATION).map(|value| value.to_str().unwrap_or_default());
    let is_presigned = IN_QUERY.iter().any(|name| in_query(name).is_some());
    if (authorization.is_some() || is_presigned) && (headers.contains_key(token) || in_query(token).is_some())
    {
        return Err(bad_request("InvalidToken", "The provided token is malformed or otherwise invalid."));
    }
    match (authorization, is_presigned) {
        (None, false) => Ok(None),
        (Some(_), true) => Err(s3_error!(
            InvalidArgument,
            "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string \
             parameter or the Authorization header should be specified"
        )),
        (Some(authorization), false) => in_header(authorization, headers).map(Some),
        (None, true) => in_url(in_query).map(Some),
    }
}

/// Returns whether a query has a parameter that only a signature of version 4 has.
pub(in crate::s3) fn has_version_4(uri: &Uri) -> bool {
    let query = pairs(uri.query().unwrap_or_default());
    query.iter().any(|(name, _)| IN_QUERY.iter().any(|known| name.eq_ignore_ascii_case(known)))
}

/// Returns the decoded names and values of a query.
pub(in crate::s3) fn pairs(query: &str) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
    let decode = |text| percent_decode_str(text).decode_utf8_lossy();
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decode(name), decode(value)))
        .collect()
}

fn malformed(why: &str) -> S3Error {
    bad_request("AuthorizationHeaderMalformed", format!("The authorization header is malformed; {why}"))
}

fn in_header(authorization: &str, headers: &HeaderMap) -> S3Result<Claim> {
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
    let signature = signature.ok_or_else(|| malformed("missing Signature."))?;
    let credential = Credential::parse(credential).map_err(|why| malformed(&why))?;
    let date = headers.get("x-amz-date").and_then(|date| date.to_str().ok()).unwrap_or_default();
    let time = parse_time(date).ok_or_else(|| {
        s3_error!(AccessDenied, "AWS authentication requires a valid Date or x-amz-date header.")
    })?;
    let (date, signature) = (date.to_owned(), signature.to_owned());
    let (signed, place) = (names(signed), Place::Header);
    Ok(Claim { credential, date, time, signed, signature, place })
}

fn in_url<'a>(parameter: impl Fn(&str) -> Option<&'a str>) -> S3Result<Claim> {
    let bad = |why: Cow<'static, str>| bad_request("AuthorizationQueryParametersError", why);
    let required = |name| {
        parameter(name).filter(|value| !value.is_empty()).ok_or_else(|| {
            bad("Query-string authentication version 4 requires the X-Amz-Algorithm, X-Amz-Credential, \
                 X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters."
                .into())
        })
    };
    let algorithm = required("x-amz-algorithm")?;
    let credential = required("x-amz-credential")?;
    let date = required("x-amz-date")?;
    let expires = required("x-amz-expires")?;
    let signed = required("x-amz-signedheaders")?;
    let signature = required("x-amz-signature")?.to_owned();
    if algorithm != ALGORITHM {
        return Err(bad("X-Amz-Algorithm only supports \"AWS4-HMAC-SHA256\"".into()));
    }
    let credential = Credential::parse(credential)
        .map_err(|why| bad(format!("Error parsing the X-Amz-Credential parameter; {why}").into()))?;
    let time = parse_time(date).ok_or_else(|| {
        bad("X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"".into())
    })?;
    let seconds = match expires.parse::<i64>() {
        Err(_) => return Err(bad("X-Amz-Expires should be a number".into())),
        Ok(seconds) if seconds < 0 => return Err(bad("X-Amz-Expires must be non-negative".into())),
        Ok(seconds) if seconds.unsigned_abs() > MAX_EXPIRY_SECONDS => {
            return Err(bad(
                "X-Amz-Expires must be less than a week (in seconds); that is, the given X-Amz-Expires must \
                            be less than 604800 seconds"
                    .into(),
            ));
        }
        Ok(seconds) => seconds.unsigned_abs(),
    };
    let (date, signed, place) = (date.to_owned(), names(signed), Place::Url { seconds });
    Ok(Claim { credential, date, time, signed, signature, place })
}

/// The credential of a signature, `key/day/region/s3/aws4_request`.
#[derive(Debug)]
pub(in crate::s3) struct Credential {
    pub(in crate::s3) access_key: String,
    /// The day of the key, such as `20261122`.
    pub(in crate::s3) day: String,
    pub(in crate::s3) region: String,
}

impl Credential {
    /// Parses a credential.
    ///
    /// # Errors
    /// The sentence that says what is wrong with it.
    pub(in crate::s3) fn parse(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split('/').collect();
        let &[access_key, day, region, service, terminal] = &parts[..] else {
            return Err(
            "the Credential is mal-formed; expecting \"<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request\"."
                .into(),
        );
        };
        if day.len() != 8 || !day.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(format!(
                "incorrect date format \"{day}\". This date in the credential must be in the format \"yyyyMMdd\"."
            ));
        }
        if service != "s3" {
            return Err(format!("incorrect service \"{service}\". This endpoint belongs to \"s3\"."));
        }
        if terminal != "aws4_request" {
            return Err(format!("incorrect terminal \"{terminal}\". This endpoint uses \"aws4_request\"."));
        }
        if !is_region(region) {
            return Err(format!("\"{region}\" is not the name of a region."));
        }
        let [access_key, day, region] = [access_key, day, region].map(str::to_owned);
        Ok(Credential { access_key, day, region })
    }

    /// Returns the scope of the key: day, region and service.
    pub(super) fn scope(&self) -> String {
        format!("{}/{}/s3/aws4_request", self.day, self.region)
    }
}

/// Parses a time such as `20261122T080000Z`.
pub(in crate::s3) fn parse_time(date: &str) -> Option<UnixMillis> {
    let date = time::PrimitiveDateTime::parse(date, DATE).ok()?.assume_utc();
    u64::try_from(date.unix_timestamp_nanos() / 1_000_000).ok().map(UnixMillis)
}

fn names(signed: &str) -> Vec<String> {
    signed.split(';').map(str::to_ascii_lowercase).collect()
}

/// Checks that the host and all headers that change the request's meaning are signed. The digest of a body is checked
/// anyway, and a change of `x-amz-user-agent` has no effect.
fn check_signed_headers(signed: &[String], headers: &HeaderMap) -> S3Result<()> {
    let unchecked = [CONTENT_SHA256, "x-amz-user-agent"];
    let must_be_signed =
        |name: &str| name == "host" || (name.starts_with("x-amz-") && !unchecked.contains(&name));
    let all = headers.keys().all(|name| {
        let name = name.as_str();
        !must_be_signed(name) || signed.iter().any(|signed| signed == name)
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
        match Claim::read(&uri.parse().expect("a URI"), &headers) {
            Ok(_) => "ok".into(),
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
