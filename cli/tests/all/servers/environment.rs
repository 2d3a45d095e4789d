//! A vault in memory with a gateway, an S3 server and a Swift server. A recorder sees all requests of the store and can
//! kill the gateway.

use super::client::{ACCESS_KEY, Client, PASSWORD, SECRET};
use super::flawed_store::FlawedStore;
use super::support::fragile_disk::FragileDisk;
use super::support::recorder::Recorder;
use super::support::rng::TestRng;
use super::support::{header, setup};
use ameles::vault::device::VaultDevice;
use ameles_core::schemes::ring::RingParameters;
use ameles_core::testing::small_ring;
use ameles_core::types::{BlockId, Level};
use ameles_gateway::auth::identity::{AccessKey, Identity, PasswordHash, Role, User, Users};
use ameles_gateway::http::server::{self, serve};
use ameles_gateway::s3::S3Server;
use ameles_gateway::swift::{Address, SwiftServer};
use ameles_gateway::{FIRST_ACCOUNT, Gateway, Options};
use ameles_store::{Link, LinkSpeed, VersionedMemory};
use ameles_vault::{Call, Pace, SchemeParameters, Vault, VaultParameters};
use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, spawn_local};

pub const BLOCK: usize = 128;
pub const MAX_BATCH: usize = 4;
pub const CAPACITY: u64 = 256;

/// A small tree with enough slots that no bucket is ever read too often. The trace of an access therefore depends only
/// on the number of accesses before it.
pub fn ring_parameters() -> RingParameters {
    RingParameters {
        capacity: CAPACITY,
        block_bytes: BLOCK as u32,
        leaf_level: Level(6),
        top: Level(0),
        max_batch: MAX_BATCH as u32,
        ..small_ring(80)
    }
}

fn parameters() -> VaultParameters {
    let ring = ring_parameters();
    assert_eq!(ring.validate(), Ok(()));
    VaultParameters {
        checkpoint_every: 48,
        ship_every: 2,
        rows_bytes: 128 << 10,
        ..VaultParameters::with_defaults(SchemeParameters::Ring(ring))
    }
}

/// The settings of a gateway.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// The time from a request to the store until its answer.
    pub round_trip: Duration,
    pub pace: Option<Duration>,
    /// True if the device caches reads.
    pub flawed: bool,
}

/// The state that survives the death of a gateway.
pub struct TestEnvironment {
    settings: Settings,
    rng: TestRng,
    memory: VersionedMemory,
    disk: FragileDisk,
    pub recorder: Recorder,
    users: Arc<Users>,
}

/// A running gateway.
pub struct RunningGateway {
    pub vault: Vault,
    gateway: Gateway,
    pub s3: SocketAddr,
    pub swift: SocketAddr,
    driver: JoinHandle<()>,
    servers: [JoinHandle<bool>; 2],
}

impl TestEnvironment {
    /// Creates a vault and writes every block, which writes every bucket. `seed` and everything derived from it are
    /// secret.
    pub async fn new(settings: Settings, seed: u64) -> Self {
        let mut rng = TestRng::of(seed);
        let (memory, disk) = (VersionedMemory::new(parameters().layout()), FragileDisk::default());
        let mounted = disk.mount().expect("a new disk can be used");
        let header = header(parameters(), 1);
        let created = Vault::create(&mut setup(&mounted, memory.clone(), rng.seed()), &header).await;
        created.expect("created");
        let opened = Vault::start(setup(&mounted, memory.clone(), rng.seed())).await;
        let (vault, running) = opened.expect("it is opened");
        let filling = async {
            let blocks = (0..CAPACITY).map(|block| Call::Write(BlockId(block), vec![0; BLOCK].into()));
            vault.access(blocks.collect()).await.expect("it is filled");
            vault.close().await.expect("it is closed");
        };
        futures::join!(filling, running);
        drop((vault, mounted));
        disk.unplug();
        TestEnvironment { settings, rng, memory, disk, recorder: Recorder::new(), users: users() }
    }

