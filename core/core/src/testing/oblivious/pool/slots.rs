//! The tables of slots.

use super::super::run_sets::ObservedRun;
use super::classes::OfRun;
use super::table::{Rows, Table};

const CELLS: usize = 16;
/// The maximum number of unread slots whose ranks are counted one by one.
const MAX_RANKS: usize = 64;

pub(super) struct Tables {
    accesses: Table,
    evictions: Table,
    levels: Table,
    ranks: Table,
}

impl Default for Tables {
    fn default() -> Self {
        Tables {
            accesses: Table::new("slots of accesses", Rows::Classes),
            evictions: Table::new("slots of evictions", Rows::Classes),
            levels: Table::new("slots by level", Rows::Levels),
            ranks: Table::new("slots one by one", Rows::Among),
        }
    }
}

impl Tables {
    pub(super) fn tables(&self) -> impl Iterator<Item = &Table> {
        [&self.accesses, &self.evictions, &self.levels, &self.ranks].into_iter()
    }

    pub(super) fn add(&mut self, run: &ObservedRun, classes: &OfRun) {
        for pick in &run.observations.picks {
            let cell = ((pick.value * CELLS as f64) as usize).min(CELLS - 1);
            let evicts = usize::from(pick.access.is_none());
            let table = if evicts == 0 { &mut self.accesses } else { &mut self.evictions };
            classes.of(pick.access, None).for_each(|class| table.count(class, CELLS, cell));
            self.levels.count(2 * pick.level as usize + evicts, CELLS, cell);
            if (2..=MAX_RANKS).contains(&pick.among) {
                self.ranks.count(2 * pick.among + evicts, pick.among, pick.rank);
            }
        }
    }
}
