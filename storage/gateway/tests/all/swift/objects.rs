//! Objects: their bytes and their metadata come back.

use super::test_server::{bytes, start, start_with_container};

#[tokio::test]
async fn what_is_put_comes_back_with_what_was_said_of_it() {
    let (server, owner) = start_with_container().await;
    for size in [0, 1, 31, 32, 33, 500] {
        let path = format!("/v1/AUTH_one/c/dir%20x/%C3%A9-{size}.txt");
        let headers =
            [("x-object-meta-mood", "oblivious"), ("x-object-meta-empty", ""), ("content-encoding", "x")];
        let put = owner.ask("PUT", &path, &headers, &bytes(size)).await.expect(201);
        let got = owner.get(&path).await.expect(200);
        assert_eq!(got.body, bytes(size));
        let head = owner.head(&path).await.expect(200);
        assert!(head.body.is_empty());
        for answer in [&got, &head] {
            assert_eq!(answer.header("etag"), put.header("etag"));
            assert_eq!(answer.header("content-length"), Some(size.to_string().as_str()));
            assert_eq!(answer.header("content-type"), Some("text/plain"));
            assert_eq!(answer.header("x-object-meta-mood"), Some("oblivious"));
            assert_eq!(answer.header("x-object-meta-empty"), Some(""));
            assert_eq!(answer.header("content-encoding"), Some("x"));
            assert_eq!(answer.header("x-timestamp"), Some("1700000000.00000"));
            assert_eq!(answer.header("accept-ranges"), Some("bytes"));
            assert!(answer.header("x-trans-id").is_some_and(|id| id.len() == 34 && id.starts_with("tx")));
        }
    }
    // A POST replaces all metadata but the type.
    let path = "/v1/AUTH_one/c/dir%20x/%C3%A9-33.txt";
    owner.ask("POST", path, &[("x-object-meta-new", "1")], b"").await.expect(202);
    let got = owner.get(path).await.expect(200);
    assert_eq!((got.body.clone(), got.header("x-object-meta-mood")), (bytes(33), None));
    assert_eq!(
        (got.header("x-object-meta-new"), got.header("content-type")),
        (Some("1"), Some("text/plain"))
    );
    assert_eq!(got.header("content-encoding"), None);
    owner.delete(path).await.expect(204);
    owner.delete(path).await.expect(404);
    owner.get(path).await.expect(404);
    server.stop().await;
}

#[tokio::test]
async fn ranges_are_exact_to_the_byte() {
    let (server, owner) = start_with_container().await;
    let whole = bytes(100);
    owner.put("/v1/AUTH_one/c/o", &whole).await;
    let get = async |range: &str| owner.ask("GET", "/v1/AUTH_one/c/o", &[("range", range)], b"").await;
    for (range, from, to) in
        [("0-0", 0, 1), ("31-32", 31, 33), ("5-", 5, 100), ("-7", 93, 100), ("99-500", 99, 100)]
    {
        let got = get(&format!("bytes={range}")).await.expect(206);
        assert_eq!(got.body, whole[from..to], "{range}");
        assert_eq!(got.header("content-range"), Some(format!("bytes {from}-{}/100", to - 1).as_str()));
    }
    let several = get("bytes=0-0,31-32,-1").await.expect(206);
    let kind = several.header("content-type").expect("a type");
    let boundary = kind.strip_prefix("multipart/byteranges; boundary=").expect("several parts");
    let mut expected = Vec::new();
    for (from, to) in [(0, 1), (31, 33), (99, 100)] {
        let head = format!(
            "--{boundary}\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes {from}-{}/100\r\n\r\n",
            to - 1
        );
        expected.extend_from_slice(head.as_bytes());
        expected.extend_from_slice(&whole[from..to]);
        expected.extend_from_slice(b"\r\n");
    }
    expected.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    assert_eq!(several.body, expected);
    assert_eq!(several.header("content-length"), Some(expected.len().to_string().as_str()));
    let outside = get("bytes=100-").await.expect(416);
    assert_eq!(outside.header("content-range"), Some("bytes */100"));
    assert_eq!(get("lines=1").await.expect(200).body, whole);
    server.stop().await;
}

