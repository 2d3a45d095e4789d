//! The account of a life: what was asked and what was acknowledged, beside the tape of its effects. An account can be
//! drawn up as it stood at any moment of the tape.

use crate::simulation::registers::{Registers, Tick};
use crate::simulation::rows::RowsModel;
use crate::support::effect_log::EffectLog;
use ameles_vault::{Receipt, Row, RowChange, VaultParameters};
use bytes::Bytes;
use std::cell::RefCell;
use std::rc::Rc;

/// A thing that a caller did or was told.
#[derive(Clone)]
pub enum ModelEvent {
    /// The vault is open, and its rows are these.
    Opened(Vec<Row>),
    /// A write of this block sets out.
    Writes(u64),
    /// A write was acknowledged.
    Wrote {
        block: u64,
        write: u64,
    },
    /// Something else is asked for.
    Asks,
    /// A block was read that was asked for at that moment.
    Read {
        block: u64,
        from: Tick,
        bytes: Bytes,
    },
    Commits(Vec<RowChange>),
    Committed,
    /// A receipt has come that was asked for at that moment.
    Got {
        receipt: Receipt,
        from: Tick,
    },
}

/// The entries in their order, each with the effects that came before it.
pub type ModelEvents = Vec<(usize, ModelEvent)>;

/// The state of a vault as its callers know it.
pub struct Model {
    registers: Registers,
    rows: RowsModel,
    /// The rows whose commit has not ended.
    commits: Option<Vec<RowChange>>,
    pub receipt: Option<(Receipt, Tick)>,
    is_made: bool,
}

impl Model {
    /// The account of a vault that was just made.
    pub fn new(parameters: &VaultParameters) -> Self {
        let scheme = &parameters.scheme;
        Model {
            registers: Registers::new(scheme.capacity(), scheme.block_bytes() as usize),
            rows: RowsModel::new(parameters.rows_bytes),
            commits: None,
            receipt: None,
            is_made: false,
        }
    }

    /// Returns whether the vault has been open.
    pub fn is_made(&self) -> bool {
        self.is_made
    }

    /// The account when so many effects had come.
    pub fn at<'a>(
        mut self,
        effects: usize,
        entries: impl IntoIterator<Item = &'a (usize, ModelEvent)>,
    ) -> Self {
        for (before, entry) in entries {
            if *before <= effects {
                self.record(entry.clone());
            }
        }
        self
    }

    /// Enters something.
    ///
    /// # Panics
    /// If it breaks a promise.
    fn record(&mut self, entry: ModelEvent) -> (Tick, Vec<u8>) {
        match entry {
            ModelEvent::Opened(rows) => {
                self.is_made = true;
                self.registers.settle();
                let now = self.registers.tick();
                if let Some(changes) = self.commits.take() {
                    self.rows.failed(&changes);
                }
                self.rows.settle(rows, now);
            }
            ModelEvent::Writes(block) => return self.registers.begin_write(block),
            ModelEvent::Wrote { block, write } => self.registers.acknowledge(block, write),
            ModelEvent::Asks => return (self.registers.tick(), Vec::new()),
            ModelEvent::Read { block, from, bytes } => self.registers.read(block, from, &bytes),
            ModelEvent::Commits(changes) => self.commits = Some(changes),
            ModelEvent::Committed => {
                let changes = self.commits.take().expect("a commit began");
                let now = self.registers.tick();
                self.rows.committed(&changes, now);
            }
            ModelEvent::Got { receipt, from } => self.receipt = Some((receipt, from)),
        }
        (0, Vec::new())
    }

    /// Returns whether nothing was ever acknowledged.
    pub fn is_untouched(&self) -> bool {
        !self.is_made
    }

    /// Checks a vault that goes on from all that was acknowledged: nothing of it may be missing.
    pub fn compare_successor(&mut self, blocks: &[Option<Bytes>], rows: Vec<Row>) {
        self.registers.settle();
        let from = self.registers.tick();
        for (block, bytes) in (0..).zip(blocks) {
            self.registers.read(block, from, bytes.as_ref().expect("a read is answered"));
        }
        if let Some(changes) = self.commits.take() {
            self.rows.failed(&changes);
        }
        let now = self.registers.tick();
        self.rows.settle(rows, now);
    }

    /// Checks a copy of the vault, as it was at some moment since `from`.
    pub fn compare_copy(&mut self, from: Tick, blocks: &[Option<Bytes>], rows: Vec<Row>) {
        for (block, bytes) in (0..).zip(blocks) {
            self.registers.read_copy(block, from, bytes.as_ref().expect("a read is answered"));
        }
        if let Some(changes) = self.commits.take() {
            self.rows.failed(&changes);
        }
        self.rows.read_copy(rows, from);
    }
}

/// An account that is being kept, with its entries; clones share it.
#[derive(Clone)]
pub struct ModelRecorder(Rc<RefCell<(Model, ModelEvents)>>, EffectLog);

impl ModelRecorder {
    pub fn new(model: Model, effect_log: &EffectLog) -> Self {
        ModelRecorder(Rc::new(RefCell::new((model, ModelEvents::new()))), effect_log.clone())
    }

    /// Enters something; for what is asked for returns its number, for a write the payload too.
    pub fn record(&self, entry: ModelEvent) -> (u64, Vec<u8>) {
        let (model, entries) = &mut *self.0.borrow_mut();
        entries.push((self.1.len(), entry.clone()));
        model.record(entry)
    }

    /// The entries so far.
    pub fn entries(&self) -> ModelEvents {
        self.0.borrow().1.clone()
    }
}
