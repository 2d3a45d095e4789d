//! Uploads by HTML form.

use super::signer::{REGION, Signer};
use super::test_server::{PREFERRED, TestServer, at, keys, now};
use crate::raw::Answer;
use crate::test_server::post_partial_body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use time::OffsetDateTime;

const BOUNDARY: &str = "----boundary";

/// A form as a browser sends it.
fn form(fields: &[(&str, &str)], file_name: &str, file: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in fields {
        body.extend_from_slice(
            format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
                .as_bytes(),
        );
    }
    let head = format!(
        "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{file_name}\"\r\n\
         content-type: text/plain\r\n\r\n"
    );
    body.extend_from_slice(head.as_bytes());
    body.extend_from_slice(file);
    body.extend_from_slice(
        format!(
            "\r\n--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"late\"\r\n\r\nx\r\n--{BOUNDARY}--\r\n"
        )
        .as_bytes(),
    );
    body
}

async fn post(server: &TestServer, target: &str, body: &[u8]) -> Answer {
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    server.unsigned("POST", target, &[("content-type", &kind)], body).await
}

/// The fields of a form that this key signs now: the given fields, each with a condition, and these further conditions.
struct Signed {
    fields: Vec<(String, String)>,
}

fn sign(key: &str, secret: &str, expires: OffsetDateTime, fields: &[(&str, &str)], more: &str) -> Signed {
    let date = now();
    let signer = Signer { access_key: key, secret, date: &date, region: REGION };
    let credential = format!("{key}/{}", signer.scope());
    let mut fields: Vec<(String, String)> =
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let auth =
        [("x-amz-algorithm", "AWS4-HMAC-SHA256"), ("x-amz-credential", &credential), ("x-amz-date", &date)];
    fields.extend(auth.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let mut conditions: Vec<String> =
        fields.iter().map(|(name, value)| format!("{{\"{name}\": \"{value}\"}}")).collect();
    conditions.push("{\"bucket\": \"bucket\"}".into());
    if !more.is_empty() {
        conditions.push(more.to_owned());
    }
    let (day, time) = (at(expires)[..8].to_owned(), at(expires)[9..15].to_owned());
    let expiration = format!(
        "{}-{}-{}T{}:{}:{}.000Z",
        &day[..4],
        &day[4..6],
        &day[6..],
        &time[..2],
        &time[2..4],
        &time[4..]
    );
    let policy = BASE64
        .encode(format!("{{\"expiration\": \"{expiration}\", \"conditions\": [{}]}}", conditions.join(", ")));
    let signature = signer.sign(&policy);
    fields.push(("policy".into(), policy));
    fields.push(("x-amz-signature".into(), signature));
    Signed { fields }
}

fn soon() -> OffsetDateTime {
    OffsetDateTime::now_utc() + time::Duration::minutes(10)
}

impl Signed {
    fn with(mut self, name: &str, value: &str) -> Self {
        self.fields.retain(|(known, _)| known != name);
        self.fields.push((name.into(), value.into()));
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.fields.retain(|(known, _)| known != name);
        self
    }

    async fn post(&self, server: &TestServer, file: &[u8]) -> Answer {
        let fields: Vec<(&str, &str)> = self.fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        post(server, "/bucket", &form(&fields, "C:\\pictures\\cat.txt", file)).await
    }
}

/// Signs the form with version 2.
fn sign_with_version_2(key: &str, secret: &str) -> Signed {
    let policy = BASE64.encode(
        "{\"expiration\": \"2999-01-01T00:00:00.000Z\", \"conditions\": [{\"bucket\": \"bucket\"}, {\"key\": \"old\"}]}",
    );
    let signature = super::signer::sign_with_version_2(secret, &policy);
    let fields = [("key", "old"), ("AWSAccessKeyId", key), ("policy", &policy), ("signature", &signature)];
    Signed { fields: fields.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec() }
}

fn owned(fields: &[(&str, &str)], more: &str) -> Signed {
    sign(keys::OWNER, "owner-secret", soon(), fields, more)
}

async fn start() -> TestServer {
    TestServer::with_bucket(&[PREFERRED]).await
}

async fn get(server: &TestServer, key: &str) -> Answer {
    server.get(&format!("/bucket/{key}")).await
}

#[tokio::test]
async fn a_form_becomes_an_object_with_all_that_it_says() {
    let server = start().await;
    let file: Vec<u8> = (0..100_000u32).map(|byte| b'a' + (byte % 26) as u8).collect();
    let tags = "<Tagging><TagSet><Tag><Key>a&amp;b</Key><Value>c</Value></Tag></TagSet></Tagging>"
        .replace("&amp;b", "");
    let fields = [
        ("key", "user/${filename}"),
        ("Content-Type", "text/x-cat"),
        ("Cache-Control", "no-store"),
        ("x-amz-meta-mood", "calm"),
        ("tagging", &*tags),
        ("acl", "public-read"),
        ("success_action_status", "201"),
    ];
    let answer = owned(&fields, "").post(&server, &file).await.expect("201");
    assert_eq!(answer.element("Key"), Some("user/cat.txt"));
    assert_eq!(answer.element("Bucket"), Some("bucket"));
    let place = format!("http://{}/bucket/user/cat.txt", server.host());
    assert_eq!(answer.element("Location"), Some(&*place));
    assert_eq!(answer.header("location"), Some(&*place));
    let got = server.unsigned("GET", "/bucket/user/cat.txt", &[], b"").await;
    assert_eq!(got.verdict(), "200", "the form let everybody in");
    assert!(got.body == file);
    for (name, value) in [
        ("content-type", "text/x-cat"),
        ("cache-control", "no-store"),
        ("x-amz-meta-mood", "calm"),
        ("x-amz-tagging-count", "1"),
    ] {
        assert_eq!(got.header(name), Some(value), "{name}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_form_is_answered_as_it_asks_for() {
    let server = start().await;
    for (field, value, status) in [
        ("success_action_status", "200", "200"),
        ("success_action_status", "201", "201"),
        ("success_action_status", "204", "204"),
        ("success_action_status", "nonsense", "204"),
        ("success_action_redirect", "https://example.org/done?x=1", "303"),
        ("redirect", "http://example.org/", "303"),
        ("success_action_redirect", "javascript:alert(1)", "204"),
    ] {
        let answer = owned(&[("key", "a b"), (field, value)], "").post(&server, b"content").await;
        assert_eq!(answer.verdict(), status, "{field} {value}: {}", answer.text());
        if status == "303" {
            let separator = if value.contains('?') { '&' } else { '?' };
            let query = "bucket=bucket&key=a%20b&etag=%229a0364b9e99bb480dd25e1f0284c8555%22";
            assert_eq!(answer.header("location"), Some(&*format!("{value}{separator}{query}")));
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_form_that_is_not_signed_as_it_must_be_puts_nothing() {
    let server = start().await;
    let key = [("key", "object")];
    let good = || owned(&key, "");
    let past = OffsetDateTime::now_utc() - time::Duration::seconds(5);
    server.device.take_log();
    let cases = [
        (good().with("x-amz-signature", &"0".repeat(64)), "403 SignatureDoesNotMatch"),
        (sign(keys::OWNER, "another", soon(), &key, ""), "403 SignatureDoesNotMatch"),
        (sign("nobody", "another", soon(), &key, ""), "403 InvalidAccessKeyId"),
        (sign(keys::MEMBER, "member-secret", soon(), &key, ""), "403 AccessDenied"),
        (sign(keys::OTHER_OWNER, "stranger-secret", soon(), &key, ""), "404 NoSuchBucket"),
        (sign(keys::OWNER, "owner-secret", past, &key, ""), "403 AccessDenied"),
        (good().with("key", "another"), "403 AccessDenied"),
        (good().with("acl", "public-read"), "403 AccessDenied"),
        (good().with("policy", "e30="), "403 SignatureDoesNotMatch"),
        (good().without("policy"), "400 InvalidArgument"),
        (good().without("x-amz-signature"), "400 InvalidArgument"),
        (good().with("x-amz-algorithm", "AWS4-ECDSA-P256-SHA256"), "400 InvalidArgument"),
        (good().with("x-amz-date", "20200101T000000Z"), "400 InvalidArgument"),
        (good().with("signature", "x"), "400 InvalidArgument"),
        (Signed { fields: vec![("key".into(), "object".into())] }, "403 AccessDenied"),
        (owned(&[("key", "object"), ("x-amz-website-redirect-location", "/x")], ""), "501 NotImplemented"),
        (owned(&[("key", "object"), ("x-amz-object-lock-mode", "GOVERNANCE")], ""), "501 NotImplemented"),
        (owned(&[("key", "object"), ("x-amz-what", "1")], ""), "501 NotImplemented"),
        (owned(&[("key", "object"), ("x-amz-meta-long", &"v".repeat(2100))], ""), "400 MetadataTooLarge"),
        (owned(&[("key", &"k".repeat(1025))], ""), "400 KeyTooLongError"),
        (owned(&[], ""), "400 InvalidArgument"),
    ];
    for (number, (signed, expected)) in cases.into_iter().enumerate() {
        let answer = signed.post(&server, b"content").await;
        assert_eq!(answer.verdict(), expected, "case {number}: {}", answer.text());
    }
    assert_eq!(server.device.take_log(), [], "no block was touched");
    assert_eq!(good().post(&server, b"content").await.verdict(), "204", "and a good one is taken");
    server.stop().await;
}

/// The form is signed as boto3 signs forms for every endpoint that does not belong to Amazon.
#[tokio::test]
async fn a_form_of_version_2_is_taken_only_from_callers_that_may_put() {
    let server = start().await;
    let (right, wrong) = ("owner-secret", "another");
    for (form, expected) in [
        (sign_with_version_2(keys::OWNER, wrong), "403 SignatureDoesNotMatch"),
        (sign_with_version_2("nobody", right), "403 InvalidAccessKeyId"),
        (sign_with_version_2(keys::MEMBER, "member-secret"), "403 AccessDenied"),
        (sign_with_version_2(keys::OWNER, right).with("key", "another"), "403 AccessDenied"),
        (sign_with_version_2(keys::OWNER, right).with("acl", "private"), "403 AccessDenied"),
        (sign_with_version_2(keys::OWNER, right).with("policy", "e30="), "403 SignatureDoesNotMatch"),
        (sign_with_version_2(keys::OWNER, right).with("x-amz-signature", "00"), "400 InvalidArgument"),
        (sign_with_version_2(keys::OWNER, right).without("signature"), "400 InvalidArgument"),
        (sign_with_version_2(keys::OWNER, right), "204"),
    ] {
        assert_eq!(form.post(&server, b"content").await.verdict(), expected);
        let there = server.account("ameles").object("bucket", "old").is_ok();
        assert_eq!(there, expected == "204", "{expected}");
    }
    server.stop().await;
}

#[tokio::test]
async fn everybody_may_send_forms_where_everybody_may_write() {
    let server = start().await;
    server.ask("PUT", "/bucket?acl", &[("x-amz-acl", "public-read-write")], b"").await;
    post(&server, "/bucket", &form(&[("key", "free")], "x", b"content")).await.expect("204");
    let public = form(&[("key", "free"), ("acl", "public-read")], "x", b"y");
    post(&server, "/bucket", &public).await.expect("403 AccessDenied");
    assert_eq!(get(&server, "free").await.text(), "content");
    server.stop().await;
}

#[tokio::test]
async fn a_file_outside_of_its_range_is_not_kept() {
    let server = start().await;
    let range = "[\"content-length-range\", 10, 20000]";
    let signed = owned(&[("key", "object")], range);
    for (bytes, expected) in [
        (9, "400 EntityTooSmall"),
        (10, "204"),
        (20_000, "204"),
        (20_001, "400 EntityTooLarge"),
        (500_000, "400 EntityTooLarge"),
    ] {
        let before = server.gateway.usage();
        let answer = signed.post(&server, &vec![b'x'; bytes]).await;
        assert_eq!(answer.verdict(), expected, "{bytes} bytes: {}", answer.text());
        server.gateway.settle().await;
        if expected != "204" {
            assert_eq!(server.gateway.usage(), before, "{bytes} bytes");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_form_is_refused() {
    let server = start().await;
    let many: Vec<(String, String)> = (0..300).map(|number| (format!("f{number}"), String::new())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (&**name, &**value)).collect();
    let long = "v".repeat(30_000);
    let no_file = format!(
        "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"key\"\r\n\r\nk\r\n--{BOUNDARY}--\r\n"
    );
    for (body, expected) in [
        (b"nonsense".to_vec(), "400 MalformedPOSTRequest"),
        (no_file.into_bytes(), "400 InvalidArgument"),
        (form(&[("key", "a"), ("KEY", "b")], "x", b"y"), "400 InvalidArgument"),
        (form(&[("key", &long)], "x", b"y"), "400 MaxPostPreDataLengthExceededError"),
        (form(&many, "x", b"y"), "400 MaxPostPreDataLengthExceededError"),
    ] {
        let answer = post(&server, "/bucket", &body).await;
        assert_eq!(answer.verdict(), expected, "{}", answer.text());
    }
    let cut = form(&[("key", "object")], "x", &[b'y'; 100]);
    post(&server, "/bucket/key", &cut).await.expect("405 MethodNotAllowed");
    let kind = [("content-type", "multipart/form-data")];
    server.unsigned("POST", "/bucket", &kind, b"x").await.expect("400 MalformedPOSTRequest");
    // A file that ends before its boundary is not kept.
    let signed = owned(&[("key", "object")], "");
    let fields: Vec<(&str, &str)> = signed.fields.iter().map(|(name, value)| (&**name, &**value)).collect();
    let whole = form(&fields, "x", &[b'y'; 10_000]);
    let answer = post(&server, "/bucket", &whole[..whole.len() - 5_000]).await;
    assert!(answer.status >= 400, "{}", answer.verdict());
    get(&server, "object").await.expect("404 NoSuchKey");
    server.stop().await;
}

#[tokio::test]
async fn a_form_whose_head_never_ends_is_refused_and_not_kept_in_memory() {
    let server = TestServer::start().await;
    for head in ["", "--B\r\ncontent-disposition: "] {
        let body = [head.as_bytes(), &vec![b'x'; 3 << 20]].concat();
        let answer =
            post_partial_body(&server.host(), "/bucket", "multipart/form-data; boundary=B", &body).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
    server.stop().await;
}
