//! CORS: the headers that a browser gets before and with an answer.

use super::test_server::{TestServer, keys};
use crate::raw::Answer;

const RULES: &str = "<CORSConfiguration>\
    <CORSRule><ID>first</ID><AllowedOrigin>https://*.example.org</AllowedOrigin><AllowedMethod>GET</AllowedMethod>\
    <AllowedMethod>PUT</AllowedMethod><AllowedHeader>x-amz-*</AllowedHeader><AllowedHeader>Content-Type</AllowedHeader>\
    <ExposeHeader>ETag</ExposeHeader><MaxAgeSeconds>600</MaxAgeSeconds></CORSRule>\
    <CORSRule><AllowedOrigin>*</AllowedOrigin><AllowedMethod>HEAD</AllowedMethod></CORSRule></CORSConfiguration>";
const SITE: &str = "https://pages.example.org";

async fn with_rules(key: &str) -> TestServer {
    let server = TestServer::start().await;
    for (target, body) in [("/bucket", ""), ("/bucket?cors=", RULES)] {
        server.send(key, "PUT", target, &[], body.as_bytes()).await.expect("200");
    }
    server.restart().await
}

async fn preflight(server: &TestServer, target: &str, origin: &str, method: &str, headers: &str) -> Answer {
    let mut sent = vec![("origin", origin), ("access-control-request-method", method)];
    if !headers.is_empty() {
        sent.push(("access-control-request-headers", headers));
    }
    server.unsigned("OPTIONS", target, &sent, b"").await
}

