//! Tags of objects and buckets.

use super::test_server::TestServer;

#[tokio::test]
async fn a_head_counts_tags_as_a_get_does() {
    let server = TestServer::with_bucket(&[]).await;
    let tags: &[(&str, &str)] = &[("x-amz-tagging", "a=1&b=2")];
    for (target, headers, count) in [("/bucket/k", tags, Some("2")), ("/bucket/none", &[], None)] {
        server.ask("PUT", target, headers, b"content").await.expect("200");
        for method in ["GET", "HEAD"] {
            let answer = server.ask(method, target, &[], b"").await;
            assert_eq!(answer.header("x-amz-tagging-count"), count, "{method} {target}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn too_many_tags_are_an_invalid_tag() {
    let server = TestServer::with_bucket(&[]).await;
    let query = |count: usize| (0..count).map(|number| format!("k{number}=v")).collect::<Vec<_>>().join("&");
    let xml = |count: usize| {
        let tags = (0..count).map(|number| format!("<Tag><Key>k{number}</Key><Value>v</Value></Tag>"));
        format!("<Tagging><TagSet>{}</TagSet></Tagging>", tags.collect::<String>())
    };
    for (count, put, later) in [(10, "200", "200"), (11, "400 InvalidTag", "400 InvalidTag")] {
        let tags = query(count);
        let answer = server.ask("PUT", "/bucket/k", &[("x-amz-tagging", &tags)], b"content").await;
        assert_eq!(answer.verdict(), put);
        let answer = server.put("/bucket/k?tagging", xml(count).as_bytes()).await;
        assert_eq!(answer.verdict(), later);
    }
    for (count, expected) in [(50, "204"), (51, "400 InvalidTag")] {
        let answer = server.put("/bucket?tagging", xml(count).as_bytes()).await;
        assert_eq!(answer.verdict(), expected);
    }
    server.stop().await;
}
