//! The counts of many judgements of one scheme added up, so that a small bias shows in all of them together.
//!
//! Each draw is counted for each class that it is in. The classes are by the access that showed it, by the access that
//! drew it, and by the sequence of requests. A family of tables has one test over all classes and cells, corrected for
//! their number.

mod classes;
mod eviction_rate;
mod leaves;
mod names;
mod slots;
mod table;

use super::judgement::Judgement;
use super::run_sets::RunSet;
use super::statistics::Finding;
use alloc::vec::Vec;
use classes::Classes;
pub use eviction_rate::EvictionRate;
pub use table::Power;
use table::Table;

/// The draws of many judgements over one tree.
pub struct Pool {
    classes: Classes,
    leaves: leaves::Tables,
    slots: slots::Tables,
}

impl Pool {
    /// A pool without draws, over a tree of this many leaves (1 if it has none).
    pub fn new(leaves: u64, rate: EvictionRate) -> Self {
        Pool {
            classes: Classes::default(),
            leaves: leaves::Tables::new(leaves, rate),
            slots: slots::Tables::default(),
        }
    }

    /// Adds the draws of one side of a judgement, made under the sequence of this name.
    pub(super) fn add(&mut self, sequence: &str, run_set: &RunSet) {
        for run in &run_set.runs {
            let classes = self.classes.of(run, sequence);
            self.leaves.add(run, &classes);
            self.slots.add(run, &classes);
        }
    }

    fn tables(&self) -> impl Iterator<Item = &Table> {
        self.leaves.tables().chain(self.slots.tables())
    }

    /// Judges all draws together: a test for each family.
    pub fn judge(&self) -> Judgement {
        let test = |table: &Table| -> Option<Finding> { table.test(&self.classes) };
        Judgement { findings: self.tables().filter_map(test).collect() }
    }

    /// The bias of each class of each family that is found 99 times in 100. A smaller bias may pass.
    pub fn powers(&self) -> Vec<Power> {
        self.tables().flat_map(|table| table.powers(&self.classes)).collect()
    }

    /// The bias that is found among all draws of a family.
    pub fn power(&self, family: &str) -> Option<f64> {
        let table = self.tables().find(|table| table.family() == family)?;
        let of_all = table.powers(&self.classes).into_iter().find(|power| power.class == classes::ALL);
        of_all.map(|power| power.limit.share)
    }
}
