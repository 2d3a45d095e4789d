//! The server over loopback: a real S3 client (`object_store`), and raw HTTP for requests that a client would not send.

use bytes::Bytes;
use futures::TryStreamExt;
use lethe_gateway::auth::identity::{AccessKey, Caller, Role, User, Users};
use lethe_gateway::catalogue::ContainerSettings;
use lethe_gateway::http::server::{self, Limits, serve};
use lethe_gateway::objects::multipart::{Expected, LEAST_PART, NamedPart};
use lethe_gateway::s3::S3Door;
use lethe_gateway::testing::{Faults, MemoryDevice};
use lethe_gateway::{FIRST_ACCOUNT, Gateway, Options};
use object_store::aws::{AmazonS3, AmazonS3Builder, Checksum};
use object_store::path::Path;
use object_store::signer::Signer;
use object_store::{
    Attribute, Attributes, Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode, PutOptions,
    PutPayload, UpdateVersion, WriteMultipart,
};
use s3s::S3Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The time after which a wait counts as forever.
const EVER: Duration = Duration::from_secs(300);
const BLOCK: usize = 4096;
const BLOCKS: u64 = 8192;

struct Running {
    address: SocketAddr,
    device: Arc<MemoryDevice>,
    gateway: Gateway<Arc<MemoryDevice>>,
    end: oneshot::Sender<()>,
    server: JoinHandle<()>,
}

fn user(account: &str, name: &str, role: Role, key: &str) -> User {
    let (account, user) = (account.parse().expect("a name"), name.parse().expect("a name"));
    User { caller: Caller { account, user, role }, password: None, keys: vec![AccessKey::new(key, "secret")] }
}

async fn start(limits: Limits) -> Running {
    let device = Arc::new(MemoryDevice::new(BLOCK, BLOCKS, 8));
    let gateway = Gateway::open(Arc::clone(&device), Options::default()).await.expect("opened");
    gateway
        .account(FIRST_ACCOUNT)
        .create_container("bucket", ContainerSettings::default())
        .await
        .expect("made");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let address = listener.local_addr().expect("bound");
    let (end, ended) = oneshot::channel();
    let serving = gateway.clone();
    let server = tokio::spawn(async move {
        let users = vec![
            User::first(AccessKey::new("access", "secret")),
            user("other", "someone", Role::Owner, "other-access"),
            user("lethe", "member", Role::Member, "member-access"),
        ];
        let users = Arc::new(Users::new(users).expect("three users"));
        let ended = async {
            let _ = ended.await;
        };
        let options = server::Options { limits, ..Default::default() };
        serve(listener, S3Door::new(serving.clone(), users), options, ended).await;
        serving.settle().await;
    });
    Running { address, device, gateway, end, server }
}

impl Running {
    fn builder(&self) -> AmazonS3Builder {
        lethe_store::encrypt_with_ring();
        AmazonS3Builder::new()
            .with_endpoint(format!("http://{}", self.address))
            .with_allow_http(true)
            .with_region("us-east-1")
            .with_bucket_name("bucket")
            .with_access_key_id("access")
            .with_secret_access_key("secret")
            .with_retry(object_store::RetryConfig { max_retries: 0, ..Default::default() })
    }

    fn client(&self) -> AmazonS3 {
        self.builder().build().expect("a client")
    }

    async fn stop(self) {
        self.end.send(()).expect("it still runs");
        self.server.await.expect("a gentle end");
    }

    /// Sends a raw request; returns the answer's status and all of its bytes.
    async fn raw(&self, head: &str, body: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).await.expect("connected");
        let head = format!("{head}host: {}\r\nconnection: close\r\n\r\n", self.address);
        stream.write_all(head.as_bytes()).await.expect("sent");
        stream.write_all(body).await.expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.expect("an answer");
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, answer)
    }
}

fn body(bytes: usize) -> Bytes {
    let mut state = 12345u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..bytes).map(|_| next()).collect::<Vec<u8>>().into()
}

