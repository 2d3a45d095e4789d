//! The life of a vault that gets a successor: served, filled, killed at any moment, cut over, and served on.

use super::machine::{Death, Process, Side};
use super::names::{Held, Names, payload};
use crate::support::chance::Chance;
use crate::support::fragile_disk::Crash;
use crate::support::parameters;
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
/// Names of a client.
const NAMES: u64 = 4;
/// More openings than that, and the successor would never take over.
const MAX_OPENINGS: u64 = 400;

/// The counts of what lives did: for the test that they did enough.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    pub killed_while_filling: u64,
    pub killed_while_cutting_over: u64,
    pub stopped: u64,
    pub changed: u64,
    pub read: u64,
}

impl Summary {
    pub fn add(&mut self, other: Summary) {
        self.killed_while_filling += other.killed_while_filling;
        self.killed_while_cutting_over += other.killed_while_cutting_over;
        self.stopped += other.stopped;
        self.changed += other.changed;
        self.read += other.read;
    }
}

/// Lives a life, with deaths wherever they fall.
///
/// # Panics
/// If a promise is broken.
pub fn live(seed: u64) -> Summary {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime can be made");
    LocalSet::new().block_on(&runtime, async {
        let mut life = Life::new(seed).await;
        // The copier brings over what is written before there is a successor.
        while life.names.borrow().all().len() < 12 {
            life.serve_alone(Which::Old).await;
        }
        let mut openings = 0;
        while !life.has_switched {
            openings += 1;
            assert!(openings < MAX_OPENINGS, "the successor never takes over");
            life.open_once().await;
        }
        for _ in 0..4 {
            life.serve_alone(Which::New).await;
        }
        life.look_at_everything().await;
        let names = life.names.borrow();
        Summary { changed: names.changed, read: names.read, ..life.summary }
    })
}

struct Life {
    chance: Chance,
    old: Side,
    new: Side,
    names: Rc<RefCell<Names>>,
    has_switched: bool,
    summary: Summary,
}

/// The interface that clients ask at.
#[derive(Clone)]
enum Door {
    Both(MirroredVaults),
    One(Vault),
}

impl Door {
    async fn access(&self, flow: Flow, calls: Vec<Call>) -> Result<Vec<Option<Bytes>>, VaultError> {
        match self {
            Door::Both(both) => both.access_in(flow, calls).await,
            Door::One(vault) => vault.access_in(flow, calls).await,
        }
    }

    fn rows(&self) -> &Vault {
        match self {
            Door::Both(both) => both.old(),
            Door::One(vault) => vault,
        }
    }
}

/// The shapes that a successor may have.
fn successor_parameters(chance: &mut Chance) -> VaultParameters {
    let blocks = chance.one_of(&[BLOCKS, 2 * BLOCKS]);
    let like = parameters(blocks, BLOCK_BYTES, chance.one_of(&[3, 4, 8]), 40);
    if chance.percent(70) {
        return like;
    }
    let path = PathParameters::for_capacity(blocks, BLOCK_BYTES, 16, 4).expect("planned");
    VaultParameters { scheme: SchemeParameters::Path(path), ..like }
}

impl Life {
    async fn new(seed: u64) -> Self {
        let mut chance = Chance::of(seed);
        let slowest = chance.magnitude(1..=100);
        let old = Side::new(parameters(BLOCKS, BLOCK_BYTES, 4, 40), 7, slowest, &mut chance).await;
        let shape = successor_parameters(&mut chance);
        let key = chance.one_of(&[7, 9]);
        let slowest = chance.magnitude(1..=100);
        let new = Side::new(shape, key, slowest, &mut chance).await;
        let names = Rc::new(RefCell::new(Names::new(BLOCKS)));
        Life { chance, old, new, names, has_switched: false, summary: Summary::default() }
    }

    fn draw_death(&mut self) -> Death {
        match self.chance.below(8) {
            0 => Death::PowerOfOld(self.chance.magnitude(1..=300)),
            1 | 2 => Death::PowerOfNew(self.chance.magnitude(1..=300)),
            3 => Death::None,
            _ => Death::Waits(self.chance.magnitude(1..=1500)),
        }
    }

    /// Opens as a start of `ameles serve` does: serves both, or has the successor take over.
    async fn open_once(&mut self) {
        let disks = (self.old.mount(), self.new.mount());
        let there = rows_at_rest(&disks.1, &self.new.master()).expect("its rows can be read");
        let is_filling = matches!(migration_stage(&self.old.header, &there), Ok(MigrationStage::Copying(_)));
        let death = self.draw_death();
        let ended =
            if is_filling { self.serve_both(disks, death).await } else { self.take_over(disks, death).await };
        match ended {
            Ended::Done if is_filling => self.summary.stopped += 1,
            Ended::Done => self.has_switched = true,
            Ended::Died if is_filling => self.summary.killed_while_filling += 1,
            Ended::Died => self.summary.killed_while_cutting_over += 1,
        }
        self.after(ended);
    }

