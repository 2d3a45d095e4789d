//! Checksums of objects and of their parts: wrong ones are refused, and right ones are returned.

use super::test_server::{TestServer, keys};
use crate::raw::{Answer, Headers};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use crc_fast::CrcAlgorithm;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

const BODY: &[u8] = b"the quick brown fox jumps over the lazy dog";
const ALGORITHMS: [&str; 5] = ["crc32", "crc32c", "crc64nvme", "sha1", "sha256"];
/// The least size of a part that is not the last.
const PART: usize = 5 << 20;

fn crc(algorithm: CrcAlgorithm, bytes: &[u8], length: usize) -> Vec<u8> {
    crc_fast::checksum(algorithm, bytes).to_be_bytes()[8 - length..].to_vec()
}

fn digest(algorithm: &str, bytes: &[u8]) -> Vec<u8> {
    match algorithm {
        "crc32" => crc(CrcAlgorithm::Crc32IsoHdlc, bytes, 4),
        "crc32c" => crc(CrcAlgorithm::Crc32Iscsi, bytes, 4),
        "crc64nvme" => crc(CrcAlgorithm::Crc64Nvme, bytes, 8),
        "sha1" => Sha1::digest(bytes).to_vec(),
        _ => Sha256::digest(bytes).to_vec(),
    }
}

fn checksum(algorithm: &str, bytes: &[u8]) -> String {
    BASE64.encode(digest(algorithm, bytes))
}

fn header(algorithm: &str) -> String {
    format!("x-amz-checksum-{algorithm}")
}

fn element(algorithm: &str) -> String {
    format!("Checksum{}", algorithm.to_ascii_uppercase())
}

async fn get(server: &TestServer, method: &str, target: &str) -> Answer {
    server.ask(method, target, &[("x-amz-checksum-mode", "ENABLED")], b"").await
}

async fn begin(server: &TestServer, headers: Headers<'_>) -> String {
    let started = server.ask("POST", "/bucket/parts?uploads", headers, b"").await;
    format!("/bucket/parts?uploadId={}", started.element("UploadId").expect("an upload"))
}

async fn part(server: &TestServer, upload: &str, number: usize, headers: Headers<'_>, body: &[u8]) -> Answer {
    server.ask("PUT", &format!("{upload}&partNumber={number}"), headers, body).await
}

/// A completion of parts with these contents; `say` adds elements to each part.
fn list(parts: &[&[u8]], say: impl Fn(&[u8]) -> String) -> String {
    let parts = (1..).zip(parts).map(|(number, part): (usize, _)| {
        let etag: String = Md5::digest(part).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag>{}</Part>", say(part))
    });
    format!("<CompleteMultipartUpload>{}</CompleteMultipartUpload>", parts.collect::<String>())
}

async fn complete(server: &TestServer, upload: &str, headers: Headers<'_>, list: &str) -> Answer {
    server.ask("POST", upload, headers, list.as_bytes()).await
}

async fn attributes(server: &TestServer) -> Answer {
    let wanted = [("x-amz-object-attributes", "ETag,Checksum,ObjectParts,ObjectSize,StorageClass")];
    server.ask("GET", "/bucket/parts?attributes", &wanted, b"").await
}

#[tokio::test]
async fn a_wrong_checksum_is_a_bad_digest_wherever_it_stands_and_a_right_one_is_given_back() {
    let server = TestServer::with_bucket(&[]).await;
    for algorithm in ALGORITHMS {
        let (name, right) = (header(algorithm), checksum(algorithm, BODY));
        let wrong = checksum(algorithm, b"something else");
        let upload = begin(&server, &[("x-amz-checksum-algorithm", &algorithm.to_ascii_uppercase())]).await;
        let number = format!("{upload}&partNumber=1");
        for target in ["/bucket/object", &number] {
            for (value, expected) in [(&wrong, "400 BadDigest"), (&right, "200")] {
                let answers = [
                    server.ask("PUT", target, &[(&name, value)], BODY).await,
                    server.send_with_trailer(keys::OWNER, target, (&name, value), BODY).await,
                ];
                for answer in answers {
                    assert_eq!(answer.verdict(), expected, "{algorithm} {target}");
                    let returned = answer.header(&name);
                    assert_eq!(returned, (expected == "200").then_some(&*right), "{algorithm} {target}");
                }
            }
            let none = server.ask("PUT", target, &[(&name, "no checksum")], BODY).await;
            assert_eq!(none.verdict(), "400 InvalidRequest", "{algorithm} {target}");
        }
        let element_of = |value: &str| format!("<{0}>{value}</{0}>", element(algorithm));
        let whole =
            complete(&server, &upload, &[(&name, &wrong)], &list(&[BODY], |_| element_of(&right))).await;
        assert_eq!(whole.verdict(), "400 BadDigest", "{algorithm}");
        let whole =
            complete(&server, &upload, &[(&name, "none")], &list(&[BODY], |_| element_of(&right))).await;
        assert_eq!(whole.verdict(), "400 InvalidRequest", "{algorithm}");
        let of_part = complete(&server, &upload, &[], &list(&[BODY], |_| element_of(&wrong))).await;
        assert_eq!(of_part.verdict(), "400 InvalidPart", "{algorithm}");
        let of_part = complete(&server, &upload, &[], &list(&[BODY], |_| element_of("none"))).await;
        assert_eq!(of_part.verdict(), "400 InvalidArgument", "{algorithm}");
        let completed = complete(&server, &upload, &[], &list(&[BODY], |_| element_of(&right))).await;
        assert_eq!(completed.verdict(), "200", "{algorithm}");
    }
    let md5 = [("content-md5", "AAAAAAAAAAAAAAAAAAAAAA==")];
    server.ask("PUT", "/bucket/object", &md5, BODY).await.expect("400 BadDigest");
    server.stop().await;
}

