//! A server on loopback over a device in memory, and its clients.

use crate::vault;
use ameles_gateway::auth::identity::{AccessKey, Identity, Role, User, Users};
use ameles_gateway::catalogue::{ContainerSettings, Details};
use ameles_gateway::http::loopback::Loopback;
use ameles_gateway::http::server;
use ameles_gateway::objects::conditions::WriteConditions;
use ameles_gateway::s3::S3Server;
use ameles_gateway::testing::MemoryDevice;
use ameles_gateway::{Account, FIRST_ACCOUNT, Gateway, Options};
use bytes::Bytes;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::signer::Signer;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

pub const BLOCK: usize = 4096;
pub const BLOCKS: u64 = 8192;
pub const BATCH: usize = 8;

/// The time after which a test that hangs fails. Nothing in these tests takes as long.
pub const TIMEOUT: Duration = Duration::from_secs(300);

pub struct TestServer {
    pub address: SocketAddr,
    pub device: Arc<MemoryDevice>,
    pub gateway: Gateway,
    pub account: Account,
    server: Loopback,
    scheme: &'static str,
}

pub fn user(account: &str, name: &str, role: Role, key: &str, secret: &str) -> User {
    let (account, user) = (account.parse().expect("a name"), name.parse().expect("a name"));
    User {
        identity: Identity { account, user, role },
        password: None,
        keys: vec![AccessKey::new(key, secret)],
    }
}

pub async fn start(serving: server::Options) -> TestServer {
    start_with(Options::default(), serving).await
}

pub async fn start_with(options: Options, serving: server::Options) -> TestServer {
    let device = Arc::new(MemoryDevice::new(BLOCK, BLOCKS, BATCH));
    let gateway = Gateway::open(Arc::clone(&device), options).await.expect("opened");
    let account = gateway.account(FIRST_ACCOUNT);
    account.create_container("bucket", ContainerSettings::default()).await.expect("made");
    let scheme = if serving.tls.is_some() { "https" } else { "http" };
    let users = vec![
        User::first(AccessKey::new("access", "secret")),
        user("other", "someone", Role::Owner, "other-access", "secret"),
        user("ameles", "member", Role::Member, "member-access", "secret"),
    ];
    let protocol = S3Server::new(gateway.clone(), Arc::new(Users::new(users).expect("three users")));
    let server = Loopback::serve(protocol, serving).await.expect("bound");
    TestServer { address: server.address(), device, gateway, account, server, scheme }
}

impl TestServer {
    pub fn builder(&self) -> AmazonS3Builder {
        ameles_store::install_tls_provider();
        AmazonS3Builder::new()
            .with_endpoint(format!("{}://{}", self.scheme, self.address))
            .with_allow_http(true)
            .with_region("us-east-1")
            .with_bucket_name("bucket")
            .with_access_key_id("access")
            .with_secret_access_key("secret")
            .with_retry(object_store::RetryConfig { max_retries: 0, ..Default::default() })
    }

    pub fn client(&self) -> AmazonS3 {
        self.builder().build().expect("a client")
    }

    /// Puts an object without a client.
    pub async fn put(&self, key: &str, body: &Bytes) {
        let written = vault::write(&self.gateway, body).await.expect("written");
        let (details, conditions) = (Details::default(), WriteConditions::default());
        self.account.link("bucket", key, written, details, conditions).await.expect("linked");
    }

    /// The head of a signed request; `headers` are not signed.
    pub async fn head(&self, method: http::Method, key: &str, headers: &str) -> String {
        let target = signed_target(&self.client(), method.clone(), key).await;
        format!("{method} {target} HTTP/1.1\r\nhost: {}\r\n{headers}\r\n", self.address)
    }

    /// Opens a connection and sends a head on it.
    pub async fn send(&self, head: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.expect("connected");
        stream.write_all(head.as_bytes()).await.expect("sent");
        stream
    }

