//! Every verb, requested by callers without the right to it.

use super::signer::{REGION, Signer};
use super::test_server::{TestServer, at, keys, now};
use crate::raw::Answer;
use crate::vault;
use ameles_gateway::catalogue::{ContainerSettings, Details, UploadId};
use ameles_gateway::objects::conditions::WriteConditions;
use time::OffsetDateTime;

pub struct Verb {
    pub name: &'static str,
    pub method: &'static str,
    pub target: String,
    pub headers: &'static [(&'static str, &'static str)],
    pub body: &'static str,
    /// The answer to the owner.
    pub right: &'static str,
}

const TAGS: &str = "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>";
const OWNERSHIP: &str = "<OwnershipControls><Rule><ObjectOwnership>BucketOwnerEnforced</ObjectOwnership></Rule></OwnershipControls>";
const LIST: &str =
    "<AccessControlPolicy><Owner><ID>ameles</ID></Owner><AccessControlList/></AccessControlPolicy>";

/// A request for each verb that the gateway serves, in an order in which the owner can send all of them.
#[expect(clippy::too_many_lines, reason = "a table: a row for each verb")]
pub fn verbs(upload: &str) -> Vec<Verb> {
    let verb = |name, method, target: &str, headers, body, right| {
        let target = target.replace("UPLOAD", upload);
        Verb { name, method, target, headers, body, right }
    };
    let copy: &[_] = &[("x-amz-copy-source", "/bucket/object")];
    let private: &[_] = &[("x-amz-acl", "private")];
    let get = |name, target, right| verb(name, "GET", target, &[], "", right);
    let put = |name, target, body, right| verb(name, "PUT", target, &[], body, right);
    let delete = |name, target| verb(name, "DELETE", target, &[], "", "204");
    vec![
        get("ListBuckets", "/", "200"),
        put("CreateBucket", "/created", "", "200"),
        verb("HeadBucket", "HEAD", "/bucket", &[], "", "200"),
        get("GetBucketLocation", "/bucket?location", "200"),
        get("GetBucketVersioning", "/bucket?versioning", "200"),
        put(
            "PutBucketVersioning",
            "/bucket?versioning",
            "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>",
            "200",
        ),
        get("ListObjects", "/bucket", "200"),
        get("ListObjectsV2", "/bucket?list-type=2", "200"),
        get("ListObjectVersions", "/bucket?versions", "200"),
        put("PutObject", "/bucket/new", "content", "200"),
        get("GetObject", "/bucket/object", "200"),
        verb(
            "GetObject with a range that is none",
            "GET",
            "/bucket/object",
            &[("range", "lines=0-4")],
            "",
            "200",
        ),
        verb("HeadObject", "HEAD", "/bucket/object", &[], "", "200"),
        verb(
            "GetObjectAttributes",
            "GET",
            "/bucket/object?attributes",
            &[("x-amz-object-attributes", "ETag")],
            "",
            "200",
        ),
        verb("CopyObject", "PUT", "/bucket/copy", copy, "", "200"),
        get("GetObjectTagging", "/bucket/object?tagging", "200"),
        put("PutObjectTagging", "/bucket/object?tagging", TAGS, "200"),
        delete("DeleteObjectTagging", "/bucket/object?tagging"),
        get("GetBucketTagging", "/bucket?tagging", "404 NoSuchTagSet"),
        put("PutBucketTagging", "/bucket?tagging", TAGS, "204"),
        delete("DeleteBucketTagging", "/bucket?tagging"),
        get("GetBucketAcl", "/bucket?acl", "200"),
        verb("PutBucketAcl", "PUT", "/bucket?acl", private, "", "200"),
        get("GetObjectAcl", "/bucket/object?acl", "200"),
        verb("PutObjectAcl", "PUT", "/bucket/object?acl", private, "", "200"),
        put("PutObjectAcl in the body", "/open/object?acl", LIST, "200"),
        get("GetBucketOwnershipControls", "/open?ownershipControls", "200"),
        put("PutBucketOwnershipControls", "/bucket?ownershipControls", OWNERSHIP, "200"),
        delete("DeleteBucketOwnershipControls", "/bucket?ownershipControls"),
        verb("CreateMultipartUpload", "POST", "/bucket/parts?uploads", &[], "", "200"),
        put("UploadPart", "/bucket/parts?partNumber=1&uploadId=UPLOAD", "part", "200"),
        verb("UploadPartCopy", "PUT", "/bucket/parts?partNumber=2&uploadId=UPLOAD", copy, "", "200"),
        get("ListParts", "/bucket/parts?uploadId=UPLOAD", "200"),
        get("ListMultipartUploads", "/bucket?uploads", "200"),
        verb(
            "CompleteMultipartUpload",
            "POST",
            "/bucket/parts?uploadId=UPLOAD",
            &[],
            "<CompleteMultipartUpload/>",
            "400 MalformedXML",
        ),
        delete("AbortMultipartUpload", "/bucket/parts?uploadId=UPLOAD"),
        get("GetBucketCors", "/bucket?cors", "404 NoSuchCORSConfiguration"),
        delete("DeleteBucketCors", "/bucket?cors"),
        get(
            "GetBucketEncryption",
            "/bucket?encryption",
            "404 ServerSideEncryptionConfigurationNotFoundError",
        ),
        delete("DeleteBucketEncryption", "/bucket?encryption"),
        get("GetBucketLifecycleConfiguration", "/bucket?lifecycle", "404 NoSuchLifecycleConfiguration"),
        delete("DeleteBucketLifecycle", "/bucket?lifecycle"),
        get("GetBucketPolicy", "/bucket?policy", "404 NoSuchBucketPolicy"),
        get("GetBucketPolicyStatus", "/bucket?policyStatus", "404 NoSuchBucketPolicy"),
        delete("DeleteBucketPolicy", "/bucket?policy"),
        get("GetBucketReplication", "/bucket?replication", "404 ReplicationConfigurationNotFoundError"),
        delete("DeleteBucketReplication", "/bucket?replication"),
        get("GetBucketWebsite", "/bucket?website", "404 NoSuchWebsiteConfiguration"),
        delete("DeleteBucketWebsite", "/bucket?website"),
        get("GetPublicAccessBlock", "/bucket?publicAccessBlock", "404 NoSuchPublicAccessBlockConfiguration"),
        delete("DeletePublicAccessBlock", "/bucket?publicAccessBlock"),
        get("GetObjectLockConfiguration", "/bucket?object-lock", "404 ObjectLockConfigurationNotFoundError"),
        get("GetObjectRetention", "/bucket/object?retention", "400 InvalidRequest"),
        get("GetObjectLegalHold", "/bucket/object?legal-hold", "400 InvalidRequest"),
        get("GetBucketAccelerateConfiguration", "/bucket?accelerate", "200"),
        get("GetBucketLogging", "/bucket?logging", "200"),
        get("GetBucketNotificationConfiguration", "/bucket?notification", "200"),
        get("GetBucketRequestPayment", "/bucket?requestPayment", "200"),
        put("PutBucketPolicy, which is not served", "/bucket?policy", "{}", "501 NotImplemented"),
        put(
            "PutBucketCors",
            "/bucket?cors",
            "<CORSConfiguration><CORSRule><AllowedMethod>GET</AllowedMethod><AllowedOrigin>*</AllowedOrigin></CORSRule>\
             </CORSConfiguration>",
            "200",
        ),
        put(
            "PutObjectRetention, which is not served",
            "/bucket/object?retention",
            "<Retention/>",
            "501 NotImplemented",
        ),
        verb(
            "DeleteObjects",
            "POST",
            "/bucket?delete",
            &[],
            "<Delete><Object><Key>copy</Key></Object></Delete>",
            "200",
        ),
        delete("DeleteObject", "/bucket/new"),
        delete("DeleteBucket", "/created"),
    ]
}

