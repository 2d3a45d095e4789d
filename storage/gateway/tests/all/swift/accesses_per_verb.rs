//! The table of accesses per verb in `docs/reference/swift.md`, counted on a device.

use super::test_server::{BLOCK, bytes, start_with};
use ameles_gateway::Padding;

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "the rows of the table in its order")]
async fn every_verb_takes_the_accesses_that_the_table_says() {
    for padding in [Padding::None, Padding::PowersOfTwo] {
        let server = start_with(padding.clone(), 2000).await;
        let owner = server.client("one", "owner").await;
        let padded = |size: usize| padding.blocks(size as u64, BLOCK);
        let check =
            |what: &str, expected: u64| assert_eq!(server.accesses(), expected, "{what}, {padding:?}");
        let a = "/v1/AUTH_one";

        for (method, path, status) in [
            ("PUT", "/v1/AUTH_one/c", 201),
            ("POST", a, 204),
            ("GET", a, 204 - 4),
            ("HEAD", a, 204),
            ("POST", "/v1/AUTH_one/c", 204),
            ("HEAD", "/v1/AUTH_one/c", 204),
        ] {
            owner.ask(method, path, &[], b"").await.expect(status);
        }
        check("accounts and containers", 0);

        let size = 300;
        owner.put("/v1/AUTH_one/c/o", &bytes(size)).await;
        check("put", padded(size));
        let wrong = "0".repeat(32);
        owner.ask("PUT", "/v1/AUTH_one/c/x", &[("etag", &wrong)], &bytes(size)).await.expect(422);
        check("put with another ETag", padded(size));
        assert_eq!(owner.get("/v1/AUTH_one/c/o").await.expect(200).body, bytes(size));
        check("get", padded(size));
        for (method, headers, status) in [
            ("HEAD", &[][..], 200),
            ("POST", &[("x-object-meta-a", "b")][..], 202),
            ("GET", &[("if-none-match", "*")][..], 304),
            ("GET", &[("if-match", "x")][..], 412),
            ("GET", &[("range", "bytes=1000-")][..], 416),
            ("PUT", &[("if-none-match", "*")][..], 412),
        ] {
            owner.ask(method, "/v1/AUTH_one/c/o", headers, b"").await.expect(status);
            check(&format!("{method} {headers:?}"), 0);
        }
        owner.get("/v1/AUTH_one/c?format=json").await.expect(200);
        check("list", 0);

        // Bytes 10 to 70 lie in blocks 0 to 2, bytes 100 to 101 in block 3.
        let class = |blocks: usize| padded(blocks * BLOCK).min(padded(size));
        owner.ask("GET", "/v1/AUTH_one/c/o", &[("range", "bytes=10-70")], b"").await.expect(206);
        check("range", class(3));
        owner.ask("GET", "/v1/AUTH_one/c/o", &[("range", "bytes=10-70,100-101")], b"").await.expect(206);
        check("two ranges", class(3) + class(1));

        owner.ask("COPY", "/v1/AUTH_one/c/o", &[("destination", "c/p")], b"").await.expect(201);
        check("copy", 2 * padded(size));
        owner.ask("PUT", "/v1/AUTH_one/c/q", &[("x-copy-from", "c/o")], b"").await.expect(201);
        check("put from another", 2 * padded(size));

        owner.ask("PUT", "/v1/AUTH_one/c/dynamic", &[("x-object-manifest", "c/p")], b"").await.expect(201);
        check("put a dynamic large object", padded(0));
        owner.head("/v1/AUTH_one/c/dynamic").await.expect(200);
        check("head of a dynamic large object", 0);
        assert_eq!(owner.get("/v1/AUTH_one/c/dynamic").await.expect(200).body, bytes(size));
        check("get of a dynamic large object", padded(size));

        let list = br#"[{"path": "/c/p"}, {"path": "/c/q", "range": "10-70"}]"#;
        owner.ask("PUT", "/v1/AUTH_one/c/static?multipart-manifest=put", &[], list).await.expect(201);
        let manifest = owner.get("/v1/AUTH_one/c/static?multipart-manifest=get").await.expect(200).body.len();
        check("put and look at a static large object", 2 * padded(manifest));
        owner.head("/v1/AUTH_one/c/static").await.expect(200);
        check("head of a static large object", 0);
        owner.get("/v1/AUTH_one/c/static").await.expect(200);
        check("get of a static large object", padded(manifest) + padded(size) + class(3));
        owner.ask("GET", "/v1/AUTH_one/c/static", &[("range", "bytes=0-0")], b"").await.expect(206);
        check("range of a static large object", padded(manifest) + class(1));
        owner.delete("/v1/AUTH_one/c/static?multipart-manifest=delete").await.expect(200);
        check("delete of all of a static large object", padded(manifest));

        for archive in ["x-versions-location", "x-history-location"] {
            owner.ask("PUT", "/v1/AUTH_one/old", &[], b"").await;
            owner.ask("POST", "/v1/AUTH_one/c", &[(archive, "old")], b"").await.expect(204);
            owner.put("/v1/AUTH_one/c/o", &bytes(size)).await;
            check("put over what is archived", padded(size));
            owner.delete("/v1/AUTH_one/c/o").await.expect(204);
            check("delete of what has an archive", 0);
        }
        owner.ask("POST", "/v1/AUTH_one?bulk-delete", &[], b"c/o\nc/dynamic\nc/none").await.expect(200);
        owner.ask("POST", "/v1/AUTH_one/c", &[("x-remove-history-location", "x")], b"").await.expect(204);
        server.pass(1);
        server.gateway.sweep_expired(100).await.expect("swept");
        check("deletes and sweeping", 0);
        server.stop().await;
    }
}
