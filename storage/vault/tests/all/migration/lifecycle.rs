//! The lifecycle of a vault that gets a successor: served, filled, killed at any point, cut over, and served on.

use super::name_model::{NameModel, NamedBlock, payload};
use super::process::{CrashPoint, Process, VaultSide};
use crate::counts::counts;
use crate::support::fragile_disk::Crash;
use crate::support::parameters;
use crate::support::rng::TestRng;
use ameles_core::schemes::path::PathParameters;
use ameles_core::types::BlockId;
use ameles_vault::{
    Call, Flow, MigrationStage, MirroredVaults, SchemeParameters, TrustedDisk, Vault, VaultError,
    VaultParameters, cut_over, migration_stage, rows_at_rest,
};
use bytes::Bytes;
use std::cell::RefCell;
use std::rc::Rc;
use tokio::task::LocalSet;

const BLOCKS: u64 = 40;
const BLOCK_BYTES: u32 = 32;
const CLIENTS: u64 = 5;
/// A client's names.
const NAMES: u64 = 4;
/// The maximum number of openings; after more than that, the successor would never take over.
const MAX_OPENINGS: u64 = 400;

counts! {
    /// The counts of what lifecycles did, for the test that they did enough.
    pub struct Summary {
        pub killed_while_filling: u64,
        pub killed_while_cutting_over: u64,
        pub stopped: u64,
        pub changed: u64,
        pub read: u64,
    }
}

/// Runs a lifecycle, with kills at arbitrary points.
///
/// # Panics
/// If a promise is broken.
pub fn run_lifecycle(seed: u64) -> Summary {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime can be made");
    LocalSet::new().block_on(&runtime, async {
        let mut lifecycle = Lifecycle::new(seed).await;
        // The copier copies what is written before there is a successor.
        while lifecycle.name_model.borrow().all().len() < 12 {
            lifecycle.serve_alone(VaultRole::Old).await;
        }
        let mut openings = 0;
        while !lifecycle.has_switched {
            openings += 1;
            assert!(openings < MAX_OPENINGS, "the successor never takes over");
            lifecycle.open_once().await;
        }
        for _ in 0..4 {
            lifecycle.serve_alone(VaultRole::New).await;
        }
        lifecycle.check_everything().await;
        let name_model = lifecycle.name_model.borrow();
        Summary { changed: name_model.changed, read: name_model.read, ..lifecycle.summary }
    })
}

struct Lifecycle {
    rng: TestRng,
    old: VaultSide,
    new: VaultSide,
    name_model: Rc<RefCell<NameModel>>,
    has_switched: bool,
    summary: Summary,
}

/// The interface that clients use.
#[derive(Clone)]
enum ClientApi {
    Both(MirroredVaults),
    One(Vault),
}

impl ClientApi {
    async fn access(&self, flow: Flow, calls: Vec<Call>) -> Result<Vec<Option<Bytes>>, VaultError> {
        match self {
            ClientApi::Both(both) => both.access_in(flow, calls).await,
            ClientApi::One(vault) => vault.access_in(flow, calls).await,
        }
    }

    fn rows(&self) -> &Vault {
        match self {
            ClientApi::Both(both) => both.old(),
            ClientApi::One(vault) => vault,
        }
    }
}

/// The parameters that a successor may have.
fn successor_parameters(rng: &mut TestRng) -> VaultParameters {
    let blocks = rng.one_of(&[BLOCKS, 2 * BLOCKS]);
    let like = parameters(blocks, BLOCK_BYTES, rng.one_of(&[3, 4, 8]), 40);
    if rng.percent(70) {
        return like;
    }
    let path = PathParameters::for_capacity(blocks, BLOCK_BYTES, 16, 4).expect("planned");
    VaultParameters { scheme: SchemeParameters::Path(path), ..like }
}

impl Lifecycle {
    async fn new(seed: u64) -> Self {
        let mut rng = TestRng::of(seed);
        let slowest = rng.magnitude(1..=100);
        let old = VaultSide::new(parameters(BLOCKS, BLOCK_BYTES, 4, 40), 7, slowest, &mut rng).await;
        let shape = successor_parameters(&mut rng);
        let key = rng.one_of(&[7, 9]);
        let slowest = rng.magnitude(1..=100);
        let new = VaultSide::new(shape, key, slowest, &mut rng).await;
        let name_model = Rc::new(RefCell::new(NameModel::new(BLOCKS)));
        Lifecycle { rng, old, new, name_model, has_switched: false, summary: Summary::default() }
    }