#[tokio::test]
async fn rules_come_back_as_they_were_set_until_they_are_deleted() {
    let server = with_rules(keys::OWNER).await;
    let returned = server.get("/bucket?cors=").await;
    assert_eq!(returned.text().matches("<CORSRule>").count(), 2, "{}", returned.text());
    assert_eq!((returned.element("ID"), returned.element("MaxAgeSeconds")), (Some("first"), Some("600")));
    assert_eq!(returned.element("AllowedHeader"), Some("x-amz-*"));
    assert_eq!(returned.element("ExposeHeader"), Some("ETag"));
    server.send(keys::OTHER_OWNER, "GET", "/bucket?cors=", &[], b"").await.expect("404 NoSuchBucket");
    server.delete("/bucket?cors=").await.expect("204");
    server.get("/bucket?cors=").await.expect("404 NoSuchCORSConfiguration");
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_rule_is_refused_and_changes_nothing() {
    let server = with_rules(keys::OWNER).await;
    let rule = |origin: &str, method: &str, more: &str| {
        format!(
            "<CORSConfiguration><CORSRule><AllowedOrigin>{origin}</AllowedOrigin><AllowedMethod>{method}</AllowedMethod>{more}\
             </CORSRule></CORSConfiguration>"
        )
    };
    for (body, verdict) in [
        (rule("https://*.*", "GET", ""), "400 InvalidRequest"),
        (rule("*", "PATCH", ""), "400 InvalidRequest"),
        (rule("*", "GET", "<AllowedHeader>*-*</AllowedHeader>"), "400 InvalidRequest"),
        (rule("*", "GET", "<AllowedHeader>a b</AllowedHeader>"), "400 InvalidRequest"),
        (rule("*", "GET", "<ExposeHeader>x-*</ExposeHeader>"), "400 InvalidRequest"),
        (rule("*", "GET", "<MaxAgeSeconds>long</MaxAgeSeconds>"), "400 MalformedXML"),
        ("<CORSConfiguration></CORSConfiguration>".into(), "400 MalformedXML"),
    ] {
        let refused = server.put("/bucket?cors=", body.as_bytes()).await;
        assert_eq!(refused.verdict(), verdict, "{body}");
    }
    let returned = server.get("/bucket?cors=").await;
    assert_eq!(returned.text().matches("<CORSRule>").count(), 2);
    server.stop().await;
}

#[tokio::test]
async fn a_preflight_is_answered_by_the_first_rule_that_fits() {
    let server = with_rules(keys::OWNER).await;
    let let_in = preflight(&server, "/bucket/key", SITE, "PUT", "X-Amz-Date, content-type").await;
    assert_eq!((let_in.status, let_in.header("access-control-allow-origin")), (200, Some(SITE)));
    assert_eq!(let_in.header("access-control-allow-methods"), Some("GET, PUT"));
    assert_eq!(let_in.header("access-control-allow-headers"), Some("x-amz-date, content-type"));
    assert_eq!(let_in.header("access-control-expose-headers"), Some("ETag"));
    assert_eq!(let_in.header("access-control-max-age"), Some("600"));
    assert!(let_in.header("vary").expect("it varies").contains("Origin"));
    let anybody = preflight(&server, "/bucket", "http://other", "HEAD", "").await;
    assert_eq!((anybody.status, anybody.header("access-control-allow-origin")), (200, Some("*")));
    for (origin, method, headers) in
        [("https://example.org", "GET", ""), (SITE, "DELETE", ""), (SITE, "PUT", "x-amz-date, x-other")]
    {
        let refused = preflight(&server, "/bucket/key", origin, method, headers).await;
        assert_eq!(refused.verdict(), "403 AccessForbidden", "{origin} {method} {headers}");
        assert_eq!(refused.header("access-control-allow-origin"), None);
    }
    preflight(&server, "/bucket", SITE, "BREW", "").await.expect("400 BadRequest");
    preflight(&server, "/bucket", "", "GET", "").await.expect("400 BadRequest");
    let malformed = preflight(&server, "/bucket", SITE, "PUT", "a, b/c").await.expect("400 BadRequest");
    assert!(malformed.text().contains(" b/c&quot; contains invalid character"), "{}", malformed.text());
    server.unsigned("OPTIONS", "/bucket", &[], b"").await.expect("400 BadRequest");
    server.stop().await;
}

#[tokio::test]
async fn an_answer_says_whether_a_page_may_see_it_a_refusal_too() {
    let server = with_rules(keys::OWNER).await;
    let put = server.ask("PUT", "/bucket/key", &[("origin", SITE)], b"body").await;
    assert_eq!((put.status, put.header("access-control-allow-origin")), (200, Some(SITE)));
    assert_eq!(put.header("access-control-expose-headers"), Some("ETag"));
    let refused =
        server.unsigned("GET", "/bucket/key", &[("origin", SITE)], b"").await.expect("403 AccessDenied");
    assert_eq!(refused.header("access-control-allow-origin"), Some(SITE));
    let elsewhere = server.ask("GET", "/bucket/key", &[("origin", "http://other")], b"").await;
    assert_eq!((elsewhere.status, elsewhere.header("access-control-allow-origin")), (200, None));
    // A cache must not give the answer for one site to another.
    assert!(elsewhere.header("vary").expect("it varies").contains("Origin"));
    let alone = server.get("/bucket/key").await;
    assert!(alone.header("vary").expect("it varies").contains("Origin"));
    server.stop().await;
}

#[tokio::test]
async fn another_account_does_not_learn_which_buckets_exist() {
    let server = with_rules(keys::OTHER_OWNER).await;
    server.put("/plain", b"").await.expect("200");
    let mut answers = Vec::new();
    // A bucket without rules, one that does not exist, and one of another account.
    for target in ["/plain/key", "/missing/key", "/bucket/key"] {
        let refused = preflight(&server, target, SITE, "GET", "").await;
        assert_eq!(refused.verdict(), "403 AccessForbidden", "{target}");
        answers.push(refused.element("Message").expect("a sentence").to_owned());
        let asked = server.unsigned("GET", target, &[("origin", SITE)], b"").await;
        assert_eq!((asked.verdict().as_str(), asked.header("vary")), ("403 AccessDenied", None), "{target}");
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    // A URL that the other account signed reaches its own bucket, whose rules count.
    let signed = format!(
        "/bucket/key?X-Amz-Credential={}%2F20260101%2Fus-east-1%2Fs3%2Faws4_request",
        keys::OTHER_OWNER
    );
    assert_eq!(preflight(&server, &signed, SITE, "GET", "").await.status, 200);
    server.stop().await;
}
