//! The limit of concurrent requests: over all listeners, and of one account on a listener.

use crate::http::fair_permits::{FairPermits, Permit};
use http::request::Parts;
use http::{HeaderName, Method};
use hyper::body::Body;
use parking_lot::Mutex;
use std::sync::Arc;

/// Permits for concurrent requests. Clones share them, so that several listeners have one limit.
///
/// A request that gets no permit is refused at once: a queue would only grow while nothing gets faster. A refusal
/// depends on the number of requests of this account and of others, and not on the content of the request.
#[derive(Clone, Debug)]
pub struct Admission {
    permits: FairPermits,
}

impl Admission {
    /// Creates the limit: this many requests, at least one.
    pub fn new(requests: usize) -> Self {
        Admission { permits: FairPermits::new(requests) }
    }
}

/// 128 requests.
impl Default for Admission {
    fn default() -> Self {
        Admission::new(128)
    }
}

/// All permits are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many requests are running")]
pub struct Overloaded;

/// The headers of puts that copy, and so read no body.
const COPY_HEADERS: [HeaderName; 2] =
    [HeaderName::from_static("x-amz-copy-source"), HeaderName::from_static("x-copy-from")];

/// The admission of one request. It is admitted when its account is known, and gets its permit when its work begins.
/// Its work begins when the first byte of its body arrives, or at once if it has no body.
#[derive(Clone, Debug)]
pub struct RequestAdmission {
    admission: Admission,
    connections: FairPermits,
    permits: Arc<Mutex<Permits>>,
}

/// The permits of a request. They are free again when the client has received its answer.
#[derive(Debug, Default)]
struct Permits {
    connection: Option<(Arc<str>, Permit)>,
    request: Option<Permit>,
}

impl RequestAdmission {
    pub(crate) fn new(admission: Admission, connections: FairPermits) -> Self {
        RequestAdmission { admission, connections, permits: Arc::default() }
    }

    /// Admits a request of this account, and begins its work unless that begins with its body. `None` stands for all
    /// clients without an account.
    ///
    /// # Errors
    /// The account has as many requests under way as the listener's connections allow, or all permits are in use.
    pub(crate) fn admit(
        &self,
        account: Option<&str>,
        parts: &Parts,
        body: &impl Body,
    ) -> Result<(), Overloaded> {
        self.admit_as(&mut self.permits.lock(), account)?;
        let may_read = matches!(parts.method, Method::PUT | Method::POST);
        let copies = COPY_HEADERS.iter().any(|name| parts.headers.contains_key(name));
        match may_read && !copies && !body.is_end_stream() {
            true => Ok(()),
            false => self.begin(),
        }
    }

    /// Takes a permit for the work if the request has none. A request that was not admitted counts as one without an
    /// account.
    ///
    /// # Errors
    /// No permit is free for another request of its account.
    pub(crate) fn begin(&self) -> Result<(), Overloaded> {
        let mut permits = self.permits.lock();
        self.admit_as(&mut permits, None)?;
        if let (None, Some((account, _))) = (&permits.request, &permits.connection) {
            permits.request = Some(self.admission.permits.take(account).ok_or(Overloaded)?);
        }
        Ok(())
    }

    fn admit_as(&self, permits: &mut Permits, account: Option<&str>) -> Result<(), Overloaded> {
        if permits.connection.is_none() {
            // No account has an empty name.
            let account: Arc<str> = account.unwrap_or_default().into();
            let permit = self.connections.take(&account).ok_or(Overloaded)?;
            permits.connection = Some((account, permit));
        }
        Ok(())
    }
}
