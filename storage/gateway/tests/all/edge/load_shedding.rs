//! Work beyond the server's limits is refused at once, and refused or aborted work leaves nothing behind.

use crate::test_server::{BATCH, BLOCK, answer_head, body, start, start_with, within};
use ameles_gateway::http::server;
use ameles_gateway::{Admission, Options};
use http::Method;
use object_store::ObjectStoreExt;
use object_store::path::Path;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn assert_slow_down(stream: &mut TcpStream, has_body: bool) {
    let (status, head, mut text) = answer_head(stream).await;
    assert_eq!(status, 503, "{head}");
    assert!(head.contains("\r\nretry-after: 1\r\n"), "{head}");
    if has_body {
        let _ = within(stream.read_buf(&mut text)).await;
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(text.contains("<Code>SlowDown</Code>"), "{text}");
    }
}

#[tokio::test]
async fn more_requests_than_may_run_are_refused_at_once_whatever_they_ask() {
    // One account may hold three of the four places.
    let serving = server::Options { admission: Admission::new(4), ..Default::default() };
    let server = start(serving).await;
    server.put("there", &body(10)).await;
    let put = server.head(Method::PUT, "slow", "content-length: 1000000\r\n").await;
    let mut slow = Vec::new();
    for _ in 0..3 {
        slow.push(within(server.begin_put("slow", 1_000_000, &body(100_000))).await);
    }
    for (method, has_body) in [(Method::GET, true), (Method::HEAD, false), (Method::DELETE, true)] {
        for key in ["there", "missing"] {
            let head = server.head(method.clone(), key, "connection: close\r\n").await;
            assert_slow_down(&mut server.send(&head).await, has_body).await;
        }
    }
    let mut another = server.send(&put).await;
    another.write_all(b"its first bytes").await.expect("sent");
    assert_slow_down(&mut another, true).await;
    // The connection of a refused request may send another.
    let head = server.head(Method::GET, "there", "").await;
    let mut again = server.send(&head).await;
    assert_slow_down(&mut again, true).await;
    slow.pop();
    within(async {
        loop {
            let head = server.head(Method::GET, "there", "connection: close\r\n").await;
            if answer_head(&mut server.send(&head).await).await.0 == 200 {
                break;
            }
        }
    })
    .await;
    drop((slow, again));
    server.stop().await;
}

#[tokio::test]
async fn a_request_runs_until_its_answer_was_taken() {
    let serving = server::Options { admission: Admission::new(1), ..Default::default() };
    let server = start(serving).await;
    // More than the buffers of a connection hold.
    let large = body(24 << 20);
    server.put("large", &large).await;
    let (mut slow, mut received) = server.begin_get("large", "connection: close\r\n").await;
    let get = server.head(Method::GET, "large", "connection: close\r\n").await;
    assert_slow_down(&mut server.send(&get).await, true).await;
    within(slow.read_to_end(&mut received)).await.expect("the rest");
    assert!(received == large);
    server.client().head(&Path::from("large")).await.expect("there is room again");
    server.stop().await;
}

#[tokio::test]
async fn transfers_beyond_the_memory_for_blocks_are_refused_and_small_ones_go_on() {
    let transfer = (3 * BATCH * BLOCK) as u64;
    let options = Options { transfer_memory_bytes: 2 * transfer + BLOCK as u64, ..Options::default() };
    let server = start_with(options, server::Options::default()).await;
    server.put("large", &body(20 << 20)).await;
    server.put("small", &body(BLOCK)).await;
    let slow = [server.begin_get("large", "").await, server.begin_get("large", "").await];
    assert_eq!(server.gateway.free_memory(), BLOCK as u64);
    let get = server.head(Method::GET, "large", "").await;
    assert_slow_down(&mut server.send(&get).await, true).await;
    let put = server.head(Method::PUT, "new", "content-length: 8193\r\n").await;
    assert_slow_down(&mut server.send(&put).await, true).await;
    let client = server.client();
    let got = client.get(&Path::from("small")).await.expect("one block fits").bytes().await.expect("read");
    assert!(got == body(BLOCK));
    client.put(&Path::from("new"), body(BLOCK).into()).await.expect("one block fits");
    drop(slow);
    server.stop().await;
}

#[tokio::test]
async fn clients_that_hang_up_in_a_put_or_a_get_leave_nothing_behind() {
    let server = start(server::Options::default()).await;
    let large = body(2 << 20);
    server.put("large", &large).await;
    let before = server.gateway.usage();
    let get = server.head(Method::GET, "large", "").await;
    let mut clients = Vec::new();
    for number in 0..64usize {
        if number % 2 == 0 {
            let length = "content-length: 200000\r\n";
            let put = server.head(Method::PUT, &format!("put {number}"), length).await;
            let mut stream = server.send(&put).await;
            stream.write_all(&large[..3000 * number]).await.expect("sent");
            clients.push(stream);
        } else {
            let mut stream = server.send(&get).await;
            let mut received = vec![0; 3000 * number];
            within(stream.read_exact(&mut received)).await.expect("some of it");
            clients.push(stream);
        }
    }
    drop(clients);
    server.wait_until_idle(before.free_blocks).await;
    assert_eq!(server.gateway.usage(), before);
    let got = server.client().get(&Path::from("large")).await.expect("there").bytes().await.expect("read");
    assert!(got == large);
    server.stop().await;
}
