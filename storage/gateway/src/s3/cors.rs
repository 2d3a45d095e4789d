//! Pages of other sites (CORS): the rules of a bucket, the preflight request of a browser, and the headers of answers.
//!
//! A browser sends a preflight request without a signature. The account is the one whose key is in the URL or the head,
//! or else the first account. The rules are those of the bucket in this account. A missing bucket gets the same answer
//! as one without rules.

use super::refusal::{bad_request, refusal};
use super::settings::{get, set};
use crate::auth::identity::Users;
use crate::catalogue::{ContainerSettings, CorsRule};
use crate::objects::account::{Account, FIRST_ACCOUNT};
use crate::objects::gateway::Gateway;
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, HeaderName, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri};
use percent_encoding::percent_decode_str;
use s3s::dto::*;
use s3s::{Body, S3Error, S3ErrorCode, S3Result, s3_error};
use std::sync::Arc;

/// S3's largest number of rules of a bucket.
const MAX_RULES: usize = 100;
/// S3's longest name of a rule, in characters.
const MAX_ID_CHARS: usize = 255;
/// The largest number of bytes of all rules of a bucket together, as in S3. They are stored in one row of the
/// catalogue, which has limited room.
const MAX_BYTES: usize = 64 << 10;
const METHODS: [&str; 5] = ["GET", "PUT", "HEAD", "POST", "DELETE"];
const VARIES: HeaderValue =
    HeaderValue::from_static("Origin, Access-Control-Request-Headers, Access-Control-Request-Method");

fn invalid(text: String) -> S3Error {
    S3Error::with_message(S3ErrorCode::InvalidRequest, text)
}

/// Returns whether a text is the name of a header, or a pattern of such names.
fn is_header(text: &str) -> bool {
    HeaderName::try_from(text.replace('*', "x")).is_ok()
}

fn has_several_wildcards(text: &str) -> bool {
    text.matches('*').count() > 1
}

fn from_s3(rule: CORSRule) -> S3Result<CorsRule> {
    let methods: Vec<String> = rule.allowed_methods;
    let (origins, headers) = (rule.allowed_origins, rule.allowed_headers.unwrap_or_default());
    let exposed = rule.expose_headers.unwrap_or_default();
    if origins.is_empty() || methods.is_empty() {
        return Err(s3_error!(MalformedXML));
    }
    if let Some(origin) = origins.iter().find(|origin| has_several_wildcards(origin)) {
        return Err(invalid(format!("AllowedOrigin \"{origin}\" can not have more than one wildcard.")));
    }
    if let Some(method) = methods.iter().find(|method| !METHODS.contains(&method.as_str())) {
        return Err(invalid(format!(
            "Found unsupported HTTP method in CORS config. Unsupported method is {method}"
        )));
    }
    if let Some(header) = headers.iter().find(|header| has_several_wildcards(header)) {
        return Err(invalid(format!("AllowedHeader \"{header}\" can not have more than one wildcard.")));
    }
    if let Some(header) = exposed.iter().find(|header| header.contains('*')) {
        return Err(invalid(format!(
            "ExposeHeader \"{header}\" contains wildcard. We currently do not support wildcard for ExposeHeader."
        )));
    }
    if let Some(header) = headers.iter().chain(&exposed).find(|header| !is_header(header)) {
        return Err(invalid(format!("AllowedHeader \"{header}\" contains invalid character.")));
    }
    if rule.id.as_ref().is_some_and(|id| id.chars().count() > MAX_ID_CHARS) {
        return Err(invalid(format!("The ID of a rule has at most {MAX_ID_CHARS} characters.")));
    }
    let (id, max_age_seconds) = (rule.id, rule.max_age_seconds);
    Ok(CorsRule { id, origins, methods, headers, exposed, max_age_seconds })
}

fn bytes(rule: &CorsRule) -> usize {
    let lists = [&rule.origins, &rule.methods, &rule.headers, &rule.exposed];
    let texts = lists.into_iter().flatten().chain(&rule.id);
    texts.map(String::len).sum()
}

