//! Temporary URLs and forms, used by a client without any other credentials.

use super::test_server::{Client, TestServer, start_with_container};
use crate::test_server::post_partial_body;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

const PATH: &str = "/v1/AUTH_one/c/dir/o";

fn sign(key: &str, text: &str) -> String {
    let mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key.as_bytes()).expect("a key");
    mac.chain_update(text.as_bytes())
        .finalize()
        .into_bytes()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

async fn prepared() -> (TestServer, Client) {
    let (server, owner) = start_with_container().await;
    let headers = [("x-object-meta-secret", "1"), ("x-object-meta-public-a", "2")];
    owner.ask("PUT", PATH, &headers, b"body").await.expect(201);
    owner.ask("POST", "/v1/AUTH_one", &[("x-account-meta-temp-url-key", "key")], b"").await.expect(204);
    (server, owner)
}

#[tokio::test]
async fn a_link_reads_or_writes_one_object_for_a_while() {
    let (server, owner) = prepared().await;
    let expires = server.seconds() + 60;
    let link = |method: &str| {
        format!(
            "{PATH}?temp_url_sig={}&temp_url_expires={expires}",
            sign("key", &format!("{method}\n{expires}\n{PATH}"))
        )
    };
    let got = server.ask("GET", &link("GET"), &[], b"").await.expect(200);
    assert_eq!(got.body, b"body");
    assert_eq!(got.header("content-disposition"), Some("attachment; filename=\"o\"; filename*=UTF-8''o"));
    assert_eq!((got.header("x-object-meta-secret"), got.header("x-object-meta-public-a")), (None, Some("2")));
    let inline = server.ask("GET", &format!("{}&inline", link("GET")), &[], b"").await.expect(200);
    assert_eq!(inline.header("content-disposition"), Some("inline"));
    server.ask("PUT", &link("PUT"), &[], b"new").await.expect(201);
    // A link must not give access to objects elsewhere.
    owner.put("/v1/AUTH_one/c/hidden", b"hidden").await;
    for header in ["x-object-manifest", "x-copy-from"] {
        for method in ["PUT", "POST"] {
            server.ask(method, &link(method), &[(header, "c/hidden")], b"").await.expect(400);
        }
    }
    let list = br#"[{"path": "/c/hidden"}]"#;
    server.ask("PUT", &format!("{}&multipart-manifest=put", link("PUT")), &[], list).await.expect(400);
    owner.ask("PUT", &format!("{PATH}?multipart-manifest=put"), &[], list).await.expect(201);
    for (method, what) in [("GET", "get"), ("DELETE", "delete")] {
        let path = format!("{}&multipart-manifest={what}", link(method));
        server.ask(method, &path, &[], b"").await.expect(400);
    }
    owner.get("/v1/AUTH_one/c/hidden").await.expect(200);
    server.ask("PUT", &link("PUT"), &[], b"new").await.expect(201);
    assert_eq!(server.ask("GET", &link("GET"), &[], b"").await.expect(200).body, b"new");
    let prefix = sign("key", &format!("GET\n{expires}\nprefix:/v1/AUTH_one/c/dir/"));
    let path = format!("{PATH}?temp_url_sig={prefix}&temp_url_expires={expires}&temp_url_prefix=dir/");
    server.ask("GET", &path, &[], b"").await.expect(200);
    for (range, status) in [("127.0.0.0/8", 200), ("10.0.0.0/8", 401)] {
        let signature = sign("key", &format!("ip={range}\nGET\n{expires}\n{PATH}"));
        let path =
            format!("{PATH}?temp_url_sig={signature}&temp_url_expires={expires}&temp_url_ip_range={range}");
        server.ask("GET", &path, &[], b"").await.expect(status);
    }
    server.pass(60);
    server.ask("GET", &link("GET"), &[], b"").await.expect(401);
    server.stop().await;
}

