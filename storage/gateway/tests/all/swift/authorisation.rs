//! Rights: every verb, requested by all callers without the right to it.

use super::test_server::{Client, TestServer, USERS, start_with_container};
use crate::raw::Answer;
use ameles_gateway::catalogue::{ContainerSettings, Details, Grant, Grantee, Ownership, Permission};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// A verb: method, path, headers, body, and the status for its owner.
type Verb = (&'static str, &'static str, &'static [(&'static str, &'static str)], &'static [u8], u16);

const META: &[(&str, &str)] =
    &[("x-account-meta-a", "1"), ("x-container-meta-a", "1"), ("x-object-meta-a", "1")];
const MANIFEST: &[u8] = br#"[{"path": "/c/o"}]"#;

/// The verbs in an order in which the owner can send all of them, in the account `one`.
const VERBS: [Verb; 24] = [
    ("GET", "/v1/AUTH_one", &[], b"", 200),
    ("HEAD", "/v1/AUTH_one", &[], b"", 204),
    ("POST", "/v1/AUTH_one", META, b"", 204),
    ("PUT", "/v1/AUTH_one/new", &[], b"", 201),
    ("POST", "/v1/AUTH_one/new", META, b"", 204),
    ("DELETE", "/v1/AUTH_one/new", &[], b"", 204),
    ("GET", "/v1/AUTH_one/c", &[], b"", 200),
    ("HEAD", "/v1/AUTH_one/c", &[], b"", 204),
    ("PUT", "/v1/AUTH_one/c/p", &[], b"body", 201),
    ("GET", "/v1/AUTH_one/c/o", &[], b"", 200),
    ("GET", "/v1/AUTH_one/c/o", &[("range", "bytes=1-2")], b"", 206),
    ("HEAD", "/v1/AUTH_one/c/o", &[], b"", 200),
    ("POST", "/v1/AUTH_one/c/o", META, b"", 202),
    ("COPY", "/v1/AUTH_one/c/o", &[("destination", "c/q")], b"", 201),
    ("PUT", "/v1/AUTH_one/c/r", &[("x-copy-from", "c/o")], b"", 201),
    ("PUT", "/v1/AUTH_one/c/dynamic", &[("x-object-manifest", "c/o")], b"", 201),
    ("GET", "/v1/AUTH_one/c/dynamic", &[], b"", 200),
    ("PUT", "/v1/AUTH_one/c/static?multipart-manifest=put", &[], MANIFEST, 201),
    ("GET", "/v1/AUTH_one/c/static", &[], b"", 200),
    ("GET", "/v1/AUTH_one/c/static?multipart-manifest=get", &[], b"", 200),
    ("DELETE", "/v1/AUTH_one/c/q", &[], b"", 204),
    ("DELETE", "/v1/AUTH_one/c/static?multipart-manifest=delete", &[], b"", 200),
    ("POST", "/v1/AUTH_one?bulk-delete", &[], b"c/p\nc/r", 200),
    ("DELETE", "/v1/AUTH_one?bulk-delete", &[], b"c/dynamic", 200),
];

async fn prepared() -> (TestServer, Client) {
    let (server, owner) = start_with_container().await;
    owner.put("/v1/AUTH_one/c/o", b"the secret of one").await;
    owner.ask("POST", "/v1/AUTH_one", &[("x-account-meta-temp-url-key", "key")], b"").await.expect(204);
    (server, owner)
}

fn assert_refused(verb: &Verb, caller: &str, answer: &Answer, status: u16) {
    let (method, path, ..) = verb;
    assert_eq!(
        answer.status,
        status,
        "{method} {path} by {caller}: {}",
        String::from_utf8_lossy(&answer.body)
    );
    assert!(!String::from_utf8_lossy(&answer.body).contains("secret"), "{method} {path} by {caller}");
    // A refusal shows nothing of the object, not even that it exists.
    for header in ["etag", "last-modified", "x-timestamp", "x-container-object-count", "x-account-bytes-used"]
    {
        assert!(answer.header(header).is_none(), "{method} {path} by {caller} shows {header}");
    }
}