    /// Serves clients from both vaults and fills the successor; closes both when the clients have had enough.
    async fn serve_both(&mut self, disks: (TrustedDisk, TrustedDisk), death: Death) -> Ended {
        let setups = (self.old.setup(&disks.0, &mut self.chance), self.new.setup(&disks.1, &mut self.chance));
        drop(disks);
        let (names, mut chance, of_clients) = (self.names.clone(), self.chance.fork(), self.chance.fork());
        let serving = async {
            let (old, old_running) = Vault::start(setups.0).await?;
            let (new, new_running) = Vault::start(setups.1).await?;
            let working = async {
                let (both, mut copier) = MirroredVaults::new(old.clone(), new.clone()).await?;
                let rows = old.load_rows().await?;
                names.borrow_mut().adopt(&rows);
                let steps = chance.magnitude(1..=20);
                let filling = async {
                    for _ in 0..steps {
                        if !copier.copied().is_all() {
                            copier.step().await?;
                        }
                    }
                    if chance.percent(50) { copier.note().await } else { Ok(()) }
                };
                let door = Door::Both(both);
                let clients = serve_clients(&door, &names, of_clients);
                futures::try_join!(filling, clients)?;
                futures::try_join!(old.close(), new.close())?;
                Ok(())
            };
            futures::join!(working, old_running, new_running).0
        };
        let disks = [&self.old.disk, &self.new.disk];
        Ended::of(Process::new(serving, disks, death).await)
    }

    /// Has the successor take over, from the rows on the old vault's disk.
    async fn take_over(&mut self, disks: (TrustedDisk, TrustedDisk), death: Death) -> Ended {
        let rows = rows_at_rest(&disks.0, &self.old.master()).expect("its rows can be read");
        self.names.borrow_mut().adopt(&rows);
        let setup = self.new.setup(&disks.1, &mut self.chance);
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
        Ended::of(Process::new(taking, disks, death).await)
    }

    /// Serves clients from one vault: before there is a successor, or after it has taken over.
    async fn serve_alone(&mut self, which: Which) {
        let side = match which {
            Which::Old => &self.old,
            Which::New => &self.new,
        };
        let disk = side.mount();
        let setup = side.setup(&disk, &mut self.chance);
        drop(disk);
        let (names, death, chance) = (self.names.clone(), self.draw_death(), self.chance.fork());
        let serving = async {
            let (vault, running) = Vault::start(setup).await?;
            let working = async {
                let rows = vault.load_rows().await?;
                names.borrow_mut().adopt(&rows);
                serve_clients(&Door::One(vault.clone()), &names, chance).await?;
                vault.close().await.map(drop)
            };
            futures::join!(working, running).0
        };
        let ended = Ended::of(Process::new(serving, [&self.old.disk, &self.new.disk], death).await);
        self.after(ended);
    }

    async fn look_at_everything(&mut self) {
        let disk = self.new.mount();
        let (vault, running) = Vault::start(self.new.setup(&disk, &mut self.chance)).await.expect("it opens");
        let looking = async {
            let rows = vault.load_rows().await.expect("its rows can be read");
            self.names.borrow_mut().adopt(&rows);
            let all = self.names.borrow().all();
            for held in all {
                let read = vault.read(BlockId(held.block)).await.expect("it is read");
                assert_eq!(read, payload(held.content, BLOCK_BYTES as usize), "{held:?}");
            }
            vault.close().await.expect("it closes");
        };
        futures::join!(looking, running);
        self.new.disk.unplug();
    }

    fn after(&mut self, ended: Ended) {
        for side in [&self.old, &self.new] {
            side.disk.fail_after(None);
        }
        if ended == Ended::Died {
            let how = self.chance.one_of(&[Crash::Kill, Crash::PowerLoss]);
            self.old.crash(how, &mut self.chance);
            self.new.crash(how, &mut self.chance);
        }
    }
}

enum Which {
    Old,
    New,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Done,
    Died,
}

impl Ended {
    /// # Panics
    /// If a vault has failed though nothing was wrong with its disk.
    fn of(outcome: Option<Result<(), VaultError>>) -> Self {
        match outcome {
            None => Ended::Died,
            Some(Ok(())) => Ended::Done,
            Some(Err(error)) => panic!("a vault has stopped: {error}"),
        }
    }
}

/// Serves clients that put, get and delete, each under names of its own, until they have had enough or the vaults have
/// stopped.
async fn serve_clients(
    door: &Door,
    names: &Rc<RefCell<Names>>,
    mut chance: Chance,
) -> Result<(), VaultError> {
    let clients = (0..CLIENTS).map(|client| {
        let (door, names, chance) = (door.clone(), names.clone(), chance.fork());
        be_a_client(client, door, names, chance)
    });
    futures::future::try_join_all(clients.collect::<Vec<_>>()).await.map(drop)
}

async fn be_a_client(
    client: u64,
    door: Door,
    names: Rc<RefCell<Names>>,
    mut chance: Chance,
) -> Result<(), VaultError> {
    let bytes = BLOCK_BYTES as usize;
    let flow = Flow(client);
    for _ in 0..chance.magnitude(1..=30) {
        let name = (client * NAMES + chance.below(NAMES)) as u8;
        let kind = chance.below(10);
        let before = names.borrow().get(name);
        match (kind, before) {
            (0, _) => commit(&door, &names, name, None).await?,
            (1..=5, _) => {
                let taken = names.borrow_mut().take(&mut chance);
                let Some(held) = taken else { continue };
                let write = Call::Write(BlockId(held.block), payload(held.content, bytes).into());
                door.access(flow, vec![write]).await?;
                commit(&door, &names, name, Some(held)).await?;
            }
            (_, Some(held)) => {
                let answers = door.access(flow, vec![Call::Read(BlockId(held.block)), Call::Dummy]).await?;
                assert_eq!(answers[0].as_deref(), Some(&payload(held.content, bytes)[..]), "{held:?}");
                names.borrow_mut().read += 1;
            }
            (_, None) => {}
        }
    }
    Ok(())
}

async fn commit(
    door: &Door,
    names: &Rc<RefCell<Names>>,
    name: u8,
    held: Option<Held>,
) -> Result<(), VaultError> {
    let change = names.borrow_mut().send(name, held);
    door.rows().commit_rows(vec![change]).await?;
    names.borrow_mut().acknowledge(name);
    Ok(())
}
