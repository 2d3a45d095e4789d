//! Accounts and containers: settings, listings and refusals.

use super::test_server::{start, start_with_container};
use serde_json::Value;

#[tokio::test]
async fn a_container_lists_its_objects_in_each_form() {
    let (server, owner) = start_with_container().await;
    owner.ask("PUT", "/v1/AUTH_one/c", &[], b"").await.expect(202);
    assert_eq!(owner.get("/v1/AUTH_one/c").await.expect(204).body, b"");
    for name in ["a", "b/", "b/1", "b/2", "b/c/3", "d"] {
        owner.put(&format!("/v1/AUTH_one/c/{name}"), b"xy").await;
    }
    let list = async |query: &str| {
        let answer = owner.get(&format!("/v1/AUTH_one/c?{query}")).await;
        answer.text().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(list("").await, ["a", "b/", "b/1", "b/2", "b/c/3", "d"]);
    assert_eq!(list("delimiter=/").await, ["a", "b/", "d"]);
    assert_eq!(list("prefix=b/&delimiter=/").await, ["b/", "b/1", "b/2", "b/c/"]);
    assert_eq!(list("path=b").await, ["b/1", "b/2"]);
    assert_eq!(list("path=").await, ["a", "b/", "d"]);
    assert_eq!(list("marker=b/1&end_marker=d").await, ["b/2", "b/c/3"]);
    assert_eq!(list("limit=2&marker=a").await, ["b/", "b/1"]);
    assert_eq!(list("reverse=on&delimiter=/").await, ["d", "b/", "a"]);
    owner.get("/v1/AUTH_one/c?limit=10001").await.expect(412);
    let json: Value =
        serde_json::from_slice(&owner.get("/v1/AUTH_one/c?format=json&delimiter=/").await.expect(200).body)
            .expect("json");
    assert_eq!(json[0]["name"], "a");
    assert_eq!(json[0]["bytes"], 2);
    assert_eq!(json[0]["hash"], "3e44107170a520582ade522fa73c1d15");
    assert_eq!(json[0]["last_modified"], "2023-11-14T22:13:20.000000");
    assert_eq!(json[1]["subdir"], "b/");
    let head = owner.head("/v1/AUTH_one/c").await.expect(204);
    assert_eq!(head.header("x-container-object-count"), Some("6"));
    assert_eq!(head.header("x-container-bytes-used"), Some("12"));
    let account = owner.head("/v1/AUTH_one").await.expect(204);
    assert_eq!(account.header("x-account-object-count"), Some("6"));
    assert_eq!(account.header("x-account-container-count"), Some("1"));
    assert_eq!(owner.get("/v1/AUTH_one").await.expect(200).text(), "c\n");
    owner.delete("/v1/AUTH_one/c").await.expect(409);
    server.stop().await;
}

#[tokio::test]
async fn quotas_hold_for_both_bytes_and_objects() {
    let server = start().await;
    let owner = server.client("one", "owner").await;
    let quota = [("x-container-meta-quota-bytes", "10"), ("x-container-meta-quota-count", "2")];
    owner.ask("PUT", "/v1/AUTH_one/c", &quota, b"").await.expect(201);
    let put = async |name: &str, size: usize| {
        owner.ask("PUT", &format!("/v1/AUTH_one/c/{name}"), &[], &vec![7; size]).await.status
    };
    assert_eq!(put("a", 11).await, 413);
    assert_eq!([put("a", 6).await, put("b", 5).await, put("b", 4).await], [201, 413, 201]);
    assert_eq!([put("c", 0).await, put("a", 5).await], [413, 201]);
    owner.ask("POST", "/v1/AUTH_one/c", &[("x-container-meta-quota-bytes", "many")], b"").await.expect(400);
    owner.ask("POST", "/v1/AUTH_one/c", &[("x-container-meta-quota-bytes", "")], b"").await.expect(204);
    assert_eq!(put("a", 100).await, 201);
    server.stop().await;
}

#[tokio::test]
async fn a_page_of_a_site_that_the_container_names_sees_its_answers() {
    let server = start().await;
    let owner = server.client("one", "owner").await;
    let set = [
        ("x-container-meta-access-control-allow-origin", "http://a.org http://b.org"),
        ("x-container-meta-access-control-max-age", "60"),
        ("x-container-read", ".r:*"),
    ];
    owner.ask("PUT", "/v1/AUTH_one/c", &set, b"").await.expect(201);
    owner.put("/v1/AUTH_one/c/o", b"x").await;
    let get = async |origin: &str| server.ask("GET", "/v1/AUTH_one/c/o", &[("origin", origin)], b"").await;
    let seen = get("http://b.org").await.expect(200);
    assert_eq!(seen.header("access-control-allow-origin"), Some("http://b.org"));
    assert!(seen.header("access-control-expose-headers").is_some_and(|names| names.contains("etag")));
    assert_eq!(get("http://c.org").await.expect(200).header("access-control-allow-origin"), None);
    let preflight = async |origin: &str, method: &str| {
        let headers = [("origin", origin), ("access-control-request-method", method)];
        server.ask("OPTIONS", "/v1/AUTH_one/c/o", &headers, b"").await
    };
    let allowed = preflight("http://a.org", "PUT").await.expect(200);
    assert_eq!(allowed.header("access-control-max-age"), Some("60"));
    preflight("http://c.org", "PUT").await.expect(401);
    preflight("http://a.org", "TRACE").await.expect(401);
    let all = [("x-container-meta-access-control-allow-origin", "*")];
    owner.ask("POST", "/v1/AUTH_one/c", &all, b"").await.expect(204);
    assert_eq!(get("http://c.org").await.expect(200).header("access-control-allow-origin"), Some("*"));
    server.stop().await;
}

#[tokio::test]
async fn many_are_deleted_at_once_and_an_archive_becomes_objects() {
    let server = start().await;
    let owner = server.client("one", "owner").await;
    let mut archive = tokio_tar::Builder::new(Vec::new());
    for (name, body) in [("c/a.txt", &b"first"[..]), ("c/dir/b", b"second"), ("d/empty", b"")] {
        let mut header = tokio_tar::Header::new_gnu();
        header.set_size(body.len() as u64);
        header.set_mode(0o600);
        archive.append_data(&mut header, name, body).await.expect("appended");
    }
    let archive = archive.into_inner().await.expect("an archive");
    let as_json = [("accept", "application/json")];
    let response = owner.ask("PUT", "/v1/AUTH_one?extract-archive=tar", &as_json, &archive).await.expect(200);
    let response: Value = serde_json::from_slice(&response.body).expect("json");
    assert_eq!(
        (&response["Response Status"], &response["Number Files Created"]),
        (&"201 Created".into(), &3.into())
    );
    assert_eq!(owner.get("/v1/AUTH_one/c/dir/b").await.expect(200).body, b"second");
    let broken = owner.ask("PUT", "/v1/AUTH_one?extract-archive=tar", &[], &[7; 600]).await.expect(200);
    assert!(broken.text().contains("Response Status: 400 Bad Request"), "{}", broken.text());
    owner.ask("PUT", "/v1/AUTH_one?extract-archive=zip", &[], b"").await.expect(400);
    let names = b"c/a.txt\n/c/dir/b\nc/none\nc\nd\nd/%C3%A9\n";
    let response = owner.ask("DELETE", "/v1/AUTH_one?bulk-delete", &as_json, names).await.expect(200);
    let response: Value = serde_json::from_slice(&response.body).expect("json");
    assert_eq!(
        (&response["Number Deleted"], &response["Number Not Found"]),
        (&3.into(), &2.into()),
        "{response}"
    );
    assert_eq!(response["Errors"], serde_json::json!([["d", "409 Conflict"]]));
    owner.get("/v1/AUTH_one/c").await.expect(404);
    server.stop().await;
}