fn to_s3(rule: &CorsRule) -> CORSRule {
    let some = |list: &Vec<String>| (!list.is_empty()).then(|| list.clone());
    CORSRule {
        allowed_headers: some(&rule.headers),
        allowed_methods: rule.methods.clone(),
        allowed_origins: rule.origins.clone(),
        expose_headers: some(&rule.exposed),
        id: rule.id.clone(),
        max_age_seconds: rule.max_age_seconds,
    }
}

pub(super) async fn put_bucket_cors(
    account: &Account,
    input: PutBucketCorsInput,
) -> S3Result<PutBucketCorsOutput> {
    account.container(&input.bucket)?;
    let rules = input.cors_configuration.cors_rules;
    if rules.is_empty() || rules.len() > MAX_RULES {
        return Err(s3_error!(MalformedXML));
    }
    let rules = rules.into_iter().map(from_s3).collect::<S3Result<Vec<_>>>()?;
    if rules.iter().map(bytes).sum::<usize>() > MAX_BYTES {
        return Err(invalid("The rules of a bucket have at most 64 KB.".into()));
    }
    set(account, &input.bucket, |settings| settings.cors = rules).await?;
    Ok(PutBucketCorsOutput::default())
}

pub(super) async fn get_bucket_cors(
    account: &Account,
    input: GetBucketCorsInput,
) -> S3Result<GetBucketCorsOutput> {
    let missing = (S3ErrorCode::NoSuchCORSConfiguration, "The CORS configuration does not exist");
    let rules = get(account, &input.bucket, |settings| settings.cors.iter().map(to_s3).collect(), missing)?;
    Ok(GetBucketCorsOutput { cors_rules: Some(rules) })
}

/// Finds the settings of a bucket by an access key and the bucket's name.
pub(super) type BucketLookup =
    Box<dyn Fn(Option<&str>, &str) -> Option<Arc<ContainerSettings>> + Send + Sync>;

pub(super) fn bucket_lookup(gateway: Gateway, users: Arc<Users>) -> BucketLookup {
    Box::new(move |key, bucket| {
        let own = key.and_then(|key| users.by_access_key(key)).map(|(identity, _)| identity);
        let own = own.map(|identity| gateway.account(identity.account.as_str()));
        let accounts = own.into_iter().chain([gateway.account(FIRST_ACCOUNT)]);
        let mut found = accounts.filter_map(|account| account.container(bucket).ok());
        found.next().map(|view| view.settings)
    })
}

/// The parts of a request that rules look at.
pub(super) struct CorsRequest {
    origin: Option<String>,
    method: String,
    bucket: Option<Arc<ContainerSettings>>,
}

impl CorsRequest {
    pub(super) fn of<B>(request: &Request<B>, bucket_lookup: &BucketLookup) -> Self {
        let headers = request.headers();
        let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
        let origin = origin.filter(|origin| !origin.is_empty()).map(str::to_owned);
        let bucket = request.uri().path().trim_start_matches('/').split('/').next().unwrap_or_default();
        let bucket = percent_decode_str(bucket).decode_utf8().ok();
        let bucket =
            bucket.and_then(|bucket| bucket_lookup(access_key(request.uri(), headers).as_deref(), &bucket));
        CorsRequest { origin, method: request.method().to_string(), bucket }
    }

    fn rules(&self) -> &[CorsRule] {
        self.bucket.as_ref().map_or(&[], |bucket| &bucket.cors)
    }

    /// Returns the rule that allows a request, and its pattern for the site.
    fn rule(&self, origin: &str, method: &str, headers: &[String]) -> Option<(&CorsRule, &str)> {
        self.rules().iter().find_map(|rule| Some((rule, rule.matched_origin(origin, method, headers)?)))
    }

    /// Adds the headers that tell a browser whether a page may see this answer.
    pub(super) fn add_headers(&self, answer: &mut Response<Body>) {
        if self.rules().is_empty() {
            return;
        }
        let headers = answer.headers_mut();
        headers.append(VARY, VARIES);
        let Some(origin) = &self.origin else { return };
        if let Some((rule, pattern)) = self.rule(origin, &self.method, &[]) {
            allow(headers, rule, pattern, origin);
        }
    }

