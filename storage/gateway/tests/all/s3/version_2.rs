//! URLs signed with version 2, as version 1 of the AWS command line and boto3 make them.

use super::authorization::{prepared, verbs};
use super::signer::{REGION, SIGNED_BY_VERSION_2, Signer};
use super::test_server::keys;
use time::OffsetDateTime;

const OWNER: Signer<'static> =
    Signer { access_key: keys::OWNER, secret: "owner-secret", date: "", region: REGION };
/// The names of a query that choose the page of a list: not signed, and allowed.
const PAGES: [&str; 1] = ["list-type"];

fn in_a_minute() -> i64 {
    OffsetDateTime::now_utc().unix_timestamp() + 60
}

#[tokio::test]
async fn every_verb_answers_its_owner_or_is_not_covered_by_such_a_signature() {
    let (server, upload) = prepared().await;
    for verb in verbs(&upload) {
        let target = OWNER.presign_with_version_2(verb.method, &verb.target, verb.headers, in_a_minute());
        let answer = server.unsigned(verb.method, &target, verb.headers, verb.body.as_bytes()).await;
        let query = verb.target.split_once('?').map_or("", |(_, query)| query);
        let names =
            query.split('&').filter_map(|pair| pair.split('=').next()).filter(|name| !name.is_empty());
        let mut uncovered = names.filter(|name| !SIGNED_BY_VERSION_2.contains(name) && !PAGES.contains(name));
        let expected = if uncovered.next().is_some() { "403 AccessDenied" } else { verb.right };
        assert_eq!(answer.verdict(), expected, "{}: {}", verb.name, answer.text());
    }
    server.stop().await;
}

#[tokio::test]
async fn no_verb_answers_a_version_2_url_without_the_right() {
    let (server, upload) = prepared().await;
    let before = server.gateway.usage();
    let member = Signer { access_key: keys::MEMBER, secret: "member-secret", date: "", region: REGION };
    let other = Signer { secret: "another", ..OWNER };
    let nobody = Signer { access_key: "nobody", ..OWNER };
    for verb in verbs(&upload) {
        let sign = |signer: Signer<'_>| {
            signer.presign_with_version_2(verb.method, &verb.target, verb.headers, in_a_minute())
        };
        let other_method = if verb.method == "GET" { "PUT" } else { "GET" };
        let past = in_a_minute() - 61;
        for (way, target) in [
            ("wrong secret", sign(other)),
            ("unknown key", sign(nobody)),
            ("member", sign(member)),
            ("expired", OWNER.presign_with_version_2(verb.method, &verb.target, verb.headers, past)),
            (
                "for another method",
                OWNER.presign_with_version_2(other_method, &verb.target, verb.headers, in_a_minute()),
            ),
            ("with both signatures", format!("{}&X-Amz-Signature=00", sign(OWNER))),
            ("without an expiry", sign(OWNER).replace("Expires", "Expired")),
            ("twice", format!("{0}&Signature=a", sign(OWNER))),
        ] {
            let answer = server.unsigned(verb.method, &target, verb.headers, verb.body.as_bytes()).await;
            assert!((400..404).contains(&answer.status), "{}, {way}: {}", verb.name, answer.verdict());
        }
    }
    server.stop_untouched(before).await;
}

#[tokio::test]
async fn a_url_is_good_for_what_was_signed_and_for_nothing_else() {
    let (server, _) = prepared().await;
    let expires = in_a_minute();
    let sign = |method, target, headers: &[(&str, &str)]| {
        OWNER.presign_with_version_2(method, target, headers, expires)
    };
    let get = sign("GET", "/bucket/object", &[]);
    let answer = server.unsigned("GET", &get, &[], b"").await;
    assert_eq!((answer.verdict().as_str(), answer.text()), ("200", "content"));
    let answer = server.unsigned("GET", &get, &[("range", "bytes=1-3")], b"").await;
    assert_eq!((answer.verdict().as_str(), answer.text()), ("206", "ont"));
    // A malformed range, and an ETag without quotes: treated as in other requests.
    let answer = server.unsigned("GET", &get, &[("range", "lines=1-3")], b"").await;
    assert_eq!((answer.verdict().as_str(), answer.text()), ("200", "content"));
    let later = expires + 1;
    let longer = get.replace(&expires.to_string(), &later.to_string());
    server.unsigned("GET", &longer, &[], b"").await.expect("403 SignatureDoesNotMatch");
    for more in ["&acl", "&uploadId=0", "&response-content-type=text/html"] {
        let answer = server.unsigned("GET", &format!("{get}{more}"), &[], b"").await;
        assert_eq!(answer.verdict(), "403 SignatureDoesNotMatch", "{more}");
    }
    for more in ["&attributes", "&nonsense=1"] {
        let answer = server.unsigned("GET", &format!("{get}{more}"), &[], b"").await;
        assert_eq!(answer.verdict(), "403 AccessDenied", "{more}");
    }
    let shown = sign("GET", "/bucket/object?response-content-type=a/b", &[]);
    let answer = server.unsigned("GET", &shown, &[], b"").await;
    assert_eq!((answer.verdict().as_str(), answer.header("content-type")), ("200", Some("a/b")));

    let put = sign("PUT", "/bucket/new", &[]);
    for header in [("x-amz-copy-source", "/bucket/object"), ("x-amz-tagging", "a=b"), ("content-type", "a/b")]
    {
        let answer = server.unsigned("PUT", &put, &[header], b"").await;
        assert_eq!(answer.verdict(), "403 SignatureDoesNotMatch", "{header:?}");
    }
    let chunks = [("x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER")];
    let target = sign("PUT", "/bucket/new", &chunks);
    server.unsigned("PUT", &target, &chunks, b"0\r\n\r\n").await.expect("501 NotImplemented");
    server.unsigned("PUT", &put, &[], b"new").await.expect("200");
    // boto3 puts headers into the query, and may send them or not.
    let headers = [("content-type", "text/plain"), ("x-amz-meta-colour", "green")];
    let target =
        format!("{}&content-type=text%2Fplain&x-amz-meta-colour=green", sign("PUT", "/bucket/new", &headers));
    for sent in [&headers[..], &[]] {
        server.unsigned("PUT", &target, sent, b"new").await.expect("200");
        let head = server.unsigned("HEAD", &sign("HEAD", "/bucket/new", &[]), &[], b"").await;
        assert_eq!(
            (head.header("content-type"), head.header("x-amz-meta-colour")),
            (Some("text/plain"), Some("green"))
        );
    }
    let lists = sign("GET", "/bucket", &[]);
    let answer = server.unsigned("GET", &format!("{lists}&list-type=2&prefix=ne"), &[], b"").await;
    assert_eq!(answer.element("Key"), Some("new"));
    // boto3 signs a bucket's path with a slash at its end, and sends it without.
    let slashed = sign("GET", "/bucket/", &[]).replacen("/bucket/?", "/bucket?", 1);
    server.unsigned("GET", &slashed, &[], b"").await.expect("200");
    let deeper = sign("GET", "/bucket/object/", &[]).replacen("object/?", "object?", 1);
    server.unsigned("GET", &deeper, &[], b"").await.expect("403 SignatureDoesNotMatch");
    server.stop().await;
}

#[tokio::test]
async fn a_header_with_such_a_signature_is_refused() {
    let (server, _) = prepared().await;
    let headers = [("authorization", "AWS owner:c2lnbmF0dXJl"), ("date", "Tue, 27 Mar 2007 19:36:42 +0000")];
    server.unsigned("GET", "/bucket/object", &headers, b"").await.expect("400 InvalidRequest");
    server.stop().await;
}
