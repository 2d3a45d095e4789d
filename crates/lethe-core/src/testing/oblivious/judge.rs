//! The judgement over two sets of runs.

use super::super::array_model::Operation;
use super::super::stage::Event;
use super::statistics::{Finding, certain, fair_signs, homogeneous, tally, uniform};
use super::watch::{Sights, Watch};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// A test alarms if a sound scheme would show so much with a probability below 2 to this.
pub const ALARM_LOG2: f64 = -33.0;

/// The most tests of sound schemes in a whole suite: `2^13 * 2^-33 = 2^-20`.
pub const MOST_TESTS: usize = 1 << 13;

/// The leaves are counted in at most so many cells.
const MOST_CELLS: u64 = 32;
const PICK_CELLS: usize = 16;
const PAIR_CELLS: u64 = 8;

/// A run: its requests, which are secret, and the events that showed.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The batches, in order.
    pub operations: Vec<Vec<Operation>>,
    /// The events of the whole run.
    pub events: Vec<Event>,
}

/// The findings of the judge.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// All tests, in order.
    pub findings: Vec<Finding>,
}

impl Judgement {
    /// The findings that no sound scheme shows.
    pub fn alarms(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.log2_p < ALARM_LOG2)
    }

    /// Tells whether there was no alarm.
    pub fn passes(&self) -> bool {
        self.alarms().next().is_none()
    }

    /// Tells whether a test whose name contains this has alarmed.
    pub fn alarmed(&self, name: &str) -> bool {
        self.alarms().any(|finding| finding.name.contains(name))
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted: Vec<&Finding> = self.findings.iter().collect();
        sorted.sort_by(|one, other| one.log2_p.total_cmp(&other.log2_p));
        writeln!(f, "{} tests, {} alarms", sorted.len(), self.alarms().count())?;
        sorted.iter().try_for_each(|finding| writeln!(f, "{finding}"))
    }
}

/// The choices that one set of runs showed, and its requests.
struct Side {
    name: &'static str,
    deviation: Option<String>,
    runs: Vec<Sights>,
    /// The request of each access of each run, in order.
    asked: Vec<Vec<Option<u64>>>,
    kinds: Vec<Vec<&'static str>>,
}

/// Judges two sets of runs of one scheme over a tree of `leaves` leaves (1 if it has none); `watch` gives a new watch
/// for the run of a number.
pub fn judge(
    leaves: u64,
    watch: impl Fn(u64) -> Box<dyn Watch>,
    one: &[Trial],
    other: &[Trial],
) -> Judgement {
    let one = Side::look("one", &watch, one, 0);
    let other = Side::look("other", &watch, other, 1 << 32);
    let mut findings = Vec::new();
    for side in [&one, &other] {
        findings.push(certain(format!("{}: shape", side.name), side.deviation.clone()));
    }
    if findings.iter().any(|shape| shape.log2_p < ALARM_LOG2) {
        return Judgement { findings };
    }
    for side in [&one, &other] {
        if leaves > 1 {
            side.test_leaves(leaves, &mut findings);
        }
        side.test_picks(&mut findings);
    }
    if leaves > 1 {
        let cells = |side: &Side| tally(cells_of(leaves), side.leaves().map(|leaf| cell(leaf, leaves)));
        findings.push(homogeneous("both: leaves of one law".to_string(), &cells(&one), &cells(&other)));
    }
    let totals: BTreeSet<&'static str> =
        one.runs.iter().chain(&other.runs).flat_map(|sights| sights.totals.keys().copied()).collect();
    for total in totals {
        let of = |sights: &Sights| sights.totals.get(total).copied().unwrap_or(0) as f64;
        let pairs = one.runs.iter().zip(&other.runs).map(|(one, other)| (of(one), of(other)));
        findings.push(fair_signs(format!("both: as many {total}"), pairs));
    }
    Judgement { findings }
}

/// Shows a run to a watch. A recovery must repeat to the letter what was done before; it tells nothing new.
fn follow(watch: &mut dyn Watch, events: &[Event]) -> Result<(), String> {
    let mut again = 0;
    let mut before = 0;
    for (at, event) in events.iter().enumerate() {
        if again > 0 {
            let announced = &events[at - before];
            if event != announced {
                return Err(format!("event {at}: a recovery showed {event:?}, announced was {announced:?}"));
            }
            again -= 1;
            continue;
        }
        if let Event::Recovers(steps) = event {
            again = (*steps).min(at);
            before = again + 1;
            continue;
        }
        watch.see(event).map_err(|deviation| format!("event {at}: {deviation}"))?;
    }
    Ok(())
}

fn cells_of(leaves: u64) -> usize {
    leaves.min(MOST_CELLS) as usize
}

/// Tells whether the draws are enough to say anything: ten a cell. Their number does not depend on what they are.
fn enough(counts: &[u64]) -> bool {
    counts.iter().sum::<u64>() >= 10 * counts.len() as u64
}

/// The subtree of a leaf, of [`cells_of`] many.
fn cell(leaf: u64, leaves: u64) -> usize {
    (leaf / (leaves / leaves.min(MOST_CELLS))) as usize
}

impl Side {
    fn look(name: &'static str, watch: &impl Fn(u64) -> Box<dyn Watch>, trials: &[Trial], seed: u64) -> Self {
        let mut side = Side { name, deviation: None, runs: Vec::new(), asked: Vec::new(), kinds: Vec::new() };
        for (nth, trial) in trials.iter().enumerate() {
            let mut watch = watch(seed + nth as u64);
            if let Err(deviation) = follow(&mut *watch, &trial.events) {
                side.deviation = Some(format!("run {nth}, {deviation}"));
                return side;
            }
            side.runs.push(watch.sights().clone());
            side.ask(&trial.operations);
        }
        side
    }

