//! Serving S3 over HTTP/1.1: bounded connections, time-outs, and an end that finishes what was begun.
//!
//! Logs name the verb, the status, the request's number and its duration; never a bucket, a key or a credential.

use crate::body_timeout::ImpatientBody;
use crate::connections::{Connections, Presence};
use crate::device::Device;
use crate::gateway::Gateway;
use crate::s3::{self, Credentials, Verb};
use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use s3s::service::S3Service;
use s3s::{Body, HttpError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio_io_timeout::TimeoutStream;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

/// What a client may take of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time. A new one beyond them ends the one that has been idle for longest, or waits if none is.
    pub connections: usize,
    /// How long the head of a request may take, and how long a connection may be idle.
    pub head: Duration,
    /// How long the next piece of a body may take to arrive.
    pub body: Duration,
    /// How long a client may take no byte of an answer.
    pub send: Duration,
    /// How long requests may go on once the server is told to end.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 256,
            head: Duration::from_secs(60),
            body: Duration::from_secs(60),
            send: Duration::from_secs(60),
            grace: Duration::from_secs(30),
        }
    }
}

/// Serves a gateway until `shutdown` is ready; then accepts no more, waits for the requests under way (at most
/// [`Limits::grace`]), and for every write and commit that was begun.
///
/// # Errors
/// None while it runs: a connection that cannot be accepted is logged and the next one awaited.
pub async fn serve<D: Device>(
    listener: TcpListener,
    gateway: Gateway<D>,
    credentials: Credentials,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) {
    let server = Arc::new(Server {
        service: s3::service(gateway.clone(), credentials),
        limits,
        requests: AtomicU64::new(first_number()),
    });
    let mut connections = Connections::new(limits.connections);
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = accept(&listener) => accepted,
        };
        let stream = match accepted {
            Ok(stream) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                // Out of file descriptors, most likely: trying again at once would only spin.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        tokio::select! {
            () = &mut shutdown => break,
            () = connections.room() => {}
        }
        let presence = Presence::new();
        connections.serve(server.connection(stream, &presence), presence);
    }
    drop(listener);
    connections.end(limits.grace).await;
    gateway.settle().await;
}

/// Whether a connection must end with the answer of a request, and say so in it.
///
/// - A refusal may come before the body was read. hyper then closes the connection without a word, and a client that
///   has sent its next request on it finds it broken.
/// - A client that waits for "100 Continue" and has nothing to send is answered at once, without it. The AWS command
///   line misreads every later answer of such a connection.
struct LastAnswer {
    has_body: bool,
    waits: bool,
}

impl LastAnswer {
    fn of<B: hyper::body::Body>(request: &Request<B>) -> Self {
        let has_body = !request.body().is_end_stream();
        LastAnswer { has_body, waits: request.headers().contains_key(header::EXPECT) }
    }

    fn is(&self, status: StatusCode) -> bool {
        let is_refusal = status.is_client_error() || status.is_server_error();
        if self.has_body { is_refusal } else { self.waits }
    }
}

/// Numbers of requests begin anew with each start, at a random one.
fn first_number() -> u64 {
    getrandom::u64().unwrap_or(0)
}

async fn accept(listener: &TcpListener) -> std::io::Result<TcpStream> {
    let (stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

struct Server {
    service: S3Service,
    limits: Limits,
    requests: AtomicU64,
}

impl Server {
    fn connection(
        self: &Arc<Self>,
        stream: TcpStream,
        presence: &Arc<Presence>,
    ) -> impl GracefulConnection<Error = hyper::Error> + Send + 'static {
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.limits.send));
        let (server, presence) = (Arc::clone(self), Arc::clone(presence));
        http1::Builder::new().timer(TokioTimer::new()).header_read_timeout(self.limits.head).serve_connection(
            TokioIo::new(Box::pin(stream)),
            service_fn(move |request| {
                let (server, presence) = (Arc::clone(&server), Arc::clone(&presence));
                async move {
                    presence.answering();
                    let answer = server.answer(request).await;
                    presence.idle();
                    answer
                }
            }),
        )
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Body>, HttpError> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let begun = Instant::now();
        let method = request.method().clone();
        let verb = Verb::default();
        let last = LastAnswer::of(&request);
        let outcome = self.dispatch(request, verb.clone()).await;
        let milliseconds = begun.elapsed().as_millis() as u64;
        let verb = verb.0.get().map_or("none", String::as_str);
        match outcome {
            Ok(mut response) => {
                let id = format!("{number:016x}");
                let status = response.status().as_u16();
                tracing::info!(%method, verb, status, request = id, milliseconds, "answered");
                if let Ok(id) = HeaderValue::from_str(&id) {
                    response.headers_mut().insert("x-amz-request-id", id);
                }
                if last.is(response.status()) {
                    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                }
                Ok(response)
            }
            Err(error) => {
                tracing::warn!(%method, verb, request = format!("{number:016x}"), milliseconds, "not answered");
                Err(error)
            }
        }
    }

    async fn dispatch(&self, request: Request<Incoming>, verb: Verb) -> Result<Response<Body>, HttpError> {
        let refusal = s3::refuse_unsigned_forms(request.method(), request.uri(), request.headers());
        if let Some(refusal) = refusal {
            return refusal.to_http_response().map_err(|error| HttpError::new(Box::new(error)));
        }
        let mut request =
            request.map(|body| Body::http_body_unsync(ImpatientBody::new(body, self.limits.body)));
        request.extensions_mut().insert(verb);
        // s3s logs keys, headers and signatures; none of that may reach a log.
        let response = self.service.call(request).with_subscriber(NoSubscriber::default()).await?;
        Ok(s3::complete(response))
    }
}
