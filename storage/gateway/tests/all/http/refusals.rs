//! Refusals of callers without rights, of malformed requests, and of what there is no room for.

use super::{read, served, served_with, start};
use crate::test_server::{BLOCK, BLOCKS, body, signed_target};
use crate::vault;
use ameles_gateway::catalogue::ContainerSettings;
use ameles_gateway::http::server::Limits;
use ameles_gateway::objects::multipart::{ExpectedObject, MIN_PART, NamedPart};
use ameles_gateway::testing::Faults;
use object_store::path::Path;
use object_store::{Attribute, Attributes, Error, ObjectStore, ObjectStoreExt, PutOptions, PutPayload};
use s3s::S3Error;

fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let after = text.split_once(from).unwrap_or_else(|| panic!("no {from} in {text}")).1;
    after.split_once(to).unwrap_or_else(|| panic!("no {to} in {text}")).0
}

#[tokio::test]
async fn a_signed_url_works_and_a_forged_one_does_not() {
    let (server, client) = served().await;
    let target = signed_target(&client, http::Method::PUT, "key").await;
    let (status, answer) =
        server.raw(&format!("PUT {target} HTTP/1.1\r\ncontent-length: 5\r\n"), b"hello").await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(read(&client, &Path::from("key")).await, "hello");
    let forged = target.replace("X-Amz-Expires=300", "X-Amz-Expires=301");
    assert_ne!(forged, target);
    let (status, answer) = server.raw(&format!("GET {forged} HTTP/1.1\r\n"), b"").await;
    assert_eq!(status, 403, "{answer}");
    assert!(answer.contains("SignatureDoesNotMatch"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn without_the_keys_nothing_is_answered() {
    let (server, ..) = served_with(&b"secret body"[..]).await;
    let old = "authorization: AWS access:c2lnbmF0dXJl\r\n";
    let form = "content-type: multipart/form-data; boundary=x\r\ncontent-length: 0\r\n";
    for (head, expected) in [
        ("GET /bucket/key HTTP/1.1\r\n".to_owned(), 403),
        ("GET / HTTP/1.1\r\n".to_owned(), 403),
        ("PUT /bucket/key HTTP/1.1\r\ncontent-length: 0\r\n".to_owned(), 403),
        (format!("GET /bucket/key HTTP/1.1\r\n{old}"), 400),
        ("GET /bucket/key?AWSAccessKeyId=access&Signature=x&Expires=9999999999 HTTP/1.1\r\n".to_owned(), 403),
        (format!("POST /bucket HTTP/1.1\r\n{form}"), 400),
    ] {
        let (status, answer) = server.raw(&head, b"").await;
        assert_eq!(status, expected, "{head}: {answer}");
        assert!(!answer.contains("secret body"));
    }
    for (access, secret) in [("access", "other"), ("other", "secret")] {
        let client = server
            .builder()
            .with_access_key_id(access)
            .with_secret_access_key(secret)
            .build()
            .expect("a client");
        client.get(&Path::from("key")).await.expect_err("not let in");
    }
    server.stop().await;
}

#[tokio::test]
async fn each_access_key_reaches_its_own_account_and_a_member_none() {
    let (server, client, path) = served_with(&b"the first account's"[..]).await;
    let with = |key: &str| server.builder().with_access_key_id(key).build().expect("a client");
    let other = with("other-access");
    // The S3 bucket belongs to another account: for this one it does not exist, and the answer does not reveal it.
    let missing = other.get(&path).await;
    assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
    let account = server.gateway.account("other");
    account.create_container("bucket", ContainerSettings::default()).await.expect("made");
    other.put(&path, PutPayload::from_static(b"the other account's")).await.expect("put");
    for (client, expected) in [(client, "the first account's"), (other, "the other account's")] {
        assert_eq!(read(&client, &path).await, expected);
        // The gateway itself parses a range that s3s does not understand. The account is still the same.
        let target = signed_target(&client, http::Method::GET, "key").await;
        let (_, answer) = server.raw(&format!("GET {target} HTTP/1.1\r\nrange: lines=1\r\n"), b"").await;
        assert!(answer.contains(expected), "{answer}");
    }
    let refused = with("member-access").get(&path).await;
    assert!(matches!(refused, Err(Error::PermissionDenied { .. })), "{refused:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_full_vault_says_so_and_keeps_what_it_has() {
    let (server, client, path) = served_with(&b"old"[..]).await;
    let too_long = format!("content-length: {}\r\nexpect: 100-continue\r\n", BLOCKS * BLOCK as u64 + 1);
    let (status, answer) = server.signed(http::Method::PUT, "key", &too_long).await;
    assert_eq!(status, 507, "{answer}");
    assert!(answer.contains("8193 blocks are needed and 8192 are free"), "{answer}");
    assert_eq!(read(&client, &path).await, "old");

    server.device.set_faults(Faults { reads_left: Some(0), ..Faults::default() });
    let failed = client.get(&path).await.expect_err("the device fails").to_string();
    assert!(failed.contains("503"), "{failed}");
    server.device.set_faults(Faults::default());
    server.stop().await;
}

#[tokio::test]
async fn every_refusal_says_in_a_sentence_what_was_wrong() {
    let server = start(Limits::default()).await;
    let forged = "authorization: AWS4-HMAC-SHA256 Credential=access/20200101/us-east-1/s3/aws4_request, \
        SignedHeaders=host;x-amz-date, Signature=00\r\nx-amz-date: 20200101T000000Z\r\nx-amz-content-sha256: UNSIGNED-PAYLOAD\r\n";
    let long = format!("GET /bucket/{} HTTP/1.1\r\n", "k".repeat(1025));
    for (head, code) in [
        ("GET /Bad_Bucket/key HTTP/1.1\r\n", "InvalidBucketName"),
        (&long, "KeyTooLongError"),
        ("GET /bucket/%ff HTTP/1.1\r\n", "InvalidURI"),
        ("GET /bucket/key HTTP/1.1\r\n", "AccessDenied"),
        (&format!("GET /bucket/key HTTP/1.1\r\n{forged}"), "RequestTimeTooSkewed"),
        ("PATCH /bucket/key HTTP/1.1\r\ncontent-length: 0\r\n", "NotImplemented"),
    ] {
        let (status, answer) = server.raw(head, b"").await;
        assert!((400..502).contains(&status), "{answer}");
        assert_eq!(between(&answer, "<Code>", "</Code>"), code, "{answer}");
        let message = between(&answer, "<Message>", "</Message>");
        assert!(message.len() > 20 && !message.contains("Unknown"), "{code}: {message}");
    }
    let target = signed_target(&server.client(), http::Method::GET, "k").await;
    let target = target.replace("Expires=300", "Expires=301");
    let (_, answer) = server.raw(&format!("GET {target} HTTP/1.1\r\n"), b"").await;
    assert_eq!(between(&answer, "<Code>", "</Code>"), "SignatureDoesNotMatch");
    assert!(between(&answer, "<Message>", "</Message>").contains("Check your key"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn a_range_that_is_none_is_ignored() {
    let end = BLOCK + 10;
    let (server, ..) = served_with(body(end)).await;
    for range in ["bytes=abc", "bytes=5-2", "bytes=", "lines=0-4", "bytes=0-1,3-4", "nonsense"] {
        let (status, answer) = server.signed(http::Method::GET, "key", &format!("range: {range}\r\n")).await;
        let answer = answer.to_ascii_lowercase();
        assert_eq!(status, 200, "{range}: {answer}");
        assert!(answer.contains(&format!("content-length: {end}\r\n")), "{range}: {answer}");
        assert!(!answer.contains("content-range"), "{range}: {answer}");
        let (status, _) = server.signed(http::Method::HEAD, "key", &format!("range: {range}\r\n")).await;
        assert_eq!(status, 200, "{range}");
        let (status, _) = server.raw(&format!("GET /bucket/key HTTP/1.1\r\nrange: {range}\r\n"), b"").await;
        assert_eq!(status, 403, "without a signature, {range} lets nobody in");
        let refused = format!("range: {range}\r\nx-amz-expected-bucket-owner: another\r\n");
        let (status, _) = server.signed(http::Method::GET, "key", &refused).await;
        assert_eq!(status, 403, "{range} does not get round what is refused");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_range_outside_of_the_object_is_answered_with_its_size() {
    let (server, client, _) = served_with(body(100)).await;
    client.put(&Path::from("empty"), PutPayload::default()).await.expect("put");
    for (key, range, bytes) in [
        ("key", "bytes=100-", 100),
        ("key", "bytes=99999999999999999999-", 100),
        ("key", "bytes=-0", 100),
        ("empty", "bytes=0-", 0),
    ] {
        let (status, answer) = server.signed(http::Method::GET, key, &format!("range: {range}\r\n")).await;
        assert_eq!(status, 416, "{range}: {answer}");
        assert_eq!(between(&answer, "<Code>", "</Code>"), "InvalidRange");
        assert!(
            answer.to_ascii_lowercase().contains(&format!("content-range: bytes */{bytes}\r\n")),
            "{answer}"
        );
    }
    let (status, _) = server.signed(http::Method::GET, "empty", "range: bytes=-5\r\n").await;
    assert_eq!(status, 200, "the last five bytes of nothing are nothing");
    let (status, answer) =
        server.signed(http::Method::GET, "key", "range: bytes=90-99999999999999999999\r\n").await;
    assert_eq!(status, 206, "{answer}");
    assert!(answer.to_ascii_lowercase().contains("content-range: bytes 90-99/100\r\n"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn parts_are_refused_as_s3_refuses_them() {
    let server = start(Limits::default()).await;
    let min = MIN_PART as usize;
    let id =
        server.account.begin_upload("bucket", "key", Default::default(), None, None).await.expect("begun");
    for (number, bytes) in [(1, min - 1), (2, min), (3, 10)] {
        let written = vault::write(&server.gateway, &body(bytes)).await.expect("written");
        server.account.link_part("bucket", "key", id, number, written).await.expect("a part");
    }
    let complete = async |numbers: &[u16]| {
        let named = numbers.iter().map(|&number| NamedPart { number, ..NamedPart::default() }).collect();
        let expected = ExpectedObject { min_part: Some(MIN_PART), ..ExpectedObject::default() };
        server.account.complete_upload("bucket", "key", id, named, expected, Default::default()).await
    };
    for (numbers, code) in [
        (&[1, 2, 3][..], "EntityTooSmall"),
        (&[2, 1], "InvalidPartOrder"),
        (&[2, 2], "InvalidPartOrder"),
        (&[2, 4], "InvalidPart"),
        (&[], "MalformedXML"),
    ] {
        let refused = S3Error::from(complete(numbers).await.expect_err("refused"));
        assert_eq!(refused.code().as_str(), code, "{numbers:?}");
    }
    assert_eq!(complete(&[2, 3]).await.expect("large enough").bytes(), min as u64 + 10);
    server.stop().await;
}

#[tokio::test]
async fn more_user_metadata_than_s3_takes_is_refused_before_its_body() {
    let (server, client) = served().await;
    let path = Path::from("key");
    let with = |bytes: usize| {
        let mut attributes = Attributes::new();
        attributes.insert(Attribute::Metadata("name".into()), "v".repeat(bytes - "name".len()).into());
        PutOptions { attributes, ..PutOptions::default() }
    };
    client.put_opts(&path, PutPayload::from_static(b"x"), with(2048)).await.expect("as much as S3 takes");
    let error = client.put_opts(&path, PutPayload::from_static(b"y"), with(2049)).await.unwrap_err();
    assert!(error.to_string().contains("MetadataTooLarge"), "{error}");
    let got = read(&client, &path).await;
    assert_eq!(&got[..], b"x");
    server.stop().await;
}
