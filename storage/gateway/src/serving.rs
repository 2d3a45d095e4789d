//! Serving a gateway by its protocols. The futures are boxed here, so that they are compiled once, in this crate.

use crate::auth::identity::Users;
use crate::http::server::{Options, Served, Serving, serve};
use crate::objects::gateway::Gateway;
use crate::s3::S3Server;
use crate::swift::{Address, SwiftServer};
use std::sync::Arc;
use tokio::net::TcpListener;

/// Serves S3 as [`serve`] does, until `shutdown` is ready.
pub fn serve_s3(
    listener: TcpListener,
    gateway: Gateway,
    users: Arc<Users>,
    options: Options,
    shutdown: Serving,
) -> Served {
    Box::pin(serve(listener, S3Server::new(gateway, users), options, shutdown))
}

/// Serves Swift as [`serve`] does, until `shutdown` is ready. The service catalogues show clients this address.
pub fn serve_swift(
    listener: TcpListener,
    gateway: Gateway,
    users: Arc<Users>,
    address: Address,
    options: Options,
    shutdown: Serving,
) -> Served {
    Box::pin(serve(listener, SwiftServer::new(gateway, users, address), options, shutdown))
}
