//! XML bodies: every form of a text means the same, and unknown parts are refused.

use super::test_server::TestServer;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use md5::{Digest as _, Md5};

async fn with_objects(names: &[&str]) -> TestServer {
    let server = TestServer::with_bucket(&[]).await;
    for name in names {
        server.put(&format!("/bucket/{name}"), "bytes").await.expect("200");
    }
    server
}

#[tokio::test]
async fn the_prefix_and_the_origin_of_a_rule_may_be_in_cdata_sections() {
    let server = with_objects(&[]).await;
    for (target, element, value, rules) in [
        (
            "/bucket?lifecycle=",
            "Prefix",
            "logs/",
            "<LifecycleConfiguration><Rule><ID>one</ID><Filter><Prefix><![CDATA[logs/]]></Prefix></Filter>\
             <Status>Enabled</Status><Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>",
        ),
        (
            "/bucket?cors=",
            "AllowedOrigin",
            "https://a.example",
            "<CORSConfiguration><CORSRule><AllowedOrigin><![CDATA[https://a.example]]></AllowedOrigin>\
             <AllowedMethod>GET</AllowedMethod></CORSRule></CORSConfiguration>",
        ),
    ] {
        server.put(target, rules).await.expect("200");
        let returned = server.get(target).await;
        assert_eq!(returned.element(element), Some(value), "{target}: {}", returned.text());
    }
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
        let answer = server.put("/bucket?lifecycle=", &rules).await;
        assert_eq!(answer.verdict(), "400 MalformedXML", "{filter}");
        assert!(answer.element("Message").is_some_and(|message| message.contains(": ")), "{}", answer.text());
    }
    server.get("/bucket?lifecycle=").await.expect("404 NoSuchLifecycleConfiguration");
    server.stop().await;
}

#[tokio::test]
async fn the_key_of_a_delete_may_be_in_a_cdata_section() {
    let server = with_objects(&["a%3Cb", "other"]).await;
    let delete = "<Delete><Object><Key><![CDATA[a<b]]></Key></Object></Delete>";
    let answer = server.ask("POST", "/bucket?delete=", &[], delete).await;
    assert_eq!(
        (answer.verdict().as_str(), answer.element("Key")),
        ("200", Some("a&lt;b")),
        "{}",
        answer.text()
    );
    server.get("/bucket/a%3Cb").await.expect("404 NoSuchKey");
    server.get("/bucket/other").await.expect("200");
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
        let answer = server.ask("POST", "/bucket?delete=", &[(header, value)], delete).await;
        assert_eq!(answer.verdict(), verdict, "{header}: {value}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_returned_configuration_can_be_put_back_and_changes_nothing() {
    let server = with_objects(&["key"]).await;
    let put = async |target: &str, body: &str| {
        let answer = server.put(target, body).await;
        assert!(answer.status < 300, "PUT {target}: {} {}", answer.verdict(), answer.text());
    };
    let again = async |target: &str| {
        let returned = server.get(target).await;
        assert_eq!(returned.verdict(), "200", "GET {target}");
        put(target, returned.text()).await;
        assert_eq!(server.get(target).await.text(), returned.text(), "{target}");
    };
    for target in ["/bucket?acl=", "/bucket/key?acl=", "/bucket?versioning=", "/bucket?ownershipControls="] {
        again(target).await;
    }
    put(
        "/bucket?lifecycle=",
        "<LifecycleConfiguration><Rule><Filter><And><Prefix>a&lt;</Prefix><Tag><Key>k</Key><Value/></Tag></And></Filter>\
         <Status>Enabled</Status><Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>",
    )
    .await;
    put(
        "/bucket?cors=",
        "<CORSConfiguration><CORSRule><AllowedOrigin>*</AllowedOrigin><AllowedMethod>GET</AllowedMethod>\
         <MaxAgeSeconds>5</MaxAgeSeconds></CORSRule></CORSConfiguration>",
    )
    .await;
    let tags = "<Tagging><TagSet><Tag><Key>a b</Key><Value>a+b</Value></Tag></TagSet></Tagging>";
    put("/bucket?tagging=", tags).await;
    put("/bucket/key?tagging=", tags).await;
    put(
        "/bucket?encryption=",
        "<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256\
         </SSEAlgorithm></ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>",
    )
    .await;
    put(
        "/bucket?ownershipControls=",
        "<OwnershipControls><Rule><ObjectOwnership>BucketOwnerPreferred</ObjectOwnership></Rule></OwnershipControls>",
    )
    .await;
    let read = [("x-amz-acl", "public-read")];
    for target in ["/bucket?acl=", "/bucket/key?acl="] {
        assert_eq!(server.ask("PUT", target, &read, b"").await.verdict(), "200", "{target}");
    }
    put("/bucket?versioning=", "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>")
        .await;
    for target in [
        "/bucket?acl=",
        "/bucket/key?acl=",
        "/bucket?cors=",
        "/bucket?encryption=",
        "/bucket?lifecycle=",
        "/bucket?ownershipControls=",
        "/bucket?tagging=",
        "/bucket/key?tagging=",
        "/bucket?versioning=",
    ] {
        again(target).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn headers_that_become_a_row_are_bounded_whatever_their_names() {
    let server = with_objects(&["source"]).await;
    let long = "x".repeat(9000);
    for name in
        ["cache-control", "content-disposition", "content-language", "content-type", "content-encoding"]
    {
        for (method, target) in [("PUT", "/bucket/key"), ("POST", "/bucket/key?uploads=")] {
            let answer = server.ask(method, target, &[(name, &long)], b"").await;
            assert_eq!(answer.verdict(), "400 MetadataTooLarge", "{method} {name}");
        }
        let copy =
            [("x-amz-copy-source", "/bucket/source"), ("x-amz-metadata-directive", "REPLACE"), (name, &long)];
        let answer = server.ask("PUT", "/bucket/key", &copy, b"").await;
        assert_eq!(answer.verdict(), "400 MetadataTooLarge", "a copy with {name}");
    }
    let together = "x".repeat(4000);
    let both = [
        ("cache-control", together.as_str()),
        ("content-disposition", &together),
        ("x-amz-meta-a", &together[..200]),
    ];
    server.ask("PUT", "/bucket/key", &both, b"").await.expect("400 MetadataTooLarge");
    server.ask("PUT", "/bucket/key", &both[..2], b"").await.expect("200");
    server.stop().await;
}