#[tokio::test]
async fn no_verb_is_done_without_the_right_and_refusals_make_no_access() {
    let (server, _) = prepared().await;
    let good = server.token("one", "owner").await;
    let mut tampered = good.clone();
    tampered.replace_range(0..1, if good.starts_with('0') { "1" } else { "0" });
    let callers = [
        ("nobody", None, 401),
        ("an empty token", Some(String::new()), 401),
        ("a token that was never issued", Some("AUTH_tk0123456789abcdef".to_owned()), 401),
        ("a tampered token", Some(tampered), 401),
        ("another account's owner", Some(server.token("two", "owner").await), 403),
        ("a member without rights", Some(server.token("one", "member").await), 403),
    ];
    let before = server.gateway.usage();
    server.accesses();
    for verb in &VERBS {
        let (method, path, headers, body, _) = verb;
        for (caller, token, status) in &callers {
            let mut all = headers.to_vec();
            all.extend(token.as_deref().map(|token| ("x-auth-token", token)));
            let answer = server.ask(method, path, &all, body).await;
            assert_refused(verb, caller, &answer, *status);
            // A path that does not exist is refused in the same words.
            let elsewhere = path.replace("/c", "/missing").replace("/new", "/missing");
            let other = server.ask(method, &elsewhere, &all, body).await;
            assert_eq!(
                (other.status, &other.body),
                (answer.status, &answer.body),
                "{method} {path} by {caller}"
            );
        }
    }
    assert_eq!(server.gateway.usage(), before);
    assert_eq!(server.accesses(), 0);
    // The owner's same requests succeed: none was refused for being malformed.
    for (method, path, headers, body, status) in &VERBS {
        let mut all = headers.to_vec();
        all.push(("x-auth-token", good.as_str()));
        let answer = server.ask(method, path, &all, body).await;
        assert_eq!(answer.status, *status, "{method} {path}: {}", String::from_utf8_lossy(&answer.body));
    }
    server.stop().await;
}

#[tokio::test]
async fn an_expired_a_revoked_and_a_removed_users_token_open_nothing() {
    let (server, _) = prepared().await;
    let expired = server.token("one", "owner").await;
    server.pass(60 * 60);
    let revoked = server.token("one", "owner").await;
    // No user of the account logs in after the first token has expired: a login would discard it.
    server.pass(23 * 60 * 60);
    let headers = [("x-auth-token", revoked.as_str()), ("x-subject-token", revoked.as_str())];
    server.ask("DELETE", "/v3/auth/tokens", &headers, b"").await.expect(204);
    let token_of_removed_user = server.token("two", "owner").await;
    // The other users stay as they are: a new hash of the same password would also end their tokens.
    let kept = USERS.iter().filter(|user| user.0 != "two").filter_map(|(account, name, ..)| {
        server.users.user(&account.parse().expect("a name"), &name.parse().expect("a name"))
    });
    server.users.replace(kept.collect()).expect("users");
    let admin = server.token("ops", "admin").await;
    server.ask("HEAD", "/v1/AUTH_one", &[("x-auth-token", &admin)], b"").await.expect(204);
    for verb in &VERBS {
        let (method, path, headers, body, _) = verb;
        for (caller, token) in [
            ("an expired token", &expired),
            ("a revoked token", &revoked),
            ("a removed user", &token_of_removed_user),
        ] {
            let mut all = headers.to_vec();
            all.push(("x-auth-token", token.as_str()));
            let answer = server.ask(method, path, &all, body).await;
            assert_refused(verb, caller, &answer, 401);
        }
    }
    server.stop().await;
}

fn link(method: &str, path: &str, expires: u64, key: &str) -> String {
    let text = format!("{method}\n{expires}\n{}", path.split('?').next().unwrap_or_default());
    let mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key.as_bytes()).expect("a key");
    let bytes = mac.chain_update(text.as_bytes()).finalize().into_bytes();
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let separator = if path.contains('?') { '&' } else { '?' };
    format!("{path}{separator}temp_url_sig={digits}&temp_url_expires={expires}")
}

