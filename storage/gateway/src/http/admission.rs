//! The limit of requests at work at a time, over all listeners, and of those that one account has on a listener.

use crate::http::shares::{Permit, Shares};
use http::request::Parts;
use http::{HeaderName, Method};
use hyper::body::Body;
use parking_lot::Mutex;
use std::sync::Arc;

/// Places for requests at work. Clones share them, so that several listeners have one bound.
///
/// A request that finds no place is refused at once: a queue would only grow while nothing gets faster. Which request
/// that is depends on how many there are of its account and of others, and on nothing that it asks.
#[derive(Clone, Debug)]
pub struct Admission {
    permits: Shares,
}

impl Admission {
    /// So many requests, at least one.
    pub fn new(requests: usize) -> Self {
        Admission { permits: Shares::new(requests) }
    }
}

/// 128 requests.
impl Default for Admission {
    fn default() -> Self {
        Admission::new(128)
    }
}

/// There is no place for a request now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many requests are at work")]
pub struct Overloaded;

/// Headers of puts that copy, and read no body.
const COPY_HEADERS: [HeaderName; 2] =
    [HeaderName::from_static("x-amz-copy-source"), HeaderName::from_static("x-copy-from")];

/// The way of a request to its work: it is admitted once its account is known, and takes its place when its work begins.
/// That is when the first byte of its body has come, or at once if it has none.
#[derive(Clone, Debug)]
pub struct RequestAdmission {
    admission: Admission,
    connections: Shares,
    permits: Arc<Mutex<Permits>>,
}

/// The places that a request has; they are free again when its answer was taken.
#[derive(Debug, Default)]
struct Permits {
    connection: Option<(Arc<str>, Permit)>,
    work: Option<Permit>,
}

impl RequestAdmission {
    pub(crate) fn new(admission: Admission, connections: Shares) -> Self {
        RequestAdmission { admission, connections, permits: Arc::default() }
    }

    /// Admits a request as one of this account, and begins its work if that does not begin with its body. `None` stands
    /// for all who prove no account.
    ///
    /// # Errors
    /// The account has as many requests under way as the connections of the listener allow, or there is no place at work.
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

    /// Takes a place for the work, if the request has none. One that was not admitted is nobody's.
    ///
    /// # Errors
    /// There is no place for another request of its account.
    pub(crate) fn begin(&self) -> Result<(), Overloaded> {
        let mut permits = self.permits.lock();
        self.admit_as(&mut permits, None)?;
        if let (None, Some((account, _))) = (&permits.work, &permits.connection) {
            permits.work = Some(self.admission.permits.take(account).ok_or(Overloaded)?);
        }
        Ok(())
    }

    fn admit_as(&self, permits: &mut Permits, account: Option<&str>) -> Result<(), Overloaded> {
        if permits.connection.is_none() {
            // No account's name is empty.
            let account: Arc<str> = account.unwrap_or_default().into();
            let permit = self.connections.take(&account).ok_or(Overloaded)?;
            permits.connection = Some((account, permit));
        }
        Ok(())
    }
}
