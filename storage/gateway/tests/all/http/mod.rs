//! The server over loopback: a real S3 client (`object_store`), and raw HTTP for requests that a client would not send.

mod connections;
mod objects;
mod refusals;

use crate::test_server::TestServer;
use ameles_gateway::http::server::{self, Limits};

async fn start(limits: Limits) -> TestServer {
    crate::test_server::start(server::Options { limits, ..Default::default() }).await
}
