//! A gateway in memory with several users, and raw HTTP requests to it.

use super::signer::{REGION, Signer};
use ameles_gateway::auth::identity::{AccessKey, Identity, Role, User, Users};
use ameles_gateway::http::loopback::Loopback;
use ameles_gateway::http::server;
use ameles_gateway::s3::S3Server;
use ameles_gateway::testing::MemoryDevice;
use ameles_gateway::{Account, Gateway, Options};
use std::net::SocketAddr;
use std::sync::Arc;
use time::OffsetDateTime;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) const BLOCK: usize = 4096;

/// The header that makes a bucket accept ACLs.
pub(crate) const PREFERRED: (&str, &str) = ("x-amz-object-ownership", "BucketOwnerPreferred");

/// The callers. Every secret is the access key followed by `-secret`.
pub(crate) mod keys {
    /// The owner of the first account.
    pub(crate) const OWNER: &str = "owner";
    /// The owner of another account.
    pub(crate) const OTHER_OWNER: &str = "stranger";
    /// A user of the first account who owns nothing.
    pub(crate) const MEMBER: &str = "member";
}

pub(crate) struct TestServer {
    address: SocketAddr,
    pub(crate) device: Arc<MemoryDevice>,
    pub(crate) gateway: Gateway,
    serving: Loopback,
}

/// An answer as it was received.
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    /// Parses the bytes that were received until the connection ended.
    pub(crate) fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").expect("an answer");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let mut answer = Answer { status, head: head.to_owned(), body: body.to_owned() };
        if answer.header("transfer-encoding") == Some("chunked") {
            answer.body = unchunk(body);
        }
        answer
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The first element of this name in the body.
    pub(crate) fn element(&self, name: &str) -> Option<&str> {
        let after = self.body.split_once(&format!("<{name}>"))?.1;
        Some(after.split_once(&format!("</{name}>"))?.0)
    }

    /// Status and code, such as `403 AccessDenied`; only the status if the answer has no body.
    pub(crate) fn verdict(&self) -> String {
        match self.element("Code") {
            Some(code) if self.status >= 400 => format!("{} {code}", self.status),
            _ => self.status.to_string(),
        }
    }
}

impl Answer {
    /// Returns the answer if this is its verdict.
    #[track_caller]
    pub(crate) fn expect(self, verdict: &str) -> Self {
        assert_eq!(self.verdict(), verdict, "{}", self.body);
        self
    }
}

/// Decodes a body that came in chunks.
fn unchunk(mut chunks: &str) -> String {
    let mut body = String::new();
    loop {
        let (length, rest) = chunks.split_once("\r\n").expect("the length of a chunk");
        let length = usize::from_str_radix(length, 16).expect("a length");
        if length == 0 {
            return body;
        }
        body += &rest[..length];
        chunks = &rest[length + 2..];
    }
}

/// The current time, in the format of signatures.
pub(crate) fn now() -> String {
    at(OffsetDateTime::now_utc())
}

pub(crate) fn at(time: OffsetDateTime) -> String {
    let (date, time) = (time.date(), time.time());
    let month = u8::from(date.month());
    format!(
        "{:04}{month:02}{:02}T{:02}{:02}{:02}Z",
        date.year(),
        date.day(),
        time.hour(),
        time.minute(),
        time.second()
    )
}

fn user(account: &str, name: &str, role: Role, key: &str) -> User {
    let (account, user) = (account.parse().expect("a name"), name.parse().expect("a name"));
    let key = AccessKey::new(key, format!("{key}-secret"));
    User { identity: Identity { account, user, role }, password: None, keys: vec![key] }
}

impl TestServer {
    pub(crate) async fn start() -> Self {
        Self::start_over(Arc::new(MemoryDevice::new(BLOCK, 4096, 8))).await
    }

    /// A server with the bucket `bucket` of the first account, made with these headers.
    pub(crate) async fn with_bucket(headers: &[(&str, &str)]) -> Self {
        let server = Self::start().await;
        server.ask("PUT", "/bucket", headers, "").await.expect("200");
        server
    }

    /// Starts another server over the same device.
    pub(crate) async fn restart(self) -> Self {
        let device = Arc::clone(&self.device);
        self.stop().await;
        Self::start_over(device).await
    }