    /// Notes the block that each access of a run asked for, and what kind of access that makes it.
    fn ask(&mut self, batches: &[Vec<Operation>]) {
        let mut blocks = Vec::new();
        let mut kinds = Vec::new();
        let mut last: BTreeMap<u64, usize> = BTreeMap::new();
        for batch in batches {
            let begin = blocks.len();
            for operation in batch {
                let (block, writes) = match operation {
                    Operation::Read(block) => (Some(block.0), false),
                    Operation::Write(block, _) => (Some(block.0), true),
                    Operation::Dummy => (None, false),
                };
                let before = block.and_then(|block| last.insert(block, blocks.len()));
                kinds.push(match (block, before) {
                    (None, _) => "dummies",
                    (_, Some(before)) if before >= begin => "repeats within a batch",
                    (_, None) => "first accesses",
                    (_, Some(before)) if blocks.len() - before < 16 => "early returns",
                    _ if writes => "late writes",
                    _ => "late reads",
                });
                blocks.push(block);
            }
        }
        self.asked.push(blocks);
        self.kinds.push(kinds);
    }

    fn leaves(&self) -> impl Iterator<Item = u64> + '_ {
        self.runs.iter().flat_map(|sights| sights.leaves.iter().map(|shown| shown.leaf))
    }

    fn test_leaves(&self, leaves: u64, findings: &mut Vec<Finding>) {
        let cells = cells_of(leaves);
        let mut test = |what: &str, counts: &[u64]| {
            findings.extend(enough(counts).then(|| uniform(format!("{}: {what}", self.name), counts)));
        };
        test("leaves", &tally(cells, self.leaves().map(|leaf| cell(leaf, leaves))));

        // The kind of an access must not matter.
        let mut by_kind: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (sights, kinds) in self.runs.iter().zip(&self.kinds) {
            for shown in &sights.leaves {
                if let Some(access) = shown.access {
                    let counts = by_kind.entry(kinds[access]).or_insert_with(|| alloc::vec![0; cells]);
                    counts[cell(shown.leaf, leaves)] += 1;
                }
            }
        }
        for (kind, counts) in &by_kind {
            test(&format!("leaves of {kind}"), counts);
        }

        // The differences (bit by bit) along a chain of independent uniform leaves are independent and uniform too.
        for lag in [1, 2] {
            let steps = self
                .runs
                .iter()
                .flat_map(|sights| sights.leaves.iter().zip(&sights.leaves[lag.min(sights.leaves.len())..]));
            let counts = tally(cells, steps.map(|(one, other)| cell(one.leaf ^ other.leaf, leaves)));
            test(&format!("steps between leaves {lag} apart"), &counts);
        }
        let pairs = self.runs.iter().flat_map(|sights| sights.leaves.chunks_exact(2));
        test("pairs of leaves", &pair_counts(leaves, pairs.map(|pair| (pair[0].leaf, pair[1].leaf))));

        // The leaf of a block's next access against that of the one before it. The steps of all blocks' chains are
        // independent; of the pairs, only those are that have no leaf in common.
        let chains = self.chains();
        let steps =
            chains.iter().flat_map(|chain| chain.windows(2)).map(|pair| cell(pair[0] ^ pair[1], leaves));
        test("steps between leaves of one block", &tally(cells, steps));
        let pairs = chains.iter().flat_map(|chain| chain.chunks_exact(2)).map(|pair| (pair[0], pair[1]));
        test("pairs of leaves of one block", &pair_counts(leaves, pairs));
    }

    /// The leaves of each block of each run, in the order of its accesses.
    fn chains(&self) -> Vec<Vec<u64>> {
        let mut chains = Vec::new();
        for (sights, asked) in self.runs.iter().zip(&self.asked) {
            let mut of_block: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
            for shown in &sights.leaves {
                if let Some(block) = shown.access.and_then(|access| asked[access]) {
                    of_block.entry(block).or_default().push(shown.leaf);
                }
            }
            chains.extend(of_block.into_values());
        }
        chains
    }

    fn test_picks(&self, findings: &mut Vec<Finding>) {
        let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for (sights, kinds) in self.runs.iter().zip(&self.kinds) {
            for pick in &sights.picks {
                let who = match pick.access {
                    Some(access) => kinds[access],
                    None => "evictions",
                };
                values.entry(format!("slots of {who}")).or_default().push(pick.value);
                values.entry(format!("slots of level {}", pick.level)).or_default().push(pick.value);
                if let Some(before) = pick.before {
                    // Around the circle, so that steps of uniform numbers are uniform.
                    let step = pick.value - before;
                    let step = if step < 0.0 { step + 1.0 } else { step };
                    values.entry("steps between slots of one bucket".to_string()).or_default().push(step);
                }
            }
        }
        for (what, values) in values {
            let cells = values.iter().map(|value| ((value * PICK_CELLS as f64) as usize).min(PICK_CELLS - 1));
            let counts = tally(PICK_CELLS, cells);
            findings.extend(enough(&counts).then(|| uniform(format!("{}: {what}", self.name), &counts)));
        }
    }
}

fn pair_counts(leaves: u64, pairs: impl Iterator<Item = (u64, u64)>) -> Vec<u64> {
    let side = leaves.min(PAIR_CELLS);
    let coarse = |leaf: u64| leaf / (leaves / side);
    tally((side * side) as usize, pairs.map(|(one, other)| (coarse(one) * side + coarse(other)) as usize))
}
