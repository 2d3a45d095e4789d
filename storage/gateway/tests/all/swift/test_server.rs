//! A running Swift server with users, and raw requests to it.

use ameles_gateway::auth::identity::{Identity, PasswordHash, Role, User, Users};
use ameles_gateway::catalogue::{Clock, UnixMillis};
use ameles_gateway::http::loopback::Loopback;
use ameles_gateway::http::server;
use ameles_gateway::swift::{Address, SwiftServer};
use ameles_gateway::testing::MemoryDevice;
use ameles_gateway::{Gateway, Options, Padding};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) const BLOCK: usize = 32;
pub(crate) const BATCH: usize = 4;

/// Account, user, role and password; every password is different.
pub(crate) const USERS: [(&str, &str, Role, &str); 4] = [
    ("one", "owner", Role::Owner, "pw-one"),
    ("one", "member", Role::Member, "pw-member"),
    ("two", "owner", Role::Owner, "pw-two"),
    ("ops", "admin", Role::Admin, "pw-admin"),
];

/// A server over a device in memory.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) device: Arc<MemoryDevice>,
    pub(crate) gateway: Gateway,
    pub(crate) users: Arc<Users>,
    time: Arc<AtomicU64>,
    server: Loopback,
}

/// An answer as it was received.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }

    /// Returns the answer if it has this status.
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self
    }
}

pub(crate) fn user(account: &str, name: &str, role: Role, password: &str) -> User {
    let (account, user) = (account.parse().expect("a name"), name.parse().expect("a name"));
    let password = Some(PasswordHash::of(password.as_bytes()).expect("a hash"));
    User { identity: Identity { account, user, role }, password, keys: vec![] }
}

pub(crate) async fn start() -> TestServer {
    start_with(Padding::None, 2000).await
}

pub(crate) async fn start_with(padding: Padding, blocks: u64) -> TestServer {
    let device = Arc::new(MemoryDevice::new(BLOCK, blocks, BATCH));
    let time = Arc::new(AtomicU64::new(1_700_000_000_000));
    let clock = {
        let time = Arc::clone(&time);
        Clock::new(move || UnixMillis(time.load(Ordering::Relaxed)))
    };
    let options = Options { padding, clock, ..Options::default() };
    let gateway = Gateway::open(Arc::clone(&device), options).await.expect("opened");
    let users = USERS.map(|(account, name, role, password)| user(account, name, role, password));
    let users = Arc::new(Users::new(users.to_vec()).expect("users"));
    let protocol = SwiftServer::new(gateway.clone(), Arc::clone(&users), Address::OfHost { tls: false });
    let server = Loopback::serve(protocol, server::Options::default()).await.expect("bound");
    device.take_log();
    TestServer { address: server.address(), device, gateway, users, time, server }
}

impl TestServer {
    pub(crate) async fn stop(self) {
        self.server.stop().await;
        self.gateway.settle().await;
    }

    /// Advances the clock.
    pub(crate) fn pass(&self, seconds: u64) {
        self.time.fetch_add(seconds * 1000, Ordering::Relaxed);
    }

    pub(crate) fn seconds(&self) -> u64 {
        self.time.load(Ordering::Relaxed) / 1000
    }

    pub(crate) fn accesses(&self) -> u64 {
        let (reads, writes) = self.device.take_accesses();
        reads + writes
    }

    /// Sends a request, on a connection of its own.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut stream = TcpStream::connect(self.address).await.expect("connected");
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", self.address);
        if !body.is_empty() || matches!(method, "PUT" | "POST") {
            head += &format!("content-length: {}\r\n", body.len());
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).await.expect("sent");
        // The server may refuse before it has taken the body.
        let _ = stream.write_all(body).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        parse(&answer)
    }

    /// Logs a user of [`USERS`] in by version 1, and returns the token.
    pub(crate) async fn token(&self, account: &str, name: &str) -> String {
        let known = USERS.iter().find(|known| (known.0, known.1) == (account, name)).expect("a user");
        let user = format!("{account}:{name}");
        let headers = [("x-auth-user", user.as_str()), ("x-auth-key", known.3)];
        let answer = self.ask("GET", "/auth/v1.0", &headers, b"").await.expect(200);
        answer.header("x-auth-token").expect("a token").to_owned()
    }
}

/// A user who is logged in.
pub(crate) struct Client<'a> {
    server: &'a TestServer,
    token: String,
}

impl<'a> Client<'a> {
    pub(crate) async fn new(server: &'a TestServer, account: &str, name: &str) -> Self {
        Client { server, token: server.token(account, name).await }
    }

    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut all = vec![("x-auth-token", self.token.as_str())];
        all.extend_from_slice(headers);
        self.server.ask(method, path, &all, body).await
    }

    pub(crate) async fn put(&self, path: &str, body: &[u8]) -> Answer {
        self.ask("PUT", path, &[], body).await.expect(201)
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], b"").await
    }

    pub(crate) async fn head(&self, path: &str) -> Answer {
        self.ask("HEAD", path, &[], b"").await
    }
}

fn parse(answer: &[u8]) -> Answer {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
    let head = std::str::from_utf8(&answer[..end]).expect("text");
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|status| status.parse().ok());
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers: Vec<(String, String)> =
        headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    let body = answer[end + 4..].to_vec();
    Answer { status: status.expect("a status"), headers, body }
}

/// Bytes that depend on their place.
pub(crate) fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * 7 + at / 251) as u8).collect()
}
