//! The memory of a gateway is bounded, however many clients there are and however slow they are. An allocator counts
//! every allocated byte.

use ameles_gateway::auth::identity::{AccessKey, User, Users};
use ameles_gateway::catalogue::ContainerSettings;
use ameles_gateway::http::loopback::Loopback;
use ameles_gateway::http::server;
use ameles_gateway::s3::S3Server;
use ameles_gateway::testing::MemoryDevice;
use ameles_gateway::{Device, DeviceError, FIRST_ACCOUNT, Flow, Gateway, Options};
use bytes::Bytes;
use futures::future::join_all;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::signer::Signer;
use object_store::{ObjectStoreExt, PutPayload};
use peak_alloc::PeakAlloc;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};

#[global_allocator]
static COUNTED: PeakAlloc = PeakAlloc;

const BLOCK: usize = 64 << 10;
const BATCH: usize = 8;
const OBJECT: usize = 16 << 20;
const CLIENTS: usize = 64;
/// The memory of a connection beyond the blocks of its transfer, for server and client together: the clients are
/// counted too.
const CONNECTION: usize = 256 << 10;
const TRANSFERS: usize = 4;
/// Three batches for each transfer.
const MEMORY: usize = TRANSFERS * 3 * BATCH * BLOCK;

/// A device whose answers are memory of their own, as a vault's are, and whose writes wait for permission.
struct Counted {
    inner: MemoryDevice,
    waiting: watch::Sender<usize>,
    allowed: Semaphore,
}

impl Device for Counted {
    ameles_gateway::forward_device!(self => self.inner, shape);
    ameles_gateway::forward_device!(self => self.inner, rows);

    async fn read(&self, flow: Flow, blocks: Vec<u64>) -> Result<Vec<Bytes>, DeviceError> {
        let answer = self.inner.read(flow, blocks).await?;
        Ok(answer.iter().map(|block| Bytes::copy_from_slice(block)).collect())
    }
    async fn write(&self, flow: Flow, writes: Vec<(u64, Bytes)>) -> Result<(), DeviceError> {
        self.waiting.send_modify(|waiting| *waiting += 1);
        let allowed = self.allowed.acquire().await.expect("never closed");
        self.waiting.send_modify(|waiting| *waiting -= 1);
        let blocks = writes.iter().map(|(block, _)| *block).collect::<Vec<_>>();
        let outcome = self.inner.write(flow, writes).await;
        drop(allowed);
        // The contents of the store are not the gateway's memory, so it stores zeros.
        let zeros = Bytes::from_static(&[0; BLOCK]);
        self.inner.write(flow, blocks.into_iter().map(|block| (block, zeros.clone())).collect()).await?;
        outcome
    }
}

/// Sends a request head on a connection, and waits for the status of the answer.
async fn ask(address: SocketAddr, head: &str) -> (u16, TcpStream) {
    let mut stream = TcpStream::connect(address).await.expect("connected");
    stream.write_all(head.as_bytes()).await.expect("sent");
    let mut line = [0; 12];
    stream.read_exact(&mut line).await.expect("a status");
    let status = std::str::from_utf8(&line[9..]).ok().and_then(|status| status.parse().ok());
    (status.expect("a number"), stream)
}

/// Sends the requests of all clients at once; returns the connections that were admitted.
async fn ask_all(address: SocketAddr, heads: &[String], let_in: u16) -> Vec<TcpStream> {
    let asked = join_all(heads.iter().map(|head| ask(address, head))).await;
    let (inside, refused): (Vec<_>, Vec<_>) = asked.into_iter().partition(|(status, _)| *status == let_in);
    assert!(refused.iter().all(|(status, _)| *status == 503));
    assert_eq!(inside.len(), TRANSFERS, "as many as there is memory for");
    inside.into_iter().map(|(_, stream)| stream).collect()
}

fn client_of(address: SocketAddr) -> AmazonS3 {
    AmazonS3Builder::new()
        .with_endpoint(format!("http://{address}"))
        .with_allow_http(true)
        .with_bucket_name("bucket")
        .with_access_key_id("access")
        .with_secret_access_key("secret")
        .build()
        .expect("a client")
}

/// Reads an answer's body to its end, and counts its bytes.
async fn read_to_end(stream: &mut TcpStream) -> usize {
    let (mut all, mut piece) = (0, vec![0; 10_000]);
    loop {
        match stream.read(&mut piece).await.expect("the rest") {
            0 => return all,
            read => all += read,
        }
    }
}

