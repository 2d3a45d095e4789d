//! A gateway in memory with several users, and raw HTTP requests to it.

use super::signer::{REGION, Signer};
use crate::raw::{self, AllHeaders, Answer, Headers};
use crate::test_server::user;
use ameles_gateway::auth::identity::{Role, Users};
use ameles_gateway::http::loopback::Loopback;
use ameles_gateway::http::server;
use ameles_gateway::s3::S3Server;
use ameles_gateway::testing::MemoryDevice;
use ameles_gateway::{Account, Gateway, Options, Usage};
use std::net::SocketAddr;
use std::sync::Arc;
use time::OffsetDateTime;
use time::macros::format_description;

pub const BLOCK: usize = 4096;

/// The header that makes a bucket accept ACLs.
pub const PREFERRED: (&str, &str) = ("x-amz-object-ownership", "BucketOwnerPreferred");

/// The callers. Every secret is the access key followed by `-secret`.
pub mod keys {
    /// The owner of the first account.
    pub const OWNER: &str = "owner";
    /// The owner of another account.
    pub const OTHER_OWNER: &str = "stranger";
    /// A user of the first account who owns nothing.
    pub const MEMBER: &str = "member";
}

pub struct TestServer {
    pub address: SocketAddr,
    pub device: Arc<MemoryDevice>,
    pub gateway: Gateway,
    serving: Loopback,
}

/// The current time, in the format of signatures.
pub fn now() -> String {
    at(OffsetDateTime::now_utc())
}

pub fn at(time: OffsetDateTime) -> String {
    let format = format_description!("[year][month][day]T[hour][minute][second]Z");
    time.format(format).expect("a time")
}

impl TestServer {
    pub async fn start() -> Self {
        Self::start_over(Arc::new(MemoryDevice::new(BLOCK, 4096, 8))).await
    }

    /// A server with the bucket `bucket` of the first account, made with these headers.
    pub async fn with_bucket(headers: Headers<'_>) -> Self {
        let server = Self::start().await;
        server.ask("PUT", "/bucket", headers, "").await.expect("200");
        server
    }

    /// Starts another server over the same device.
    pub async fn restart(self) -> Self {
        let device = Arc::clone(&self.device);
        self.stop().await;
        Self::start_over(device).await
    }

    /// A server that accepts this region only.
    pub async fn start_in(region: &str) -> Self {
        let options = Options { region: Some(region.into()), ..Options::default() };
        Self::start_with(Arc::new(MemoryDevice::new(BLOCK, 4096, 8)), options).await
    }

    async fn start_over(device: Arc<MemoryDevice>) -> Self {
        Self::start_with(device, Options::default()).await
    }

    async fn start_with(device: Arc<MemoryDevice>, options: Options) -> Self {
        let gateway = Gateway::open(Arc::clone(&device), options).await.expect("opened");
        let user = |account, name, role, key| user(account, name, role, key, &format!("{key}-secret"));
        let users = vec![
            user("ameles", "owner", Role::Owner, keys::OWNER),
            user("ameles", "member", Role::Member, keys::MEMBER),
            user("elsewhere", "owner", Role::Owner, keys::OTHER_OWNER),
        ];
        let protocol = S3Server::new(gateway.clone(), Arc::new(Users::new(users).expect("three users")));
        let serving = Loopback::serve(protocol, server::Options::default()).await.expect("bound");
        TestServer { address: serving.address(), device, gateway, serving }
    }

    pub async fn stop(self) {
        self.serving.stop().await;
    }

    /// Stops the server, which has changed nothing since this usage was counted, and has read and written nothing since
    /// the device's log was taken.
    pub async fn stop_untouched(self, before: Usage) {
        assert_eq!(self.gateway.usage(), before, "nothing was changed");
        assert_eq!(self.device.take_log(), [], "nothing was read or written");
        self.stop().await;
    }

    pub fn host(&self) -> String {
        self.address.to_string()
    }

    pub fn account(&self, name: &str) -> Account {
        self.gateway.account(name)
    }

    /// Gives the bucket `bucket` of the first account these quotas.
    pub async fn set_quotas(&self, bytes: u64, objects: u64) {
        let account = self.account("ameles");
        let set = account.update_container("bucket", move |settings| {
            settings.metadata.insert("quota-bytes".into(), bytes.to_string());
            settings.metadata.insert("quota-count".into(), objects.to_string());
            Ok(())
        });
        set.await.expect("set");
    }

    /// Sends these bytes as they are.
    pub async fn raw(&self, method: &str, target: &str, headers: &AllHeaders, body: &[u8]) -> Answer {
        raw::ask(self.address, method, target, headers, body).await
    }

    /// The headers of a request that this key signs.
    pub fn signed(
        &self,
        key: &str,
        method: &str,
        target: &str,
        headers: Headers<'_>,
        body: &[u8],
    ) -> Vec<(String, String)> {
        let (date, secret) = (now(), format!("{key}-secret"));
        let signer = Signer { access_key: key, secret: &secret, date: &date, region: REGION };
        signer.headers(method, target, &self.host(), headers, body)
    }

    /// Sends a request that this key signs.
    pub async fn send(
        &self,
        key: &str,
        method: &str,
        target: &str,
        headers: Headers<'_>,
        body: &[u8],
    ) -> Answer {
        let headers = self.signed(key, method, target, headers, body);
        self.raw(method, target, &headers, body).await
    }

    /// Sends a request that the owner signs.
    pub async fn ask(
        &self,
        method: &str,
        target: &str,
        headers: Headers<'_>,
        body: impl AsRef<[u8]>,
    ) -> Answer {
        self.send(keys::OWNER, method, target, headers, body.as_ref()).await
    }

    pub async fn get(&self, target: &str) -> Answer {
        self.ask("GET", target, &[], "").await
    }

    pub async fn head(&self, target: &str) -> Answer {
        self.ask("HEAD", target, &[], "").await
    }

    pub async fn delete(&self, target: &str) -> Answer {
        self.ask("DELETE", target, &[], "").await
    }

    pub async fn put(&self, target: &str, body: impl AsRef<[u8]>) -> Answer {
        self.ask("PUT", target, &[], body).await
    }

    /// Sends a body in one chunk, followed by a checksum that the signature does not cover.
    pub async fn send_with_trailer(
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
    pub async fn unsigned(&self, method: &str, target: &str, headers: Headers<'_>, body: &[u8]) -> Answer {
        raw::ask(self.address, method, target, headers, body).await
    }
}
