//! Bodies that differ from the signed ones.

use super::signer::{REGION, Signer, sha256};
use super::test_server::{TestServer, keys, now};
use crate::raw::Answer;

const SIGNED_CHUNKS: &str = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";

fn owner(date: &str) -> Signer<'_> {
    Signer { access_key: keys::OWNER, secret: "owner-secret", date, region: REGION }
}

/// Puts an object with this word in place of the digest in the signature.
async fn put(server: &TestServer, digest: &str, more: &[(&str, &str)], body: &[u8]) -> Answer {
    let date = now();
    let headers = owner(&date).headers_over("PUT", "/bucket/key", &server.host(), more, digest);
    server.raw("PUT", "/bucket/key", &headers, body).await
}

/// Puts an object in signed chunks, but sends only the first `sent` of them. The empty last chunk counts.
async fn put_chunks(server: &TestServer, chunks: &[&[u8]], sent: usize) -> Answer {
    let date = now();
    let signer = owner(&date);
    let length: usize = chunks.iter().map(|chunk| chunk.len()).sum();
    let length = length.to_string();
    let more = [("content-encoding", "aws-chunked"), ("x-amz-decoded-content-length", &*length)];
    let headers = signer.headers_over("PUT", "/bucket/key", &server.host(), &more, SIGNED_CHUNKS);
    let authorization = &headers.iter().find(|(name, _)| name == "authorization").expect("signed").1;
    let mut previous = authorization.split_once("Signature=").expect("a signature").1.to_owned();
    let mut body = Vec::new();
    for chunk in chunks.iter().copied().chain([&b""[..]]).take(sent) {
        let (date, scope) = (signer.date, signer.scope());
        let digests = format!("{}\n{}", sha256(b""), sha256(chunk));
        previous = signer.sign(&format!("AWS4-HMAC-SHA256-PAYLOAD\n{date}\n{scope}\n{previous}\n{digests}"));
        body.extend_from_slice(format!("{:x};chunk-signature={previous}\r\n", chunk.len()).as_bytes());
        body.extend_from_slice(chunk);
        body.extend_from_slice(b"\r\n");
    }
    server.raw("PUT", "/bucket/key", &headers, &body).await
}

#[tokio::test]
async fn a_body_that_does_not_match_its_digest_leaves_no_object() {
    let server = TestServer::with_bucket(&[]).await;
    for (digest, body, verdict) in [
        (sha256(b"other"), &b"body"[..], "400 XAmzContentSHA256Mismatch"),
        (sha256(b"body"), b"", "400 XAmzContentSHA256Mismatch"),
        (String::new(), b"body", "400 InvalidArgument"),
        ("e3b0".into(), b"body", "400 InvalidArgument"),
        ("UNSIGNED".into(), b"body", "400 InvalidArgument"),
        ("STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD".into(), b"body", "501 NotImplemented"),
    ] {
        assert_eq!(put(&server, &digest, &[], body).await.verdict(), verdict, "{digest}");
        let got = server.get("/bucket/key").await;
        assert_eq!(got.verdict(), "404 NoSuchKey", "{digest}");
    }
    for digest in [sha256(b"body"), "UNSIGNED-PAYLOAD".into()] {
        assert_eq!(put(&server, &digest, &[], b"body").await.verdict(), "200", "{digest}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_body_of_a_signed_url_matches_the_digest_that_comes_with_it() {
    let server = TestServer::with_bucket(&[]).await;
    let date = now();
    let target = owner(&date).presign("PUT", "/bucket/key", &server.host(), &[], 60);
    let put = async |digest: &str, body: &[u8]| {
        let headers = [("x-amz-content-sha256".to_owned(), digest.to_owned())];
        server.raw("PUT", &target, &headers, body).await.verdict()
    };
    assert_eq!(put(&sha256(b"other"), b"body").await, "400 XAmzContentSHA256Mismatch");
    assert_eq!(put("", b"body").await, "400 InvalidArgument");
    assert_eq!(put(SIGNED_CHUNKS, b"body").await, "501 NotImplemented");
    assert_eq!(put(&sha256(b"body"), b"body").await, "200");
    server.stop().await;
}

#[tokio::test]
async fn a_body_in_signed_chunks_is_whole_with_its_last_chunk_only() {
    let server = TestServer::with_bucket(&[]).await;
    let large = vec![b'x'; 100_000];
    let chunks = [&large[..], b"and the rest"];
    for sent in [0, 1, 2] {
        let answer = put_chunks(&server, &chunks, sent).await;
        assert_eq!(answer.verdict(), "400 IncompleteBody", "{sent} chunks");
        let got = server.get("/bucket/key").await;
        assert_eq!(got.verdict(), "404 NoSuchKey", "{sent} chunks");
    }
    put_chunks(&server, &chunks, 3).await.expect("200");
    let got = server.get("/bucket/key").await;
    assert_eq!((got.text().len(), &got.text()[100_000..]), (100_012, "and the rest"));
    server.stop().await;
}

#[tokio::test]
async fn a_request_may_be_signed_for_a_region_of_any_name() {
    let server = TestServer::with_bucket(&[]).await;
    for region in ["us-east-1", "US", "EU", "RegionOne", "dc_2", "a.b"] {
        let date = now();
        let signer = Signer { region, ..owner(&date) };
        let headers = signer.headers("GET", "/bucket", &server.host(), &[], b"");
        assert_eq!(server.raw("GET", "/bucket", &headers, b"").await.verdict(), "200", "{region}");
        let target = signer.presign("GET", "/bucket", &server.host(), &[], 60);
        assert_eq!(server.unsigned("GET", &target, &[], b"").await.verdict(), "200", "{region}");
    }
    let date = now();
    let signer = Signer { region: "no place", ..owner(&date) };
    let headers = signer.headers("GET", "/bucket", &server.host(), &[], b"");
    server.raw("GET", "/bucket", &headers, b"").await.expect("400 AuthorizationHeaderMalformed");
    server.stop().await;
}
