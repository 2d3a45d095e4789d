//! A protocol: it answers the requests of a listener, over a gateway.

use crate::http::admission::RequestAdmission;
use crate::http::body_timeout::RequestBody;
use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Body;
use std::error::Error;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

/// Speaks one protocol. [`serve`](crate::http::server::serve) handles the listener, its connections and their limits,
/// and asks the protocol for every answer.
pub trait Protocol: Send + Sync + 'static {
    /// The body of an answer. When it fails or is dropped before its end, the connection ends.
    type Body: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static;

    /// Answers a request. A refusal is an answer too.
    ///
    /// The future is dropped when the client disconnects. An implementation sets [`Verb::name`] as soon as it knows the
    /// verb, and admits the request at [`RequestContext::request_admission`]. It puts [`RequestContext::id`] into the
    /// header that its protocol has for it. It logs no name, no key and no credential.
    ///
    /// # Errors
    /// There is no answer: the connection ends without one.
    fn answer(
        &self,
        request: Request<RequestBody>,
        context: RequestContext,
    ) -> impl Future<Output = Result<Response<Self::Body>, BoxError>> + Send;

    /// Refuses a request for now, with this sentence: 503 and [`RETRY_AFTER`], in the protocol's own form.
    fn refuse(&self, context: &RequestContext, why: &'static str) -> Response<Self::Body>;
}

/// The reason for refusing a request when all permits are in use.
pub const BUSY: &str = "Too many requests are running. Try again in a moment.";

/// Seconds after which a refused client may ask again, as `Retry-After` states them.
pub const RETRY_AFTER: &str = "1";

/// An error of any protocol.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The facts about a request that the server knows and that are not in the request.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// The request's number in the log.
    pub id: RequestId,
    /// The address of the other end of the connection: the address of the proxy, if there is one.
    pub peer: Option<IpAddr>,
    /// True if the server speaks TLS.
    pub tls: bool,
    /// The verb, which the protocol sets and the log reads.
    pub verb: Verb,
    /// The admission of the request. A protocol admits the request there as soon as it knows the account.
    pub request_admission: RequestAdmission,
}

/// The number of a request. The first number after a start is random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId(pub u64);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The name of the verb of a request, such as `GetObject`. Never the name of an object.
#[derive(Clone, Debug, Default)]
pub struct Verb(Arc<OnceLock<String>>);

impl Verb {
    /// Sets the name. A request has one verb: the first name stays.
    pub fn name(&self, name: impl Into<String>) {
        let _ = self.0.set(name.into());
    }

    /// Returns the name, or `none` for a request that was refused before its verb was known.
    pub fn as_str(&self) -> &str {
        self.0.get().map_or("none", String::as_str)
    }
}