    /// Begins a put of this many bytes, and returns its connection once the gateway has reserved blocks for it.
    pub async fn begin_put(&self, key: &str, length: usize, beginning: &[u8]) -> TcpStream {
        let free_blocks = self.gateway.usage().free_blocks;
        let head = self.head(http::Method::PUT, key, &format!("content-length: {length}\r\n")).await;
        let mut stream = self.send(&head).await;
        stream.write_all(beginning).await.expect("sent");
        while self.gateway.usage().free_blocks == free_blocks {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        stream
    }

    /// Begins a get. Returns its connection once the head of the answer has come, and the bytes that came with it.
    pub async fn begin_get(&self, key: &str, headers: &str) -> (TcpStream, Vec<u8>) {
        let mut stream = self.send(&self.head(http::Method::GET, key, headers).await).await;
        let (status, _, received) = answer_head(&mut stream).await;
        assert_eq!(status, 200);
        (stream, received)
    }

    /// Sends a raw request; returns the answer's status and all of its bytes.
    pub async fn raw(&self, head: &str, body: &[u8]) -> (u16, String) {
        let mut stream =
            self.send(&format!("{head}host: {}\r\nconnection: close\r\n\r\n", self.address)).await;
        stream.write_all(body).await.expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.expect("an answer");
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, answer)
    }

    /// Sends a raw request whose signature is in the URL, with headers that are not signed.
    pub async fn signed(&self, method: http::Method, key: &str, headers: &str) -> (u16, String) {
        let target = signed_target(&self.client(), method.clone(), key).await;
        self.raw(&format!("{method} {target} HTTP/1.1\r\n{headers}"), b"").await
    }

    /// Waits until no transfer holds memory and only the blocks of objects are in use.
    pub async fn wait_until_idle(&self, free_blocks: u64) {
        let memory = Options::default().transfer_memory_bytes;
        let is_at_rest =
            || self.gateway.free_memory() == memory && self.gateway.usage().free_blocks == free_blocks;
        let waiting = async {
            while !is_at_rest() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, waiting).await.expect("everything that was taken is given back");
    }

    /// Tells the server to end; the handle is ready when it has.
    pub fn end(self) -> JoinHandle<bool> {
        self.server.end()
    }

    pub async fn stop(self) {
        let gateway = self.gateway.clone();
        within(self.end()).await.expect("a gentle end");
        within(gateway.settle()).await;
    }
}

/// A path and a query that a client has signed.
pub async fn signed_target(client: &AmazonS3, method: http::Method, key: &str) -> String {
    let url = client.signed_url(method, &Path::from(key), TIMEOUT).await.expect("signed");
    format!("{}?{}", url.path(), url.query().expect("signed"))
}

/// Posts the beginning of a body that is announced as much longer, and returns what comes back meanwhile.
pub async fn post_partial_body(address: &str, target: &str, kind: &str, body: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.expect("connected");
    let head = format!(
        "POST {target} HTTP/1.1\r\nhost: {address}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
        1u64 << 32
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    // The server may answer and close the connection before the whole body was sent.
    let _ = stream.write_all(body).await;
    let mut answer = vec![0; 1024];
    let bytes = stream.read(&mut answer).await.unwrap_or(0);
    String::from_utf8_lossy(&answer[..bytes]).into_owned()
}

pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(TIMEOUT, future).await.expect("not for ever")
}

/// The head of an answer, and the part of its body that came with it.
pub async fn answer_head(stream: &mut TcpStream) -> (u16, String, Vec<u8>) {
    let mut answer = Vec::new();
    let end = loop {
        let read = within(stream.read_buf(&mut answer)).await.expect("an answer");
        assert!(read > 0, "the connection ended: {}", String::from_utf8_lossy(&answer));
        if let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let body = answer.split_off(end);
    let head = String::from_utf8(answer).expect("a head is text").to_ascii_lowercase();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, head, body)
}

pub fn body(bytes: usize) -> Bytes {
    let mut state = 12345u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..bytes).map(|_| next()).collect::<Vec<u8>>().into()
}
