//! Logins by each of the three versions.

use super::test_server::{TestServer, start};
use serde_json::{Value, json};

async fn post(server: &TestServer, path: &str, body: &Value) -> (u16, Option<String>, Value) {
    let answer =
        server.ask("POST", path, &[("content-type", "application/json")], body.to_string().as_bytes()).await;
    let token = answer.header("x-subject-token").map(str::to_owned);
    (answer.status, token, serde_json::from_slice(&answer.body).unwrap_or_default())
}

fn v3(user: Value, scope: Option<Value>) -> Value {
    let mut auth = json!({"identity": {"methods": ["password"], "password": {"user": user}}});
    if let (Some(scope), Some(fields)) = (scope, auth.as_object_mut()) {
        fields.insert("scope".into(), scope);
    }
    json!({"auth": auth})
}

fn endpoint(catalogue: &Value, kind: &str) -> String {
    let services = catalogue.as_array().expect("a catalogue");
    let service = services.iter().find(|service| service["type"] == kind).expect(kind);
    service["endpoints"][0]["url"].as_str().expect("a url").to_owned()
}

#[tokio::test]
async fn every_version_leads_to_the_users_own_account() {
    let server = start().await;
    let storage = format!("http://{}/v1/AUTH_one", server.address);
    let opens = async |token: &str| {
        server.ask("HEAD", "/v1/AUTH_one", &[("x-auth-token", token)], b"").await.expect(204);
        server.ask("HEAD", "/v1/AUTH_two", &[("x-auth-token", token)], b"").await.expect(403);
    };
    for headers in [["x-auth-user", "x-auth-key"], ["x-storage-user", "x-storage-pass"]] {
        let login = [(headers[0], "one:owner"), (headers[1], "pw-one")];
        let answer = server.ask("GET", "/auth/v1.0", &login, b"").await.expect(200);
        assert_eq!(answer.header("x-storage-url"), Some(storage.as_str()));
        assert_eq!(answer.header("x-auth-token-expires"), Some("86400"));
        opens(answer.header("x-auth-token").expect("a token")).await;
    }

    let credentials = json!({"username": "owner", "password": "pw-one"});
    let body = json!({"auth": {"tenantName": "one", "passwordCredentials": credentials}});
    let (status, _, answer) = post(&server, "/v2.0/tokens", &body).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["access"]["serviceCatalog"][0]["endpoints"][0]["publicURL"], storage);
    opens(answer["access"]["token"]["id"].as_str().expect("a token")).await;

    let default = json!({"id": "default"});
    let user = json!({"name": "owner", "domain": default, "password": "pw-one"});
    let scope = json!({"project": {"name": "one", "domain": {"name": "Default"}}});
    let (status, token, answer) = post(&server, "/v3/auth/tokens", &v3(user, Some(scope))).await;
    assert_eq!(status, 201, "{answer}");
    let token = token.expect("a token");
    opens(&token).await;
    let described = &answer["token"];
    assert_eq!(endpoint(&described["catalog"], "object-store"), storage);
    assert_eq!(endpoint(&described["catalog"], "identity"), format!("http://{}/v3", server.address));
    assert_eq!(described["project"]["id"], "one");
    let id = described["user"]["id"].as_str().expect("an id").to_owned();

    // By id without a project, and by an old token: the new token expires no later.
    let (status, token_2, _) =
        post(&server, "/v3/auth/tokens", &v3(json!({"id": id, "password": "pw-one"}), None)).await;
    assert_eq!(status, 201);
    opens(&token_2.expect("a token")).await;
    server.pass(1000);
    let by_token = json!({"auth": {"identity": {"methods": ["token"], "token": {"id": token}}}});
    let (status, token_3, answer) = post(&server, "/v3/auth/tokens", &by_token).await;
    assert_eq!(status, 201);
    assert_eq!(answer["token"]["expires_at"], described["expires_at"]);
    opens(&token_3.expect("a token")).await;
    server.stop().await;
}