async fn put(server: &TestServer, bucket: &str, key: &str) {
    let written = vault::write(&server.gateway, b"content").await.expect("written");
    let account = server.account("ameles");
    let (details, conditions) = (Details::default(), WriteConditions::default());
    account.link(bucket, key, written, details, conditions).await.expect("linked");
}

/// A server with two buckets of the first account, an object in each, and an unfinished multipart upload.
pub async fn prepared() -> (TestServer, String) {
    let server = TestServer::start().await;
    let account = server.account("ameles");
    for (bucket, ownership) in
        [("bucket", None), ("open", Some(ameles_gateway::catalogue::Ownership::Preferred))]
    {
        let settings = ContainerSettings { ownership, ..ContainerSettings::default() };
        account.create_container(bucket, settings).await.expect("made");
        put(&server, bucket, "object").await;
    }
    let UploadId(id) =
        account.begin_upload("bucket", "parts", Details::default(), None, None).await.expect("begun");
    let upload = id.iter().map(|byte| format!("{byte:02x}")).collect();
    server.device.take_log();
    (server, upload)
}

/// The answer to one kind of wrong request; `None` if the verb has no such request.
async fn ask(server: &TestServer, verb: &Verb, way: &str) -> Option<Answer> {
    let Verb { method, target, headers, body, .. } = verb;
    let (body, host) = (body.as_bytes(), server.host());
    let date = now();
    let owner = Signer { access_key: keys::OWNER, secret: "owner-secret", date: &date, region: REGION };
    let signed = |signer: Signer<'_>| signer.headers(method, target, &host, headers, body);
    let as_sent: Vec<(String, String)> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Some(match way {
        "not signed" => server.raw(method, target, &as_sent, body).await,
        "wrong secret" => {
            let signed = signed(Signer { secret: "another", ..owner });
            server.raw(method, target, &signed, body).await
        }
        "unknown key" => {
            let signed = signed(Signer { access_key: "nobody", ..owner });
            server.raw(method, target, &signed, body).await
        }
        "signed long ago" => {
            let date = at(OffsetDateTime::now_utc() - time::Duration::hours(1));
            let signed = signed(Signer { date: &date, ..owner });
            server.raw(method, target, &signed, body).await
        }
        "expired URL" => {
            let date = at(OffsetDateTime::now_utc() - time::Duration::seconds(100));
            let target = Signer { date: &date, ..owner }.presign(method, target, &host, headers, 99);
            server.raw(method, &target, &as_sent, body).await
        }
        "URL for another method" => {
            let other = if *method == "GET" { "PUT" } else { "GET" };
            let target = owner.presign(other, target, &host, headers, 99);
            server.raw(method, &target, &as_sent, body).await
        }
        "URL for another target" => {
            let other = owner.presign(method, "/bucket/another", &host, headers, 99);
            let signature = other.split_once('?').expect("signed").1;
            let separator = if target.contains('?') { '&' } else { '?' };
            server.raw(method, &format!("{target}{separator}{signature}"), &as_sent, body).await
        }
        "tampered header" => {
            let signed =
                owner.headers(method, target, &host, &[headers, &[("x-amz-meta-a", "1")][..]].concat(), body);
            let tampered = signed.into_iter().map(|(name, value)| {
                let value = if name == "x-amz-meta-a" { "2".into() } else { value };
                (name, value)
            });
            server.raw(method, target, &tampered.collect::<Vec<_>>(), body).await
        }
        "tampered body" => {
            if body.is_empty() {
                return None;
            }
            let mut tampered = body.to_vec();
            let last = tampered.len() - 2;
            tampered[last] ^= 1;
            server.raw(method, target, &signed(owner), &tampered).await
        }
        "member" => server.send(keys::MEMBER, method, target, headers, body).await,
        "another account" => server.send(keys::OTHER_OWNER, method, target, headers, body).await,
        other => unreachable!("{other}"),
    })
}

