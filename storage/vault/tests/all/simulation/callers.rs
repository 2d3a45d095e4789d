//! The callers of a vault: several at once, each with its own random numbers.

use super::registers::{Registers, Tick};
use super::rows::RowsModel;
use super::run_log;
use super::watcher::Watcher;
use crate::support::rng::TestRng;
use crate::support::{commit_at_once, shipped_contents};
use ameles_core::types::BlockId;
use ameles_store::Blobs;
use ameles_vault::{Call, Flow, Receipt, Row, RowChange, Status, Vault, VaultError};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Mutex;

/// The known contents of the vault. All callers share them, across all openings.
#[derive(Clone)]
pub struct SharedModel(pub Rc<RefCell<Model>>);

/// See [`SharedModel`].
pub struct Model {
    pub registers: Registers,
    pub rows: RowsModel,
    pub status: Status,
    /// The newest receipt, and a tick before its checkpoint was requested.
    pub receipt: Option<(Receipt, Tick)>,
    pub acknowledged: u64,
    /// The lock of the caller whose commit of rows waits for the store: the model knows no concurrent commits.
    pub committing: Rc<Mutex<()>>,
    /// No emergency eviction may happen.
    pub has_planned_stash: bool,
}

/// A caller in one opening.
pub struct Caller {
    pub vault: Vault,
    pub model: SharedModel,
    pub watcher: Watcher,
    pub rng: TestRng,
    pub requests: u64,
}

/// A write that has begun.
struct PendingWrite {
    block: u64,
    write: u64,
}

impl Caller {
    /// Asks until it is done, or the vault has stopped.
    pub async fn run(mut self) {
        for _ in 0..self.requests {
            let answered = match self.rng.below(100) {
                0..=69 => self.access().await,
                70..=73 => self.access_and_leave().await,
                74..=83 => self.commit_rows().await,
                84..=85 => self.read_rows(),
                86..=88 => self.checkpoint().await,
                89..=90 => self.ask_the_impossible().await,
                _ => {
                    tokio::time::sleep(Duration::from_millis(self.rng.magnitude(1..=200))).await;
                    Ok(())
                }
            };
            self.check_status();
            if answered.is_err() {
                return;
            }
        }
    }

    /// A few blocks are requested more often than the others.
    fn block(&mut self) -> u64 {
        let capacity = self.vault.capacity();
        if self.rng.percent(50) { self.rng.below(4) } else { self.rng.below(capacity) }
    }

    fn draw_calls(&mut self) -> (Vec<Call>, Vec<PendingWrite>) {
        let batch = self.vault.max_batch() as u64;
        let max = if self.rng.percent(10) { 3 * batch } else { batch };
        let mut sent = Vec::new();
        let mut calls = Vec::new();
        for _ in 0..self.rng.within(1..=max) {
            let block = self.block();
            calls.push(match self.rng.below(8) {
                0 => Call::Dummy,
                1..=3 => {
                    let (write, payload) = self.model.0.borrow_mut().registers.begin_write(block);
                    sent.push(PendingWrite { block, write });
                    Call::Write(BlockId(block), payload.into())
                }
                _ => Call::Read(BlockId(block)),
            });
        }
        (calls, sent)
    }

    async fn access(&mut self) -> Result<(), VaultError> {
        let (calls, sent) = self.draw_calls();
        let from = self.model.0.borrow_mut().registers.tick();
        run_log::note(|| format!("  {from} asks {calls:?}"));
        let flow = self.rng.percent(30).then(|| Flow(self.rng.below(3)));
        let answers = match flow {
            Some(flow) => self.vault.access_in(flow, calls.clone()).await?,
            None => self.vault.access(calls.clone()).await?,
        };
        run_log::note(|| format!("  {from} is answered"));
        assert_eq!(answers.len(), calls.len(), "an answer for each call");
        let mut model = self.model.0.borrow_mut();
        // Nothing comes between the calls of one request, as far as they fit a batch and belong to no flow.
        let mut own: BTreeMap<(usize, BlockId), &[u8]> = BTreeMap::new();
        for (nth, (call, answer)) in calls.iter().zip(&answers).enumerate() {
            let batch = nth / self.vault.max_batch();
            match (call, answer) {
                (Call::Read(block), Some(bytes)) => {
                    model.registers.read(block.0, from, bytes);
                    let own = own.get(&(batch, *block));
                    assert!(
                        flow.is_some() || own.is_none_or(|own| *own == &bytes[..]),
                        "{block} was written in the same request"
                    );
                }
                (Call::Write(block, payload), None) => drop(own.insert((batch, *block), payload)),
                (Call::Dummy, None) => {}
                (call, answer) => panic!("{call:?} was answered with {answer:?}"),
            }
        }
        for PendingWrite { block, write } in sent {
            model.registers.acknowledge(block, write);
            model.acknowledged += 1;
        }
        Ok(())
    }

    /// Asks like a caller that stops waiting; the access may happen or not.
    async fn access_and_leave(&mut self) -> Result<(), VaultError> {
        let (calls, _) = self.draw_calls();
        let patience = Duration::from_millis(self.rng.within(0..=20));
        match tokio::time::timeout(patience, self.vault.access(calls)).await {
            Ok(answers) => answers.map(drop),
            Err(_) => Ok(()),
        }
    }

