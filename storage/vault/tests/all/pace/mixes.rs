//! The requests of clients to a vault, as different as possible.

use super::flawed::ClientApi;
use crate::support::commit_at_once;
use crate::support::rng::TestRng;
use ameles_core::types::BlockId;
use ameles_vault::{Call, RowChange, Vault};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};

const BLOCKS: u64 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// No client requests anything.
    Silence,
    /// Six clients request as much as they can.
    Flood,
    /// The same block is written over and over, together with rows.
    Hammer,
    /// The same block is written over and over.
    Writes,
    /// A single request at a time, with pauses.
    NowAndThen,
}

impl Mix {
    pub const BUSY: [Mix; 3] = [Mix::Flood, Mix::Hammer, Mix::NowAndThen];

    fn clients(self) -> u64 {
        match self {
            Mix::Silence => 0,
            Mix::Flood => 6,
            Mix::Hammer | Mix::Writes | Mix::NowAndThen => 1,
        }
    }
}

/// The counts of what the clients of an opening did.
#[derive(Clone, Default)]
pub struct Done {
    pub answered: Rc<Cell<u64>>,
    pub accesses: Rc<Cell<u64>>,
    pub slowest: Rc<Cell<Duration>>,
}

/// The contents of blocks, as far as they are certain; kept across openings.
pub type Model = Rc<RefCell<BTreeMap<u64, u8>>>;

/// Asks until `until`, or until the vault has stopped.
pub async fn ask(
    mix: Mix,
    client_api: ClientApi,
    vault: Vault,
    model: Model,
    done: Done,
    until: Instant,
    seed: u64,
) {
    let mut rng = TestRng::of(seed);
    let clients = (0..mix.clients()).map(|nth| {
        let client = Client {
            mix,
            nth,
            client_api: client_api.clone(),
            vault: vault.clone(),
            model: model.clone(),
            done: done.clone(),
            rng: rng.fork(),
        };
        client.run(until)
    });
    futures::future::join_all(clients).await;
    sleep_until(until).await;
}

struct Client {
    mix: Mix,
    nth: u64,
    client_api: ClientApi,
    vault: Vault,
    model: Model,
    done: Done,
    rng: TestRng,
}

impl Client {
    async fn run(mut self, until: Instant) {
        while Instant::now() < until {
            match self.mix {
                Mix::Silence => return,
                Mix::Flood => {
                    let length = self.rng.within(1..=3);
                    self.access(length).await;
                }
                Mix::Hammer => {
                    let changes = vec![RowChange::put(vec![1; 8], vec![self.rng.below(256) as u8; 300])];
                    drop(commit_at_once(&self.vault, changes).await);
                    self.write(5).await;
                }
                Mix::Writes => self.write(5).await,
                Mix::NowAndThen => {
                    sleep(Duration::from_micros(self.rng.magnitude(10_000..=3_000_000))).await;
                    let length = self.rng.within(1..=4);
                    self.access(length).await;
                }
            }
        }
    }

    /// Returns the number of blocks that no other client uses.
    fn block(&mut self) -> u64 {
        let own = BLOCKS / 8;
        self.nth * own + self.rng.below(own)
    }

    async fn access(&mut self, length: u64) {
        let block = self.block();
        if self.rng.percent(30) {
            return self.write(block).await;
        }
        let calls = (0..length).map(|_| Call::Read(BlockId(block))).collect();
        let Some(answers) = self.ask(calls).await else { return };
        let expected = self.model.borrow().get(&block).copied();
        for answer in answers {
            assert!(expected.is_none_or(|fill| {
                answer.as_ref().is_some_and(|bytes| bytes.iter().all(|byte| *byte == fill))
            }));
        }
    }

    async fn write(&mut self, block: u64) {
        let fill = self.rng.below(256) as u8;
        // The content is unknown until the write is acknowledged.
        self.model.borrow_mut().remove(&block);
        if self
            .ask(vec![Call::Write(BlockId(block), vec![fill; self.vault.block_bytes()].into())])
            .await
            .is_some()
        {
            self.model.borrow_mut().insert(block, fill);
        }
    }

    async fn ask(&mut self, calls: Vec<Call>) -> Option<Vec<Option<bytes::Bytes>>> {
        let (began, accesses) = (Instant::now(), calls.len() as u64);
        let answers = self.client_api.access(calls).await?;
        let done = &self.done;
        done.answered.set(done.answered.get() + 1);
        done.accesses.set(done.accesses.get() + accesses);
        done.slowest.set(done.slowest.get().max(began.elapsed()));
        Some(answers)
    }
}
