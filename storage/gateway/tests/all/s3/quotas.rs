//! The refusals by quotas: of objects, of parts, and of uploads that are never completed.

use super::test_server::TestServer;

const OVER: &str = "400 EntityTooLarge";

/// A server with a bucket of the first account that has these quotas.
async fn with_quotas(bytes: u64, objects: u64) -> TestServer {
    let server = TestServer::with_bucket(&[]).await;
    server.set_quotas(bytes, objects).await;
    server
}

async fn begin(server: &TestServer, key: &str) -> Result<String, String> {
    let started = server.ask("POST", &format!("/bucket/{key}?uploads"), &[], b"").await;
    started.element("UploadId").map(str::to_owned).ok_or_else(|| started.verdict())
}

async fn abort(server: &TestServer, key: &str, id: &str) {
    server.delete(&format!("/bucket/{key}?uploadId={id}")).await.expect("204");
}

async fn put(server: &TestServer, target: &str, bytes: usize) -> String {
    server.put(&format!("/bucket/{target}"), &vec![7; bytes]).await.verdict()
}

#[tokio::test]
async fn a_put_over_a_quota_moves_no_block() {
    let server = with_quotas(10, 5).await;
    server.device.take_log();
    assert_eq!(put(&server, "a", 11).await, OVER);
    assert_eq!(server.device.take_log(), []);
    assert_eq!(put(&server, "a", 10).await, "200");
    server.stop().await;
}

#[tokio::test]
async fn parts_count_until_their_upload_ends() {
    let server = with_quotas(10, 5).await;
    let id = begin(&server, "a").await.expect("begun");
    let part = |number: usize| format!("a?partNumber={number}&uploadId={id}");
    assert_eq!(put(&server, &part(1), 6).await, "200");
    assert_eq!(put(&server, &part(2), 5).await, OVER);
    assert_eq!(put(&server, "other", 5).await, OVER);
    // A part that replaces another needs only the difference.
    assert_eq!(put(&server, &part(1), 10).await, "200");
    assert_eq!(put(&server, "other", 1).await, OVER);
    let completion = format!("/bucket/a?uploadId={id}");
    let tag = "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>TAG</ETag></Part></CompleteMultipartUpload>";
    let listed = server.get(&completion).await;
    let etag = listed.element("ETag").expect("a part").to_owned();
    let named = tag.replace("TAG", &etag);
    server.ask("POST", &completion, &[], named.as_bytes()).await.expect("200");
    assert_eq!(put(&server, "other", 1).await, OVER);

    server.delete("/bucket/a").await.expect("204");
    let id = begin(&server, "b").await.expect("begun");
    assert_eq!(put(&server, &format!("b?partNumber=1&uploadId={id}"), 10).await, "200");
    assert_eq!(put(&server, "other", 1).await, OVER);
    abort(&server, "b", &id).await;
    assert_eq!(put(&server, "other", 10).await, "200");
    server.stop().await;
}

#[tokio::test]
async fn unfinished_uploads_count_as_objects() {
    let server = with_quotas(10, 2).await;
    begin(&server, "a").await.expect("begun");
    let second = begin(&server, "a").await.expect("begun");
    assert_eq!(begin(&server, "b").await, Err(OVER.to_owned()));
    assert_eq!(put(&server, "c", 1).await, OVER);
    abort(&server, "a", &second).await;
    assert_eq!(put(&server, "c", 1).await, "200");
    server.stop().await;
}

#[tokio::test]
async fn parts_count_after_the_gateway_was_opened_again() {
    let server = with_quotas(10, 5).await;
    let id = begin(&server, "a").await.expect("begun");
    assert_eq!(put(&server, &format!("a?partNumber=1&uploadId={id}"), 6).await, "200");
    let server = server.restart().await;
    assert_eq!(put(&server, "other", 5).await, OVER);
    assert_eq!(put(&server, "other", 4).await, "200");
    server.stop().await;
}
