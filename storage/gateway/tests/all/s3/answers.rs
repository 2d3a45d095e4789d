//! The properties of every answer: a number, XML that parses, and nothing about the machine.

use super::test_server::TestServer;
use ameles_gateway::testing::Faults;

#[tokio::test]
async fn an_error_names_the_request_in_its_xml_as_in_its_head() {
    let server = TestServer::with_bucket(&[]).await;
    let refusals = [
        server.get("/bucket/none").await,
        server.unsigned("GET", "/bucket", &[], b"").await,
        server.put("/bucket?website", b"<a/>").await,
        server.put("/Not_a_bucket", b"").await,
        server.unsigned("GET", "/bucket?AWSAccessKeyId=a&Signature=b&Expires=1", &[], b"").await,
    ];
    for refusal in refusals {
        assert!(refusal.status >= 400);
        assert!(refusal.header("x-amz-request-id").is_some());
        assert_eq!(refusal.element("RequestId"), refusal.header("x-amz-request-id"), "{}", refusal.text());
    }
    server.stop().await;
}

#[tokio::test]
async fn keys_that_xml_would_change_or_cannot_hold_are_listed_right_or_not_at_all() {
    let server = TestServer::with_bucket(&[]).await;
    server.put("/bucket/a%0D%0A%09b", b"").await.expect("200");
    let listed = server.get("/bucket").await;
    assert_eq!(listed.element("Key"), Some("a&#13;\n\tb"));
    assert_eq!(listed.header("content-length"), Some(&*listed.text().len().to_string()));
    server.put("/bucket/c%01d", b"").await.expect("200");
    for list in ["/bucket", "/bucket?list-type=2", "/bucket?versions=", "/bucket?prefix=%01"] {
        let refused = server.get(list).await;
        assert_eq!(refused.verdict(), "400 InvalidRequest", "{list}");
        assert!(refused.text().contains("encoding-type=url"), "{}", refused.text());
    }
    let encoded = server.get("/bucket?encoding-type=url&list-type=2").await;
    assert!(encoded.text().contains("<Key>a%0D%0A%09b</Key>"), "{}", encoded.text());
    assert!(encoded.text().contains("<Key>c%01d</Key>"), "{}", encoded.text());
    let started = server.ask("POST", "/bucket/e%01f?uploads=", &[], b"").await;
    assert_eq!((started.status, started.element("Key")), (200, None));
    assert!(started.element("UploadId").is_some());
    server.stop().await;
}

#[tokio::test]
async fn metadata_of_2_kilobytes_is_taken_in_however_many_headers() {
    let server = TestServer::with_bucket(&[]).await;
    let names: Vec<String> = (0..400).map(|number| format!("x-amz-meta-{number}")).collect();
    let headers: Vec<(&str, &str)> = names.iter().map(|name| (&**name, "v")).collect();
    server.ask("PUT", "/bucket/key", &headers, b"").await.expect("200");
    let head = server.head("/bucket/key").await;
    assert_eq!(head.header("x-amz-meta-399"), Some("v"));
    server.stop().await;
}

#[tokio::test]
async fn a_failure_below_says_nothing_of_the_machine() {
    let server = TestServer::with_bucket(&[]).await;
    server.device.set_faults(Faults { writes_left: Some(0), ..Faults::default() });
    let failed = server.put("/bucket/key", &[1; 50_000]).await;
    assert_eq!(failed.verdict(), "503 ServiceUnavailable");
    assert!(!failed.text().contains("simulated failure"), "{}", failed.text());
    server.stop().await;
}