#[tokio::test]
async fn objects_come_back_as_they_were_put() {
    let running = start(Limits::default()).await;
    for client in [
        running.client(),
        running.builder().with_checksum_algorithm(Checksum::SHA256).build().expect("a client"),
    ] {
        for bytes in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 300_000] {
            let path = Path::from(format!("some/dir with space/{bytes}+\u{e9}"));
            let body = body(bytes);
            let put = client.put(&path, body.clone().into()).await.expect("put");
            let got = client.get(&path).await.expect("got");
            assert_eq!(got.meta.e_tag, put.e_tag);
            assert_eq!(got.meta.size, bytes as u64);
            assert!(got.bytes().await.expect("read") == body);
            let head = client.head(&path).await.expect("head");
            assert_eq!((head.size, head.e_tag), (bytes as u64, put.e_tag));
        }
    }
    running.stop().await;
}

#[tokio::test]
async fn metadata_comes_back_and_a_copy_takes_it_along() {
    let running = start(Limits::default()).await;
    let client = running.client();
    let attributes: Attributes = [
        (Attribute::ContentType, "text/plain; charset=utf-8"),
        (Attribute::CacheControl, "max-age=60"),
        (Attribute::ContentDisposition, "attachment"),
        (Attribute::ContentEncoding, "gzip"),
        (Attribute::ContentLanguage, "la"),
        (Attribute::Metadata("mood".into()), "oblivious"),
    ]
    .into_iter()
    .collect();
    let (from, to) = (Path::from("from"), Path::from("deep/to"));
    let options = PutOptions { attributes: attributes.clone(), ..PutOptions::default() };
    client.put_opts(&from, body(10_000).into(), options).await.expect("put");
    client.copy(&from, &to).await.expect("copied");
    for path in [&from, &to] {
        let got = client.get(path).await.expect("got");
        assert_eq!(got.attributes, attributes);
        assert!(got.bytes().await.expect("read") == body(10_000));
    }
    running.stop().await;
}

#[tokio::test]
async fn ranges_are_exact_to_the_byte() {
    let running = start(Limits::default()).await;
    let client = running.client();
    let path = Path::from("key");
    let whole = body(3 * BLOCK + 100);
    client.put(&path, whole.clone().into()).await.expect("put");
    let end = whole.len();
    for (start, stop) in [(0, 1), (BLOCK - 1, BLOCK + 1), (5, end), (end - 1, end), (BLOCK, 2 * BLOCK)] {
        let got = client.get_range(&path, start as u64..stop as u64).await.expect("read");
        assert!(got == whole[start..stop], "{start}..{stop}");
    }
    let get = |range| client.get_opts(&path, GetOptions { range: Some(range), ..Default::default() });
    let suffix = get(GetRange::Suffix(7)).await.expect("got").bytes().await.expect("read");
    assert!(suffix == whole[end - 7..]);
    let rest = get(GetRange::Offset(BLOCK as u64)).await.expect("got").bytes().await.expect("read");
    assert!(rest == whole[BLOCK..]);
    let url = client.signed_url(http::Method::GET, &path, Duration::from_secs(60)).await.expect("signed");
    let target = format!("{}?{}", url.path(), url.query().expect("signed"));
    let head = format!("GET {target} HTTP/1.1\r\nrange: bytes={end}-\r\n");
    let (status, answer) = running.raw(&head, b"").await;
    assert_eq!(status, 416);
    assert!(answer.to_ascii_lowercase().contains(&format!("content-range: bytes */{end}")), "{answer}");
    running.stop().await;
}

