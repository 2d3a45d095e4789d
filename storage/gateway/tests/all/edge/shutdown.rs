//! The shutdown of the server: begun work is finished, and an idle connection does not delay it.

use crate::test_server::{TestServer, answer_head, body, start, within};
use ameles_gateway::http::server::{self, Limits};
use http::Method;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Starts a server all of whose time limits are an hour. It can end soon only by what it does at once.
async fn patient() -> TestServer {
    let hour = Duration::from_secs(3600);
    let limits = Limits { head: hour, body: hour, send: hour, grace: hour, ..Limits::default() };
    start(server::Options { limits, ..Default::default() }).await
}

/// Sends a whole request on a connection that stays open.
async fn ask_once(server: &TestServer) -> TcpStream {
    let head = server.head(Method::HEAD, "missing", "").await;
    let mut stream = server.send(&head).await;
    assert_eq!(answer_head(&mut stream).await.0, 404);
    stream
}

#[tokio::test]
async fn a_half_sent_head_does_not_hold_up_the_end() {
    let server = patient().await;
    let silent = TcpStream::connect(server.address).await.expect("connected");
    let first = server.send("GET /bucket/key HTTP/1.1\r\nhost: loc").await;
    let mut second = ask_once(&server).await;
    second.write_all(b"GET /bucket/key HTTP/1.1\r\nhost: loc").await.expect("sent");
    let idle = ask_once(&server).await;
    // Once this is answered, the server has read what was sent before.
    ask_once(&server).await;
    server.stop().await;
    for mut ended in [silent, first, second, idle] {
        let mut rest = Vec::new();
        // Closed, or reset because it was closed with bytes unread.
        let _ = within(ended.read_to_end(&mut rest)).await;
        assert!(rest.is_empty(), "{}", String::from_utf8_lossy(&rest));
    }
}

#[tokio::test]
async fn a_half_sent_head_makes_room_for_a_new_connection() {
    let limits = Limits { connections: 4, head: Duration::from_secs(3600), ..Limits::default() };
    let server = start(server::Options { limits, ..Default::default() }).await;
    let mut halves = Vec::new();
    for _ in 0..20 {
        halves.push(server.send("GET /bucket/key HTTP/1.1\r\nhost: loc").await);
    }
    within(ask_once(&server)).await;
    drop(halves);
    server.stop().await;
}

#[tokio::test]
async fn slow_clients_are_served_to_their_end_and_new_ones_are_not() {
    let server = patient().await;
    let content = body(20 << 20);
    server.put("large", &content).await;
    let (mut reading, mut received) = server.begin_get("large", "").await;
    let put = server.head(Method::PUT, "new", "content-length: 100000\r\nexpect: 100-continue\r\n").await;
    let mut writing = server.send(&put).await;
    assert_eq!(answer_head(&mut writing).await.0, 100);
    let (address, gateway) = (server.address, server.gateway.clone());
    let ending = server.end();
    within(async {
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(!ending.is_finished(), "two requests are under way");
    writing.write_all(&content[..100_000]).await.expect("sent");
    let (status, head, _) = answer_head(&mut writing).await;
    assert_eq!(status, 200);
    assert!(head.contains("\r\nconnection: close\r\n"), "{head}");
    assert!(!ending.is_finished(), "an answer is being taken");
    within(reading.read_to_end(&mut received)).await.expect("the rest");
    assert!(received == content, "{} bytes of {}", received.len(), content.len());
    within(ending).await.expect("a gentle end");
    within(gateway.settle()).await;
    let account = gateway.account(ameles_gateway::FIRST_ACCOUNT);
    assert_eq!(account.object("bucket", "new").expect("there").bytes(), 100_000);
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_cut_off_when_the_time_is_over() {
    let limits = Limits { grace: Duration::from_millis(100), ..Limits::default() };
    let server = start(server::Options { limits, ..Default::default() }).await;
    server.put("large", &body(20 << 20)).await;
    let (mut stuck, _) = server.begin_get("large", "").await;
    server.stop().await;
    let mut rest = Vec::new();
    let _ = within(stuck.read_to_end(&mut rest)).await;
    assert!(rest.len() < 20 << 20);
}