    async fn commit_rows(&mut self) -> Result<(), VaultError> {
        let committing = self.model.0.borrow().committing.clone();
        let _turn = committing.lock().await;
        let changes: Vec<RowChange> = (0..self.rng.within(0..=4))
            .map(|_| {
                let key = vec![b'k', self.rng.below(6) as u8];
                let len = self.rng.magnitude(1..=400) as usize;
                let value = vec![self.rng.below(256) as u8; len];
                RowChange { key: key.into(), value: (!self.rng.percent(30)).then(|| value.into()) }
            })
            .collect();
        run_log::note(|| format!("  commits {changes:?}"));
        let committed = commit_at_once(&self.vault, changes.clone()).await;
        run_log::note(|| format!("  has committed: {committed:?}"));
        let mut model = self.model.0.borrow_mut();
        let now = model.registers.tick();
        match committed {
            Ok(()) => {
                assert!(model.rows.fits(&changes), "rows were taken that do not fit");
                model.rows.committed(&changes, now);
                Ok(())
            }
            Err(VaultError::RowsFull { .. }) => {
                // A commit that failed may have had its effect, and counts until the vault is reopened.
                let fits = model.rows.is_certain() && model.rows.fits(&changes);
                assert!(!fits, "rows were refused that fit");
                Ok(())
            }
            Err(error) => {
                model.rows.failed(&changes);
                Err(error)
            }
        }
    }

    fn read_rows(&mut self) -> Result<(), VaultError> {
        let committing = self.model.0.borrow().committing.clone();
        let Ok(_turn) = committing.try_lock() else { return Ok(()) };
        let rows = futures::executor::block_on(self.vault.load_rows())?;
        self.model.0.borrow().rows.read(rows);
        Ok(())
    }

    async fn checkpoint(&mut self) -> Result<(), VaultError> {
        let from = self.model.0.borrow_mut().registers.tick();
        let receipt = self.vault.checkpoint().await?;
        self.model.note_receipt(&self.vault, &self.watcher, receipt, from).await;
        Ok(())
    }

    async fn ask_the_impossible(&mut self) -> Result<(), VaultError> {
        let beyond = BlockId(self.vault.capacity() + self.rng.below(3));
        let refused = self.vault.access(vec![Call::Read(BlockId(0)), Call::Read(beyond)]).await;
        assert!(matches!(refused, Err(VaultError::OutOfRange { block, .. }) if block == beyond));
        let short = vec![1; self.vault.block_bytes() - 1];
        let refused = self.vault.write(BlockId(0), short).await;
        assert!(matches!(refused, Err(VaultError::WrongLength { .. })));
        Ok(())
    }

    fn check_status(&self) {
        self.model.check_status(&self.vault);
    }
}

impl SharedModel {
    /// Compares a copy of the vault, as it was at some time since `from`.
    pub fn compare_copy(&self, from: Tick, blocks: &[BlockId], answers: &[Option<Bytes>], rows: Vec<Row>) {
        let mut model = self.0.borrow_mut();
        for (block, answer) in blocks.iter().zip(answers) {
            model.registers.read_copy(block.0, from, answer.as_ref().expect("a read is answered"));
        }
        model.rows.read_copy(rows, from);
    }

    /// Checks that figures only grow, across crashes too.
    pub fn check_status(&self, vault: &Vault) {
        let (status, mut model) = (vault.status(), self.0.borrow_mut());
        if status.epoch == 0 {
            // The vault has not been polled yet.
            return;
        }
        let before = std::mem::replace(&mut model.status, status.clone());
        assert!(status.emergencies == 0 || !model.has_planned_stash, "an emergency eviction");
        assert!(
            status.epoch >= before.epoch
                && status.accesses >= before.accesses
                && status.checkpoints.newest >= before.checkpoints.newest
                && status.checkpoints.shipped >= before.checkpoints.shipped
                && status.checkpoints.shipped <= status.checkpoints.newest,
            "{before:?} and then {status:?}"
        );
        assert_eq!(status.checkpoints.receipt.is_some(), status.checkpoints.shipped > 0, "{status:?}");
        let receipt: Option<Receipt> =
            status.checkpoints.receipt.map(|receipt| receipt.parse().expect("a receipt can be read"));
        if let Some(receipt) = receipt {
            assert_eq!(receipt.checkpoint, status.checkpoints.shipped);
        }
    }

    /// Checks that a receipt is for what is in the store.
    pub async fn note_receipt(&self, vault: &Vault, watcher: &Watcher, receipt: Receipt, from: Tick) {
        let name = shipped_contents::name(&receipt);
        let stored =
            watcher.checked_store().memory().get(&name, usize::MAX).await.expect("memory does not fail");
        if let Some(stored) = stored {
            assert_eq!(<[u8; 32]>::from(Sha256::digest(&stored)), receipt.digest, "the receipt is another's");
        } else {
            let newest = watcher.checked_store().checkpoints().last().copied();
            assert!(
                newest > Some((receipt.epoch, receipt.checkpoint)),
                "a receipt for checkpoint {}, which is not there",
                receipt.checkpoint
            );
        }
        let mut model = self.0.borrow_mut();
        assert_eq!(receipt.vault, vault.header().vault);
        if model.receipt.as_ref().is_none_or(|(_, before)| *before < from) {
            model.receipt = Some((receipt, from));
        }
    }
}
