//! Requests for what S3 knows and the gateway does not support: each gets its own error, and changes nothing.

use super::test_server::TestServer;

async fn with_object() -> TestServer {
    let server = TestServer::with_bucket(&[]).await;
    server.put("/bucket/key", "body").await.expect("200");
    server.put("/empty", "").await.expect("200");
    server
}

/// Checks that both buckets are there, and that the object is as it was put.
async fn check_untouched(server: &TestServer, after: &str) {
    assert_eq!(server.get("/bucket/key").await.text(), "body", "{after}");
    assert_eq!(server.head("/empty").await.status, 200, "{after}");
}

#[tokio::test]
async fn a_verb_that_is_not_there_is_not_taken_for_a_put_or_a_delete() {
    let server = with_object().await;
    for (method, target, name) in [
        ("PUT", "/bucket/key?renameObject=", "renameObject"),
        ("PUT", "/bucket/key?append=&position=4", "append"),
        ("PUT", "/bucket/key?encryption=", "encryption"),
        ("DELETE", "/bucket/key?acl=", "acl"),
        ("DELETE", "/bucket/key?retention=", "retention"),
        ("DELETE", "/empty?abac=", "abac"),
        ("DELETE", "/empty?metadataConfiguration=", "metadataConfiguration"),
        ("DELETE", "/empty?versioning=", "versioning"),
        ("PUT", "/other?abac=", "abac"),
        ("GET", "/bucket?metadataConfiguration=", "metadataConfiguration"),
    ] {
        let answer = server.ask(method, target, &[], b"").await;
        assert_eq!(answer.verdict(), "501 NotImplemented", "{method} {target}");
        let message = answer.element("Message").expect("a message");
        assert!(message.contains(&format!("?{name} ")), "{method} {target}: {message}");
        check_untouched(&server, target).await;
    }
    assert_eq!(server.head("/other").await.status, 404);
    server.stop().await;
}

#[tokio::test]
async fn a_query_that_contradicts_itself_is_refused() {
    let server = with_object().await;
    for (method, target, message) in [
        ("DELETE", "/bucket/key?tagging=&acl=", "Conflicting query string parameters: acl, tagging"),
        (
            "PUT",
            "/bucket/key?partNumber=1",
            "A part is named by both partNumber and uploadId, and an upload is named by uploadId alone.",
        ),
        (
            "PUT",
            "/bucket/key?uploadId=abc",
            "A part is named by both partNumber and uploadId, and an upload is named by uploadId alone.",
        ),
        (
            "DELETE",
            "/bucket/key?partNumber=1",
            "A part is named by both partNumber and uploadId, and an upload is named by uploadId alone.",
        ),
        ("PUT", "/bucket/key?versionId=null", "This operation does not accept a version-id."),
    ] {
        let answer = server.ask(method, target, &[], b"").await;
        assert_eq!(answer.verdict(), "400 InvalidArgument", "{method} {target}");
        assert_eq!(answer.element("Message"), Some(message), "{method} {target}");
        check_untouched(&server, target).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn no_write_passes_over_a_condition_or_a_range() {
    let server = with_object().await;
    let date = ("if-unmodified-since", "Tue, 14 Nov 2023 22:13:19 GMT");
    let copy = ("x-amz-copy-source", "/bucket/key");
    for (method, target, headers) in [
        ("PUT", "/bucket/key", vec![("content-range", "bytes 0-3/8")]),
        ("PUT", "/bucket/key", vec![date]),
        ("DELETE", "/bucket/key", vec![date]),
        ("DELETE", "/bucket/key", vec![("if-none-match", "*")]),
        ("PUT", "/bucket/key", vec![copy, ("if-none-match", "*")]),
        ("PUT", "/bucket/key", vec![copy, ("x-amz-copy-source-range", "bytes=0-1")]),
        ("PUT", "/bucket/key", vec![copy, ("if-match", "\"no such tag\"")]),
        ("DELETE", "/empty", vec![date]),
        ("PUT", "/bucket/key?tagging=", vec![("if-match", "\"no such tag\"")]),
    ] {
        let answer = server.ask(method, target, &headers, b"").await;
        assert_eq!(answer.verdict(), "501 NotImplemented", "{method} {target} {headers:?}");
        let (name, _) = headers.last().expect("one at least");
        assert!(answer.element("Message").expect("a message").contains(name), "{}", answer.text());
        check_untouched(&server, target).await;
    }
    // A read ignores a condition that its verb does not have.
    server.ask("GET", "/bucket", &[("if-none-match", "*")], b"").await.expect("200");
    server.stop().await;
}
