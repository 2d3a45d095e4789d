//! Old versions, in both modes of Swift.

use super::test_server::start;
use ameles_gateway::catalogue::Versioning;
use ameles_gateway::objects::listing::ListRequest;

#[tokio::test]
async fn versions_come_back_one_after_the_other() {
    let server = start().await;
    let owner = server.client("one", "owner").await;
    let path = "/v1/AUTH_one/c/o";
    owner.ask("PUT", "/v1/AUTH_one/c", &[("x-versions-location", "old")], b"").await.expect(201);
    owner.put(path, b"0").await;
    owner.ask("PUT", path, &[], b"1").await.expect(412);
    owner.put("/v1/AUTH_one/old", b"").await;
    // Many within a millisecond: no version is lost.
    for version in 1..=5 {
        owner.put(path, version.to_string().as_bytes()).await;
    }
    assert_eq!(
        owner.head("/v1/AUTH_one/old").await.expect(204).header("x-container-object-count"),
        Some("5")
    );
    owner.ask("POST", path, &[("x-object-meta-a", "b")], b"").await.expect(202);
    for version in (0..5).rev() {
        owner.delete(path).await.expect(204);
        assert_eq!(owner.get(path).await.expect(200).text(), version.to_string());
    }
    owner.delete(path).await.expect(204);
    owner.get(path).await.expect(404);
    for container in ["c", "old"] {
        let head = owner.head(&format!("/v1/AUTH_one/{container}")).await.expect(204);
        assert_eq!(head.header("x-container-object-count"), Some("0"));
    }
    // An object whose name starts with another's has versions of its own.
    owner.put("/v1/AUTH_one/c/o/x", b"a").await;
    owner.put("/v1/AUTH_one/c/o/x", b"b").await;
    owner.put(path, b"c").await;
    owner.delete(path).await.expect(204);
    owner.get(path).await.expect(404);
    server.stop().await;
}

#[tokio::test]
async fn a_history_keeps_what_was_deleted() {
    let server = start().await;
    let owner = server.client("one", "owner").await;
    let path = "/v1/AUTH_one/c/o";
    owner.put("/v1/AUTH_one/old", b"").await;
    owner.ask("PUT", "/v1/AUTH_one/c", &[("x-history-location", "old")], b"").await.expect(201);
    owner.put(path, b"first").await;
    owner.put(path, b"second").await;
    owner.delete(path).await.expect(204);
    owner.get(path).await.expect(404);
    owner.delete(path).await.expect(404);
    let archived = owner.get("/v1/AUTH_one/old").await.expect(200);
    let archived: Vec<&str> = archived.text().lines().collect();
    assert_eq!(archived.len(), 3);
    assert!(archived.iter().all(|name| name.starts_with("001o/")), "{archived:?}");
    let read = async |name: &str| owner.get(&format!("/v1/AUTH_one/old/{name}")).await.expect(200);
    assert_eq!((read(archived[0]).await.text(), read(archived[1]).await.text()), ("first", "second"));
    let marker = read(archived[2]).await;
    assert_eq!(marker.header("content-type"), Some("application/x-deleted;swift_versions_deleted=1"));
    server.stop().await;
}

#[tokio::test]
async fn what_the_archive_keeps_counts_for_the_account() {
    let server = start().await;
    let owner = server.client("one", "owner").await;
    let admin = server.client("ops", "admin").await;
    owner.ask("PUT", "/v1/AUTH_one/old", &[], b"").await.expect(201);
    owner.ask("PUT", "/v1/AUTH_one/c", &[("x-versions-location", "old")], b"").await.expect(201);
    admin.ask("POST", "/v1/AUTH_one", &[("x-account-meta-quota-bytes", "20")], b"").await.expect(204);
    owner.put("/v1/AUTH_one/c/a", &[1; 10]).await;
    owner.put("/v1/AUTH_one/c/a", &[2; 10]).await;
    owner.ask("PUT", "/v1/AUTH_one/c/a", &[], &[3; 1]).await.expect(413);
    assert_eq!(owner.get("/v1/AUTH_one/c/a").await.expect(200).body, [2; 10]);
    server.stop().await;
}

#[tokio::test]
async fn a_container_with_s3_versions_shows_its_current_objects() {
    let server = start().await;
    let owner = server.client("one", "owner").await;
    let account = server.gateway.account("one");
    owner.put("/v1/AUTH_one/c", b"").await;
    account.set_versioning("c", Versioning::Enabled).await.expect("set");
    let path = "/v1/AUTH_one/c/o";
    owner.delete(path).await.expect(404);
    owner.put(path, b"first").await;
    owner.put(path, b"second").await;
    owner.ask("POST", path, &[("x-object-meta-a", "b")], b"").await.expect(202);
    assert_eq!(owner.get(path).await.expect(200).text(), "second");
    assert_eq!(owner.head("/v1/AUTH_one/c").await.expect(204).header("x-container-object-count"), Some("1"));
    owner.delete(path).await.expect(204);
    owner.get(path).await.expect(404);
    owner.delete(path).await.expect(404);
    owner.get("/v1/AUTH_one/c").await.expect(204);
    owner.delete("/v1/AUTH_one/c").await.expect(409);
    let all = ListRequest { limit: 10, ..ListRequest::default() };
    let archived = account.list_versions("c", &all, None).expect("listed").entries;
    let markers: Vec<bool> = archived.iter().map(|archived| archived.object.version.is_marker()).collect();
    assert_eq!(markers, [true, false, false]);
    owner.put("/v1/AUTH_one/old", b"").await;
    owner.ask("POST", "/v1/AUTH_one/c", &[("x-versions-location", "old")], b"").await.expect(400);
    server.stop().await;
}
