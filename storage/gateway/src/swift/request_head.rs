//! The head of a request, as the verbs see it.

use super::address::Address;
use super::auth::catalogue::Base;
use super::query::Query;
use super::refusal::Outcome;
use super::target::decode;
use crate::catalogue::UnixMillis;
use http::request::Parts;
use http::{HeaderMap, Method};
use std::net::IpAddr;

/// The head of a request.
pub(super) struct RequestHead {
    pub(super) method: Method,
    /// The decoded path.
    pub(super) path: String,
    pub(super) query: Query,
    pub(super) headers: HeaderMap,
    /// The address that the client used.
    pub(super) base: Base,
    pub(super) now: UnixMillis,
    /// The other end of the connection, if known.
    pub(super) peer: Option<IpAddr>,
}

impl RequestHead {
    /// Parses the head of a request to this address.
    ///
    /// # Errors
    /// 412 for a path or a parameter that is not text.
    pub(super) fn read(
        parts: Parts,
        address: &Address,
        peer: Option<IpAddr>,
        now: UnixMillis,
    ) -> Outcome<RequestHead> {
        let Parts { method, uri, headers, .. } = parts;
        let base = match address {
            Address::Named(url) => url.trim_end_matches('/').to_owned(),
            Address::OfHost { tls } => {
                let host = headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
                let scheme = if *tls { "https" } else { "http" };
                format!("{scheme}://{}", host.or(uri.host()).unwrap_or("localhost"))
            }
        };
        Ok(RequestHead {
            path: decode(uri.path())?,
            query: Query::parse(uri.query())?,
            method,
            headers,
            base: Base(base),
            now,
            peer,
        })
    }

    /// Returns the value of a header, if it is plain ASCII.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns whether a header is true.
    pub(super) fn is_true_header(&self, name: &str) -> bool {
        self.header(name).is_some_and(super::query::is_true)
    }

    /// Returns the token that authenticates the request.
    pub(super) fn token(&self) -> Option<&str> {
        token(&self.headers)
    }

    /// Returns the token that the request is about.
    pub(super) fn subject_token(&self) -> Option<&str> {
        self.header("x-subject-token")
    }

    /// Returns the announced length of the body.
    pub(super) fn length(&self) -> Option<u64> {
        self.header("content-length")?.parse().ok()
    }

    pub(super) fn is_chunked(&self) -> bool {
        self.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked"))
    }

    pub(super) fn is_head(&self) -> bool {
        self.method == Method::HEAD
    }
}

/// Returns the token in these headers.
pub(super) fn token(headers: &HeaderMap) -> Option<&str> {
    let token = headers.get("x-auth-token").or_else(|| headers.get("x-storage-token"))?;
    token.to_str().ok().filter(|token| !token.is_empty())
}
