//! XML bodies on the wire: every form of a text means the same, and what is not understood is refused.

use super::server::{Answer, Server, keys};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use md5::{Digest as _, Md5};

async fn ask(server: &Server, method: &str, target: &str, body: &str) -> Answer {
    server.send(keys::OWNER, method, target, &[], body.as_bytes()).await
}

async fn with_objects(names: &[&str]) -> Server {
    let server = Server::start().await;
    assert_eq!(ask(&server, "PUT", "/bucket", "").await.verdict(), "200");
    for name in names {
        assert_eq!(ask(&server, "PUT", &format!("/bucket/{name}"), "bytes").await.verdict(), "200");
    }
    server
}

#[tokio::test]
async fn the_prefix_of_a_rule_in_a_cdata_section_is_its_prefix() {
    let server = with_objects(&[]).await;
    let rules = "<LifecycleConfiguration><Rule><ID>one</ID><Filter><Prefix><![CDATA[logs/]]></Prefix></Filter>\
        <Status>Enabled</Status><Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>";
    assert_eq!(ask(&server, "PUT", "/bucket?lifecycle=", rules).await.verdict(), "200");
    let told = ask(&server, "GET", "/bucket?lifecycle=", "").await;
    assert_eq!(told.element("Prefix"), Some("logs/"), "{}", told.body);
    server.stop().await;
}

#[tokio::test]
async fn a_rule_whose_filter_is_not_understood_is_refused_and_changes_nothing() {
    let server = with_objects(&[]).await;
    for filter in [
        "<Filter>logs/</Filter>",
        "<Filter><![CDATA[logs/]]></Filter>",
        "<Filter><prefix>logs/</prefix></Filter>",
        "<Filter><x:Prefix xmlns:x=\"urn:x\">logs/</x:Prefix></Filter>",
        "<filter><Prefix>logs/</Prefix></filter><Filter/>",
        "<!DOCTYPE a><Filter/>",
    ] {
        let rules = format!(
            "<LifecycleConfiguration><Rule><ID>one</ID>{filter}<Status>Enabled</Status>\
             <Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>"
        );
        let answer = ask(&server, "PUT", "/bucket?lifecycle=", &rules).await;
        assert_eq!(answer.verdict(), "400 MalformedXML", "{filter}");
        assert!(answer.element("Message").is_some_and(|said| said.contains(": ")), "{}", answer.body);
    }
    let none = ask(&server, "GET", "/bucket?lifecycle=", "").await;
    assert_eq!(none.verdict(), "404 NoSuchLifecycleConfiguration");
    server.stop().await;
}

#[tokio::test]
async fn the_key_of_a_delete_and_the_origin_of_a_rule_may_be_in_cdata_sections() {
    let server = with_objects(&["a%3Cb", "other"]).await;
    let delete = "<Delete><Object><Key><![CDATA[a<b]]></Key></Object></Delete>";
    let answer = ask(&server, "POST", "/bucket?delete=", delete).await;
    assert_eq!(
        (answer.verdict().as_str(), answer.element("Key")),
        ("200", Some("a&lt;b")),
        "{}",
        answer.body
    );
    assert_eq!(ask(&server, "GET", "/bucket/a%3Cb", "").await.verdict(), "404 NoSuchKey");
    assert_eq!(ask(&server, "GET", "/bucket/other", "").await.verdict(), "200");
    let rules = "<CORSConfiguration><CORSRule><AllowedOrigin><![CDATA[https://a.example]]></AllowedOrigin>\
        <AllowedMethod>GET</AllowedMethod></CORSRule></CORSConfiguration>";
    assert_eq!(ask(&server, "PUT", "/bucket?cors=", rules).await.verdict(), "200");
    let told = ask(&server, "GET", "/bucket?cors=", "").await;
    assert_eq!(told.element("AllowedOrigin"), Some("https://a.example"), "{}", told.body);
    server.stop().await;
}

#[tokio::test]
async fn a_body_that_is_not_the_one_of_its_digest_is_refused() {
    let server = with_objects(&["key"]).await;
    let delete = b"<Delete><Object><Key>key</Key></Object></Delete>";
    let md5 = BASE64.encode(Md5::digest(delete));
    let other = BASE64.encode(Md5::digest(b"other"));
    for (header, value, verdict) in [
        ("content-md5", other.as_str(), "400 BadDigest"),
        ("content-md5", "nonsense", "400 InvalidDigest"),
        ("x-amz-checksum-crc32", "AAAAAA==", "400 BadDigest"),
        ("x-amz-checksum-crc32", "AAAA", "400 InvalidRequest"),
        ("content-md5", md5.as_str(), "200"),
    ] {
        let answer = server.send(keys::OWNER, "POST", "/bucket?delete=", &[(header, value)], delete).await;
        assert_eq!(answer.verdict(), verdict, "{header}: {value}");
    }
    server.stop().await;
}