#[tokio::test]
async fn conditions_hold() {
    let running = start(Limits::default()).await;
    let client = running.client();
    let path = Path::from("key");
    let put = |mode| client.put_opts(&path, PutPayload::from_static(b"body"), PutOptions::from(mode));
    let first = put(PutMode::Create).await.expect("absent");
    let again = put(PutMode::Create).await;
    assert!(matches!(again, Err(Error::AlreadyExists { .. })), "{again:?}");
    let of = |e_tag| PutMode::Update(UpdateVersion { e_tag, version: None });
    put(of(first.e_tag.clone())).await.expect("it matches");
    let other = put(of(Some("\"0123456789abcdef0123456789abcdef\"".into()))).await;
    assert!(matches!(other, Err(Error::Precondition { .. })), "{other:?}");

    let get = |options| client.get_opts(&path, options);
    let tag = first.e_tag.expect("a tag");
    let options = GetOptions { if_none_match: Some(tag.clone()), ..Default::default() };
    let unmodified = get(options).await;
    assert!(matches!(unmodified, Err(Error::NotModified { .. })), "{unmodified:?}");
    let options = GetOptions { if_match: Some("\"other\"".into()), ..Default::default() };
    let failed = get(options).await;
    assert!(matches!(failed, Err(Error::Precondition { .. })), "{failed:?}");
    let options = GetOptions { if_match: Some(tag), ..Default::default() };
    get(options).await.expect("it matches");
    let missing = client.get(&Path::from("none")).await;
    assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
    running.stop().await;
}

#[tokio::test]
async fn an_upload_in_parts_is_one_object() {
    let running = start(Limits::default()).await;
    let client = running.client();
    let path = Path::from("large");
    let whole = body(12 << 20);
    let upload = client.put_multipart(&path).await.expect("begun");
    let mut writer = WriteMultipart::new_with_chunk_size(upload, 5 << 20);
    writer.write(&whole);
    let done = writer.finish().await.expect("completed");
    assert!(done.e_tag.expect("a tag").ends_with("-3\""));
    assert!(client.get(&path).await.expect("got").bytes().await.expect("read") == whole);
    let across = (5 << 20) - 10..(5 << 20) + 10;
    let got = client.get_range(&path, across.start as u64..across.end as u64).await.expect("read");
    assert!(got == whole[across]);

    let mut upload = client.put_multipart(&Path::from("given up")).await.expect("begun");
    upload.put_part(body(6 << 20).into()).await.expect("a part");
    let before = running.gateway.usage();
    upload.abort().await.expect("aborted");
    let after = running.gateway.usage();
    assert_eq!((before.uploads, after.uploads), (1, 0));
    assert_eq!(after.free_blocks - before.free_blocks, (6 << 20) / BLOCK as u64);
    running.stop().await;
}

#[tokio::test]
async fn a_listing_of_many_pages_is_complete() {
    let running = start(Limits::default()).await;
    let client = running.client();
    let mut expected = Vec::new();
    for number in 0..1234 {
        let path = Path::from(format!("dir {}/file&{number}", number % 7));
        client.put(&path, PutPayload::default()).await.expect("put");
        expected.push(path);
    }
    expected.sort();
    let listed: Vec<_> = client.list(None).try_collect().await.expect("listed");
    let listed: Vec<_> = listed.into_iter().map(|meta| meta.location).collect();
    assert!(listed == expected, "{} of {}", listed.len(), expected.len());
    let shallow = client.list_with_delimiter(None).await.expect("listed");
    assert_eq!((shallow.common_prefixes.len(), shallow.objects.len()), (7, 0));
    let prefix = Path::from("dir 3");
    let inner = client.list_with_delimiter(Some(&prefix)).await.expect("listed");
    assert_eq!(inner.objects.len(), expected.iter().filter(|path| path.prefix_matches(&prefix)).count());
    let doomed = futures::stream::iter(expected.clone().into_iter().map(Ok));
    let deleted: Vec<_> = client.delete_stream(Box::pin(doomed)).try_collect().await.expect("deleted");
    assert_eq!(deleted.len(), expected.len());
    assert_eq!(running.gateway.usage().objects, 0);
    running.stop().await;
}

#[tokio::test]
async fn a_signed_url_works_and_a_forged_one_does_not() {
    let running = start(Limits::default()).await;
    let client = running.client();
    let path = Path::from("key");
    let put = client.signed_url(http::Method::PUT, &path, Duration::from_secs(60)).await.expect("signed");
    let target = format!("{}?{}", put.path(), put.query().expect("signed"));
    let (status, answer) =
        running.raw(&format!("PUT {target} HTTP/1.1\r\ncontent-length: 5\r\n"), b"hello").await;
    assert_eq!(status, 200, "{answer}");
    let got = client.get(&path).await.expect("got").bytes().await.expect("read");
    assert_eq!(got, "hello");
    let forged = target.replace("X-Amz-Expires=60", "X-Amz-Expires=61");
    assert_ne!(forged, target);
    let (status, answer) = running.raw(&format!("GET {forged} HTTP/1.1\r\n"), b"").await;
    assert_eq!(status, 403, "{answer}");
    assert!(answer.contains("SignatureDoesNotMatch"), "{answer}");
    running.stop().await;
}

