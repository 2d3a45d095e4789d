//! Large objects of both kinds.

use super::test_server::{Client, TestServer, bytes, start, start_with};
use ameles_gateway::Padding;
use serde_json::{Value, json};

async fn segments(server: &TestServer) -> Client {
    let owner = server.client("one", "owner").await;
    for container in ["c", "s"] {
        owner.put(&format!("/v1/AUTH_one/{container}"), b"").await;
    }
    for number in 0..3 {
        owner.put(&format!("/v1/AUTH_one/s/part/{number}"), &bytes(100)[number * 30..number * 30 + 30]).await;
    }
    owner
}

#[tokio::test]
async fn a_dynamic_large_object_is_what_is_there_now() {
    let server = start().await;
    let owner = segments(&server).await;
    owner.ask("PUT", "/v1/AUTH_one/c/large", &[("x-object-manifest", "s/part/")], b"").await.expect(201);
    let got = owner.get("/v1/AUTH_one/c/large").await.expect(200);
    assert_eq!(got.body, bytes(100)[..90]);
    assert!(got.header("etag").is_some_and(|etag| etag.starts_with('"') && etag.len() == 34));
    assert_eq!(got.header("x-object-manifest"), Some("s/part/"));
    let across = owner.ask("GET", "/v1/AUTH_one/c/large", &[("range", "bytes=25-64")], b"").await.expect(206);
    assert_eq!(across.body, bytes(100)[25..65]);
    owner.put("/v1/AUTH_one/s/part/3", b"more").await;
    assert_eq!(owner.head("/v1/AUTH_one/c/large").await.expect(200).header("content-length"), Some("94"));
    // A copy is of the whole object, unless the manifest is requested.
    owner.ask("COPY", "/v1/AUTH_one/c/large", &[("destination", "c/copy")], b"").await.expect(201);
    let copy = owner.get("/v1/AUTH_one/c/copy").await.expect(200);
    assert_eq!((copy.body.len(), copy.header("x-object-manifest")), (94, None));
    let again = [("destination", "c/again")];
    owner.ask("COPY", "/v1/AUTH_one/c/large?multipart-manifest=get", &again, b"").await.expect(201);
    assert_eq!(
        owner.head("/v1/AUTH_one/c/again").await.expect(200).header("x-object-manifest"),
        Some("s/part/")
    );
    owner.ask("PUT", "/v1/AUTH_one/c/bad", &[("x-object-manifest", "nothing")], b"").await.expect(400);
    server.stop().await;
}

