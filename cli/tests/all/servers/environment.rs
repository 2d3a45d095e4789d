//! A vault in memory, watched and mortal, with a gateway and both doors over it.

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
use ameles_store::{BitsPerSecond, Link, LinkSpeed, VersionedMemory};
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

/// A small tree with so many slots that no bucket is ever read too often: the trace of an access follows from how many
/// there were before it.
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

/// The settings that a vault is served with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setup {
    /// The time from a request of the store to its answer.
    pub round_trip: Duration,
    pub turn: Option<Duration>,
    /// With a device that remembers.
    pub flawed: bool,
}

/// The state that outlives a gateway.
pub struct World {
    manner: Setup,
    rng: TestRng,
    memory: VersionedMemory,
    disk: FragileDisk,
    pub recorder: Recorder,
    users: Arc<Users>,
}

/// A gateway in service.
pub struct Serving {
    pub vault: Vault,
    gateway: Gateway,
    pub s3: SocketAddr,
    pub swift: SocketAddr,
    driver: JoinHandle<()>,
    doors: [JoinHandle<()>; 2],
}

impl World {
    /// A new vault, in which every block, and by then every bucket, was written. `seed` is secret, and so is all that is drawn from it.
    pub async fn new(manner: Setup, seed: u64) -> Self {
        let mut rng = TestRng::of(seed);
        let (memory, disk) = (VersionedMemory::new(parameters().layout()), FragileDisk::default());
        let mounted = disk.mount().expect("a new disk can be used");
        let header = header(parameters(), 1);
        let made = Vault::create(&mut setup(&mounted, memory.clone(), rng.seed()), &header).await;
        made.expect("it is made");
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
        World { manner, rng, memory, disk, recorder: Recorder::new(), users: users() }
    }

    /// Opens it, and both doors; `None` if it dies meanwhile. It dies with the request of this number.
    pub async fn open(&mut self, dies_after: Option<u64>) -> Option<Serving> {
        self.recorder.note_opening(dies_after);
        let unlimited = BitsPerSecond(0);
        let speed = LinkSpeed { round_trip: self.manner.round_trip, up: unlimited, down: unlimited };
        let store = self.recorder.over(Link::new(self.memory.clone(), speed));
        let disk = self.disk.mount().expect("it is sound");
        let mut setup = setup(&disk, store, self.rng.seed());
        setup.pace = self.manner.turn.map(|turn| Pace::every(turn).expect("it is in range"));
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
        let device = FlawedStore::new(VaultDevice::Single(vault.clone()), self.manner.flawed);
        // Rows are no business of the store's: it cannot die of them.
        let gateway = Gateway::open(device, Options::default()).await.expect("it loads");
        let (s3_listener, s3) = listener().await;
        let (swift_listener, swift) = listener().await;
        let s3_door = S3Server::new(gateway.clone(), Arc::clone(&self.users));
        let address = Address::OfHost { tls: false };
        let swift_door = SwiftServer::new(gateway.clone(), Arc::clone(&self.users), address);
        let doors = [
            spawn_local(serve(s3_listener, s3_door, server::Options::default(), pending())),
            spawn_local(serve(swift_listener, swift_door, server::Options::default(), pending())),
        ];
        Some(Serving { vault, gateway, s3, swift, driver, doors })
    }

    /// The gateway is killed, or its machine loses its power.
    pub async fn kill(&mut self, serving: Serving) {
        serving.driver.abort();
        serving.doors.iter().for_each(JoinHandle::abort);
        let _ = serving.driver.await;
        self.die();
    }

    /// It ends as it should, or is killed in the midst of that.
    pub async fn close(&mut self, serving: Serving) {
        let recorder = self.recorder.clone();
        let closing = async {
            serving.gateway.settle().await;
            serving.vault.close().await.expect("it is closed");
        };
        tokio::select! {
            biased;
            () = recorder.death() => return self.kill(serving).await,
            () = closing => {}
        }
        serving.doors.iter().for_each(JoinHandle::abort);
        let _ = serving.driver.await;
        self.recorder.note_end();
        self.disk.unplug();
    }

    fn die(&mut self) {
        self.recorder.note_kill(&self.disk, &mut self.rng);
    }
}

impl Serving {
    pub async fn client(&self) -> Client {
        Client::log_in(self.s3, self.swift).await.expect("no block is touched for it")
    }

    /// Blocks that nothing holds, and blocks that small objects share, once nothing is under way.
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
