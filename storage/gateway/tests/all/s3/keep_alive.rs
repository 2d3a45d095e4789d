//! Copies and completions that take long: the client gets signs of life, and may disconnect at any time.

use super::test_server::{TestServer, keys};
use crate::raw::{self, Answer};
use ameles_gateway::testing::Faults;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

const BYTES: usize = 100_000;

async fn with_source() -> TestServer {
    let server = TestServer::with_bucket(&[]).await;
    server.put("/bucket/source", vec![7; BYTES]).await.expect("200");
    server
}

const SOURCE: (&str, &str) = ("x-amz-copy-source", "/bucket/source");

async fn begin(server: &TestServer, method: &str, target: &str, body: &[u8]) -> TcpStream {
    let more: &[(&str, &str)] = if method == "PUT" { &[SOURCE] } else { &[] };
    let headers = server.signed(keys::OWNER, method, target, more, body);
    raw::begin(server.address, method, target, &headers, body).await
}

/// Begins a copy, and holds its writes.
async fn begin_copy(server: &TestServer) -> (impl Drop + '_, TcpStream) {
    let held = server.device.hold_writes().await;
    (held, begin(server, "PUT", "/bucket/copy", b"").await)
}

/// Reads until the text ends with `end`, and returns it.
async fn until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    while !text.ends_with(end) {
        text.push(stream.read_u8().await.expect("more of the answer").into());
    }
    text
}

/// Reads the head and white space while the work is held, and the rest once it is released.
async fn answer<H>(mut stream: TcpStream, held: H) -> Answer {
    let early = until(&mut stream, "1\r\n \r\n").await;
    assert!(early.starts_with("HTTP/1.1 200 OK\r\n"), "{early}");
    drop(held);
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await.expect("the rest");
    let answer = Answer::parse((early + &rest).as_bytes());
    assert_eq!(answer.header("content-type"), Some("application/xml"));
    assert!(answer.text().starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?> "), "{}", answer.text());
    answer
}

#[tokio::test]
async fn a_copy_that_takes_long_sends_its_head_and_white_space_before_its_result() {
    let server = with_source().await;
    let (held, stream) = begin_copy(&server).await;
    let answer = answer(stream, held).await;
    let etag = answer.element("ETag").expect("a result").replace("&quot;", "\"");
    assert_eq!(answer.text().matches("<?xml").count(), 1);
    let got = server.head("/bucket/copy").await;
    assert_eq!(got.header("etag"), Some(&*etag));
    server.stop().await;
}

#[tokio::test]
async fn the_early_head_of_a_copy_names_the_version_that_is_copied_and_its_encryption() {
    let server = with_source().await;
    let versioned = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    let put = async |target, body: &[u8]| server.put(target, body).await;
    put("/bucket?versioning", versioned).await.expect("200");
    let source = put("/bucket/source", &[8; BYTES]).await;
    let version = source.header("x-amz-version-id").expect("a version").to_owned();
    let held = server.device.hold_writes().await;
    let headers = [SOURCE, ("x-amz-server-side-encryption", "AES256")];
    let signed = server.signed(keys::OWNER, "PUT", "/bucket/copy", &headers, b"");
    let stream = raw::begin(server.address, "PUT", "/bucket/copy", &signed, b"").await;
    let answer = answer(stream, held).await;
    assert_eq!(answer.header("x-amz-copy-source-version-id"), Some(&*version));
    assert_eq!(answer.header("x-amz-server-side-encryption"), Some("AES256"));
    server.stop().await;
}

#[tokio::test]
async fn a_copied_part_and_a_completion_that_take_long_do_so_too() {
    let server = with_source().await;
    let started = server.ask("POST", "/bucket/whole?uploads", &[], b"").await;
    let id = started.element("UploadId").expect("begun").to_owned();
    let held = server.device.hold_writes().await;
    let part = begin(&server, "PUT", &format!("/bucket/whole?partNumber=1&uploadId={id}"), b"").await;
    let part = answer(part, held).await;
    let etag = part.element("ETag").expect("a part");
    let named = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part></CompleteMultipartUpload>"
    );
    let held = server.device.hold_commits().await;
    let whole = begin(&server, "POST", &format!("/bucket/whole?uploadId={id}"), named.as_bytes()).await;
    let whole = answer(whole, held).await;
    assert_eq!(whole.element("Key"), Some("whole"), "{}", whole.text());
    let object = server.account("ameles").object("bucket", "whole").expect("there");
    assert_eq!(object.bytes(), BYTES as u64);
    server.stop().await;
}

#[tokio::test]
async fn a_copy_that_fails_late_ends_with_an_error_in_its_body_and_changes_nothing() {
    let server = with_source().await;
    let free = server.gateway.usage().free_blocks;
    let (held, stream) = begin_copy(&server).await;
    server.device.set_faults(Faults { writes_left: Some(3), ..Faults::default() });
    let answer = answer(stream, held).await;
    assert_eq!(answer.element("Code"), Some("ServiceUnavailable"), "{}", answer.text());
    assert_eq!(answer.element("RequestId"), answer.header("x-amz-request-id"));
    server.device.set_faults(Faults::default());
    server.gateway.settle().await;
    assert!(server.account("ameles").object("bucket", "copy").is_err());
    assert_eq!(server.gateway.usage().free_blocks, free);
    server.stop().await;
}

#[tokio::test]
async fn what_is_known_at_once_has_its_own_status() {
    let server = with_source().await;
    let copy = async |source: &str| {
        let headers = [("x-amz-copy-source", source)];
        server.ask("PUT", "/bucket/copy", &headers, b"").await
    };
    let missing = copy("/bucket/none").await.expect("404 NoSuchKey");
    assert!(missing.header("content-length").is_some());
    server.device.set_faults(Faults { writes_left: Some(0), ..Faults::default() });
    copy("/bucket/source").await.expect("503 ServiceUnavailable");
    server.stop().await;
}

#[tokio::test]
async fn a_copy_whose_client_goes_away_is_whole_or_not_there() {
    let server = with_source().await;
    let free = server.gateway.usage().free_blocks;
    let (held, mut stream) = begin_copy(&server).await;
    until(&mut stream, "1\r\n \r\n").await;
    drop(stream);
    drop(held);
    let account = server.account("ameles");
    let object = loop {
        server.gateway.settle().await;
        match account.object("bucket", "copy") {
            Ok(object) => break Some(object),
            Err(_) if server.gateway.usage().free_blocks == free => break None,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    let source = account.object("bucket", "source").expect("there");
    if let Some(object) = object {
        assert_eq!(object.etag, source.etag);
    }
    server.stop().await;
}
