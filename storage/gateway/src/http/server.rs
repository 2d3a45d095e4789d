//! A server of a protocol over HTTP/1.1: it bounds connections, concurrent requests and times, and finishes running
//! requests at its end.
//!
//! Logs name the verb, the status, the request's number and its duration; never a bucket, a key or a credential.

use crate::http::admission::{Admission, RequestAdmission};
use crate::http::answer_body::{AnswerBody, LogLine, NoAnswer};
use crate::http::answer_check::AnswerCheck;
use crate::http::body_timeout::RequestBody;
use crate::http::connections::{AnsweringGuard, ConnectionHandle, Connections};
use crate::http::fair_permits::FairPermits;
use crate::http::listener::Listener;
use crate::http::paced_stream::PacedStream;
use crate::http::protocol::{Protocol, RequestContext, RequestId, Verb};
use crate::http::tls::Tls;
use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};

/// The largest number of bytes that a connection buffers in each direction. The head of a request must fit as well.
const MAX_BUFFER: usize = 64 << 10;

/// The largest number of headers of a request: as many as 2 KB of user metadata can be, and those that a client adds.
const MAX_HEADERS: usize = 1200;

const UNKNOWN_OUTCOME: &str = "Another gateway may have taken over the vault. The request may or may not have been carried \
    out. Try again in a moment.";

/// The options of a listener.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The limits on a client.
    pub limits: Limits,
    /// The permits for concurrent requests. Listeners of one process share them by cloning.
    pub admission: Admission,
    /// TLS for the connections; without it they are plain HTTP.
    pub tls: Option<Tls>,
    /// The guard of answers. When it does not allow an answer, the server refuses the request for now, even if it was
    /// carried out.
    pub answer_check: AnswerCheck,
}

/// The limits on a client's use of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of concurrent connections. A new one beyond them ends the one that has been idle for longest,
    /// or waits if none is idle.
    pub connections: usize,
    /// The time for the TLS handshake.
    pub handshake: Duration,
    /// The time for the head of a request, and the longest idle time of a connection.
    pub head: Duration,
    /// The total time that the server waits for a body; each KiB gives a second back.
    pub body: Duration,
    /// The total time that a client may receive nothing; each KiB gives a second back.
    pub send: Duration,
    /// The time that running requests have once the server must end.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 256,
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(60),
            body: Duration::from_secs(60),
            send: Duration::from_secs(60),
            grace: Duration::from_secs(30),
        }
    }
}

/// A future that is ready when a server must end.
pub type Serving = Pin<Box<dyn Future<Output = ()> + Send>>;
/// A future that serves until its server has ended. It returns true if no running request was aborted.
pub type Served = Pin<Box<dyn Future<Output = bool> + Send>>;

/// Serves a protocol until `shutdown` is ready. Then it accepts no more connections, and waits for the running requests
/// (at most [`Limits::grace`]). A connection without a complete request ends at once. Returns true if no running
/// request was aborted.
///
/// A request that was cut off may have begun a write or a commit: call [`Gateway::settle`](crate::Gateway::settle) when
/// all servers of a gateway have ended.
///
/// # Errors
/// The server returns no error while it runs: it logs a connection that it cannot accept, and waits for the next one.
pub async fn serve<D: Protocol>(
    mut listener: impl Listener,
    protocol: D,
    options: Options,
    shutdown: impl Future<Output = ()>,
) -> bool {
    let limits = options.limits;
    let connection_permits = FairPermits::new(limits.connections);
    let server = Arc::new(Server {
        protocol,
        options,
        connection_permits,
        requests: AtomicU64::new(random_request_number()),
    });
    let mut connections = Connections::new(limits.connections);
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                // The file descriptors are probably used up: a retry at once would only spin.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        tokio::select! {
            () = &mut shutdown => break,
            () = connections.wait_for_room() => {}
        }
        let handle = ConnectionHandle::new();
        connections.serve(&handle, Arc::clone(&server).serve_connection(stream, peer, Arc::clone(&handle)));
    }
    drop(listener);
    connections.end(limits.grace).await
}

/// The rule for requests after which the connection closes, as the answer then says.
///
/// - A refusal may come before the body was read. hyper then closes the connection without notice. A client that has
///   sent its next request on this connection finds it broken.
/// - A client that waits for "100 Continue" and has nothing to send is answered at once, without it. The AWS command
///   line misreads every later answer of such a connection.
struct ClosePolicy {
    has_body: bool,
    expects_continue: bool,
}