#[tokio::test]
async fn a_temporary_url_is_good_for_no_verb_but_its_own() {
    let (server, _) = prepared().await;
    let soon = server.seconds() + 100;
    // A URL that allows GET or PUT also allows HEAD: so it is in Swift.
    let allows = |signed: &str, asked: &str| signed == asked || asked == "HEAD";
    for signed in ["GET", "HEAD", "PUT", "POST", "DELETE"] {
        for verb in &VERBS {
            let (method, path, headers, body, _) = verb;
            let is_of_object = path.matches('/').count() > 3;
            if is_of_object && allows(signed, method) {
                continue;
            }
            let answer = server.ask(method, &link(signed, path, soon, "key"), headers, body).await;
            assert_refused(verb, &format!("a URL for {signed}"), &answer, 401);
        }
    }
    for (key, expires) in [("another", soon), ("key", server.seconds())] {
        let path = link("GET", "/v1/AUTH_one/c/o", expires, key);
        server.ask("GET", &path, &[], b"").await.expect(401);
    }
    // A valid token together with an invalid link does not help, and another account's key does not sign for this one.
    let owner = server.token("one", "owner").await;
    let path = link("PUT", "/v1/AUTH_one/c/o", soon, "key");
    server.ask("GET", &path, &[("x-auth-token", &owner)], b"").await.expect(401);
    let path = link("GET", "/v1/AUTH_two/c/o", soon, "key");
    server.ask("GET", &path, &[], b"").await.expect(401);
    let path = link("GET", "/v1/AUTH_one/c/o", soon, "key");
    assert_eq!(server.ask("GET", &path, &[], b"").await.expect(200).body, b"the secret of one");
    server.stop().await;
}

/// The answers to a client that reads an object in another account's container, lists the container, and puts an object
/// there.
async fn statuses_of(client: &Client) -> [u16; 3] {
    [
        client.get("/v1/AUTH_one/c/o").await.status,
        client.get("/v1/AUTH_one/c").await.status,
        client.ask("PUT", "/v1/AUTH_one/c/x", &[], b"").await.status,
    ]
}

#[tokio::test]
async fn an_access_list_grants_what_it_says_and_no_more() {
    let (server, owner) = prepared().await;
    let member = server.client("one", "member").await;
    let other = server.client("two", "owner").await;
    let set = async |read: &str, write: &str| {
        let headers = [("x-container-read", read), ("x-container-write", write)];
        owner.ask("POST", "/v1/AUTH_one/c", &headers, b"").await.expect(204);
    };
    let path = "/v1/AUTH_one/c/o";
    set("one:member", "").await;
    assert_eq!(statuses_of(&member).await, [200, 200, 403]);
    assert_eq!(statuses_of(&other).await, [403, 403, 403]);
    set("", "two:owner").await;
    assert_eq!(statuses_of(&member).await, [403, 403, 403]);
    assert_eq!(statuses_of(&other).await, [403, 403, 201]);
    set("*:*", "").await;
    assert_eq!(statuses_of(&other).await, [200, 200, 403]);
    // All callers may read, but none may list until that is allowed, too.
    set(".r:*", "").await;
    let public = async |path: &str| server.ask("GET", path, &[], b"").await.status;
    assert_eq!([public(path).await, public("/v1/AUTH_one/c").await], [200, 401]);
    set(".r:*,.rlistings", "").await;
    assert_eq!([public(path).await, public("/v1/AUTH_one/c").await], [200, 200]);
    set(".r:.example.org", "").await;
    let from = async |page: &str| server.ask("GET", path, &[("referer", page)], b"").await.status;
    assert_eq!([from("http://www.example.org/").await, from("http://example.com/").await], [200, 401]);
    // A caller that may read sees neither the ACLs nor the keys of links.
    set("two:owner", "").await;
    owner.ask("POST", "/v1/AUTH_one/c", &[("x-container-meta-temp-url-key", "hush")], b"").await.expect(204);
    let answer = other.head("/v1/AUTH_one/c").await.expect(204);
    assert!(
        answer.header("x-container-read").is_none()
            && answer.header("x-container-meta-temp-url-key").is_none()
    );
    let answer = owner.head("/v1/AUTH_one/c").await.expect(204);
    assert_eq!(answer.header("x-container-read"), Some("two:owner"));
    // A right in one container is not a right in another, and a copy needs both.
    owner.put("/v1/AUTH_one/other", b"").await;
    owner.put("/v1/AUTH_one/other/o", b"hidden").await;
    set("two:owner", "two:owner").await;
    other.ask("PUT", "/v1/AUTH_one/c/x", &[("x-copy-from", "other/o")], b"").await.expect(403);
    other.ask("COPY", path, &[("destination", "other/x")], b"").await.expect(403);
    other.ask("COPY", path, &[("destination", "c/x")], b"").await.expect(201);
    // A large object does not read from where its reader may not.
    owner.ask("PUT", "/v1/AUTH_one/c/large", &[("x-object-manifest", "other/o")], b"").await.expect(201);
    other.get("/v1/AUTH_one/c/large").await.expect(403);
    assert_eq!(owner.get("/v1/AUTH_one/c/large").await.expect(200).body, b"hidden");
    server.stop().await;
}

