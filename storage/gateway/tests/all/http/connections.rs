//! Connections that stall, are dropped or wait, and the shutdown of the server.

use super::{read, served_with, start};
use crate::test_server::{BLOCKS, TIMEOUT, body, signed_target};
use ameles_gateway::FIRST_ACCOUNT;
use ameles_gateway::http::server::Limits;
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn a_connection_dropped_in_a_put_leaves_nothing() {
    let (server, client, path) = served_with(&b"old"[..]).await;
    let before = server.gateway.usage();
    let stream = server.begin_put("key", 1_000_000, &body(500_000)).await;
    drop(stream);
    let given_back = async {
        while server.gateway.usage() != before {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, given_back).await.expect("everything that was taken is given back");
    assert_eq!(read(&client, &path).await, "old");
    server.stop().await;
}

#[tokio::test]
async fn a_body_that_stalls_is_given_up() {
    let limits = Limits { body: Duration::from_millis(200), ..Limits::default() };
    let server = start(limits).await;
    let target = signed_target(&server.client(), http::Method::PUT, "key").await;
    let head = format!(
        "PUT {target} HTTP/1.1
content-length: 100
"
    );
    let (status, answer) = server.raw(&head, b"not all of it").await;
    assert_eq!(status, 400);
    assert!(answer.contains("RequestTimeout"), "{answer}");
    assert_eq!(server.gateway.usage().free_blocks, BLOCKS);
    server.stop().await;
}

#[tokio::test]
async fn the_end_waits_for_requests_under_way() {
    let server = start(Limits::default()).await;
    let whole = body(100_000);
    let mut stream = server.begin_put("key", whole.len(), &whole[..50_000]).await;
    let (address, gateway) = (server.address, server.gateway.clone());
    let ending = server.end();
    while TcpStream::connect(address).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(!ending.is_finished());
    stream.write_all(&whole[50_000..]).await.expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an answer");
    assert!(answer.starts_with(b"HTTP/1.1 200"));
    ending.await.expect("a gentle end");
    gateway.settle().await;
    assert_eq!(gateway.account(FIRST_ACCOUNT).object("bucket", "key").expect("there").bytes(), 100_000);
    TcpStream::connect(address).await.expect_err("nobody listens any more");
}

#[tokio::test]
async fn an_idle_connection_makes_room_for_a_new_one_and_a_busy_one_does_not() {
    let server = start(Limits { connections: 4, ..Limits::default() }).await;
    let mut busy = server.begin_put("busy", 500_000, &body(500_000)[..250_000]).await;
    let mut idle = Vec::new();
    for _ in 0..20 {
        idle.push(TcpStream::connect(server.address).await.expect("connected"));
    }
    let path = Path::from("key");
    let put = server.client().put(&path, PutPayload::from_static(b"content")).await;
    put.expect("well within the time that an idle connection may take");
    let mut rest = [0; 1];
    let ended = tokio::time::timeout(TIMEOUT, idle[0].read(&mut rest)).await;
    assert_eq!(ended.expect("at once").expect("without an error"), 0, "the one idle for longest was ended");
    busy.write_all(&body(500_000)[250_000..]).await.expect("sent");
    let mut answer = [0; 12];
    busy.read_exact(&mut answer).await.expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 200");
    drop(idle);
    server.stop().await;
}
