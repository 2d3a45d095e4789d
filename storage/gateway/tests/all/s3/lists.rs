//! Access control lists: who may do what.

use super::test_server::{PREFERRED, TestServer, keys};
use crate::raw::Answer;
use crate::raw::Headers;
use ameles_gateway::FIRST_ACCOUNT;
use ameles_gateway::catalogue::{Details, Manifest, UnixMillis};

async fn owner(
    server: &TestServer,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let answer = server.ask(method, target, headers, body.as_bytes()).await;
    assert!(answer.status < 300, "{method} {target}: {} {}", answer.verdict(), answer.text());
    answer
}

/// The answers to an anonymous caller, to one of another account and to a member.
async fn requested_by_others(server: &TestServer, method: &str, target: &str, body: &str) -> [String; 3] {
    [
        server.unsigned(method, target, &[], body.as_bytes()).await.verdict(),
        server.send(keys::OTHER_OWNER, method, target, &[], body.as_bytes()).await.verdict(),
        server.send(keys::MEMBER, method, target, &[], body.as_bytes()).await.verdict(),
    ]
}

const NO: &str = "403 AccessDenied";
const HIDDEN: &str = "404 NoSuchBucket";

#[tokio::test]
async fn a_canned_list_of_an_object_lets_in_whom_it_names() {
    let server = TestServer::start().await;
    owner(&server, "PUT", "/open", &[PREFERRED], "").await;
    for (acl, anonymous, other, member) in [
        ("private", NO, HIDDEN, NO),
        ("bucket-owner-read", NO, HIDDEN, NO),
        ("bucket-owner-full-control", NO, HIDDEN, NO),
        ("public-read", "200", "200", "200"),
        ("public-read-write", "200", "200", "200"),
        ("authenticated-read", NO, "200", "200"),
    ] {
        owner(&server, "PUT", "/open/object", &[("x-amz-acl", acl)], "content").await;
        let got = requested_by_others(&server, "GET", "/open/object", "").await;
        assert_eq!(got, [anonymous, other, member], "{acl}");
        // A caller that may read an object may neither change it nor see the other objects in the bucket.
        for (method, target) in
            [("DELETE", "/open/object"), ("PUT", "/open/object"), ("GET", "/open"), ("GET", "/open/other")]
        {
            let got = requested_by_others(&server, method, target, "").await;
            assert_eq!(got, [NO, HIDDEN, NO], "{acl}: {method} {target}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_canned_list_of_a_bucket_lets_in_whom_it_names() {
    let server = TestServer::start().await;
    owner(&server, "PUT", "/open", &[PREFERRED], "").await;
    owner(&server, "PUT", "/open/secret", &[], "content").await;
    for (acl, list, write) in [
        ("private", [NO, HIDDEN, NO], [NO, HIDDEN, NO]),
        ("public-read", ["200"; 3], [NO; 3]),
        ("public-read-write", ["200"; 3], ["200"; 3]),
        ("authenticated-read", [NO, "200", "200"], [NO, NO, NO]),
    ] {
        owner(&server, "PUT", "/open?acl", &[("x-amz-acl", acl)], "").await;
        assert_eq!(requested_by_others(&server, "GET", "/open?list-type=2", "").await, list, "{acl}");
        assert_eq!(requested_by_others(&server, "PUT", "/open/new", "content").await, write, "{acl}");
        // The caller may see that the object exists, but not its contents.
        let read = requested_by_others(&server, "GET", "/open/secret", "").await;
        assert!(read.iter().all(|verdict| verdict == NO || verdict == HIDDEN), "{acl}: {read:?}");
        for target in ["/open?acl", "/open?tagging", "/open/secret?tagging"] {
            let answer = requested_by_others(&server, "GET", target, "").await;
            assert!(answer.iter().all(|verdict| verdict == NO || verdict == HIDDEN), "{acl}: {target}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn objects_that_others_put_are_the_owners_and_they_grant_no_rights() {
    let server = TestServer::start().await;
    owner(&server, "PUT", "/open", &[PREFERRED, ("x-amz-acl", "public-read-write")], "").await;
    server.send(keys::OTHER_OWNER, "PUT", "/open/theirs", &[], b"content").await.expect("200");
    server.send(keys::OTHER_OWNER, "GET", "/open/theirs", &[], b"").await.expect(NO);
    assert_eq!(owner(&server, "GET", "/open/theirs", &[], "").await.text(), "content");
    for header in [("x-amz-acl", "public-read"), ("x-amz-tagging", "a=b")] {
        let put = server.send(keys::OTHER_OWNER, "PUT", "/open/theirs", &[header], b"other").await;
        assert_eq!(put.verdict(), NO, "{header:?}");
        let started = server.send(keys::OTHER_OWNER, "POST", "/open/theirs?uploads", &[header], b"").await;
        assert_eq!(started.verdict(), NO, "{header:?}");
    }
    server
        .send(
            keys::OTHER_OWNER,
            "PUT",
            "/open/theirs",
            &[("x-amz-acl", "bucket-owner-full-control")],
            b"more",
        )
        .await
        .expect("200");
    server.stop().await;
}

#[tokio::test]
async fn a_grant_to_an_account_lets_in_that_account_alone() {
    let server = TestServer::start().await;
    let grant = ("x-amz-grant-read", "id=\"elsewhere\"");
    owner(&server, "PUT", "/open", &[PREFERRED, grant], "").await;
    assert_eq!(requested_by_others(&server, "GET", "/open", "").await, [NO, "200", NO]);
    let list = "<AccessControlPolicy><Owner><ID>ameles</ID></Owner><AccessControlList><Grant>\
        <Grantee xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:type=\"CanonicalUser\"><ID>elsewhere</ID>\
        </Grantee><Permission>FULL_CONTROL</Permission></Grant></AccessControlList></AccessControlPolicy>";
    owner(&server, "PUT", "/open/object", &[], "content").await;
    owner(&server, "PUT", "/open/object?acl", &[], list).await;
    assert_eq!(requested_by_others(&server, "GET", "/open/object", "").await, [NO, "200", NO]);
    assert_eq!(requested_by_others(&server, "GET", "/open/object?acl", "").await, [NO, "200", NO]);
    let shown = server.send(keys::OTHER_OWNER, "GET", "/open/object?acl", &[], b"").await;
    let elsewhere = "<ID>elsewhere</ID></Grantee><Permission>FULL_CONTROL</Permission>";
    assert!(
        shown.text().contains("<ID>ameles</ID></Grantee><Permission>FULL_CONTROL</Permission>"),
        "{}",
        shown.text()
    );
    assert!(shown.text().contains(elsewhere), "{}", shown.text());
    // Full control of an object: to read it and its ACL, and to change the ACL; not to replace it.
    server.send(keys::OTHER_OWNER, "PUT", "/open/object", &[], b"").await.expect(NO);
    let private = [("x-amz-acl", "private")];
    server.send(keys::OTHER_OWNER, "PUT", "/open/object?acl", &private, b"").await.expect("200");
    assert_eq!(requested_by_others(&server, "GET", "/open/object", "").await, [NO; 3]);
    server.stop().await;
}

#[tokio::test]
async fn no_list_counts_where_the_bucket_lets_none_count() {
    let server = TestServer::start().await;
    owner(&server, "PUT", "/shut", &[], "").await;
    owner(&server, "PUT", "/shut/object", &[("x-amz-acl", "private")], "content").await;
    for (target, header) in [
        ("/shut?acl", ("x-amz-acl", "public-read")),
        ("/shut/object?acl", ("x-amz-acl", "public-read")),
        ("/shut/object?acl", ("x-amz-grant-read", "id=\"elsewhere\"")),
        ("/shut/object", ("x-amz-acl", "public-read")),
    ] {
        let answer = server.ask("PUT", target, &[header], b"").await;
        assert_eq!(answer.verdict(), "400 AccessControlListNotSupported", "{target} {header:?}");
    }
    let public = server.ask("PUT", "/other", &[("x-amz-acl", "public-read")], b"").await;
    public.expect("400 InvalidBucketAclWithObjectOwnership");
    // Once ACLs are disabled, the existing ones no longer count.
    let rule = |name: &str| {
        format!(
            "<OwnershipControls><Rule><ObjectOwnership>{name}</ObjectOwnership></Rule></OwnershipControls>"
        )
    };
    owner(&server, "PUT", "/shut?ownershipControls", &[], &rule("BucketOwnerPreferred")).await;
    owner(&server, "PUT", "/shut/object?acl", &[("x-amz-acl", "public-read")], "").await;
    server.unsigned("GET", "/shut/object", &[], b"").await.expect("200");
    owner(&server, "PUT", "/shut?ownershipControls", &[], &rule("BucketOwnerEnforced")).await;
    server.unsigned("GET", "/shut/object", &[], b"").await.expect(NO);
    owner(&server, "DELETE", "/shut?ownershipControls", &[], "").await;
    server.unsigned("GET", "/shut/object", &[], b"").await.expect(NO);
    server.stop().await;
}

#[tokio::test]
async fn a_list_that_cannot_be_kept_is_refused() {
    let server = TestServer::start().await;
    owner(&server, "PUT", "/open", &[PREFERRED], "").await;
    let policy = |owner: &str, grant: &str| {
        format!(
            "<AccessControlPolicy><Owner><ID>{owner}</ID></Owner><AccessControlList>{grant}</AccessControlList>\
             </AccessControlPolicy>"
        )
    };
    let grant = |kind: &str, inner: &str, permission: &str| {
        format!(
            "<Grant><Grantee xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:type=\"{kind}\">{inner}</Grantee>\
             <Permission>{permission}</Permission></Grant>"
        )
    };
    let user = |id: &str| grant("CanonicalUser", &format!("<ID>{id}</ID>"), "READ");
    let both = [("x-amz-acl", "private"), ("x-amz-grant-read", "id=\"elsewhere\"")];
    let group = "uri=\"http://acs.amazonaws.com/groups/s3/LogDelivery\"";
    let cases: [(Headers<'_>, String, &str); 13] = [
        (&[], String::new(), "400 MissingSecurityHeader"),
        (&[("x-amz-acl", "open-to-all")], String::new(), "400 InvalidArgument"),
        (&[("x-amz-acl", "log-delivery-write")], String::new(), "501 NotImplemented"),
        (&both, String::new(), "400 InvalidRequest"),
        (&[("x-amz-acl", "private")], policy("ameles", ""), "400 UnexpectedContent"),
        (&[("x-amz-grant-read", "id=\"anonymous\"")], String::new(), "400 InvalidArgument"),
        (&[("x-amz-grant-read", "elsewhere")], String::new(), "400 InvalidArgument"),
        (
            &[("x-amz-grant-read", "emailAddress=\"a@b\"")],
            String::new(),
            "400 UnresolvableGrantByEmailAddress",
        ),
        (&[("x-amz-grant-write", group)], String::new(), "400 InvalidArgument"),
        (&[], policy("elsewhere", &user("elsewhere")), "400 InvalidArgument"),
        (&[], policy("ameles", &user("anonymous")), "400 InvalidArgument"),
        (&[], policy("ameles", &grant("CanonicalUser", "", "READ")), "400 MalformedACLError"),
        (
            &[],
            policy("ameles", &grant("CanonicalUser", "<ID>elsewhere</ID>", "EVERYTHING")),
            "400 MalformedACLError",
        ),
    ];
    for (headers, body, expected) in cases {
        let answer = server.ask("PUT", "/open?acl", headers, body.as_bytes()).await;
        assert_eq!(answer.verdict(), expected, "{headers:?} {body}: {}", answer.text());
    }
    assert_eq!(requested_by_others(&server, "GET", "/open", "").await, [NO, HIDDEN, NO]);
    server.stop().await;
}

#[tokio::test]
async fn a_list_that_was_set_over_swift_counts_in_s3() {
    let server = TestServer::start().await;
    owner(&server, "PUT", "/shut", &[], "").await;
    owner(&server, "PUT", "/shut/object", &[], "content").await;
    let set = async |read: &str, write: &str| {
        let (read_acl, write_acl) = (read.to_owned(), write.to_owned());
        let change = move |settings: &mut ameles_gateway::catalogue::ContainerSettings| {
            (settings.read_acl, settings.write_acl) = (read_acl, write_acl);
            Ok(())
        };
        server.account("ameles").update_container("shut", change).await.expect("set");
    };
    let asked = async || {
        [
            requested_by_others(&server, "GET", "/shut/object", "").await,
            requested_by_others(&server, "GET", "/shut", "").await,
            requested_by_others(&server, "PUT", "/shut/new", "content").await,
        ]
    };
    let anonymous = [NO, HIDDEN, NO];
    set(".r:*", "").await;
    assert_eq!(asked().await, [["200"; 3], [NO; 3], [NO; 3]]);
    set(".r:*,.rlistings", "").await;
    assert_eq!(asked().await, [["200"; 3], ["200"; 3], [NO; 3]]);
    set("elsewhere:owner", "ameles:member").await;
    assert_eq!(asked().await, [[NO, "200", NO], [NO, "200", NO], [NO, NO, "200"]]);
    set(".r:www.example.org", "").await;
    let page = [("referer", "http://www.example.org/page")];
    server.unsigned("GET", "/shut/object", &page, b"").await.expect("200");
    server.unsigned("GET", "/shut/object", &[], b"").await.expect(NO);
    set("", "").await;
    assert_eq!(asked().await, [anonymous; 3]);
    server.stop().await;
}

#[tokio::test]
async fn tags_lists_and_ownership_touch_no_block() {
    let server = TestServer::with_bucket(&[PREFERRED]).await;
    owner(&server, "PUT", "/bucket/object", &[], &"content".repeat(10_000)).await;
    assert_ne!(server.device.take_accesses(), (0, 0), "the put is counted");
    let tags = "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>";
    let public = ("x-amz-acl", "public-read");
    for (method, target, headers, body) in [
        ("PUT", "/bucket?tagging", &[][..], tags),
        ("GET", "/bucket?tagging", &[], ""),
        ("DELETE", "/bucket?tagging", &[], ""),
        ("PUT", "/bucket/object?tagging", &[], tags),
        ("GET", "/bucket/object?tagging", &[], ""),
        ("DELETE", "/bucket/object?tagging", &[], ""),
        ("PUT", "/bucket?acl", &[public], ""),
        ("GET", "/bucket?acl", &[], ""),
        ("PUT", "/bucket/object?acl", &[public], ""),
        ("GET", "/bucket/object?acl", &[], ""),
        ("GET", "/bucket?ownershipControls", &[], ""),
        ("DELETE", "/bucket?ownershipControls", &[], ""),
        ("GET", "/bucket?versions", &[], ""),
    ] {
        owner(&server, method, target, headers, body).await;
        assert_eq!(server.device.take_accesses(), (0, 0), "{method} {target}");
    }
    server.stop().await;
}

#[tokio::test]
async fn tags_are_set_with_an_object_or_later_and_a_copy_takes_them_along() {
    let server = TestServer::with_bucket(&[]).await;
    owner(&server, "PUT", "/bucket/object", &[("x-amz-tagging", "a=1&b=two+words")], "content").await;
    let got = owner(&server, "GET", "/bucket/object", &[], "").await;
    assert_eq!(got.header("x-amz-tagging-count"), Some("2"));
    let tags = async |target: &str| owner(&server, "GET", target, &[], "").await.text().to_owned();
    let all = tags("/bucket/object?tagging").await;
    assert!(all.contains("<Tag><Key>b</Key><Value>two words</Value></Tag>"), "{all}");

    let source = ("x-amz-copy-source", "/bucket/object");
    owner(&server, "PUT", "/bucket/same", &[source], "").await;
    assert_eq!(tags("/bucket/same?tagging").await, all);
    let replace = ("x-amz-tagging-directive", "REPLACE");
    owner(&server, "PUT", "/bucket/other", &[source, replace, ("x-amz-tagging", "c=3")], "").await;
    let other = tags("/bucket/other?tagging").await;
    assert!(other.contains("<Key>c</Key>") && !other.contains("<Key>a</Key>"), "{other}");

    let started = owner(&server, "POST", "/bucket/parts?uploads", &[("x-amz-tagging", "d=4")], "").await;
    let id = started.element("UploadId").expect("an upload").to_owned();
    let part = owner(&server, "PUT", &format!("/bucket/parts?partNumber=1&uploadId={id}"), &[], "x").await;
    let complete = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{}</ETag></Part></CompleteMultipartUpload>",
        part.header("etag").expect("an etag")
    );
    owner(&server, "POST", &format!("/bucket/parts?uploadId={id}"), &[], &complete).await;
    assert!(tags("/bucket/parts?tagging").await.contains("<Key>d</Key>"));

    let modified = got.header("last-modified").map(str::to_owned);
    owner(&server, "DELETE", "/bucket/object?tagging", &[], "").await;
    let got = owner(&server, "GET", "/bucket/object", &[], "").await;
    assert_eq!(got.header("x-amz-tagging-count"), None);
    assert_eq!(got.header("last-modified").map(str::to_owned), modified);
    server.stop().await;
}

#[tokio::test]
async fn a_copy_stays_when_its_source_expires() {
    let server = TestServer::with_bucket(&[]).await;
    owner(&server, "PUT", "/bucket/brief", &[], "content").await;
    let account = server.account(FIRST_ACCOUNT);
    let set = account.update_object("bucket", "brief", false, |details: &mut Details| {
        details.delete_at = Some(UnixMillis(u64::MAX));
        Ok(())
    });
    set.await.expect("set");
    owner(&server, "PUT", "/bucket/copy", &[("x-amz-copy-source", "/bucket/brief")], "").await;
    let expiry_of = |key: &str| account.object("bucket", key).expect("there").details.delete_at;
    assert_eq!((expiry_of("brief"), expiry_of("copy")), (Some(UnixMillis(u64::MAX)), None));
    server.stop().await;
}

#[tokio::test]
async fn a_caller_that_may_only_write_copies_no_large_object_in() {
    let server = TestServer::start().await;
    owner(&server, "PUT", "/open", &[PREFERRED], "").await;
    owner(&server, "PUT", "/open?acl", &[("x-amz-acl", "public-read-write")], "").await;
    server.send(keys::OTHER_OWNER, "PUT", "/own", &[], b"").await;
    server.send(keys::OTHER_OWNER, "PUT", "/own/all", &[], b"").await;
    let manifest = Manifest::Dynamic { container: "secret".into(), prefix: String::new() };
    let elsewhere = server.account("elsewhere");
    let set = elsewhere.update_object("own", "all", false, |details: &mut Details| {
        details.manifest = Some(manifest);
        Ok(())
    });
    set.await.expect("set");
    let from = [("x-amz-copy-source", "/own/all")];
    server.send(keys::OTHER_OWNER, "PUT", "/open/all", &from, b"").await.expect(NO);
    server.send(keys::OTHER_OWNER, "PUT", "/own/again", &from, b"").await.expect("200");
    server.stop().await;
}