#[tokio::test]
async fn a_wrong_login_learns_nothing() {
    let server = start().await;
    let user =
        |name: &str, password: &str| json!({"name": name, "domain": {"id": "default"}, "password": password});
    let project = |name: &str| Some(json!({"project": {"name": name, "domain": {"id": "default"}}}));
    let other_domain = json!({"project": {"name": "one", "domain": {"id": "elsewhere"}}});
    for (user, scope) in [
        (user("owner", "wrong"), project("one")),
        (user("owner", "pw-two"), project("one")),
        (user("nobody", "pw-one"), project("one")),
        (user("owner", "pw-one"), project("none")),
        (user("owner", "pw-one"), Some(other_domain)),
        // Two accounts have a user `owner`: the name alone identifies none.
        (user("owner", "pw-one"), None),
        (user("owner", "pw-one"), Some(json!({"system": {"all": true}}))),
        (json!({"id": "0123", "password": "pw-one"}), None),
    ] {
        let body = v3(user, scope);
        let (status, token, _) = post(&server, "/v3/auth/tokens", &body).await;
        assert_eq!((status, token), (401, None), "{body}");
    }
    for (name, password) in
        [("one:owner", "wrong"), ("one:nobody", "pw-one"), ("one", "pw-one"), ("a/b:c", "x"), (":", "")]
    {
        let answer =
            server.ask("GET", "/auth/v1.0", &[("x-auth-user", name), ("x-auth-key", password)], b"").await;
        let refused = answer.expect(401);
        assert_eq!(refused.text(), "The account, the user or the password is wrong.");
    }
    for body in ["", "{}", "[]", "{\"auth\": 5}", "\u{e9}"] {
        server.ask("POST", "/v3/auth/tokens", &[], body.as_bytes()).await.expect(400);
        server.ask("POST", "/v2.0/tokens", &[], body.as_bytes()).await.expect(400);
    }
    server.ask("POST", "/v3/auth/tokens", &[], &vec![b' '; 70_000]).await.expect(413);
    server.stop().await;
}

#[tokio::test]
async fn a_token_shows_itself_to_its_user_and_can_be_ended() {
    let server = start().await;
    let (mine, other, admin) = (
        server.token("one", "owner").await,
        server.token("two", "owner").await,
        server.token("ops", "admin").await,
    );
    let ask = async |method: &str, with: &str, about: &str| {
        let tokens = [("x-auth-token", with), ("x-subject-token", about)];
        server.ask(method, "/v3/auth/tokens", &tokens, b"").await
    };
    let shown: Value =
        serde_json::from_slice(&ask("GET", &mine, &mine).await.expect(200).body).expect("json");
    assert_eq!(shown["token"]["user"]["name"], "owner");
    ask("GET", &admin, &mine).await.expect(200);
    ask("GET", &other, &mine).await.expect(404);
    ask("DELETE", &other, &mine).await.expect(404);
    ask("GET", "none", &mine).await.expect(401);
    ask("DELETE", &mine, &mine).await.expect(204);
    ask("GET", &admin, &mine).await.expect(404);
    server.stop().await;
}

#[tokio::test]
async fn clients_find_the_versions_that_there_are() {
    let server = start().await;
    let base = format!("http://{}", server.address);
    let versions = server.ask("GET", "/", &[], b"").await.expect(300);
    let versions: Value = serde_json::from_slice(&versions.body).expect("json");
    assert_eq!(versions["versions"]["values"][0]["links"][0]["href"], format!("{base}/v3/"));
    for (path, id) in [("/v3", "v3.14"), ("/v3/", "v3.14"), ("/v2.0", "v2.0")] {
        let one: Value =
            serde_json::from_slice(&server.ask("GET", path, &[], b"").await.expect(200).body).expect("json");
        assert_eq!(one["version"]["id"], id);
    }
    let info: Value =
        serde_json::from_slice(&server.ask("GET", "/info", &[], b"").await.expect(200).body).expect("json");
    assert_eq!(info["swift"]["max_file_size"], 2000 * 32);
    assert_eq!(server.ask("GET", "/healthcheck", &[], b"").await.expect(200).text(), "OK");
    server.stop().await;
}