    /// Starts the gateway and both servers; `None` if it dies meanwhile. It dies at the store request of this number.
    pub async fn open(&mut self, dies_after: Option<u64>) -> Option<RunningGateway> {
        self.recorder.note_opening(dies_after);
        let speed = LinkSpeed::unlimited(self.settings.round_trip);
        let store = self.recorder.over(Link::new(self.memory.clone(), speed));
        let disk = self.disk.mount().expect("it is sound");
        let mut setup = setup(&disk, store, self.rng.seed());
        setup.pace = self.settings.pace.map(|pace| Pace::every(pace).expect("it is in range"));
        drop(disk);
        let opened = tokio::select! {
            biased;
            () = self.recorder.death() => None,
            opened = Vault::start(setup) => Some(opened.expect("it opens")),
        };
        let Some((vault, running)) = opened else {
            self.die();
            return None;
        };
        self.recorder.is_open(&vault);
        let driver = spawn_local(running);
        let device = FlawedStore::new(VaultDevice::Single(vault.clone()), self.settings.flawed);
        // Rows cause no store request, so the gateway cannot die here.
        let gateway = Gateway::open(device, Options::default()).await.expect("it loads");
        let (s3_listener, s3) = listener().await;
        let (swift_listener, swift) = listener().await;
        let s3_server = S3Server::new(gateway.clone(), Arc::clone(&self.users));
        let address = Address::OfHost { tls: false };
        let swift_server = SwiftServer::new(gateway.clone(), Arc::clone(&self.users), address);
        let servers = [
            spawn_local(serve(s3_listener, s3_server, server::Options::default(), pending())),
            spawn_local(serve(swift_listener, swift_server, server::Options::default(), pending())),
        ];
        Some(RunningGateway { vault, gateway, s3, swift, driver, servers })
    }

    /// Kills the gateway, or cuts the power of its machine.
    pub async fn kill(&mut self, instance: RunningGateway) {
        instance.driver.abort();
        instance.servers.iter().for_each(JoinHandle::abort);
        let _ = instance.driver.await;
        self.die();
    }

    /// Closes the gateway; it may be killed meanwhile.
    pub async fn close(&mut self, instance: RunningGateway) {
        let recorder = self.recorder.clone();
        let closing = async {
            instance.gateway.settle().await;
            instance.vault.close().await.expect("it is closed");
        };
        tokio::select! {
            biased;
            () = recorder.death() => return self.kill(instance).await,
            () = closing => {}
        }
        instance.servers.iter().for_each(JoinHandle::abort);
        let _ = instance.driver.await;
        self.recorder.note_end();
        self.disk.unplug();
    }

    fn die(&mut self) {
        self.recorder.note_kill(&self.disk, &mut self.rng);
    }
}

impl RunningGateway {
    pub async fn client(&self) -> Client {
        Client::log_in(self.s3, self.swift).await.expect("a login uses no block")
    }

    /// Returns the numbers of free blocks and of blocks shared by small objects, once no work is pending.
    pub async fn blocks(&self) -> (u64, u64) {
        self.gateway.settle().await;
        let usage = self.gateway.usage();
        (usage.free_blocks, usage.packed.blocks)
    }
}

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let address = listener.local_addr().expect("bound");
    (listener, address)
}

fn users() -> Arc<Users> {
    let (account, user) = (FIRST_ACCOUNT.parse().expect("a name"), "owner".parse().expect("a name"));
    let password = Some(PasswordHash::of(PASSWORD.as_bytes()).expect("a hash"));
    let keys = vec![AccessKey::new(ACCESS_KEY, SECRET)];
    let owner = User { identity: Identity { account, user, role: Role::Owner }, password, keys };
    Arc::new(Users::new(vec![owner]).expect("users"))
}