#[tokio::test]
async fn a_checksum_of_another_algorithm_than_the_uploads_is_refused() {
    let server = TestServer::with_bucket(&[]).await;
    let upload = begin(&server, &[("x-amz-checksum-algorithm", "CRC32C")]).await;
    let sha1 = checksum("sha1", BODY);
    part(&server, &upload, 1, &[(&header("sha1"), &sha1)], BODY).await.expect("400 InvalidRequest");
    let crc32c = checksum("crc32c", BODY);
    part(&server, &upload, 1, &[(&header("crc32c"), &crc32c)], BODY).await.expect("200");
    let named = format!("<ChecksumSHA1>{sha1}</ChecksumSHA1>");
    complete(&server, &upload, &[], &list(&[BODY], |_| named.clone())).await.expect("400 BadDigest");
    let both = format!("{named}<ChecksumCRC32C>{crc32c}</ChecksumCRC32C>");
    complete(&server, &upload, &[], &list(&[BODY], |_| both.clone())).await.expect("400 InvalidArgument");
    let full = [("x-amz-checksum-type", "FULL_OBJECT")];
    complete(&server, &upload, &full, &list(&[BODY], |_| String::new())).await.expect("400 InvalidRequest");
    server.stop().await;
}

/// MinIO's client for Go omits the number of parts from a composite checksum when trailing checksums are on.
#[tokio::test]
async fn a_composite_checksum_is_taken_with_and_without_the_number_of_parts() {
    let server = TestServer::with_bucket(&[]).await;
    let large = vec![7; PART];
    for algorithm in ["crc32", "crc32c", "sha1", "sha256"] {
        let digests = [digest(algorithm, &large), digest(algorithm, BODY)].concat();
        let bare = checksum(algorithm, &digests);
        let (counted, miscounted) = (format!("{bare}-2"), format!("{bare}-3"));
        for (wrong, right) in [(checksum(algorithm, BODY), &bare), (miscounted, &counted)] {
            let upload =
                begin(&server, &[("x-amz-checksum-algorithm", &algorithm.to_ascii_uppercase())]).await;
            for (number, body) in [(1, &large[..]), (2, BODY)] {
                let value = checksum(algorithm, body);
                part(&server, &upload, number, &[(&header(algorithm), &value)], body).await.expect("200");
            }
            let element_of =
                |body: &[u8]| format!("<{0}>{1}</{0}>", element(algorithm), checksum(algorithm, body));
            let list = list(&[&large, BODY], element_of);
            let kind = ("x-amz-checksum-type", "COMPOSITE");
            let answer = complete(&server, &upload, &[(&header(algorithm), &wrong), kind], &list).await;
            assert_eq!(answer.verdict(), "400 BadDigest", "{algorithm} {wrong}");
            let answer = complete(&server, &upload, &[(&header(algorithm), right), kind], &list).await;
            assert_eq!(answer.verdict(), "200", "{algorithm} {right}");
            assert_eq!(answer.element(&element(algorithm)), Some(&*counted));
            assert_eq!(answer.element("ChecksumType"), Some("COMPOSITE"));
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn attributes_heads_and_gets_return_the_checksums_of_parts_and_of_the_whole() {
    let server = TestServer::with_bucket(&[]).await;
    let large = vec![9; PART];
    let upload = begin(&server, &[("x-amz-checksum-algorithm", "SHA256")]).await;
    for (number, body) in [(1, &large[..]), (2, BODY)] {
        // The gateway computes the checksum that is not given.
        part(&server, &upload, number, &[], body).await.expect("200");
    }
    let completed =
        complete(&server, &upload, &[], &list(&[&large, BODY], |_| String::new())).await.expect("200");
    let sums = [checksum("sha256", &large), checksum("sha256", BODY)];
    let bare = checksum("sha256", &[digest("sha256", &large), digest("sha256", BODY)].concat());
    let counted = format!("{bare}-2");
    let server = server.restart().await;

    let returned = attributes(&server).await;
    let etag = completed.element("ETag").expect("an ETag").replace("&quot;", "").replace('"', "");
    assert_eq!(etag.len(), 32 + 2);
    assert_eq!(returned.element("ETag"), Some(&*etag), "S3 gives it without quotes here");
    let of_whole = returned.element("Checksum").expect("a checksum");
    assert_eq!(
        of_whole,
        format!("<ChecksumSHA256>{bare}</ChecksumSHA256><ChecksumType>COMPOSITE</ChecksumType>")
    );
    let parts: Vec<&str> = returned.text().split("<Part>").skip(1).collect();
    assert_eq!(parts.len(), 2);
    for (part, sum) in parts.iter().zip(&sums) {
        assert!(part.contains(&format!("<ChecksumSHA256>{sum}</ChecksumSHA256>")), "{part}");
    }
    for method in ["GET", "HEAD"] {
        let whole = get(&server, method, "/bucket/parts").await;
        assert_eq!(whole.header(&header("sha256")), Some(&*counted), "{method}");
        assert_eq!(whole.header("x-amz-checksum-type"), Some("COMPOSITE"), "{method}");
        for (number, sum) in (1..).zip(&sums) {
            let answer = get(&server, method, &format!("/bucket/parts?partNumber={number}")).await;
            assert_eq!(answer.status, 206);
            assert_eq!(answer.header(&header("sha256")), Some(&**sum), "{method} {number}");
            assert_eq!(answer.header("x-amz-checksum-type"), Some("COMPOSITE"), "{method} {number}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn an_upload_without_a_checksum_gets_the_crc64nvme_of_all_its_bytes() {
    let server = TestServer::with_bucket(&[]).await;
    let large = vec![5; PART];
    let upload = begin(&server, &[]).await;
    for (number, body) in [(1, &large[..]), (2, BODY)] {
        // With a checksum of another algorithm, as boto3 gives, and without one.
        let crc32 = checksum("crc32", body);
        let given = (header("crc32"), crc32);
        let headers: Headers<'_> = if number == 1 { &[(&given.0, &given.1)] } else { &[] };
        let answer = part(&server, &upload, number, headers, body).await.expect("200");
        let ours = checksum("crc64nvme", body);
        let returned = if number == 1 { None } else { Some(&*ours) };
        assert_eq!(answer.header(&header("crc64nvme")), returned, "part {number}");
    }
    let server = server.restart().await;
    let list = list(&[&large, BODY], |_| String::new());
    let wrong = checksum("crc64nvme", BODY);
    complete(&server, &upload, &[(&header("crc64nvme"), &wrong)], &list).await.expect("400 BadDigest");
    let right = checksum("crc64nvme", &[&large, BODY].concat());
    let completed = complete(&server, &upload, &[(&header("crc64nvme"), &right)], &list).await;
    assert_eq!(completed.element("ChecksumCRC64NVME"), Some(&*right));
    assert_eq!(completed.element("ChecksumType"), Some("FULL_OBJECT"));
    let returned = attributes(&server).await;
    for body in [&large[..], BODY, &[&large, BODY].concat()] {
        let sum = format!("<ChecksumCRC64NVME>{}</ChecksumCRC64NVME>", checksum("crc64nvme", body));
        assert!(returned.text().contains(&sum), "{}", returned.text());
    }
    // S3 returns no checksum for a part of such an object: clients would compare it with that of the whole.
    let answer = get(&server, "HEAD", "/bucket/parts?partNumber=2").await;
    assert_eq!(answer.header(&header("crc64nvme")), None);
    assert_eq!(answer.header("x-amz-checksum-type"), Some("FULL_OBJECT"));
    server.stop().await;
}

const SOURCE: (&str, &str) = ("x-amz-copy-source", "/bucket/a");

/// A server with an object to copy, and the SHA-1 of it.
async fn with_source() -> (TestServer, String) {
    let server = TestServer::with_bucket(&[]).await;
    let sha1 = checksum("sha1", BODY);
    server.ask("PUT", SOURCE.1, &[(&header("sha1"), &sha1)], BODY).await.expect("200");
    (server, sha1)
}

#[tokio::test]
async fn a_copy_keeps_the_checksum_or_changes_it_as_asked() {
    let (server, sha1) = with_source().await;
    let kept = server.ask("PUT", "/bucket/b", &[SOURCE], b"").await;
    assert_eq!(kept.element("ChecksumSHA1"), Some(&*sha1));
    assert_eq!(kept.element("ChecksumType"), Some("FULL_OBJECT"));
    let changed =
        server.ask("PUT", "/bucket/b", &[SOURCE, ("x-amz-checksum-algorithm", "CRC32C")], b"").await;
    assert_eq!(changed.element("ChecksumCRC32C"), Some(&*checksum("crc32c", BODY)));
    assert_eq!(changed.element("ChecksumSHA1"), None);
    // A copy onto itself is a change, too.
    let changed =
        server.ask("PUT", "/bucket/a", &[SOURCE, ("x-amz-checksum-algorithm", "SHA256")], b"").await;
    assert_eq!(changed.element("ChecksumSHA256"), Some(&*checksum("sha256", BODY)));
    server.ask("PUT", "/bucket/a", &[SOURCE], b"").await.expect("400 InvalidRequest");
    let head = get(&server, "HEAD", "/bucket/a").await;
    assert_eq!(head.header(&header("sha256")), Some(&*checksum("sha256", BODY)));
    let first = get(&server, "GET", "/bucket/a?partNumber=1").await;
    assert_eq!(first.header(&header("sha256")), Some(&*checksum("sha256", BODY)));
    assert_eq!(first.header("x-amz-checksum-type"), Some("FULL_OBJECT"));
    server.stop().await;
}

#[tokio::test]
async fn a_part_by_copying_has_the_checksum_of_its_upload_and_no_other() {
    let (server, _) = with_source().await;
    let upload = begin(&server, &[]).await;
    let answer = part(&server, &upload, 1, &[SOURCE], b"").await;
    assert!(!answer.text().contains("Checksum"), "{}", answer.text());
    let completed = complete(&server, &upload, &[], &list(&[BODY], |_| String::new())).await;
    assert_eq!(completed.element("ChecksumCRC64NVME"), Some(&*checksum("crc64nvme", BODY)));
    let upload = begin(&server, &[("x-amz-checksum-algorithm", "CRC32")]).await;
    let answer = part(&server, &upload, 1, &[SOURCE], b"").await;
    assert_eq!(answer.element("ChecksumCRC32"), Some(&*checksum("crc32", BODY)));
    server.stop().await;
}

#[tokio::test]
async fn a_completion_that_is_asked_for_again_is_answered_as_before() {
    let server = TestServer::with_bucket(&[]).await;
    let upload = begin(&server, &[("x-amz-checksum-algorithm", "CRC32")]).await;
    part(&server, &upload, 1, &[], BODY).await.expect("200");
    let (once, other) = (list(&[BODY], |_| String::new()), list(&[b"other"], |_| String::new()));
    let new = [("if-none-match", "*")];
    let first = complete(&server, &upload, &new, &once).await.expect("200");
    assert!(first.element("ChecksumCRC32").is_some());
    server.device.take_accesses();
    let again = complete(&server, &upload, &new, &once).await;
    assert_eq!((again.verdict(), again.text()), ("200".to_owned(), first.text()));
    // The tags of the object are not part of its completion, and a restart keeps everything.
    let tags = "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>";
    server.ask("PUT", "/bucket/parts?tagging", &[], tags.as_bytes()).await.expect("200");
    let server = server.restart().await;
    let again = complete(&server, &upload, &new, &once).await;
    assert_eq!((again.verdict(), again.text()), ("200".to_owned(), first.text()));
    assert_eq!(server.device.take_accesses(), (0, 0), "nothing shows");

    complete(&server, &upload, &[], &other).await.expect("404 NoSuchUpload");
    server.send(keys::OTHER_OWNER, "POST", &upload, &[], once.as_bytes()).await.expect("404 NoSuchBucket");
    server.delete(&upload).await.expect("404 NoSuchUpload");
    server.ask("PUT", "/bucket/parts", &[], BODY).await.expect("200");
    let late = complete(&server, &upload, &[], &once).await;
    assert_eq!(late.verdict(), "404 NoSuchUpload", "the key stands for another object");
    server.stop().await;
}