#[tokio::test]
async fn without_the_keys_nothing_is_answered() {
    let running = start(Limits::default()).await;
    running.client().put(&Path::from("key"), PutPayload::from_static(b"secret body")).await.expect("put");
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
        let (status, answer) = running.raw(&head, b"").await;
        assert_eq!(status, expected, "{head}: {answer}");
        assert!(!answer.contains("secret body"));
    }
    for (access, secret) in [("access", "other"), ("other", "secret")] {
        let client = running
            .builder()
            .with_access_key_id(access)
            .with_secret_access_key(secret)
            .build()
            .expect("a client");
        client.get(&Path::from("key")).await.expect_err("not let in");
    }
    running.stop().await;
}

#[tokio::test]
async fn each_access_key_reaches_its_own_account_and_a_member_none() {
    let running = start(Limits::default()).await;
    let path = Path::from("key");
    running.client().put(&path, PutPayload::from_static(b"the first account's")).await.expect("put");
    let with = |key: &str| running.builder().with_access_key_id(key).build().expect("a client");
    let other = with("other-access");
    // The S3 bucket is another account's: for this one it does not exist, not even to say so.
    let missing = other.get(&path).await;
    assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
    running
        .gateway
        .account("other")
        .create_container("bucket", ContainerSettings::default())
        .await
        .expect("made");
    other.put(&path, PutPayload::from_static(b"the other account's")).await.expect("put");
    for (client, expected) in [(running.client(), "the first account's"), (other, "the other account's")] {
        assert_eq!(client.get(&path).await.expect("got").bytes().await.expect("read"), expected);
        // A range that s3s does not understand takes another way, to the same account.
        let url = client.signed_url(http::Method::GET, &path, Duration::from_secs(60)).await.expect("signed");
        let target = format!("{}?{}", url.path(), url.query().expect("signed"));
        let (_, answer) = running.raw(&format!("GET {target} HTTP/1.1\r\nrange: lines=1\r\n"), b"").await;
        assert!(answer.contains(expected), "{answer}");
    }
    let refused = with("member-access").get(&path).await;
    assert!(matches!(refused, Err(Error::PermissionDenied { .. })), "{refused:?}");
    running.stop().await;
}

