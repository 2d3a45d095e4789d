//! The model of a lifecycle. It records requests and acknowledgements, each with its position in the log of effects. So
//! it can be rebuilt for any point of the log.

use crate::simulation::registers::{Registers, Tick};
use crate::simulation::rows::RowsModel;
use crate::support::effect_log::EffectLog;
use ameles_vault::{Receipt, Row, RowChange, VaultParameters};
use bytes::Bytes;
use std::cell::RefCell;
use std::rc::Rc;

/// Something that a caller did or learned.
#[derive(Clone)]
pub enum ModelEvent {
    /// The vault is open, and its rows are these.
    Opened(Vec<Row>),
    /// A write of this block begins.
    WriteBegins(u64),
    /// A write was acknowledged.
    WriteAcknowledged {
        block: u64,
        write: u64,
    },
    /// Something else is requested.
    Requested,
    /// A block was read that was requested at this tick.
    Read {
        block: u64,
        from: Tick,
        bytes: Bytes,
    },
    CommitBegins(Vec<RowChange>),
    Committed,
    /// The receipt that was requested at this tick was returned.
    GotReceipt {
        receipt: Receipt,
        from: Tick,
    },
}

/// The events in order, each with the number of effects before it.
pub type ModelEvents = Vec<(usize, ModelEvent)>;

/// The state of a vault as its callers know it.
pub struct Model {
    registers: Registers,
    rows: RowsModel,
    /// The rows of a commit in flight.
    commits: Option<Vec<RowChange>>,
    pub receipt: Option<(Receipt, Tick)>,
    was_opened: bool,
}

impl Model {
    /// The model of a new vault.
    pub fn new(parameters: &VaultParameters) -> Self {
        let scheme = &parameters.scheme;
        Model {
            registers: Registers::new(scheme.capacity(), scheme.block_bytes() as usize),
            rows: RowsModel::new(parameters.rows_bytes),
            commits: None,
            receipt: None,
            was_opened: false,
        }
    }

    /// Returns whether the vault has been open.
    pub fn was_opened(&self) -> bool {
        self.was_opened
    }

    /// The model after this many effects.
    pub fn at<'a>(
        mut self,
        effects: usize,
        events: impl IntoIterator<Item = &'a (usize, ModelEvent)>,
    ) -> Self {
        for (before, event) in events {
            if *before <= effects {
                self.record(event.clone());
            }
        }
        self
    }

    /// Applies an event.
    ///
    /// # Panics
    /// If the event breaks a promise.
    fn record(&mut self, event: ModelEvent) -> (Tick, Vec<u8>) {
        match event {
            ModelEvent::Opened(rows) => {
                self.was_opened = true;
                self.registers.settle();
                let now = self.registers.tick();
                if let Some(changes) = self.commits.take() {
                    self.rows.failed(&changes);
                }
                self.rows.settle(rows, now);
            }
            ModelEvent::WriteBegins(block) => return self.registers.begin_write(block),
            ModelEvent::WriteAcknowledged { block, write } => self.registers.acknowledge(block, write),
            ModelEvent::Requested => return (self.registers.tick(), Vec::new()),
            ModelEvent::Read { block, from, bytes } => self.registers.read(block, from, &bytes),
            ModelEvent::CommitBegins(changes) => self.commits = Some(changes),
            ModelEvent::Committed => {
                let changes = self.commits.take().expect("a commit began");
                let now = self.registers.tick();
                self.rows.committed(&changes, now);
            }
            ModelEvent::GotReceipt { receipt, from } => self.receipt = Some((receipt, from)),
        }
        (0, Vec::new())
    }

    /// Returns whether nothing was ever acknowledged.
    pub fn is_untouched(&self) -> bool {
        !self.was_opened
    }

    /// Checks a vault that continues from everything acknowledged: nothing of it may be missing.
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

    /// Checks a copy of the vault, as it was at some time since `from`.
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

/// A model being recorded, with its events. Clones share it.
#[derive(Clone)]
pub struct ModelRecorder(Rc<RefCell<(Model, ModelEvents)>>, EffectLog);

impl ModelRecorder {
    pub fn new(model: Model, effect_log: &EffectLog) -> Self {
        ModelRecorder(Rc::new(RefCell::new((model, ModelEvents::new()))), effect_log.clone())
    }

    /// Records an event. Returns its number for something requested, and for a write the payload too.
    pub fn record(&self, event: ModelEvent) -> (u64, Vec<u8>) {
        let (model, events) = &mut *self.0.borrow_mut();
        events.push((self.1.len(), event.clone()));
        model.record(event)
    }

    /// The events so far.
    pub fn events(&self) -> ModelEvents {
        self.0.borrow().1.clone()
    }
}
