//! A door: it answers the requests of a listener, in one protocol, over a gateway.

use crate::http::admission::RequestAdmission;
use crate::http::body_timeout::RequestBody;
use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Body;
use std::error::Error;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

/// Speaks one protocol. [`serve`](crate::http::server::serve) has a listener, its connections and their limits, and
/// asks a door for every answer.
pub trait Protocol: Send + Sync + 'static {
    /// The body of an answer. When it fails or is dropped before its end, the connection ends.
    type Body: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static;

    /// Answers a request. A refusal is an answer too.
    ///
    /// The future is dropped when the client goes away. An implementation sets [`Verb::name`] as soon as it knows the
    /// verb, admits the request at [`RequestContext::request_admission`], and puts [`RequestContext::id`] into the header that its protocol has for it. It logs no name, no key and no
    /// credential.
    ///
    /// # Errors
    /// There is no answer at all: the connection ends without a word.
    fn answer(
        &self,
        request: Request<RequestBody>,
        context: RequestContext,
    ) -> impl Future<Output = Result<Response<Self::Body>, BoxError>> + Send;

    /// Refuses a request for now, with this sentence: 503, [`RETRY_AFTER`], and a word in the protocol's own form.
    fn refuse(&self, context: &RequestContext, why: &'static str) -> Response<Self::Body>;
}

/// The reason for refusing a request that finds no place.
pub const BUSY: &str = "Too many requests are at work. Ask again in a moment.";

/// Seconds after which a client that was refused for want of room may ask again, as `Retry-After` has it.
pub const RETRY_AFTER: &str = "1";

/// An error of a door's own kind.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The facts about a request that the server knows and that do not stand in it.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// The request's number, as the log has it.
    pub id: RequestId,
    /// The other end of the connection: a proxy's, if there is one between.
    pub peer: Option<IpAddr>,
    /// True if the server speaks TLS.
    pub tls: bool,
    /// The place in which the log finds the verb.
    pub verb: Verb,
    /// The way to the request's work. A door admits the request there as soon as it knows the account.
    pub request_admission: RequestAdmission,
}

/// The number of a request. Numbers begin at a random one with each start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId(pub u64);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The name of the verb of a request, such as `GetObject`. Never the name of the object that it asked about.
#[derive(Clone, Debug, Default)]
pub struct Verb(Arc<OnceLock<String>>);

impl Verb {
    /// Names it. A request is one verb: the first name stays.
    pub fn name(&self, name: impl Into<String>) {
        let _ = self.0.set(name.into());
    }

    /// Its name, or `none` for a request that was refused before its verb was known.
    pub fn as_str(&self) -> &str {
        self.0.get().map_or("none", String::as_str)
    }
}
