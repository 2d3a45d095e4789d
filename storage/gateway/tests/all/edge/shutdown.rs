//! The end of the server: begun work is finished, and a client that only holds a connection does not delay it.

use crate::running::{Running, answer_head, body, start, within};
use ameles_gateway::http::server::{self, Limits};
use http::Method;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A server that would wait for an hour, so that only what it does at once ends it soon.
async fn patient() -> Running {
    let hour = Duration::from_secs(3600);
    let limits = Limits { head: hour, body: hour, send: hour, grace: hour, ..Limits::default() };
    start(server::Options { limits, ..Default::default() }).await
}

/// A whole request on a connection that stays.
async fn ask_once(running: &Running) -> TcpStream {
    let head = running.head(Method::HEAD, "missing", "").await;
    let mut stream = running.send(&head).await;
    assert_eq!(answer_head(&mut stream).await.0, 404);
    stream
}

#[tokio::test]
async fn a_half_sent_head_does_not_hold_up_the_end() {
    let running = patient().await;
    let silent = TcpStream::connect(running.address).await.expect("connected");
    let first = running.send("GET /bucket/key HTTP/1.1\r\nhost: loc").await;
    let mut second = ask_once(&running).await;
    second.write_all(b"GET /bucket/key HTTP/1.1\r\nhost: loc").await.expect("sent");
    let idle = ask_once(&running).await;
    // By the time that this is answered, what was sent before has been read.
    ask_once(&running).await;
    running.stop().await;
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
    let running = start(server::Options { limits, ..Default::default() }).await;
    let mut halves = Vec::new();
    for _ in 0..20 {
        halves.push(running.send("GET /bucket/key HTTP/1.1\r\nhost: loc").await);
    }
    within(ask_once(&running)).await;
    drop(halves);
    running.stop().await;
}

#[tokio::test]
async fn slow_clients_are_served_to_their_end_and_new_ones_are_not() {
    let running = patient().await;
    let whole = body(20 << 20);
    running.put("large", &whole).await;
    let get = running.head(Method::GET, "large", "").await;
    let mut reading = running.send(&get).await;
    let (status, _, mut taken) = answer_head(&mut reading).await;
    assert_eq!(status, 200);
    let put = running.head(Method::PUT, "new", "content-length: 100000\r\nexpect: 100-continue\r\n").await;
    let mut writing = running.send(&put).await;
    assert_eq!(answer_head(&mut writing).await.0, 100);
    let (address, gateway) = (running.address, running.gateway.clone());
    let server = running.end();
    within(async {
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(!server.is_finished(), "two requests are under way");
    writing.write_all(&whole[..100_000]).await.expect("sent");
    let (status, head, _) = answer_head(&mut writing).await;
    assert_eq!(status, 200);
    assert!(head.contains("\r\nconnection: close\r\n"), "{head}");
    assert!(!server.is_finished(), "an answer is being taken");
    within(reading.read_to_end(&mut taken)).await.expect("the rest");
    assert!(taken == whole, "{} bytes of {}", taken.len(), whole.len());
    within(server).await.expect("a gentle end");
    within(gateway.settle()).await;
    let account = gateway.account(ameles_gateway::FIRST_ACCOUNT);
    assert_eq!(account.object("bucket", "new").expect("there").bytes(), 100_000);
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_cut_off_when_the_time_is_over() {
    let limits = Limits { grace: Duration::from_millis(100), ..Limits::default() };
    let running = start(server::Options { limits, ..Default::default() }).await;
    running.put("large", &body(20 << 20)).await;
    let get = running.head(Method::GET, "large", "").await;
    let mut stuck = running.send(&get).await;
    assert_eq!(answer_head(&mut stuck).await.0, 200);
    running.stop().await;
    let mut rest = Vec::new();
    let _ = within(stuck.read_to_end(&mut rest)).await;
    assert!(rest.len() < 20 << 20);
}