#[tokio::test]
async fn conditions_hold_and_a_wrong_etag_changes_nothing() {
    let (server, owner) = start_with_container().await;
    let path = "/v1/AUTH_one/c/o";
    let put = async |headers: &[(&str, &str)], body: &[u8]| owner.ask("PUT", path, headers, body).await;
    put(&[("if-none-match", "*")], b"first").await.expect(201);
    put(&[("if-none-match", "*")], b"second").await.expect(412);
    put(&[("if-none-match", "abc")], b"second").await.expect(400);
    put(&[("etag", "00000000000000000000000000000000")], b"second").await.expect(422);
    put(&[("etag", "8b04d5e3775d298e78455efc5ca404d5")], b"first").await.expect(201);
    put(&[("x-delete-at", "5")], b"second").await.expect(400);
    put(&[("x-delete-after", "soon")], b"second").await.expect(400);
    let long = "v".repeat(257);
    put(&[("x-object-meta-a", &long)], b"second").await.expect(400);
    owner.ask("PUT", &format!("/v1/AUTH_one/c/{}", "o".repeat(1025)), &[], b"").await.expect(400);
    owner.ask("PUT", "/v1/AUTH_one/none/o", &[], b"second").await.expect(404);
    let get = async |name: &str, value: &str| owner.ask("GET", path, &[(name, value)], b"").await;
    assert_eq!(get("if-match", "\"8b04d5e3775d298e78455efc5ca404d5\"").await.expect(200).body, b"first");
    get("if-match", "other").await.expect(412);
    let unmodified = get("if-none-match", "8b04d5e3775d298e78455efc5ca404d5").await.expect(304);
    assert!(unmodified.body.is_empty());
    get("if-modified-since", "Tue, 14 Nov 2023 22:13:20 GMT").await.expect(304);
    let old = ("if-unmodified-since", "Tue, 14 Nov 2023 22:13:19 GMT");
    get(old.0, old.1).await.expect(412);
    // A change refuses conditions that it does not support, and ranges.
    put(&[old], b"second").await.expect(400);
    put(&[("content-range", "bytes 0-3/8")], b"second").await.expect(400);
    owner.ask("POST", path, &[old], b"").await.expect(400);
    owner.ask("DELETE", path, &[("if-match", "other")], b"").await.expect(400);
    assert_eq!(owner.get(path).await.expect(200).body, b"first");
    server.stop().await;
}

#[tokio::test]
async fn a_copy_takes_bytes_and_metadata_along_and_is_no_link() {
    let server = start().await;
    let owner = server.client("one", "owner").await;
    for container in ["c", "d"] {
        owner.put(&format!("/v1/AUTH_one/{container}"), b"").await;
    }
    let headers = [("x-object-meta-a", "1"), ("content-type", "text/x")];
    owner.ask("PUT", "/v1/AUTH_one/c/o", &headers, &bytes(70)).await.expect(201);
    let sent = [("destination", "/d/sub%2Fcopy"), ("x-object-meta-b", "2")];
    let copied = owner.ask("COPY", "/v1/AUTH_one/c/o", &sent, b"").await.expect(201);
    assert_eq!(copied.header("x-copied-from"), Some("c/o"));
    let got = owner.get("/v1/AUTH_one/d/sub/copy").await.expect(200);
    assert_eq!(got.body, bytes(70));
    assert_eq!((got.header("x-object-meta-a"), got.header("x-object-meta-b")), (Some("1"), Some("2")));
    assert_eq!(got.header("content-type"), Some("text/x"));
    let without_metadata = [("x-copy-from", "/c/o"), ("x-fresh-metadata", "true")];
    owner.ask("PUT", "/v1/AUTH_one/d/fresh", &without_metadata, b"").await.expect(201);
    owner.delete("/v1/AUTH_one/c/o").await.expect(204);
    let got = owner.get("/v1/AUTH_one/d/fresh").await.expect(200);
    assert_eq!((got.body.clone(), got.header("x-object-meta-a")), (bytes(70), None));
    owner.ask("COPY", "/v1/AUTH_one/d/fresh", &[], b"").await.expect(412);
    owner.ask("COPY", "/v1/AUTH_one/d/fresh", &[("destination", "d")], b"").await.expect(412);
    owner.ask("PUT", "/v1/AUTH_one/d/x", &[("x-copy-from", "d/none")], b"").await.expect(404);
    owner.ask("PUT", "/v1/AUTH_one/d/x", &[("x-copy-from", "d/fresh")], b"body").await.expect(400);
    // A copy to another account needs the right to put there, which an admin has.
    let admin = server.client("ops", "admin").await;
    admin.put("/v1/AUTH_two/e", b"").await;
    let sent = [("destination", "e/o"), ("destination-account", "AUTH_two")];
    owner.ask("COPY", "/v1/AUTH_one/d/fresh", &sent, b"").await.expect(403);
    admin.ask("COPY", "/v1/AUTH_one/d/fresh", &sent, b"").await.expect(201);
    assert_eq!(admin.get("/v1/AUTH_two/e/o").await.expect(200).body, bytes(70));
    server.stop().await;
}

#[tokio::test]
async fn an_object_whose_time_is_over_is_gone_at_once_and_its_blocks_come_back() {
    let (server, owner) = start_with_container().await;
    let before = server.gateway.usage().free_blocks;
    owner.ask("PUT", "/v1/AUTH_one/c/o", &[("x-delete-after", "10")], &bytes(100)).await.expect(201);
    let at = (server.seconds() + 10).to_string();
    assert_eq!(owner.head("/v1/AUTH_one/c/o").await.expect(200).header("x-delete-at"), Some(at.as_str()));
    server.pass(9);
    owner.get("/v1/AUTH_one/c/o").await.expect(200);
    server.pass(1);
    owner.get("/v1/AUTH_one/c/o").await.expect(404);
    assert!(owner.get("/v1/AUTH_one/c").await.expect(204).body.is_empty());
    server.accesses();
    assert_eq!(server.gateway.sweep_expired(10).await.expect("swept"), 1);
    assert_eq!(server.gateway.usage().free_blocks, before);
    assert_eq!(server.accesses(), 0);
    server.stop().await;
}
