//! A door on loopback, for benches and tests: it is served from its start to its end in a task of its own.

use crate::http::protocol::Protocol;
use crate::http::server::{self, Serving, serve};
use std::io;
use std::net::SocketAddr;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A door that is served on a free port of loopback. Dropped, it ends like one that was told to.
#[derive(Debug)]
pub struct Loopback {
    address: SocketAddr,
    end: oneshot::Sender<()>,
    server: JoinHandle<()>,
}

impl Loopback {
    /// Serves a door from now on.
    ///
    /// # Errors
    /// No port can be had.
    pub async fn serve<D: Protocol>(protocol: D, options: server::Options) -> io::Result<Self> {
        Self::run(|listener, ended| Box::pin(serve(listener, protocol, options, ended))).await
    }

    /// Runs a server of a listener from now on, until the future that it is given is ready.
    ///
    /// # Errors
    /// No port can be had.
    pub async fn run(server: impl FnOnce(TcpListener, Serving) -> Serving) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (end, ended) = oneshot::channel();
        let ended = async {
            let _ = ended.await;
        };
        let server = tokio::spawn(server(listener, Box::pin(ended)));
        Ok(Loopback { address, end, server })
    }

    /// The address that clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Tells the server to end; the handle is ready when it has.
    pub fn end(self) -> JoinHandle<()> {
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