    fn draw_crash_point(&mut self) -> CrashPoint {
        match self.rng.below(8) {
            0 => CrashPoint::PowerOfOld(self.rng.magnitude(1..=300)),
            1 | 2 => CrashPoint::PowerOfNew(self.rng.magnitude(1..=300)),
            3 => CrashPoint::None,
            _ => CrashPoint::Waits(self.rng.magnitude(1..=1500)),
        }
    }

    /// Opens as a start of `ameles serve` does: serves both, or lets the successor take over.
    async fn open_once(&mut self) {
        let disks = (self.old.mount(), self.new.mount());
        let there = rows_at_rest(&disks.1, &self.new.master()).expect("its rows can be read");
        let is_filling = matches!(migration_stage(&self.old.header, &there), Ok(MigrationStage::Copying(_)));
        let crash_point = self.draw_crash_point();
        let ended = if is_filling {
            self.serve_both(disks, crash_point).await
        } else {
            self.take_over(disks, crash_point).await
        };
        match ended {
            Outcome::Done if is_filling => self.summary.stopped += 1,
            Outcome::Done => self.has_switched = true,
            Outcome::Died if is_filling => self.summary.killed_while_filling += 1,
            Outcome::Died => self.summary.killed_while_cutting_over += 1,
        }
        self.after_end(ended);
    }

    /// Serves clients from both vaults and fills the successor; closes both when the clients are done.
    async fn serve_both(&mut self, disks: (TrustedDisk, TrustedDisk), crash_point: CrashPoint) -> Outcome {
        let setups = (self.old.setup(&disks.0, &mut self.rng), self.new.setup(&disks.1, &mut self.rng));
        drop(disks);
        let (name_model, mut rng, of_clients) = (self.name_model.clone(), self.rng.fork(), self.rng.fork());
        let serving = async {
            let (old, old_running) = Vault::start(setups.0).await?;
            let (new, new_running) = Vault::start(setups.1).await?;
            let working = async {
                let (both, mut copier) = MirroredVaults::new(old.clone(), new.clone()).await?;
                let rows = old.load_rows().await?;
                name_model.borrow_mut().adopt(&rows);
                let steps = rng.magnitude(1..=20);
                let filling = async {
                    for _ in 0..steps {
                        if !copier.copied().is_all() {
                            copier.step().await?;
                        }
                    }
                    if rng.percent(50) { copier.note().await } else { Ok(()) }
                };
                let api = ClientApi::Both(both);
                let clients = serve_clients(&api, &name_model, of_clients);
                futures::try_join!(filling, clients)?;
                futures::try_join!(old.close(), new.close())?;
                Ok(())
            };
            futures::join!(working, old_running, new_running).0
        };
        let disks = [&self.old.disk, &self.new.disk];
        Outcome::of(Process::new(serving, disks, crash_point).await)
    }

    /// Lets the successor take over, from the rows on the old vault's disk.
    async fn take_over(&mut self, disks: (TrustedDisk, TrustedDisk), crash_point: CrashPoint) -> Outcome {
        let rows = rows_at_rest(&disks.0, &self.old.master()).expect("its rows can be read");
        self.name_model.borrow_mut().adopt(&rows);
        let setup = self.new.setup(&disks.1, &mut self.rng);
        drop(disks);
        let header = self.old.header.clone();
        let expected = rows.clone();
        let taking = async {
            let (new, running) = Vault::start(setup).await?;
            let working = async {
                cut_over(&header, rows, &new).await?;
                assert_eq!(new.load_rows().await?, expected, "the rows of the old vault and no others");
                new.close().await.map(drop)
            };
            futures::join!(working, running).0
        };
        let disks = [&self.old.disk, &self.new.disk];
        Outcome::of(Process::new(taking, disks, crash_point).await)
    }