#[tokio::test]
async fn a_static_large_object_is_what_was_listed_or_nothing() {
    let server = start().await;
    let owner = segments(&server).await;
    let put = async |name: &str, list: &Value| {
        let path = format!("/v1/AUTH_one/c/{name}?multipart-manifest=put");
        owner.ask("PUT", &path, &[("content-type", "text/x")], list.to_string().as_bytes()).await
    };
    let list = json!([
        {"path": "/s/part/0", "size_bytes": 30},
        {"path": "/s/part/1", "range": "10-19"},
        {"path": "/s/part/2", "etag": null, "size_bytes": null},
    ]);
    let etag = put("large", &list).await.expect(201).header("etag").expect("an etag").to_owned();
    let expected = [&bytes(100)[..30], &bytes(100)[40..50], &bytes(100)[60..90]].concat();
    let got = owner.get("/v1/AUTH_one/c/large").await.expect(200);
    assert_eq!(got.body, expected);
    assert_eq!((got.header("etag"), got.header("content-type")), (Some(etag.as_str()), Some("text/x")));
    assert_eq!(got.header("x-static-large-object"), Some("True"));
    for (from, to) in [(0, 1), (29, 31), (35, 45), (39, 70), (69, 70)] {
        let range = format!("bytes={from}-{}", to - 1);
        let part = owner.ask("GET", "/v1/AUTH_one/c/large", &[("range", &range)], b"").await.expect(206);
        assert_eq!(part.body, expected[from..to], "{range}");
    }
    let raw = owner.get("/v1/AUTH_one/c/large?multipart-manifest=get&format=raw").await.expect(200);
    let raw: Value = serde_json::from_slice(&raw.body).expect("json");
    assert_eq!(
        (&raw[1]["path"], &raw[1]["range"], &raw[1]["size_bytes"]),
        (&"/s/part/1".into(), &"10-19".into(), &30.into())
    );
    let listed: Value =
        serde_json::from_slice(&owner.get("/v1/AUTH_one/c?format=json").await.expect(200).body)
            .expect("json");
    assert_eq!(listed[0]["bytes"], 70);

    // Large objects may be segments of other large objects.
    put("larger", &json!([{"path": "/c/large"}, {"path": "/s/part/0"}])).await.expect(201);
    let larger = owner.get("/v1/AUTH_one/c/larger").await.expect(200);
    assert_eq!(larger.body, [&expected[..], &bytes(100)[..30]].concat());

    for (list, why) in [
        (json!([]), "no segment"),
        (json!([{"path": "/s/none"}]), "404"),
        (json!([{"path": "/s/part/0", "size_bytes": 31}]), "Size Mismatch"),
        (json!([{"path": "/s/part/0", "etag": "x"}]), "Etag Mismatch"),
        (json!([{"path": "/s/part/0", "range": "30-"}]), "Unsatisfiable Range"),
        (json!([{"path": "/s"}]), "Invalid path"),
        (json!([{"path": "/s/part/0", "colour": 1}]), "not a list of"),
        (json!({"path": "/s/part/0"}), "not a list of"),
    ] {
        let refused = put("bad", &list).await.expect(400);
        assert!(refused.text().contains(why), "{why}: {}", refused.text());
    }
    owner.get("/v1/AUTH_one/c/bad").await.expect(404);

    // A segment that has changed is an error; no other bytes are sent.
    owner.put("/v1/AUTH_one/s/part/1", &bytes(30)).await;
    owner.get("/v1/AUTH_one/c/large").await.expect(409);
    owner.put("/v1/AUTH_one/s/part/1", &bytes(100)[30..60]).await;
    owner.get("/v1/AUTH_one/c/large").await.expect(200);
    owner.delete("/v1/AUTH_one/c/larger?multipart-manifest=delete").await.expect(200);
    assert_eq!(owner.head("/v1/AUTH_one/s").await.expect(204).header("x-container-object-count"), Some("0"));
    assert_eq!(owner.head("/v1/AUTH_one/c").await.expect(204).header("x-container-object-count"), Some("0"));
    server.stop().await;
}

#[tokio::test]
async fn large_objects_within_large_objects_are_bounded_in_all_their_pieces() {
    let server = start_with(Padding::None, 30_000).await;
    let owner = segments(&server).await;
    let list =
        |path: &str, times: usize| Value::from_iter((0..times).map(|_| json!({"path": path}))).to_string();
    let put = async |name: &str, text: String| {
        let path = format!("/v1/AUTH_one/c/{name}?multipart-manifest=put");
        owner.ask("PUT", &path, &[], text.as_bytes()).await.expect(201);
    };
    owner.put("/v1/AUTH_one/c/byte", b"x").await;
    put("inner", list("/c/byte", 500)).await;
    put("outer", list("/c/inner", 19)).await;
    put("too-much", list("/c/inner", 20)).await;
    assert_eq!(owner.get("/v1/AUTH_one/c/outer").await.expect(200).body, vec![b'x'; 19 * 500]);
    owner.get("/v1/AUTH_one/c/too-much").await.expect(409);
    owner.delete("/v1/AUTH_one/c/too-much?multipart-manifest=delete").await.expect(409);
    server.stop().await;
}

#[tokio::test]
async fn a_caller_that_may_only_write_sets_no_manifest_of_objects_that_it_may_not_read() {
    let server = start().await;
    let owner = segments(&server).await;
    owner.ask("POST", "/v1/AUTH_one/c", &[("x-container-write", "one:member")], b"").await.expect(204);
    let member = server.client("one", "member").await;
    member.put("/v1/AUTH_one/c/own", b"x").await;
    let manifest = [("x-object-manifest", "s/part/")];
    member.ask("PUT", "/v1/AUTH_one/c/own", &manifest, b"").await.expect(403);
    member.ask("POST", "/v1/AUTH_one/c/own", &manifest, b"").await.expect(403);
    owner.ask("POST", "/v1/AUTH_one/s", &[("x-container-read", "one:member")], b"").await.expect(204);
    member.ask("PUT", "/v1/AUTH_one/c/own", &manifest, b"").await.expect(201);
    server.stop().await;
}
