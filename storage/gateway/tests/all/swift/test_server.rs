//! A running Swift server with users, and raw requests to it.

use crate::raw::{self, Answer, Headers};
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

pub const BLOCK: usize = 32;
pub const BATCH: usize = 4;

/// Account, user, role and password; every password is different.
pub const USERS: [(&str, &str, Role, &str); 4] = [
    ("one", "owner", Role::Owner, "pw-one"),
    ("one", "member", Role::Member, "pw-member"),
    ("two", "owner", Role::Owner, "pw-two"),
    ("ops", "admin", Role::Admin, "pw-admin"),
];

/// A server over a device in memory.
pub struct TestServer {
    pub address: SocketAddr,
    pub device: Arc<MemoryDevice>,
    pub gateway: Gateway,
    pub users: Arc<Users>,
    time: Arc<AtomicU64>,
    server: Loopback,
}

fn user(account: &str, name: &str, role: Role, password: &str) -> User {
    let (account, user) = (account.parse().expect("a name"), name.parse().expect("a name"));
    let password = Some(PasswordHash::of(password.as_bytes()).expect("a hash"));
    User { identity: Identity { account, user, role }, password, keys: vec![] }
}

pub async fn start() -> TestServer {
    start_with(Padding::None, 2000).await
}

/// A server, and the owner of the account `one`, which has a container `c`.
pub async fn start_with_container() -> (TestServer, Client) {
    let server = start().await;
    let owner = server.client("one", "owner").await;
    owner.put("/v1/AUTH_one/c", b"").await;
    (server, owner)
}

pub async fn start_with(padding: Padding, blocks: u64) -> TestServer {
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
    pub async fn stop(self) {
        self.server.stop().await;
        self.gateway.settle().await;
    }

    /// Advances the clock.
    pub fn pass(&self, seconds: u64) {
        self.time.fetch_add(seconds * 1000, Ordering::Relaxed);
    }

    pub fn seconds(&self) -> u64 {
        self.time.load(Ordering::Relaxed) / 1000
    }

    pub fn accesses(&self) -> u64 {
        let (reads, writes) = self.device.take_accesses();
        reads + writes
    }

    /// Sends a request, on a connection of its own.
    pub async fn ask(&self, method: &str, path: &str, headers: Headers<'_>, body: &[u8]) -> Answer {
        raw::ask(self.address, method, path, headers, body).await
    }

    pub async fn client(&self, account: &str, name: &str) -> Client {
        Client { address: self.address, token: self.token(account, name).await }
    }

    /// Logs a user of [`USERS`] in by version 1, and returns the token.
    pub async fn token(&self, account: &str, name: &str) -> String {
        let known = USERS.iter().find(|known| (known.0, known.1) == (account, name)).expect("a user");
        let user = format!("{account}:{name}");
        let headers = [("x-auth-user", user.as_str()), ("x-auth-key", known.3)];
        let answer = self.ask("GET", "/auth/v1.0", &headers, b"").await.expect(200);
        answer.header("x-auth-token").expect("a token").to_owned()
    }
}

/// A user who is logged in.
pub struct Client {
    address: SocketAddr,
    token: String,
}

impl Client {
    pub async fn ask(&self, method: &str, path: &str, headers: Headers<'_>, body: &[u8]) -> Answer {
        let mut all = vec![("x-auth-token", self.token.as_str())];
        all.extend_from_slice(headers);
        raw::ask(self.address, method, path, &all, body).await
    }

    pub async fn put(&self, path: &str, body: &[u8]) -> Answer {
        self.ask("PUT", path, &[], body).await.expect(201)
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], b"").await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.ask("DELETE", path, &[], b"").await
    }

    pub async fn head(&self, path: &str) -> Answer {
        self.ask("HEAD", path, &[], b"").await
    }
}

/// Returns this many bytes, each of which depends on its place.
pub fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * 7 + at / 251) as u8).collect()
}