#[tokio::test]
async fn a_grant_that_was_set_over_s3_counts_in_swift() {
    let (server, _) = prepared().await;
    let other = server.client("two", "owner").await;
    let account = server.gateway.account("one");
    let grant = |permission| Grant { grantee: Grantee::Account("two".into()), permission };
    let set = async |ownership, permission| {
        let grants = vec![grant(permission)];
        let change = move |settings: &mut ContainerSettings| {
            (settings.ownership, settings.grants) = (Some(ownership), grants);
            Ok(())
        };
        account.update_container("c", change).await.expect("set");
    };
    let path = "/v1/AUTH_one/c/o";
    set(Ownership::Preferred, Permission::Read).await;
    assert_eq!(statuses_of(&other).await, [403, 200, 403]);
    set(Ownership::Preferred, Permission::Write).await;
    assert_eq!(statuses_of(&other).await, [403, 403, 201]);
    set(Ownership::Enforced, Permission::FullControl).await;
    assert_eq!(statuses_of(&other).await, [403, 403, 403]);
    // Grants that only one object gets.
    let readable = |details: &mut Details| {
        details.grants = vec![Grant { grantee: Grantee::Everybody, permission: Permission::Read }];
        Ok(())
    };
    account.update_object("c", "o", false, readable).await.expect("set");
    assert_eq!(server.ask("GET", path, &[], b"").await.status, 401);
    set(Ownership::Preferred, Permission::ReadGrants).await;
    assert_eq!(server.ask("GET", path, &[], b"").await.status, 200);
    assert_eq!(server.ask("GET", "/v1/AUTH_one/c/x", &[], b"").await.status, 401);
    assert_eq!(server.ask("PUT", path, &[], b"").await.status, 401);
    server.stop().await;
}

#[tokio::test]
async fn an_accounts_quota_is_changed_by_an_admin_only() {
    let (server, owner) = prepared().await;
    let admin = server.client("ops", "admin").await;
    for header in ["x-account-meta-quota-bytes", "x-account-quota-bytes", "x-remove-account-meta-quota-bytes"]
    {
        owner.ask("POST", "/v1/AUTH_one", &[(header, "100")], b"").await.expect(403);
    }
    admin.ask("POST", "/v1/AUTH_one", &[("x-account-meta-quota-bytes", "20")], b"").await.expect(204);
    owner.ask("PUT", "/v1/AUTH_one/c/large", &[], &[0; 21]).await.expect(413);
    owner.put("/v1/AUTH_one/c/small", &[0; 3]).await;
    owner.ask("PUT", "/v1/AUTH_one/c/more", &[], b"x").await.expect(413);
    // The replaced bytes make room for the new ones.
    owner.put("/v1/AUTH_one/c/small", &[1; 3]).await;
    admin.ask("POST", "/v1/AUTH_one", &[("x-remove-account-meta-quota-bytes", "x")], b"").await.expect(204);
    owner.put("/v1/AUTH_one/c/large", &[0; 21]).await;
    server.stop().await;
}
