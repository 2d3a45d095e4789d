//! Lifecycle rules of a bucket over HTTP. `expiry` tests what they remove, by a clock of its own.

use super::test_server::{TestServer, keys};
use ameles_gateway::Lifecycle;

const RULES: &str = "<LifecycleConfiguration>\
    <Rule><ID>logs &amp; more</ID><Filter><Prefix>logs/</Prefix></Filter><Status>Enabled</Status>\
    <Expiration><Days>400000</Days></Expiration>\
    <AbortIncompleteMultipartUpload><DaysAfterInitiation>300000</DaysAfterInitiation></AbortIncompleteMultipartUpload></Rule>\
    <Rule><ID>date</ID><Filter><And><Prefix>logs/2</Prefix><Tag><Key>a</Key><Value>b</Value></Tag>\
    <ObjectSizeGreaterThan>3</ObjectSizeGreaterThan></And></Filter><Status>Enabled</Status>\
    <Expiration><Date>3012-12-21T00:00:00.000Z</Date></Expiration></Rule>\
    <Rule><Prefix/><Status>Disabled</Status><NoncurrentVersionExpiration><NewerNoncurrentVersions>2\
    </NewerNoncurrentVersions><NoncurrentDays>3</NoncurrentDays></NoncurrentVersionExpiration></Rule>\
    <Rule><ID>markers</ID><Filter/><Status>Enabled</Status><Expiration><ExpiredObjectDeleteMarker>true\
    </ExpiredObjectDeleteMarker></Expiration></Rule></LifecycleConfiguration>";

async fn with_rules() -> TestServer {
    let server = TestServer::with_bucket(&[]).await;
    server.put("/bucket?lifecycle=", RULES).await.expect("200");
    server.restart().await
}