#[tokio::test]
async fn no_verb_answers_a_caller_without_the_right() {
    let (server, upload) = prepared().await;
    let before = server.gateway.usage();
    for verb in verbs(&upload) {
        for (way, expected) in [
            ("not signed", "403 AccessDenied"),
            ("wrong secret", "403 SignatureDoesNotMatch"),
            ("unknown key", "403 InvalidAccessKeyId"),
            ("signed long ago", "403 RequestTimeTooSkewed"),
            ("expired URL", "403 AccessDenied"),
            ("URL for another method", "403 SignatureDoesNotMatch"),
            ("URL for another target", "403 SignatureDoesNotMatch"),
            ("tampered header", "403 SignatureDoesNotMatch"),
            ("member", "403 AccessDenied"),
        ] {
            let answer = ask(&server, &verb, way).await.expect("an answer");
            let expected = if verb.method == "HEAD" { "403" } else { expected };
            assert_eq!(answer.verdict(), expected, "{}, {way}: {}", verb.name, answer.text());
        }
    }
    server.stop_untouched(before).await;
}

#[tokio::test]
async fn a_body_other_than_the_one_that_was_signed_changes_nothing() {
    let (server, upload) = prepared().await;
    let before = server.gateway.usage();
    for verb in verbs(&upload) {
        let Some(answer) = ask(&server, &verb, "tampered body").await else { continue };
        assert!(answer.status >= 400, "{}: {}", verb.name, answer.text());
        assert_ne!(answer.status, 501, "{} was looked at: {}", verb.name, answer.text());
    }
    assert_eq!(server.gateway.usage(), before, "nothing was changed");
    let view = server.account("ameles").container("bucket").expect("there");
    assert_eq!(view.settings.tags.len(), 0);
    server.stop().await;
}