#[tokio::test]
async fn a_connection_dropped_in_a_put_leaves_nothing() {
    let running = start(Limits::default()).await;
    let client = running.client();
    let path = Path::from("key");
    client.put(&path, PutPayload::from_static(b"old")).await.expect("put");
    let before = running.gateway.usage();
    let url = client.signed_url(http::Method::PUT, &path, Duration::from_secs(60)).await.expect("signed");
    let head = format!(
        "PUT {}?{} HTTP/1.1\r\nhost: {}\r\ncontent-length: 1000000\r\n\r\n",
        url.path(),
        url.query().expect("signed"),
        running.address
    );
    let mut stream = TcpStream::connect(running.address).await.expect("connected");
    stream.write_all(head.as_bytes()).await.expect("sent");
    stream.write_all(&body(500_000)).await.expect("sent");
    // Wait until it has begun to write, then go away.
    while running.gateway.usage().free_blocks == before.free_blocks {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop(stream);
    let given_back = async {
        while running.gateway.usage() != before {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(EVER, given_back).await.expect("everything that was taken is given back");
    assert_eq!(client.get(&path).await.expect("got").bytes().await.expect("read"), "old");
    running.stop().await;
}

#[tokio::test]
async fn a_body_that_stalls_is_given_up() {
    let limits = Limits { body: Duration::from_millis(200), ..Limits::default() };
    let running = start(limits).await;
    let url = running
        .client()
        .signed_url(http::Method::PUT, &Path::from("key"), Duration::from_secs(60))
        .await
        .expect("signed");
    let head =
        format!("PUT {}?{} HTTP/1.1\r\ncontent-length: 100\r\n", url.path(), url.query().expect("signed"));
    let (status, answer) = running.raw(&head, b"not all of it").await;
    assert_eq!(status, 400);
    assert!(answer.contains("RequestTimeout"), "{answer}");
    assert_eq!(running.gateway.usage().free_blocks, BLOCKS);
    running.stop().await;
}

#[tokio::test]
async fn a_full_vault_says_so_and_keeps_what_it_has() {
    let running = start(Limits::default()).await;
    let client = running.client();
    let path = Path::from("key");
    client.put(&path, PutPayload::from_static(b"old")).await.expect("put");
    let url = client.signed_url(http::Method::PUT, &path, Duration::from_secs(60)).await.expect("signed");
    let head = format!(
        "PUT {}?{} HTTP/1.1\r\ncontent-length: {}\r\nexpect: 100-continue\r\n",
        url.path(),
        url.query().expect("signed"),
        BLOCKS * BLOCK as u64 + 1
    );
    let (status, answer) = running.raw(&head, b"").await;
    assert_eq!(status, 507, "{answer}");
    assert!(answer.contains("8193 blocks are needed and 8192 are free"), "{answer}");
    assert_eq!(client.get(&path).await.expect("got").bytes().await.expect("read"), "old");

    running.device.set_faults(Faults { reads_left: Some(0), ..Faults::default() });
    let failed = client.get(&path).await.expect_err("the device fails").to_string();
    assert!(failed.contains("503"), "{failed}");
    running.device.set_faults(Faults::default());
    running.stop().await;
}

#[tokio::test]
async fn the_end_waits_for_requests_under_way() {
    let running = start(Limits::default()).await;
    let client = running.client();
    let url = client
        .signed_url(http::Method::PUT, &Path::from("key"), Duration::from_secs(60))
        .await
        .expect("signed");
    let head = format!(
        "PUT {}?{} HTTP/1.1\r\nhost: {}\r\ncontent-length: 100000\r\n\r\n",
        url.path(),
        url.query().expect("signed"),
        running.address
    );
    let whole = body(100_000);
    let mut stream = TcpStream::connect(running.address).await.expect("connected");
    stream.write_all(head.as_bytes()).await.expect("sent");
    stream.write_all(&whole[..50_000]).await.expect("sent");
    while running.gateway.usage().free_blocks == BLOCKS {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let Running { address, gateway, end, server, .. } = running;
    end.send(()).expect("it still runs");
    while TcpStream::connect(address).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(!server.is_finished());
    stream.write_all(&whole[50_000..]).await.expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an answer");
    assert!(answer.starts_with(b"HTTP/1.1 200"));
    server.await.expect("a gentle end");
    assert_eq!(gateway.account(FIRST_ACCOUNT).object("bucket", "key").expect("there").bytes(), 100_000);
    TcpStream::connect(address).await.expect_err("nobody listens any more");
}

impl Running {
    /// Sends a raw request whose signature is in the URL, with headers that are not signed.
    async fn signed(&self, method: http::Method, key: &str, headers: &str) -> (u16, String) {
        let path = Path::from(key);
        let url =
            self.client().signed_url(method.clone(), &path, Duration::from_secs(60)).await.expect("signed");
        let target = format!("{}?{}", url.path(), url.query().expect("signed"));
        self.raw(&format!("{method} {target} HTTP/1.1\r\n{headers}"), b"").await
    }
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let after = text.split_once(from).unwrap_or_else(|| panic!("no {from} in {text}")).1;
    after.split_once(to).unwrap_or_else(|| panic!("no {to} in {text}")).0
}

#[tokio::test]
async fn every_refusal_says_in_a_sentence_what_was_wrong() {
    let running = start(Limits::default()).await;
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
        let (status, answer) = running.raw(head, b"").await;
        assert!((400..502).contains(&status), "{answer}");
        assert_eq!(between(&answer, "<Code>", "</Code>"), code, "{answer}");
        let message = between(&answer, "<Message>", "</Message>");
        assert!(message.len() > 20 && !message.contains("Unknown"), "{code}: {message}");
    }
    let url = running.client().signed_url(http::Method::GET, &Path::from("k"), Duration::from_secs(60)).await;
    let url = url.expect("signed");
    let target =
        format!("{}?{}", url.path(), url.query().expect("signed").replace("Expires=60", "Expires=61"));
    let (_, answer) = running.raw(&format!("GET {target} HTTP/1.1\r\n"), b"").await;
    assert_eq!(between(&answer, "<Code>", "</Code>"), "SignatureDoesNotMatch");
    assert!(between(&answer, "<Message>", "</Message>").contains("Check your key"), "{answer}");
    running.stop().await;
}

#[tokio::test]
async fn a_range_that_is_none_is_ignored() {
    let running = start(Limits::default()).await;
    let whole = body(BLOCK + 10);
    let end = whole.len();
    running.client().put(&Path::from("key"), whole.into()).await.expect("put");
    for range in ["bytes=abc", "bytes=5-2", "bytes=", "lines=0-4", "bytes=0-1,3-4", "nonsense"] {
        let (status, answer) = running.signed(http::Method::GET, "key", &format!("range: {range}\r\n")).await;
        let answer = answer.to_ascii_lowercase();
        assert_eq!(status, 200, "{range}: {answer}");
        assert!(answer.contains(&format!("content-length: {end}\r\n")), "{range}: {answer}");
        assert!(!answer.contains("content-range"), "{range}: {answer}");
        let (status, _) = running.signed(http::Method::HEAD, "key", &format!("range: {range}\r\n")).await;
        assert_eq!(status, 200, "{range}");
        let (status, _) = running.raw(&format!("GET /bucket/key HTTP/1.1\r\nrange: {range}\r\n"), b"").await;
        assert_eq!(status, 403, "without a signature, {range} lets nobody in");
        let refused = format!("range: {range}\r\nx-amz-expected-bucket-owner: another\r\n");
        let (status, _) = running.signed(http::Method::GET, "key", &refused).await;
        assert_eq!(status, 403, "{range} does not get round what is refused");
    }
    running.stop().await;
}

#[tokio::test]
async fn a_range_outside_of_the_object_is_answered_with_its_size() {
    let running = start(Limits::default()).await;
    running.client().put(&Path::from("key"), body(100).into()).await.expect("put");
    running.client().put(&Path::from("empty"), PutPayload::default()).await.expect("put");
    for (key, range, bytes) in [
        ("key", "bytes=100-", 100),
        ("key", "bytes=99999999999999999999-", 100),
        ("key", "bytes=-0", 100),
        ("empty", "bytes=0-", 0),
    ] {
        let (status, answer) = running.signed(http::Method::GET, key, &format!("range: {range}\r\n")).await;
        assert_eq!(status, 416, "{range}: {answer}");
        assert_eq!(between(&answer, "<Code>", "</Code>"), "InvalidRange");
        assert!(
            answer.to_ascii_lowercase().contains(&format!("content-range: bytes */{bytes}\r\n")),
            "{answer}"
        );
    }
    let (status, _) = running.signed(http::Method::GET, "empty", "range: bytes=-5\r\n").await;
    assert_eq!(status, 200, "the last five bytes of nothing are nothing");
    let (status, answer) =
        running.signed(http::Method::GET, "key", "range: bytes=90-99999999999999999999\r\n").await;
    assert_eq!(status, 206, "{answer}");
    assert!(answer.to_ascii_lowercase().contains("content-range: bytes 90-99/100\r\n"), "{answer}");
    running.stop().await;
}

#[tokio::test]
async fn parts_are_refused_as_s3_refuses_them() {
    let running = start(Limits::default()).await;
    let gateway = &running.gateway;
    let least = LEAST_PART as usize;
    let id = gateway
        .account(FIRST_ACCOUNT)
        .begin_upload("bucket", "key", Default::default(), None)
        .await
        .expect("begun");
    for (number, bytes) in [(1, least - 1), (2, least), (3, 10)] {
        let mut writer = gateway.writer(Some(bytes as u64), None).expect("room");
        writer.push(body(bytes)).await.expect("written");
        let written = writer.finish().await.expect("written");
        gateway.account(FIRST_ACCOUNT).link_part("bucket", "key", id, number, written).await.expect("a part");
    }
    let complete = async |numbers: &[u16]| {
        let named = numbers.iter().map(|&number| NamedPart { number, ..NamedPart::default() }).collect();
        let expected = Expected { least_part: Some(LEAST_PART), ..Expected::default() };
        let completed = gateway
            .account(FIRST_ACCOUNT)
            .complete_upload("bucket", "key", id, named, expected, Default::default())
            .await;
        S3Error::from(completed.expect_err("refused")).code().as_str().to_owned()
    };
    assert_eq!(complete(&[1, 2, 3]).await, "EntityTooSmall");
    assert_eq!(complete(&[2, 1]).await, "InvalidPartOrder");
    assert_eq!(complete(&[2, 2]).await, "InvalidPartOrder");
    assert_eq!(complete(&[2, 4]).await, "InvalidPart");
    assert_eq!(complete(&[]).await, "MalformedXML");
    let named = [2, 3].map(|number| NamedPart { number, ..NamedPart::default() }).to_vec();
    let expected = Expected { least_part: Some(LEAST_PART), ..Expected::default() };
    let done = gateway
        .account(FIRST_ACCOUNT)
        .complete_upload("bucket", "key", id, named, expected, Default::default())
        .await;
    assert_eq!(done.expect("large enough").bytes(), least as u64 + 10);
    running.stop().await;
}

#[tokio::test]
async fn an_idle_connection_makes_room_for_a_new_one_and_one_at_work_does_not() {
    let running = start(Limits { connections: 4, ..Limits::default() }).await;
    let busy = Path::from("busy");
    let url =
        running.client().signed_url(http::Method::PUT, &busy, Duration::from_secs(60)).await.expect("signed");
    let target = format!("{}?{}", url.path(), url.query().expect("signed"));
    let head =
        format!("PUT {target} HTTP/1.1\r\nhost: {}\r\ncontent-length: 500000\r\n\r\n", running.address);
    let mut busy = TcpStream::connect(running.address).await.expect("connected");
    busy.write_all(head.as_bytes()).await.expect("sent");
    busy.write_all(&body(500_000)[..250_000]).await.expect("sent");
    while running.gateway.usage().free_blocks == BLOCKS {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let mut idle = Vec::new();
    for _ in 0..20 {
        idle.push(TcpStream::connect(running.address).await.expect("connected"));
    }
    let path = Path::from("key");
    let put = running.client().put(&path, PutPayload::from_static(b"content")).await;
    put.expect("well within the time that an idle connection may take");
    let mut rest = [0; 1];
    let ended = tokio::time::timeout(EVER, idle[0].read(&mut rest)).await;
    assert_eq!(ended.expect("at once").expect("without an error"), 0, "the one idle for longest was ended");
    busy.write_all(&body(500_000)[250_000..]).await.expect("sent");
    let mut answer = [0; 12];
    busy.read_exact(&mut answer).await.expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 200");
    drop(idle);
    running.stop().await;
}

#[tokio::test]
async fn more_user_metadata_than_s3_takes_is_refused_before_its_body() {
    let running = start(Limits::default()).await;
    let client = running.client();
    let path = Path::from("key");
    let with = |bytes: usize| {
        let mut attributes = Attributes::new();
        attributes.insert(Attribute::Metadata("name".into()), "v".repeat(bytes - "name".len()).into());
        PutOptions { attributes, ..PutOptions::default() }
    };
    client.put_opts(&path, PutPayload::from_static(b"x"), with(2048)).await.expect("as much as S3 takes");
    let error = client.put_opts(&path, PutPayload::from_static(b"y"), with(2049)).await.unwrap_err();
    assert!(error.to_string().contains("MetadataTooLarge"), "{error}");
    let got = client.get(&path).await.expect("there").bytes().await.expect("read");
    assert_eq!(&got[..], b"x");
    running.stop().await;
}