    /// A server that accepts this region only.
    pub(crate) async fn start_in(region: &str) -> Self {
        let options = Options { region: Some(region.into()), ..Options::default() };
        Self::start_with(Arc::new(MemoryDevice::new(BLOCK, 4096, 8)), options).await
    }

    async fn start_over(device: Arc<MemoryDevice>) -> Self {
        Self::start_with(device, Options::default()).await
    }

    async fn start_with(device: Arc<MemoryDevice>, options: Options) -> Self {
        let gateway = Gateway::open(Arc::clone(&device), options).await.expect("opened");
        let users = vec![
            user("ameles", "owner", Role::Owner, keys::OWNER),
            user("ameles", "member", Role::Member, keys::MEMBER),
            user("elsewhere", "owner", Role::Owner, keys::OTHER_OWNER),
        ];
        let protocol = S3Server::new(gateway.clone(), Arc::new(Users::new(users).expect("three users")));
        let serving = Loopback::serve(protocol, server::Options::default()).await.expect("bound");
        TestServer { address: serving.address(), device, gateway, serving }
    }

    pub(crate) async fn stop(self) {
        self.serving.stop().await;
    }

    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn account(&self, name: &str) -> Account {
        self.gateway.account(name)
    }

    /// Gives the bucket `bucket` of the first account these quotas.
    pub(crate) async fn set_quotas(&self, bytes: u64, objects: u64) {
        let account = self.account("ameles");
        let set = account.update_container("bucket", move |settings| {
            settings.metadata.insert("quota-bytes".into(), bytes.to_string());
            settings.metadata.insert("quota-count".into(), objects.to_string());
            Ok(())
        });
        set.await.expect("set");
    }

    /// Sends these bytes as they are; the caller reads the answer from the connection.
    pub(crate) async fn begin(
        &self,
        method: &str,
        target: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.expect("connected");
        let mut head = format!("{method} {target} HTTP/1.1\r\nconnection: close\r\n");
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        if !headers.iter().any(|(name, _)| name == "host") {
            head += &format!("host: {}\r\n", self.address);
        }
        head += &format!("content-length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).await.expect("sent");
        // The server may refuse and close the connection before the whole body was sent.
        let _ = stream.write_all(body).await;
        stream
    }

    /// Sends these bytes as they are.
    pub(crate) async fn raw(
        &self,
        method: &str,
        target: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Answer {
        let mut stream = self.begin(method, target, headers, body).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        Answer::read(&String::from_utf8_lossy(&answer))
    }

    /// The headers of a request that this key signs.
    pub(crate) fn signed(
        &self,
        key: &str,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Vec<(String, String)> {
        let (date, secret) = (now(), format!("{key}-secret"));
        let signer = Signer { access_key: key, secret: &secret, date: &date, region: REGION };
        signer.headers(method, target, &self.host(), headers, body)
    }

    /// Sends a request that this key signs.
    pub(crate) async fn send(
        &self,
        key: &str,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let headers = self.signed(key, method, target, headers, body);
        self.raw(method, target, &headers, body).await
    }

    /// Sends a request that the owner signs.
    pub(crate) async fn ask(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> Answer {
        self.send(keys::OWNER, method, target, headers, body.as_ref()).await
    }

    /// Sends a body in one chunk, followed by a checksum that the signature does not cover.
    pub(crate) async fn send_with_trailer(
        &self,
        key: &str,
        target: &str,
        (name, value): (&str, &str),
        body: &[u8],
    ) -> Answer {
        let (date, secret, length) = (now(), format!("{key}-secret"), body.len().to_string());
        let signer = Signer { access_key: key, secret: &secret, date: &date, region: REGION };
        let more = [
            ("content-encoding", "aws-chunked"),
            ("x-amz-decoded-content-length", &*length),
            ("x-amz-trailer", name),
        ];
        let digest = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";
        let headers = signer.headers_over("PUT", target, &self.host(), &more, digest);
        let mut chunks = format!("{:x}\r\n", body.len()).into_bytes();
        chunks.extend_from_slice(body);
        chunks.extend_from_slice(format!("\r\n0\r\n{name}:{value}\r\n\r\n").as_bytes());
        self.raw("PUT", target, &headers, &chunks).await
    }

    /// Sends a request without a signature.
    pub(crate) async fn unsigned(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let headers: Vec<(String, String)> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.raw(method, target, &headers, body).await
    }
}
