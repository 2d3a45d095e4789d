//! Versions in S3: requests and answers, rights and quotas.

use super::test_server::{PREFERRED, TestServer, keys};
use ameles_gateway::Error;
use ameles_gateway::catalogue::{Archive, OnDelete, Versioning};

const NO: &str = "403 AccessDenied";

/// A bucket of the first account with versioning.
async fn versioned() -> TestServer {
    let server = TestServer::with_bucket(&[PREFERRED]).await;
    set(&server, "Enabled").await;
    server
}

async fn set(server: &TestServer, status: &str) {
    let body = format!("<VersioningConfiguration><Status>{status}</Status></VersioningConfiguration>");
    server.put("/bucket?versioning", &body).await.expect("200");
    let returned = server.get("/bucket?versioning").await;
    assert_eq!(returned.element("Status"), Some(status), "{}", returned.text());
}

/// Puts an object, and returns the id of its version.
async fn put(server: &TestServer, target: &str, headers: &[(&str, &str)], body: &str) -> String {
    let answer = server.ask("PUT", target, headers, body).await.expect("200");
    answer.header("x-amz-version-id").expect("a version").to_owned()
}

#[tokio::test]
async fn a_delete_marker_says_what_it_is() {
    let server = versioned().await;
    let first = put(&server, "/bucket/key", &[], "content").await;
    let deleted = server.delete("/bucket/key").await;
    assert_eq!((deleted.verdict().as_str(), deleted.header("x-amz-delete-marker")), ("204", Some("true")));
    let marker = deleted.header("x-amz-version-id").expect("a version").to_owned();
    for method in ["GET", "HEAD"] {
        let gone = server.ask(method, "/bucket/key", &[], "").await;
        assert_eq!((gone.status, gone.header("x-amz-delete-marker")), (404, Some("true")), "{method}");
        assert_eq!(gone.header("x-amz-version-id"), Some(&*marker));
        let named = server.ask(method, &format!("/bucket/key?versionId={marker}"), &[], "").await;
        assert_eq!((named.status, named.header("x-amz-delete-marker")), (405, Some("true")), "{method}");
        assert_eq!(named.header("allow"), Some("DELETE"));
        assert!(named.header("last-modified").is_some());
        let old = server.ask(method, &format!("/bucket/key?versionId={first}"), &[], "").await;
        assert_eq!((old.status, old.header("x-amz-version-id")), (200, Some(&*first)), "{method}");
    }
    let removed = server.delete(&format!("/bucket/key?versionId={marker}")).await;
    assert_eq!((removed.verdict().as_str(), removed.header("x-amz-delete-marker")), ("204", Some("true")));
    assert_eq!(server.get("/bucket/key").await.text(), "content");
    server.stop().await;
}

#[tokio::test]
async fn a_caller_that_may_read_an_object_may_not_read_its_other_versions() {
    let server = versioned().await;
    let secret = put(&server, "/bucket/key", &[], "secret").await;
    let open = put(&server, "/bucket/key", &[("x-amz-acl", "public-read")], "open").await;
    let read = async |target: &str| server.unsigned("GET", target, &[], b"").await;
    assert_eq!(read("/bucket/key").await.text(), "open");
    assert_eq!(read(&format!("/bucket/key?versionId={open}")).await.text(), "open");
    for target in [
        format!("/bucket/key?versionId={secret}"),
        format!("/bucket/key?version%49d={secret}"),
        format!("/bucket/key?versionId={secret}&x-id=GetObject"),
        format!("/bucket/key?attributes&versionId={secret}"),
        format!("/bucket/key?acl&versionId={secret}"),
    ] {
        assert_eq!(read(&target).await.verdict(), NO, "{target}");
    }
    // Of two ids, the authorization could take the one and the read the other.
    for target in [
        format!("/bucket/key?versionId={open}&versionId={secret}"),
        format!("/bucket/key?versionId={secret}&version%49d={open}"),
    ] {
        assert_eq!(read(&target).await.verdict(), "400 InvalidArgument", "{target}");
    }
    // The same for the source of a copy: to a caller without rights, the bucket does not exist.
    let shared = [PREFERRED, ("x-amz-acl", "public-read-write")];
    server.ask("PUT", "/shared", &shared, "").await.expect("200");
    for (version, verdict) in [(&secret, "404 NoSuchBucket"), (&open, "200")] {
        let source = format!("/bucket/key?versionId={version}");
        let headers = [("x-amz-copy-source", &*source)];
        let copied = server.send(keys::OTHER_OWNER, "PUT", "/shared/copy", &headers, b"").await;
        assert_eq!(copied.verdict(), verdict, "{}", copied.text());
    }
    let list = [("x-amz-acl", "public-read")];
    server.ask("PUT", &format!("/bucket/key?acl&versionId={secret}"), &list, "").await.expect("200");
    assert_eq!(read(&format!("/bucket/key?versionId={secret}")).await.text(), "secret");
    server.stop().await;
}