#[tokio::test]
async fn a_containers_key_reaches_nothing_outside_of_it() {
    let (server, owner) = prepared().await;
    owner.ask("PUT", "/v1/AUTH_one/other", &[], b"").await.expect(201);
    owner.put("/v1/AUTH_one/other/part", b"hidden").await;
    owner.ask("POST", "/v1/AUTH_one/c", &[("x-container-meta-temp-url-key", "of c")], b"").await.expect(204);
    owner.ask("PUT", "/v1/AUTH_one/c/large", &[("x-object-manifest", "other/part")], b"").await.expect(201);
    let expires = server.seconds() + 60;
    let get = async |key: &str, path: &str| {
        let signature = sign(key, &format!("GET\n{expires}\n{path}"));
        let link = format!("{path}?temp_url_sig={signature}&temp_url_expires={expires}");
        server.ask("GET", &link, &[], b"").await
    };
    get("of c", PATH).await.expect(200);
    get("of c", "/v1/AUTH_one/other/part").await.expect(401);
    get("of c", "/v1/AUTH_one/c/large").await.expect(401);
    assert_eq!(get("key", "/v1/AUTH_one/c/large").await.expect(200).body, b"hidden");
    server.stop().await;
}

fn form(fields: &[(&str, &str)], files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in fields {
        body.extend(
            format!("--B\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n").bytes(),
        );
    }
    for (name, content) in files {
        let head = format!(
            "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"{name}\"\r\nContent-Type: text/x\r\n\r\n"
        );
        body.extend(head.bytes());
        body.extend_from_slice(content);
        body.extend(b"\r\n");
    }
    body.extend(b"--B--\r\n");
    body
}

#[tokio::test]
async fn a_signed_form_uploads_what_it_allows() {
    let (server, owner) = prepared().await;
    let path = "/v1/AUTH_one/c/up/";
    let expires = (server.seconds() + 60).to_string();
    let send = async |key: &str, redirect: &str, size: &str, expires: &str, files: &[(&str, &[u8])]| {
        let signature = sign(key, &format!("{path}\n{redirect}\n{size}\n2\n{expires}"));
        let fields = [
            ("redirect", redirect),
            ("max_file_size", size),
            ("max_file_count", "2"),
            ("expires", expires),
            ("signature", &signature),
        ];
        let kind = [("content-type", "multipart/form-data; boundary=B")];
        server.ask("POST", path, &kind, &form(&fields, files)).await
    };
    send("key", "", "10", &expires, &[("a", b"first"), ("b", b"second")]).await.expect(201);
    let got = owner.get("/v1/AUTH_one/c/up/b").await.expect(200);
    assert_eq!((got.text(), got.header("content-type")), ("second", Some("text/x")));
    let sent = send("key", "http://x.org/?a=b", "10", &expires, &[("a", b"again")]).await.expect(303);
    assert_eq!(sent.header("location"), Some("http://x.org/?a=b&status=201&message="));
    let refused = send("other", "", "10", &expires, &[("c", b"x")]).await.expect(401);
    assert_eq!(refused.text(), "FormPost: Invalid Signature");
    let refused = send("key", "", "10", "5", &[("c", b"x")]).await.expect(401);
    assert_eq!(refused.text(), "FormPost: Form Expired");
    send("key", "", "10", &expires, &[("c", b"more than ten bytes")]).await.expect(413);
    send("key", "", "10", &expires, &[("d", b"1"), ("e", b"2"), ("g", b"3")]).await.expect(400);
    owner.get("/v1/AUTH_one/c/up/c").await.expect(404);
    owner.get("/v1/AUTH_one/c/up/g").await.expect(404);
    server.stop().await;
}

#[tokio::test]
async fn a_form_whose_head_never_ends_is_refused_and_not_kept_in_memory() {
    let (server, _) = start_with_container().await;
    for head in ["", "--B\r\ncontent-disposition: "] {
        let body = [head.as_bytes(), &vec![b'x'; 3 << 20]].concat();
        let answer = post_partial_body(
            &server.address.to_string(),
            "/v1/AUTH_one/c",
            "multipart/form-data; boundary=B",
            &body,
        )
        .await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
    server.stop().await;
}
