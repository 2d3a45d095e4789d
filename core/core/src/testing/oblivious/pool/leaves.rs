//! The tables of leaves.
//!
//! A leaf is drawn by the access of its block that comes before the one that shows it. A sound leaf is uniform. It
//! depends neither on what was shown before it was drawn, nor on other drawn leaves, nor on the places of other blocks.

use super::super::leaves::cells_of;
use super::super::observer::spread;
use super::super::reverse_bits::reverse_bits;
use super::super::run_sets::ObservedRun;
use super::classes::OfRun;
use super::eviction_rate::EvictionRate;
use super::table::{BITS, Rows, Table};
use alloc::vec;
use alloc::vec::Vec;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// The leaves are counted by low bits as well, and one by one, if the cells by high bits do not show all of them.
const CELLS: u64 = 32;
const LOAD_CELLS: usize = 16;

/// The step from which leaf to a leaf is counted.
#[derive(Clone, Copy)]
enum Step {
    Nothing,
    LastOfBlock,
    ShownBefore,
    ShownBeforeItsDraw,
    ShownAfterItsDraw,
    DrawnBefore,
    EvictedNext,
    EvictedAfterItsDraw,
}

const STEPS: [(Step, &str, &str); 8] = [
    (Step::Nothing, "leaves, by high bits", "leaves, by low bits"),
    (Step::LastOfBlock, "steps from the block's last leaf", "steps from the block's last leaf, by low bits"),
    (Step::ShownBefore, "steps from the leaf before", "steps from the leaf before, by low bits"),
    (
        Step::ShownBeforeItsDraw,
        "steps from the leaf shown before the draw",
        "steps from the leaf shown before the draw, by low bits",
    ),
    (
        Step::ShownAfterItsDraw,
        "steps from the leaf shown after the draw",
        "steps from the leaf shown after the draw, by low bits",
    ),
    (Step::DrawnBefore, "steps from the leaf drawn before", "steps from the leaf drawn before, by low bits"),
    (Step::EvictedNext, "steps from the next eviction", "steps from the next eviction, by low bits"),
    (
        Step::EvictedAfterItsDraw,
        "steps from the next eviction at the draw",
        "steps from the next eviction at the draw, by low bits",
    ),
];

pub(super) struct Tables {
    leaves: u64,
    rate: EvictionRate,
    random: ChaCha8Rng,
    /// The tables of each step, by high and by low bits.
    steps: Vec<[Table; 2]>,
    each: Table,
    bits: Table,
    loads: Table,
}

/// A run's leaves, by the access that shows them, and for each access the one before it of its block.
struct Leaves<'a> {
    shown: Vec<Option<u64>>,
    /// The leaf that each access draws, as far as it shows later.
    drawn: Vec<Option<u64>>,
    run: &'a ObservedRun,
}

impl Tables {
    pub(super) fn new(leaves: u64, rate: EvictionRate) -> Self {
        let both = |(_, high, low): &(Step, &'static str, &'static str)| {
            [Table::new(high, Rows::Classes), Table::new(low, Rows::Classes)]
        };
        Tables {
            leaves,
            rate,
            random: ChaCha8Rng::seed_from_u64(leaves),
            steps: STEPS.iter().map(both).collect(),
            each: Table::new("leaves one by one", Rows::Drawn),
            bits: Table::new("bits of leaves, and parities of two", Rows::Bits),
            loads: Table::new("leaves by how many blocks lie there", Rows::Classes),
        }
    }