    /// Answers a preflight request.
    ///
    /// # Errors
    /// `BadRequest` if it is malformed; `AccessForbidden` if no rule allows the request.
    pub(super) fn preflight(&self, request_headers: &HeaderMap) -> S3Result<Response<Body>> {
        let Some(origin) = &self.origin else {
            return Err(bad("Insufficient information. Origin request header needed.".into()));
        };
        let method =
            request_headers.get(ACCESS_CONTROL_REQUEST_METHOD).and_then(|method| method.to_str().ok());
        let method = method.filter(|method| METHODS.contains(method)).ok_or_else(|| {
            bad(format!("Invalid Access-Control-Request-Method: {}", method.unwrap_or("null")))
        })?;
        let headers = requested_headers(request_headers)?;
        if self.rules().is_empty() {
            return Err(forbidden("CORSResponse: CORS is not enabled for this bucket."));
        }
        let (rule, pattern) = self.rule(origin, method, &headers).ok_or_else(|| {
            forbidden(
                "CORSResponse: This CORS request is not allowed. This is usually because the evalution of Origin, request \
                 method / Access-Control-Request-Method or Access-Control-Request-Headers are not whitelisted by the \
                 resource's CORS spec.",
            )
        })?;
        let mut answer = Response::new(Body::empty());
        let headers_out = answer.headers_mut();
        allow(headers_out, rule, pattern, origin);
        if !headers.is_empty() {
            put(headers_out, ACCESS_CONTROL_ALLOW_HEADERS, &headers.join(", "));
        }
        headers_out.append(VARY, VARIES);
        Ok(answer)
    }
}

/// Returns the names of the headers that the page wants to send.
fn requested_headers(request_headers: &HeaderMap) -> S3Result<Vec<String>> {
    let lists = request_headers.get_all(ACCESS_CONTROL_REQUEST_HEADERS).iter();
    let mut names = Vec::new();
    for list in lists {
        let list = String::from_utf8_lossy(list.as_bytes());
        for name in list.split(',').filter(|_| !list.trim().is_empty()) {
            let name = HeaderName::try_from(name.trim()).map_err(|_| {
                bad(format!("Access-Control-Request-Headers \"{name}\" contains invalid character."))
            })?;
            names.push(name.as_str().to_owned());
        }
    }
    Ok(names)
}

fn allow(headers: &mut HeaderMap, rule: &CorsRule, pattern: &str, origin: &str) {
    let is_public = pattern == "*";
    put(headers, ACCESS_CONTROL_ALLOW_ORIGIN, if is_public { "*" } else { origin });
    if !is_public {
        put(headers, ACCESS_CONTROL_ALLOW_CREDENTIALS, "true");
    }
    put(headers, ACCESS_CONTROL_ALLOW_METHODS, &rule.methods.join(", "));
    if !rule.exposed.is_empty() {
        put(headers, ACCESS_CONTROL_EXPOSE_HEADERS, &rule.exposed.join(", "));
    }
    if let Some(seconds) = rule.max_age_seconds {
        put(headers, ACCESS_CONTROL_MAX_AGE, &seconds.to_string());
    }
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(name, value);
    }
}

fn bad(text: String) -> S3Error {
    bad_request("BadRequest", text)
}

fn forbidden(text: &'static str) -> S3Error {
    refusal(S3ErrorCode::Custom("AccessForbidden".into()), StatusCode::FORBIDDEN, text)
}

/// Returns the access key in a request, whether or not the request is signed with it.
fn access_key(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let key_of_scope = |text: &str| text.split('/').next().map(str::to_owned);
    if let Some(text) = headers.get(AUTHORIZATION).and_then(|text| text.to_str().ok())
        && let Some((_, credential)) = text.split_once("Credential=")
    {
        return key_of_scope(credential);
    }
    let decode = |text: &str| Some(percent_decode_str(text).decode_utf8().ok()?.into_owned());
    let pairs = uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
    let mut pairs = pairs.filter_map(|(name, value)| Some((decode(name)?, decode(value)?)));
    pairs.find_map(|(name, value)| match &*name.to_ascii_lowercase() {
        "x-amz-credential" => key_of_scope(&value),
        "awsaccesskeyid" => Some(value),
        _ => None,
    })
}