    /// Serves clients from one vault: before there is a successor, or after it has taken over.
    async fn serve_alone(&mut self, which: VaultRole) {
        let side = match which {
            VaultRole::Old => &self.old,
            VaultRole::New => &self.new,
        };
        let disk = side.mount();
        let setup = side.setup(&disk, &mut self.rng);
        drop(disk);
        let (name_model, crash_point, rng) =
            (self.name_model.clone(), self.draw_crash_point(), self.rng.fork());
        let serving = async {
            let (vault, running) = Vault::start(setup).await?;
            let working = async {
                let rows = vault.load_rows().await?;
                name_model.borrow_mut().adopt(&rows);
                serve_clients(&ClientApi::One(vault.clone()), &name_model, rng).await?;
                vault.close().await.map(drop)
            };
            futures::join!(working, running).0
        };
        let ended = Outcome::of(Process::new(serving, [&self.old.disk, &self.new.disk], crash_point).await);
        self.after_end(ended);
    }

    async fn check_everything(&mut self) {
        let disk = self.new.mount();
        let (vault, running) = Vault::start(self.new.setup(&disk, &mut self.rng)).await.expect("it opens");
        let looking = async {
            let rows = vault.load_rows().await.expect("its rows can be read");
            self.name_model.borrow_mut().adopt(&rows);
            let all = self.name_model.borrow().all();
            for named in all {
                let read = vault.read(BlockId(named.block)).await.expect("it is read");
                assert_eq!(read, payload(named.content, BLOCK_BYTES as usize), "{named:?}");
            }
            vault.close().await.expect("it closes");
        };
        futures::join!(looking, running);
        self.new.disk.unplug();
    }

    fn after_end(&mut self, ended: Outcome) {
        for side in [&self.old, &self.new] {
            side.disk.fail_after(None);
        }
        if ended == Outcome::Died {
            let how = self.rng.one_of(&[Crash::Kill, Crash::PowerLoss]);
            self.old.crash(how, &mut self.rng);
            self.new.crash(how, &mut self.rng);
        }
    }
}

enum VaultRole {
    Old,
    New,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    Died,
}

impl Outcome {
    /// # Panics
    /// If a vault has failed though nothing was wrong with its disk.
    fn of(outcome: Option<Result<(), VaultError>>) -> Self {
        match outcome {
            None => Outcome::Died,
            Some(Ok(())) => Outcome::Done,
            Some(Err(error)) => panic!("a vault has stopped: {error}"),
        }
    }
}

/// Serves clients that put, get and delete, each under its own names, until they are done or the vaults have stopped.
async fn serve_clients(
    api: &ClientApi,
    name_model: &Rc<RefCell<NameModel>>,
    mut rng: TestRng,
) -> Result<(), VaultError> {
    let clients = (0..CLIENTS).map(|client| {
        let (api, name_model, rng) = (api.clone(), name_model.clone(), rng.fork());
        run_client(client, api, name_model, rng)
    });
    futures::future::try_join_all(clients.collect::<Vec<_>>()).await.map(drop)
}

async fn run_client(
    client: u64,
    api: ClientApi,
    name_model: Rc<RefCell<NameModel>>,
    mut rng: TestRng,
) -> Result<(), VaultError> {
    let bytes = BLOCK_BYTES as usize;
    let flow = Flow(client);
    for _ in 0..rng.magnitude(1..=30) {
        let name = (client * NAMES + rng.below(NAMES)) as u8;
        let kind = rng.below(10);
        let before = name_model.borrow().get(name);
        match (kind, before) {
            (0, _) => commit(&api, &name_model, name, None).await?,
            (1..=5, _) => {
                let taken = name_model.borrow_mut().take(&mut rng);
                let Some(named) = taken else { continue };
                let write = Call::Write(BlockId(named.block), payload(named.content, bytes).into());
                api.access(flow, vec![write]).await?;
                commit(&api, &name_model, name, Some(named)).await?;
            }
            (_, Some(named)) => {
                let answers = api.access(flow, vec![Call::Read(BlockId(named.block)), Call::Dummy]).await?;
                assert_eq!(answers[0].as_deref(), Some(&payload(named.content, bytes)[..]), "{named:?}");
                name_model.borrow_mut().read += 1;
            }
            (_, None) => {}
        }
    }
    Ok(())
}

async fn commit(
    api: &ClientApi,
    name_model: &Rc<RefCell<NameModel>>,
    name: u8,
    named: Option<NamedBlock>,
) -> Result<(), VaultError> {
    let change = name_model.borrow_mut().send(name, named);
    api.rows().commit_rows(vec![change]).await?;
    name_model.borrow_mut().acknowledge(name);
    Ok(())
}