#[tokio::test]
async fn what_another_account_has_is_not_there() {
    let (server, upload) = prepared().await;
    let before = server.gateway.usage();
    for verb in verbs(&upload).iter().filter(|verb| !verb.target.starts_with("/created")) {
        let answer = ask(&server, verb, "another account").await.expect("an answer");
        if verb.name == "ListBuckets" {
            assert_eq!(answer.status, 200);
            assert!(!answer.text().contains("<Bucket>"), "{}", answer.text());
            continue;
        }
        let expected = if verb.method == "HEAD" { "404" } else { "404 NoSuchBucket" };
        let expected = if verb.right == "501 NotImplemented" && verb.name.contains("not served") {
            "501 NotImplemented"
        } else {
            expected
        };
        assert_eq!(answer.verdict(), expected, "{}: {}", verb.name, answer.text());
    }
    let created = server.send(keys::OTHER_OWNER, "PUT", "/bucket", &[], b"").await;
    assert_eq!(created.verdict(), "200", "the name is free in the other account");
    server.send(keys::OTHER_OWNER, "PUT", "/own", &[], b"").await.expect("200");
    let source = [("x-amz-copy-source", "/open/object")];
    let stolen = server.send(keys::OTHER_OWNER, "PUT", "/own/stolen", &source, b"").await;
    stolen.expect("404 NoSuchBucket");
    let after = server.gateway.usage();
    assert_eq!((after.objects, after.bytes, after.uploads), (before.objects, before.bytes, before.uploads));
    assert_eq!(server.device.take_log().len(), 2, "two rows for two buckets");
    server.stop().await;
}

#[tokio::test]
async fn every_verb_answers_its_owner() {
    let (server, upload) = prepared().await;
    for verb in verbs(&upload) {
        let answer = server.ask(verb.method, &verb.target, verb.headers, verb.body.as_bytes()).await;
        assert_eq!(answer.verdict(), verb.right, "{}: {}", verb.name, answer.text());
    }
    server.stop().await;
}

#[tokio::test]
async fn a_signed_url_is_good_until_it_expires() {
    let (server, _) = prepared().await;
    let date = now();
    let owner = Signer { access_key: keys::OWNER, secret: "owner-secret", date: &date, region: REGION };
    let target = owner.presign("GET", "/bucket/object", &server.host(), &[], 60);
    let answer = server.raw("GET", &target, &[], b"").await;
    assert_eq!((answer.verdict().as_str(), answer.text()), ("200", "content"));
    let later = target.replace("Expires=60", "Expires=61");
    server.raw("GET", &later, &[], b"").await.expect("403 SignatureDoesNotMatch");
    server.stop().await;
}
