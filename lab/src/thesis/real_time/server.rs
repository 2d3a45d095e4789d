//! A real S3 server on loopback: the file server of s3s, on its own threads, behind the link.

use super::emulated_link::EmulatedLink;
use crate::bench::s3::BucketAccess;
use crate::thesis::error::ThesisError;
use hyper::body::{Body, Incoming};
use hyper::header::CONTENT_LENGTH;
use hyper::service::{Service, service_fn};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// The name of the server's threads, by which their processor time is recognized.
pub(super) const THREAD_NAME: &str = "lab-s3";
/// The bucket and its key.
pub(super) const ACCESS: BucketAccess =
    BucketAccess { bucket: "lab", key: "ameles-lab", secret: "ameles-lab-secret" };

/// The server. It stops when it is dropped.
pub(super) struct Server {
    address: SocketAddr,
    pub(super) link: Arc<EmulatedLink>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _folder: TempDir,
}

impl Server {
    /// Serves an empty bucket behind a link that is off.
    pub(super) fn start(link: EmulatedLink) -> Result<Self, ThesisError> {
        let folder =
            tempfile::Builder::new().prefix("ameles-lab-s3-").tempdir().map_err(ThesisError::real_time)?;
        std::fs::create_dir(folder.path().join(ACCESS.bucket)).map_err(ThesisError::real_time)?;
        let files =
            FileSystem::new(folder.path()).map_err(|error| ThesisError::real_time(format!("{error:?}")))?;
        let mut service = S3ServiceBuilder::new(files);
        service.set_auth(SimpleAuth::from_single(ACCESS.key, ACCESS.secret));
        let (service, link) = (service.build(), Arc::new(link));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(ThesisError::real_time)?;
        listener.set_nonblocking(true).map_err(ThesisError::real_time)?;
        let address = listener.local_addr().map_err(ThesisError::real_time)?;
        // Threads that have nothing to do stay: one that ended would take its processor time along.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name(THREAD_NAME)
            .thread_keep_alive(Duration::from_secs(3600))
            .enable_all()
            .build()
            .map_err(ThesisError::real_time)?;
        let (end, ended) = oneshot::channel();
        let served = Arc::clone(&link);
        let serve = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept_connections(listener, service, served) => {}
                    _ = ended => {}
                }
            });
            runtime.shutdown_timeout(Duration::from_secs(5));
        };
        let thread = std::thread::Builder::new().name(THREAD_NAME.to_owned()).spawn(serve);
        let thread = Some(thread.map_err(ThesisError::real_time)?);
        Ok(Server { address, link, end: Some(end), thread, _folder: folder })
    }

    /// Returns the server's URL.
    pub(super) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept_connections(listener: std::net::TcpListener, service: S3Service, link: Arc<EmulatedLink>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    while let Ok((socket, _)) = listener.accept().await {
        let _ = socket.set_nodelay(true);
        let (service, link) = (service.clone(), Arc::clone(&link));
        tokio::spawn(async move {
            let answer =
                service_fn(move |request| answer_request(service.clone(), Arc::clone(&link), request));
            let connection = hyper::server::conn::http1::Builder::new();
            // A client that closes its connection is not an error of the server.
            let _ = connection.serve_connection(TokioIo::new(socket), answer).await;
        });
    }
}

async fn answer_request(
    service: S3Service,
    link: Arc<EmulatedLink>,
    request: Request<Incoming>,
) -> Result<hyper::Response<s3s::Body>, s3s::HttpError> {
    let (is_put, is_get) = (request.method() == Method::PUT, request.method() == Method::GET);
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let ready = link.send_request(if is_put { length.unwrap_or(0) } else { 0 }, is_put).await;
    let begun = Instant::now();
    let response = Service::call(&service, request).await?;
    let down = if is_get { response.body().size_hint().lower() } else { 0 };
    link.send_answer(ready + begun.elapsed(), down).await;
    Ok(response)
}
