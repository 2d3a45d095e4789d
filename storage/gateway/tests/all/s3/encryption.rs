//! Server-side encryption: every answer returns the encryption that was requested, and keys other than the server's are
//! refused.

use super::test_server::TestServer;

const HEADER: &str = "x-amz-server-side-encryption";
const SSE_S3: (&str, &str) = (HEADER, "AES256");
const BY_DEFAULT: &str = "<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault>\
    <SSEAlgorithm>AES256</SSEAlgorithm></ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>";

/// The encryption in each answer about an object: to its put, to a head and to a get.
async fn returned(
    server: &TestServer,
    key: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> [Option<String>; 3] {
    let target = format!("/bucket/{key}");
    let mut returned = [const { None }; 3];
    for (returned, (method, headers, body)) in
        returned.iter_mut().zip([("PUT", headers, body), ("HEAD", &[], ""), ("GET", &[], "")])
    {
        let answer = server.ask(method, &target, headers, body).await;
        assert_eq!(answer.verdict(), "200", "{method} {target}");
        *returned = answer.header(HEADER).map(str::to_owned);
    }
    returned
}

#[tokio::test]
async fn puts_copies_heads_and_gets_return_the_requested_encryption() {
    let server = TestServer::with_bucket(&[]).await;
    let aes = || Some("AES256".to_owned());
    assert_eq!(returned(&server, "plain", &[], "body").await, [None, None, None]);
    assert_eq!(returned(&server, "sealed", &[SSE_S3], "body").await, [aes(), aes(), aes()]);
    let new = |source: &'static str| ("x-amz-copy-source", source);
    assert_eq!(returned(&server, "copy", &[new("/bucket/sealed")], "").await, [None, None, None]);
    assert_eq!(returned(&server, "copy", &[new("/bucket/plain"), SSE_S3], "").await, [aes(), aes(), aes()]);
    server.ask("PUT", "/bucket/plain", &[new("/bucket/plain")], "").await.expect("400 InvalidRequest");
    assert_eq!(returned(&server, "plain", &[new("/bucket/plain"), SSE_S3], "").await, [aes(), aes(), aes()]);
    let server = server.restart().await;
    assert_eq!(server.head("/bucket/sealed").await.header(HEADER), Some("AES256"));
    server.stop().await;
}

#[tokio::test]
async fn every_answer_of_a_multipart_upload_returns_the_encryption() {
    let server = TestServer::with_bucket(&[]).await;
    let started = server.ask("POST", "/bucket/key?uploads=", &[SSE_S3], "").await;
    assert_eq!(started.header(HEADER), Some("AES256"));
    let id = started.element("UploadId").expect("begun").to_owned();
    let part = server.put(&format!("/bucket/key?partNumber=1&uploadId={id}"), "part").await;
    assert_eq!(part.header(HEADER), Some("AES256"));
    let etag = part.header("etag").expect("a part");
    let parts = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>\
         </CompleteMultipartUpload>"
    );
    let done = server.ask("POST", &format!("/bucket/key?uploadId={id}"), &[], &parts).await;
    assert_eq!((done.verdict().as_str(), done.header(HEADER)), ("200", Some("AES256")), "{}", done.text());
    assert_eq!(server.head("/bucket/key").await.header(HEADER), Some("AES256"));
    server.stop().await;
}

#[tokio::test]
async fn a_bucket_has_a_default_until_it_is_deleted() {
    let server = TestServer::with_bucket(&[]).await;
    server.get("/bucket?encryption=").await.expect("404 ServerSideEncryptionConfigurationNotFoundError");
    server.put("/bucket?encryption=", BY_DEFAULT).await.expect("200");
    let server = server.restart().await;
    let set = server.get("/bucket?encryption=").await;
    assert_eq!(set.element("SSEAlgorithm"), Some("AES256"), "{}", set.text());
    let put = server.put("/bucket/key", "body").await;
    assert_eq!(put.header(HEADER), Some("AES256"));
    server.delete("/bucket?encryption=").await.expect("204");
    assert_eq!(server.put("/bucket/other", "body").await.header(HEADER), None);
    assert_eq!(server.head("/bucket/key").await.header(HEADER), Some("AES256"));
    server.stop().await;
}

#[tokio::test]
async fn keys_of_a_key_service_and_of_clients_are_refused_by_name() {
    let server = TestServer::with_bucket(&[]).await;
    for headers in [
        &[(HEADER, "aws:kms")][..],
        &[(HEADER, "aws:kms:dsse")],
        &[SSE_S3, ("x-amz-server-side-encryption-aws-kms-key-id", "key")],
        &[("x-amz-server-side-encryption-context", "e30=")],
        &[("x-amz-server-side-encryption-bucket-key-enabled", "true")],
        &[("x-amz-server-side-encryption-customer-algorithm", "AES256")],
        &[
            ("x-amz-copy-source", "/bucket/key"),
            ("x-amz-copy-source-server-side-encryption-customer-key", "k"),
        ],
    ] {
        let answer = server.ask("PUT", "/bucket/key", headers, "").await;
        assert_eq!(answer.verdict(), "501 NotImplemented", "{headers:?}");
        assert!(
            answer.element("Message").is_some_and(|message| message.contains("key")),
            "{}",
            answer.text()
        );
    }
    let kms = BY_DEFAULT.replace("AES256", "aws:kms");
    server.put("/bucket?encryption=", &kms).await.expect("501 NotImplemented");
    let off = [SSE_S3, ("x-amz-server-side-encryption-bucket-key-enabled", "false")];
    server.ask("PUT", "/bucket/key", &off, "").await.expect("200");
    server.stop().await;
}
