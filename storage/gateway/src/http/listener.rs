//! A source of connections.

use std::io;
use std::net::IpAddr;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// Accepts connections over TCP, or within a process where a test needs virtual time.
pub trait Listener: Send + 'static {
    /// A connection.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Waits for the next connection, and returns it with its peer. The future may be dropped at any time.
    ///
    /// # Errors
    /// No connection can be accepted now.
    fn accept(&mut self) -> impl Future<Output = io::Result<(Self::Stream, Option<IpAddr>)>> + Send;
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    async fn accept(&mut self) -> io::Result<(TcpStream, Option<IpAddr>)> {
        let (stream, peer) = TcpListener::accept(self).await?;
        stream.set_nodelay(true)?;
        Ok((stream, Some(peer.ip())))
    }
}
