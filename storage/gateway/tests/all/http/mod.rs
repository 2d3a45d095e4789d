//! The server over loopback: a real S3 client (`object_store`), and raw HTTP for requests that a client would not send.

mod connections;
mod objects;
mod refusals;

use crate::test_server::TestServer;
use ameles_gateway::http::server::{self, Limits};
use bytes::Bytes;
use object_store::aws::AmazonS3;
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};

async fn start(limits: Limits) -> TestServer {
    crate::test_server::start(server::Options { limits, ..Default::default() }).await
}

/// A server with the usual limits, and its client.
async fn served() -> (TestServer, AmazonS3) {
    let server = start(Limits::default()).await;
    let client = server.client();
    (server, client)
}

/// A server with an object, its client, and the path of the object.
async fn served_with(body: impl Into<PutPayload>) -> (TestServer, AmazonS3, Path) {
    let ((server, client), path) = (served().await, Path::from("key"));
    client.put(&path, body.into()).await.expect("put");
    (server, client, path)
}

async fn read(client: &AmazonS3, path: &Path) -> Bytes {
    client.get(path).await.expect("there").bytes().await.expect("read")
}