    pub(super) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.steps.iter().flatten().chain([&self.each, &self.bits, &self.loads])
    }

    pub(super) fn add(&mut self, run: &ObservedRun, classes: &OfRun) {
        if self.leaves == 1 {
            return;
        }
        let leaves = Leaves::of(run);
        for shown in &run.observations.leaves {
            let is_drawn = shown.access.is_some_and(|access| run.before[access].is_some());
            self.count_alone(shown.leaf, is_drawn);
            let Some(access) = shown.access else { continue };
            for (nth, (step, ..)) in STEPS.iter().enumerate() {
                let from = match step {
                    Step::EvictedNext => Some(self.evicted_next(access)),
                    Step::EvictedAfterItsDraw => run.before[access].map(|drawn| self.evicted_next(drawn)),
                    _ => leaves.from(*step, access),
                };
                if let Some(from) = from {
                    self.count_step(nth, from ^ shown.leaf, classes.of(Some(access), run.before[access]));
                }
            }
        }
        self.count_loads(&leaves, classes);
    }

    /// The leaf of the eviction that is due next after this many accesses.
    fn evicted_next(&self, accesses: usize) -> u64 {
        let number = accesses as u64 * self.rate.evictions / self.rate.accesses;
        reverse_bits(self.leaves.ilog2(), number)
    }

    fn count_step(&mut self, nth: usize, step: u64, classes: impl Iterator<Item = usize>) {
        let cells = cells_of(self.leaves);
        let (high, low) = (step / (self.leaves / cells as u64), step % CELLS);
        for class in classes {
            self.steps[nth][0].count(class, cells, high as usize);
            if self.leaves > CELLS {
                self.steps[nth][1].count(class, cells, low as usize);
            }
        }
    }

    /// Counts a leaf by itself, and each of its bits against each other.
    fn count_alone(&mut self, leaf: u64, is_drawn: bool) {
        if self.leaves <= CELLS {
            return;
        }
        self.each.count(usize::from(is_drawn), self.leaves as usize, leaf as usize);
        for one in 0..self.leaves.ilog2() as usize {
            for other in one..self.leaves.ilog2() as usize {
                let bit = if one == other { leaf >> one } else { leaf >> one ^ leaf >> other };
                let row = one * 64 + other + if is_drawn { BITS } else { 0 };
                self.bits.count(row, 2, (bit & 1) as usize);
            }
        }
    }

    /// Counts, for each leaf that is drawn, its rank among all leaves by how many blocks lie there at that time, as far
    /// as those blocks show later. Leaves with equally many blocks have one rank, spread evenly.
    fn count_loads(&mut self, leaves: &Leaves<'_>, classes: &OfRun) {
        let mut loads = Loads::none(self.leaves as usize);
        for (access, drawn) in leaves.drawn.iter().enumerate() {
            let left = leaves.run.before[access].and_then(|before| leaves.drawn[before]);
            left.into_iter().for_each(|leaf| loads.change(leaf, |load| load - 1));
            let Some(leaf) = drawn else { continue };
            let load = loads.of[*leaf as usize];
            let fewer: usize = loads.with[..load].iter().sum();
            let within = spread(&mut self.random, 0, 1) * loads.with[load] as f64;
            let cell = (fewer as f64 + within) / self.leaves as f64 * LOAD_CELLS as f64;
            for class in classes.of(None, Some(access)) {
                self.loads.count(class, LOAD_CELLS, (cell as usize).min(LOAD_CELLS - 1));
            }
            loads.change(*leaf, |load| load + 1);
        }
    }
}

/// The number of blocks that lie on each leaf, and for each such number how many leaves have it.
struct Loads {
    of: Vec<usize>,
    with: Vec<usize>,
}

impl Loads {
    fn none(leaves: usize) -> Self {
        Loads { of: vec![0; leaves], with: vec![leaves] }
    }

    fn change(&mut self, leaf: u64, by: impl Fn(usize) -> usize) {
        let load = &mut self.of[leaf as usize];
        self.with[*load] -= 1;
        *load = by(*load);
        self.with.resize(self.with.len().max(*load + 1), 0);
        self.with[*load] += 1;
    }
}

impl<'a> Leaves<'a> {
    fn of(run: &'a ObservedRun) -> Self {
        let shown = run.leaf_of_access();
        let mut drawn = vec![None; shown.len()];
        for (access, before) in run.before.iter().enumerate() {
            if let Some(before) = before {
                drawn[*before] = shown[access];
            }
        }
        Leaves { shown, drawn, run }
    }

    /// The leaf from which the step to the leaf of an access is counted.
    fn from(&self, step: Step, access: usize) -> Option<u64> {
        let drawn_by = self.run.before[access];
        let earlier = |access: Option<usize>| access.and_then(|access| access.checked_sub(1));
        match step {
            Step::Nothing => Some(0),
            Step::LastOfBlock => self.shown[drawn_by?],
            Step::ShownBefore => self.shown[earlier(Some(access))?],
            Step::ShownBeforeItsDraw => self.shown[earlier(drawn_by)?],
            Step::ShownAfterItsDraw => {
                let after = drawn_by? + 1;
                if after == access { None } else { self.shown[after] }
            }
            Step::DrawnBefore => self.drawn[earlier(drawn_by)?],
            Step::EvictedNext | Step::EvictedAfterItsDraw => None,
        }
    }
}