/// Sends an object piece by piece after the interim answer. Returns the beginning of the final answer.
async fn put(mut stream: TcpStream) -> String {
    let piece = [9; 10_000];
    let mut rest = [0; 13];
    stream.read_exact(&mut rest).await.expect("the rest of the line");
    for _ in 0..OBJECT / piece.len() {
        stream.write_all(&piece).await.expect("sent");
    }
    stream.write_all(&piece[..OBJECT % piece.len()]).await.expect("sent");
    let mut status = [0; 14];
    stream.read_exact(&mut status).await.expect("a status");
    // The rest of the interim answer comes first.
    String::from_utf8_lossy(&status).into_owned()
}

fn assert_bounded(before: usize, what: &str) {
    let max = MEMORY + CLIENTS * CONNECTION + 3 * BATCH * BLOCK;
    let taken = COUNTED.peak_usage().saturating_sub(before);
    assert!(taken <= max, "{what}: {taken} bytes were held at once, more than {max}");
    // The admitted transfers hold at least a quarter of the limit, or the test measured nothing.
    assert!(taken >= MEMORY / 4, "{what}: {taken} bytes");
}

#[tokio::test]
async fn slow_clients_hold_bounded_memory_and_those_beyond_it_are_refused() {
    let device = Arc::new(Counted {
        inner: MemoryDevice::new(BLOCK, 20_000, BATCH),
        waiting: watch::Sender::new(0),
        allowed: Semaphore::new(1),
    });
    let options = Options { transfer_memory_bytes: MEMORY as u64, ..Options::default() };
    let gateway = Gateway::open(Arc::clone(&device), options).await.expect("opened");
    let account = gateway.account(FIRST_ACCOUNT);
    account.create_container("bucket", ContainerSettings::default()).await.expect("made");
    let users = Users::new(vec![User::first(AccessKey::new("access", "secret"))]).expect("a user");
    let protocol = S3Server::new(gateway.clone(), Arc::new(users));
    let serving = Loopback::serve(protocol, server::Options::default()).await.expect("bound");
    let address = serving.address();
    ameles_store::install_tls_provider();
    let client = client_of(address);
    client.put(&Path::from("large"), PutPayload::from(vec![7; OBJECT])).await.expect("put");

    let mut heads = Vec::new();
    for _ in 0..CLIENTS {
        let path = Path::from("large");
        let get =
            client.signed_url(http::Method::GET, &path, Duration::from_secs(600)).await.expect("signed");
        let target = format!("{}?{}", get.path(), get.query().expect("signed"));
        heads.push(format!("GET {target} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"));
    }
    let before = COUNTED.current_usage();
    COUNTED.reset_peak_usage();
    for mut stream in ask_all(address, &heads, 200).await {
        assert!(read_to_end(&mut stream).await > OBJECT);
    }
    assert_bounded(before, "getting");

    heads.clear();
    for number in 0..CLIENTS {
        let path = Path::from(format!("new {number}"));
        let put =
            client.signed_url(http::Method::PUT, &path, Duration::from_secs(600)).await.expect("signed");
        let target = format!("{}?{}", put.path(), put.query().expect("signed"));
        heads.push(format!(
            "PUT {target} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {OBJECT}\r\nexpect: 100-continue\r\n\r\n"
        ));
    }
    let before = COUNTED.current_usage();
    COUNTED.reset_peak_usage();
    let held = device.allowed.acquire().await.expect("never closed");
    let inside = ask_all(address, &heads, 100).await;
    let putting: Vec<_> = inside.into_iter().map(|stream| tokio::spawn(put(stream))).collect();
    // Every transfer reads as far ahead as it may while no block is written.
    let mut waiting = device.waiting.subscribe();
    waiting.wait_for(|waiting| *waiting == 2 * TRANSFERS).await.expect("the device is there");
    drop(held);
    for put in putting {
        let answer = put.await.expect("put");
        assert!(answer.contains("HTTP/1.1 200") || answer.contains("200"), "{answer}");
    }
    assert_bounded(before, "putting");
    assert_eq!(gateway.free_memory(), MEMORY as u64);
    serving.stop().await;
    gateway.settle().await;
}