#[tokio::test]
async fn a_caller_that_may_write_puts_a_delete_marker_and_removes_no_version() {
    let server = versioned().await;
    let open = [("x-amz-acl", "public-read-write")];
    server.ask("PUT", "/bucket?acl", &open, "").await.expect("200");
    let kept = put(&server, "/bucket/key", &[], "content").await;
    let by_others = async |method: &str, target: &str, body: &str| {
        server.send(keys::OTHER_OWNER, method, target, &[], body.as_bytes()).await
    };
    let target = format!("/bucket/key?versionId={kept}");
    by_others("DELETE", &target, "").await.expect(NO);
    by_others("DELETE", "/bucket/key?versionId=null", "").await.expect(NO);
    let body = format!(
        "<Delete><Object><Key>key</Key><VersionId>{kept}</VersionId></Object><Object><Key>key</Key></Object></Delete>"
    );
    let answer = by_others("POST", "/bucket?delete", &body).await.expect("200");
    assert_eq!(answer.element("Code"), Some("AccessDenied"), "{}", answer.text());
    assert_eq!(answer.element("DeleteMarker"), Some("true"), "{}", answer.text());
    by_others("PUT", "/bucket?versioning", "").await.expect(NO);
    assert_eq!(server.get(&target).await.text(), "content");
    server.stop().await;
}

#[tokio::test]
async fn quotas_count_old_versions() {
    let server = versioned().await;
    server.set_quotas(10, 3).await;
    let over = "400 EntityTooLarge";
    let first = put(&server, "/bucket/key", &[], "12345").await;
    put(&server, "/bucket/key", &[], "12345").await;
    assert_eq!(server.put("/bucket/key", "1").await.verdict(), over);
    // A delete marker is an object of no bytes, and a quota never refuses a delete.
    server.delete("/bucket/key").await.expect("204");
    assert_eq!(server.put("/bucket/other", "").await.verdict(), over);
    let server = server.restart().await;
    assert_eq!(server.put("/bucket/other", "").await.verdict(), over);
    server.delete(&format!("/bucket/key?versionId={first}")).await.expect("204");
    server.put("/bucket/other", "12345").await.expect("200");
    // While versioning is suspended, a put replaces the null version.
    set(&server, "Suspended").await;
    server.set_quotas(15, 4).await;
    server.put("/bucket/third", "12345").await.expect("200");
    server.put("/bucket/third", "54321").await.expect("200");
    assert_eq!(server.put("/bucket/fourth", "").await.verdict(), over);
    server.stop().await;
}

#[tokio::test]
async fn versions_are_kept_in_one_way_only() {
    let server = versioned().await;
    let account = server.account("ameles");
    account.create_container("plain", Default::default()).await.expect("made");
    let archive = Archive { container: "bucket".into(), on_delete: OnDelete::Restore };
    let set = account.update_container("plain", move |settings| {
        settings.archive = Some(archive);
        Ok(())
    });
    set.await.expect("set");
    let refusal = account.set_versioning("plain", Versioning::Enabled).await;
    assert!(matches!(refusal, Err(Error::OtherVersions)));
    let body = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    server.put("/plain?versioning", body).await.expect("409 InvalidBucketState");
    // An object in Swift's archive has versions of its own, and can be restored from it.
    for body in ["first", "second"] {
        server.put("/plain/key", body).await.expect("200");
    }
    let listed = server.get("/bucket?versions").await;
    let (key, version) = (listed.element("Key").expect("one"), listed.element("VersionId").expect("one"));
    assert_eq!(server.get(&format!("/bucket/{key}?versionId={version}")).await.text(), "first");
    server.delete("/plain/key").await.expect("204");
    assert_eq!(server.get("/plain/key").await.text(), "first");
    let server = server.restart().await;
    assert_eq!(server.get("/plain/key").await.text(), "first");
    assert_eq!(server.get("/bucket?versions").await.element("Key"), None);
    server.stop().await;
}

#[tokio::test]
async fn a_delete_with_a_condition_removes_that_object_or_none() {
    let server = TestServer::start().await;
    for (target, body) in [("/bucket", ""), ("/bucket/key", "body")] {
        server.put(target, body.as_bytes()).await.expect("200");
    }
    let etag = server.head("/bucket/key").await;
    let etag = etag.header("etag").expect("an ETag").to_owned();
    let there = async || server.get("/bucket/key").await.verdict();
    let other = [("if-match", "\"other\"")];
    server.ask("DELETE", "/bucket/key", &other, b"").await.expect("412 PreconditionFailed");
    let many = |etag: &str| {
        format!(
            "<Delete><Object><Key>key</Key><ETag>{}</ETag></Object></Delete>",
            etag.replace('"', "&quot;")
        )
    };
    let wrong = server.ask("POST", "/bucket?delete=", &[], many("\"other\"").as_bytes()).await;
    assert_eq!((wrong.status, wrong.element("Code")), (200, Some("PreconditionFailed")), "{}", wrong.text());
    assert_eq!(there().await, "200");
    let right = server.ask("POST", "/bucket?delete=", &[], many(&etag).as_bytes()).await;
    assert_eq!((right.status, right.element("Code")), (200, None), "{}", right.text());
    assert_eq!(there().await, "404 NoSuchKey");
    server.put("/bucket/key", b"body").await.expect("200");
    server.ask("DELETE", "/bucket/key", &[("if-match", &etag)], b"").await.expect("204");
    assert_eq!(there().await, "404 NoSuchKey");
    server.stop().await;
}
