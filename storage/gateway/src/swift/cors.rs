//! Pages of other sites: whether browsers give them a container's answers.

use super::Swift;
use super::answer::empty;
use super::metadata::put;
use super::refusal::{Outcome, Refusal};
use super::request_head::RequestHead;
use super::target::{Target, decode};
use axum::body::Body;
use http::header::{ALLOW, ORIGIN, VARY};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use std::collections::BTreeMap;

/// The methods of objects.
const METHODS: &str = "HEAD, GET, PUT, POST, COPY, DELETE, OPTIONS";
/// The headers that pages may see, besides those that the container adds.
const EXPOSED: [&str; 8] = [
    "cache-control",
    "content-language",
    "content-type",
    "expires",
    "last-modified",
    "pragma",
    "etag",
    "x-timestamp",
];

/// The site of a page.
pub(super) struct Origin(String);

impl Origin {
    pub(super) fn of(headers: &HeaderMap) -> Option<Origin> {
        headers.get(ORIGIN)?.to_str().ok().map(|origin| Origin(origin.to_owned()))
    }

    /// Returns whether the container's list has the site.
    fn is_allowed(&self, metadata: &BTreeMap<String, String>) -> Option<bool> {
        let list = metadata.get("access-control-allow-origin")?;
        let mut all = false;
        for item in list.split_whitespace() {
            match item {
                "*" => all = true,
                item if item == self.0 => return Some(false),
                _ => {}
            }
        }
        all.then_some(true)
    }
}

impl Swift {
    fn container_metadata(&self, target: &Target) -> Option<BTreeMap<String, String>> {
        let view = self.account_of(target)?.container(target.container.as_deref()?).ok()?;
        Some(view.settings.metadata.clone())
    }

    /// Serves `OPTIONS`: the preflight request of a browser. It shows only settings that the container's owner made
    /// public.
    pub(super) fn preflight(&self, head: &RequestHead, target: &Target) -> Outcome<Response<Body>> {
        let mut answer = empty(StatusCode::OK);
        put(answer.headers_mut(), ALLOW.as_str(), METHODS);
        let Some(origin) = Origin::of(&head.headers) else { return Ok(answer) };
        let denied = || Refusal::unauthorized("The container does not allow pages of this site.");
        let metadata = self.container_metadata(target).ok_or_else(denied)?;
        let any = origin.is_allowed(&metadata).ok_or_else(denied)?;
        let method = head.header("access-control-request-method").ok_or_else(denied)?;
        if !METHODS.split(", ").any(|known| known == method) {
            return Err(denied());
        }
        let headers = answer.headers_mut();
        put(headers, "access-control-allow-origin", if any { "*" } else { &origin.0 });
        put(headers, "access-control-allow-methods", METHODS);
        if let Some(seconds) = metadata.get("access-control-max-age") {
            put(headers, "access-control-max-age", seconds);
        }
        let requested = head.header("access-control-request-headers").unwrap_or_default();
        let named = metadata.get("access-control-allow-headers").map(String::as_str).unwrap_or_default();
        let names: Vec<&str> = [requested, named]
            .into_iter()
            .flat_map(|list| list.split([',', ' ']))
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .collect();
        if !names.is_empty() {
            put(headers, "access-control-allow-headers", &names.join(", "));
        }
        put(headers, VARY.as_str(), "Origin, Access-Control-Request-Headers");
        Ok(answer)
    }

    /// Adds the headers that let a page see this answer, if it may.
    pub(super) fn allow_origin(&self, origin: &Origin, path: &str, answer: &mut Response<Body>) {
        if answer.headers().contains_key("access-control-allow-methods") {
            return;
        }
        let Some(target) = decode(path).ok().and_then(|path| Target::read(&path)) else { return };
        let Some(metadata) = self.container_metadata(&target) else { return };
        let Some(any) = origin.is_allowed(&metadata) else { return };
        let exposed: Vec<&str> = answer
            .headers()
            .keys()
            .map(HeaderName::as_str)
            .filter(|name| name.starts_with("x-object-meta-") || name.starts_with("x-container-meta-"))
            .chain(EXPOSED)
            .chain(["x-trans-id", "x-openstack-request-id"])
            .collect();
        let mut exposed = exposed.join(", ");
        if let Some(more) = metadata.get("access-control-expose-headers") {
            exposed = format!("{exposed}, {}", more.split_whitespace().collect::<Vec<_>>().join(", "));
        }
        let headers = answer.headers_mut();
        put(headers, "access-control-expose-headers", &exposed);
        put(headers, "access-control-allow-origin", if any { "*" } else { &origin.0 });
        if !any {
            headers.append(VARY, HeaderValue::from_static("Origin"));
        }
    }
}
