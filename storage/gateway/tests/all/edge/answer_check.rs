//! A gateway that may have been replaced by another withholds every answer, also the ones that it has in memory.

use crate::test_server::{answer_head, body, start, within};
use ameles_gateway::AnswerCheck;
use ameles_gateway::http::server;
use ameles_gateway::testing::Faults;
use http::Method;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::AsyncReadExt;

fn switch() -> (Arc<AtomicBool>, server::Options) {
    let may_answer = Arc::new(AtomicBool::new(true));
    let asked = Arc::clone(&may_answer);
    let answer_check = AnswerCheck::new(move || asked.load(Ordering::SeqCst));
    (may_answer, server::Options { answer_check, ..Default::default() })
}

#[tokio::test]
async fn while_answers_are_withheld_every_request_is_refused_and_afterwards_served_again() {
    let (may_answer, options) = switch();
    let server = start(options).await;
    server.put("there", &body(10)).await;
    let ask = async |method: Method, key: &str| {
        let head = server.head(method, key, "connection: close\r\ncontent-length: 0\r\n").await;
        let mut stream = server.send(&head).await;
        let (status, head, mut text) = answer_head(&mut stream).await;
        let _ = within(stream.read_to_end(&mut text)).await;
        (status, head, String::from_utf8_lossy(&text).into_owned())
    };
    assert_eq!(ask(Method::HEAD, "there").await.0, 200);
    may_answer.store(false, Ordering::SeqCst);
    for method in [Method::HEAD, Method::GET, Method::PUT, Method::DELETE] {
        for key in ["there", "missing"] {
            let (status, head, text) = ask(method.clone(), key).await;
            assert_eq!(status, 503, "{method} {key}: {head}");
            assert!(head.contains("\r\nretry-after: 1\r\n"), "{head}");
            assert!(
                method == Method::HEAD || text.contains("may or may not have been carried out"),
                "{text}"
            );
        }
    }
    may_answer.store(true, Ordering::SeqCst);
    assert_eq!(ask(Method::GET, "absent").await.0, 404);
    assert_eq!(
        ask(Method::HEAD, "missing").await.0,
        404,
        "the put was carried out, and so was the delete after it"
    );
    server.stop().await;
}

#[tokio::test]
async fn an_error_of_the_vault_is_returned_even_if_answers_are_withheld() {
    let (may_answer, options) = switch();
    let server = start(options).await;
    may_answer.store(false, Ordering::SeqCst);
    server.device.set_faults(Faults { writes_left: Some(0), ..Faults::default() });
    let head = server.head(Method::PUT, "late", "connection: close\r\ncontent-length: 20000\r\n").await;
    let mut stream = server.send(&head).await;
    tokio::io::AsyncWriteExt::write_all(&mut stream, &body(20_000)).await.unwrap();
    let (status, _, mut text) = answer_head(&mut stream).await;
    let _ = within(stream.read_to_end(&mut text)).await;
    let text = String::from_utf8_lossy(&text);
    assert!(status == 503 && !text.contains("may or may not have been carried out"), "{status} {text}");
    server.stop().await;
}

#[tokio::test]
async fn a_running_answer_is_broken_off_when_answers_must_be_withheld() {
    const LIMIT: usize = 16 << 20;
    let (may_answer, options) = switch();
    let server = start(options).await;
    server.put("large", &body(LIMIT)).await;
    let (mut stream, mut got) = server.begin_get("large", "connection: close\r\n").await;
    may_answer.store(false, Ordering::SeqCst);
    let _ = within(stream.read_to_end(&mut got)).await;
    assert!(got.len() < LIMIT, "all {} bytes came", got.len());
    server.stop().await;
}
