//! The server over loopback: a real S3 client (`object_store`), and raw HTTP for requests that a client would not send.

mod connections;
mod objects;
mod refusals;

use crate::test_server::TestServer;
use ameles_gateway::http::server::{self, Limits};
use bytes::Bytes;
use object_store::ObjectStoreExt;
use object_store::aws::AmazonS3;
use object_store::path::Path;

async fn start(limits: Limits) -> TestServer {
    crate::test_server::start(server::Options { limits, ..Default::default() }).await
}

async fn read(client: &AmazonS3, path: &Path) -> Bytes {
    client.get(path).await.expect("there").bytes().await.expect("read")
}
