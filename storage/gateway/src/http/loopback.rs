//! A server on loopback, for benches and tests, in a task of its own.

use crate::http::protocol::Protocol;
use crate::http::server::{self, Served, Serving, serve};
use std::io;
use std::net::SocketAddr;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A server on a free port of loopback. It ends when this is dropped.
#[derive(Debug)]
pub struct Loopback {
    address: SocketAddr,
    end: oneshot::Sender<()>,
    server: JoinHandle<bool>,
}

impl Loopback {
    /// Serves a protocol from now on.
    ///
    /// # Errors
    /// No port is free.
    pub async fn serve<D: Protocol>(protocol: D, options: server::Options) -> io::Result<Self> {
        Self::run(|listener, ended| Box::pin(serve(listener, protocol, options, ended))).await
    }

    /// Runs a server on a listener from now on, until the future that the server gets is ready.
    ///
    /// # Errors
    /// No port is free.
    pub async fn run(server: impl FnOnce(TcpListener, Serving) -> Served) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (end, ended) = oneshot::channel();
        let ended = async {
            let _ = ended.await;
        };
        let server = tokio::spawn(server(listener, Box::pin(ended)));
        Ok(Loopback { address, end, server })
    }

    /// Returns the address that clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Requests the server's end; the handle is ready when it has ended.
    pub fn end(self) -> JoinHandle<bool> {
        let _ = self.end.send(());
        self.server
    }

    /// Ends the server, and waits until it has.
    ///
    /// # Panics
    /// The server has panicked.
    pub async fn stop(self) {
        self.end().await.expect("a gentle end");
    }
}