#[tokio::test]
async fn rules_come_back_as_they_were_set_until_they_are_deleted() {
    let server = with_rules().await;
    let returned = server.get("/bucket?lifecycle=").await;
    let rules: Vec<&str> = returned.text().split("<Rule>").skip(1).collect();
    let has = |nth: usize, parts: &[&str]| {
        for part in parts {
            assert!(rules[nth].contains(part), "{part}: {}", rules[nth]);
        }
    };
    has(0, &["<ID>logs &amp; more</ID>", "<Filter><Prefix>logs/</Prefix></Filter>", "<Days>400000</Days>"]);
    has(0, &["<DaysAfterInitiation>300000</DaysAfterInitiation>", "<Status>Enabled</Status>"]);
    has(1, &["<And><ObjectSizeGreaterThan>3</ObjectSizeGreaterThan><Prefix>logs/2</Prefix><Tag>"]);
    has(1, &["<Date>3012-12-21T00:00:00"]);
    has(2, &["<Prefix></Prefix>", "<Status>Disabled</Status>", "<NoncurrentDays>3</NoncurrentDays>"]);
    has(2, &["<NewerNoncurrentVersions>2</NewerNoncurrentVersions>", "<ID>"]);
    has(3, &["<Filter></Filter>", "<ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker>"]);
    assert_eq!(rules.len(), 4);
    // The returned document can be set.
    let body = returned.text().split_once("?>").map_or(returned.text(), |(_, body)| body);
    server.put("/bucket?lifecycle=", body).await.expect("200");
    assert_eq!(server.get("/bucket?lifecycle=").await.text(), returned.text());
    let other = server.send(keys::OTHER_OWNER, "PUT", "/bucket?lifecycle=", &[], RULES.as_bytes()).await;
    other.expect("404 NoSuchBucket");
    let member = server.send(keys::MEMBER, "PUT", "/bucket?lifecycle=", &[], RULES.as_bytes()).await;
    assert_ne!(member.status, 200);
    server.delete("/bucket?lifecycle=").await.expect("204");
    server.get("/bucket?lifecycle=").await.expect("404 NoSuchLifecycleConfiguration");
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_rule_or_cannot_be_kept_is_refused_and_changes_nothing() {
    let server = with_rules().await;
    let before = server.get("/bucket?lifecycle=").await.text().to_owned();
    let days = "<Expiration><Days>1</Days></Expiration>";
    let rule = |filter: &str, actions: &str| {
        format!("<Rule><ID>one</ID>{filter}<Status>Enabled</Status>{actions}</Rule>")
    };
    let all = |actions: &str| rule("<Filter/>", actions);
    let tag = "<Filter><Tag><Key>a</Key><Value>b</Value></Tag></Filter>";
    let abort = "<AbortIncompleteMultipartUpload><DaysAfterInitiation>1</DaysAfterInitiation></AbortIncompleteMultipartUpload>";
    let long = format!("<Rule><ID>{}</ID><Filter/><Status>Enabled</Status>{days}</Rule>", "x".repeat(256));
    let many: String = (0..1001)
        .map(|n| format!("<Rule><ID>{n}</ID><Filter/><Status>Enabled</Status>{days}</Rule>"))
        .collect();
    for (rules, verdict) in [
        (String::new(), "400 MalformedXML"),
        (many.clone(), "400 MalformedXML"),
        (all(days).replace("Enabled", "On"), "400 MalformedXML"),
        (rule("", days), "400 MalformedXML"),
        (rule("<Filter/><Prefix>a</Prefix>", days), "400 MalformedXML"),
        (rule("<Filter><And/></Filter>", days), "400 MalformedXML"),
        (
            rule("<Filter><Prefix>a</Prefix><ObjectSizeLessThan>3</ObjectSizeLessThan></Filter>", days),
            "400 MalformedXML",
        ),
        (all("<Expiration/>"), "400 MalformedXML"),
        (all("<Expiration><Days>1</Days><Date>2030-01-01T00:00:00Z</Date></Expiration>"), "400 MalformedXML"),
        (all("<Expiration><Days>0</Days></Expiration>"), "400 InvalidArgument"),
        (all("<Expiration><Date>2030-01-01T00:00:01Z</Date></Expiration>"), "400 InvalidArgument"),
        (all(&abort.replace('1', "0")), "400 InvalidArgument"),
        (all(""), "400 InvalidRequest"),
        (rule(tag, abort), "400 InvalidRequest"),
        (
            rule(tag, "<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>"),
            "400 InvalidRequest",
        ),
        (rule(&tag.replace(">a<", "><"), days), "400 InvalidTag"),
        (all(days).repeat(2), "400 InvalidArgument"),
        (long, "400 InvalidArgument"),
        (
            all(
                "<NoncurrentVersionExpiration><NewerNoncurrentVersions>1</NewerNoncurrentVersions></NoncurrentVersionExpiration>",
            ),
            "400 MalformedXML",
        ),
        (
            all("<Transition><Days>1</Days><StorageClass>GLACIER</StorageClass></Transition>"),
            "501 NotImplemented",
        ),
        (
            all(
                "<NoncurrentVersionTransition><NoncurrentDays>1</NoncurrentDays><StorageClass>GLACIER</StorageClass></NoncurrentVersionTransition>",
            ),
            "501 NotImplemented",
        ),
    ] {
        let body = format!("<LifecycleConfiguration>{rules}</LifecycleConfiguration>");
        let refused = server.put("/bucket?lifecycle=", &body).await;
        assert_eq!(refused.verdict(), verdict, "{}", &body[..body.len().min(500)]);
    }
    assert_eq!(server.get("/bucket?lifecycle=").await.text(), before);
    let max = many.rsplit_once("<Rule>").map(|(max, _)| max).expect("many");
    let body = format!("<LifecycleConfiguration>{max}</LifecycleConfiguration>");
    server.put("/bucket?lifecycle=", &body).await.expect("200");
    server.stop().await;
}

#[tokio::test]
async fn answers_name_the_time_and_the_rule_that_end_an_object_or_an_upload() {
    let server = with_rules().await;
    let tagged = [("x-amz-tagging", "a=b")];
    let put = server.ask("PUT", "/bucket/logs/2", &tagged, "content").await;
    let returned = "expiry-date=\"Mon, 21 Dec 3012 00:00:00 GMT\", rule-id=\"date\"";
    assert_eq!(put.header("x-amz-expiration"), Some(returned));
    for method in ["GET", "HEAD"] {
        let answer = server.ask(method, "/bucket/logs/2", &[], "").await;
        assert_eq!(answer.header("x-amz-expiration"), Some(returned), "{method}");
    }
    let copy = [("x-amz-copy-source", "/bucket/logs/2"), ("x-amz-tagging-directive", "REPLACE")];
    let copied = server.ask("PUT", "/bucket/logs/3", &copy, "").await;
    let end = copied.header("x-amz-expiration").expect("an end");
    assert!(end.ends_with(" 00:00:00 GMT\", rule-id=\"logs%20%26%20more\""), "{end}");
    let unexpiring = server.ask("PUT", "/bucket/lasting", &tagged, "content").await;
    assert_eq!(unexpiring.header("x-amz-expiration"), None);
    let started = server.ask("POST", "/bucket/logs/parts?uploads=", &[], "").await;
    assert_eq!(started.header("x-amz-abort-rule-id"), Some("logs & more"));
    let end = started.header("x-amz-abort-date").expect("an end").to_owned();
    assert!(end.ends_with(" 00:00:00 GMT"), "{end}");
    let id = started.element("UploadId").expect("an upload");
    let parts = server.get(&format!("/bucket/logs/parts?uploadId={id}")).await;
    assert_eq!(parts.header("x-amz-abort-date"), Some(&*end));
    server.stop().await;
}

#[tokio::test]
async fn an_old_version_has_no_expiration_and_an_expired_object_gets_a_delete_marker() {
    let server = with_rules().await;
    let body = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    server.put("/bucket?versioning=", body).await.expect("200");
    let first = server.put("/bucket/logs/1", "first").await;
    let first = first.header("x-amz-version-id").expect("a version").to_owned();
    let named = format!("/bucket/logs/1?versionId={first}");
    assert!(server.get(&named).await.header("x-amz-expiration").is_some());
    server.put("/bucket/logs/1", "second").await;
    assert_eq!(server.get(&named).await.header("x-amz-expiration"), None);
    let over = "<LifecycleConfiguration><Rule><Filter/><Status>Enabled</Status><Expiration>\
        <Date>2001-01-01T00:00:00Z</Date></Expiration></Rule></LifecycleConfiguration>";
    server.put("/bucket?lifecycle=", over).await.expect("200");
    assert_eq!(Lifecycle::default().carry_out(&server.gateway, 10).await.expect("carried out"), 1);
    let gone = server.get("/bucket/logs/1").await;
    assert_eq!((gone.status, gone.header("x-amz-delete-marker")), (404, Some("true")));
    assert_eq!(server.get(&named).await.text(), "first");
    server.stop().await;
}