impl ClosePolicy {
    fn of<B: hyper::body::Body>(request: &Request<B>) -> Self {
        let has_body = !request.body().is_end_stream();
        ClosePolicy { has_body, expects_continue: request.headers().contains_key(header::EXPECT) }
    }

    fn is(&self, status: StatusCode) -> bool {
        let is_refusal = status.is_client_error() || status.is_server_error();
        if self.has_body { is_refusal } else { self.expects_continue }
    }
}

/// Returns the number of the first request: a random one at each start.
fn random_request_number() -> u64 {
    getrandom::u64().unwrap_or(0)
}

struct Server<D> {
    protocol: D,
    options: Options,
    /// The permits for connections of each account.
    connection_permits: FairPermits,
    requests: AtomicU64,
}

impl<D: Protocol> Server<D> {
    async fn serve_connection<S: AsyncRead + AsyncWrite + Unpin>(
        self: Arc<Self>,
        stream: S,
        peer: Option<IpAddr>,
        handle: Arc<ConnectionHandle>,
    ) {
        let stream = PacedStream::new(stream, self.options.limits.send);
        let Some(tls) = &self.options.tls else {
            return self.serve_requests(stream, peer, &handle).await;
        };
        let secured = tokio::select! {
            secured = tokio::time::timeout(self.options.limits.handshake, tls.accept(stream)) => secured,
            _ = handle.wait_for_end() => return,
        };
        match secured {
            Ok(Ok(stream)) => self.serve_requests(stream, peer, &handle).await,
            Ok(Err(error)) => tracing::debug!(%error, "the TLS handshake failed"),
            Err(_) => tracing::debug!("the TLS handshake took too long"),
        }
    }

    /// Answers requests until the client sends no more, or the connection must end.
    async fn serve_requests<S: AsyncRead + AsyncWrite + Unpin>(
        self: &Arc<Self>,
        stream: S,
        peer: Option<IpAddr>,
        handle: &Arc<ConnectionHandle>,
    ) {
        let answer = |request| {
            let (server, handle) = (Arc::clone(self), Arc::clone(handle));
            async move { server.answer(request, peer, handle.answering()).await }
        };
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(self.options.limits.head);
        http.max_buf_size(MAX_BUFFER).max_headers(MAX_HEADERS);
        let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service_fn(answer)));
        let ended = tokio::select! {
            // Polled first, so that a request that has already arrived counts.
            biased;
            ended = connection.as_mut() => ended,
            at_once = handle.wait_for_end() => {
                if at_once {
                    return;
                }
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended early");
        }
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        peer: Option<IpAddr>,
        answering: AnsweringGuard,
    ) -> Result<Response<AnswerBody<D::Body>>, NoAnswer> {
        let id = RequestId(self.requests.fetch_add(1, Ordering::Relaxed));
        let started = Instant::now();
        let method = request.method().clone();
        let request_admission =
            RequestAdmission::new(self.options.admission.clone(), self.connection_permits.clone());
        let tls = self.options.tls.is_some();
        let context = RequestContext {
            id,
            peer,
            tls,
            verb: Verb::default(),
            request_admission: request_admission.clone(),
        };
        let verb = context.verb.clone();
        let last = ClosePolicy::of(&request);
        let answering = answering.with_admission(request_admission.clone());
        let request = request.map(|body| RequestBody::new(body, self.options.limits.body, request_admission));
        let outcome = self.protocol.answer(request, context.clone()).await;
        // A refusal or a failure shows no contents, and goes out without the guard.
        let has_failed = outcome.as_ref().is_ok_and(|response| response.status().is_server_error());
        let (outcome, answer_check) = match &self.options.answer_check {
            _ if has_failed => (outcome, AnswerCheck::default()),
            answer_check if answer_check.allows() => (outcome, answer_check.clone()),
            _ => (Ok(self.protocol.refuse(&context, UNKNOWN_OUTCOME)), AnswerCheck::default()),
        };
        match outcome {
            Ok(mut response) => {
                if last.is(response.status()) {
                    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                }
                let log_line = LogLine { method, verb, status: response.status(), id, started };
                let length = response.headers().get(header::CONTENT_LENGTH);
                let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
                Ok(response.map(|body| AnswerBody::new(body, length, answering, log_line, answer_check)))
            }
            Err(error) => {
                let milliseconds = started.elapsed().as_millis() as u64;
                let verb = verb.as_str();
                tracing::warn!(%method, verb, request = %id, milliseconds, "not answered");
                Err(NoAnswer(error))
            }
        }
    }
}
