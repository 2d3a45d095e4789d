//! The judgement over two sets of runs.

use super::super::array_model::Operation;
use super::super::stage::Event;
use super::leaves::{self, cell, cells_of};
use super::slots;
use super::statistics::{ALARM_LOG2, Finding, certain, fair_signs, homogeneous, tally};
use super::watch::{Sights, Watch};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// The most tests of sound schemes in a whole suite: `2^13 * 2^-33 = 2^-20`.
pub const MOST_TESTS: usize = 1 << 13;

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
pub(super) struct Side {
    pub(super) name: &'static str,
    pub(super) deviation: Option<String>,
    pub(super) runs: Vec<Seen>,
}

/// A run as the judge sees it: the choices that showed, and the requests behind them.
pub(super) struct Seen {
    pub(super) sights: Sights,
    /// The block that each access asked for, in order, and the kind of access that makes it.
    pub(super) asked: Vec<Option<u64>>,
    pub(super) kinds: Vec<&'static str>,
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
            leaves::test(side, leaves, &mut findings);
        }
        slots::test(side, leaves, &mut findings);
    }
    if leaves > 1 {
        let cells = |side: &Side| tally(cells_of(leaves), side.leaves().map(|leaf| cell(leaf, leaves)));
        findings.push(homogeneous("both: leaves of one law".to_string(), &cells(&one), &cells(&other)));
    }
    let totals: BTreeSet<&'static str> =
        one.runs.iter().chain(&other.runs).flat_map(|run| run.sights.totals.keys().copied()).collect();
    for total in totals {
        let of = |run: &Seen| run.sights.totals.get(total).copied().unwrap_or(0) as f64;
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

impl Side {
    pub(super) fn look(
        name: &'static str,
        watch: &impl Fn(u64) -> Box<dyn Watch>,
        trials: &[Trial],
        seed: u64,
    ) -> Self {
        let mut side = Side { name, deviation: None, runs: Vec::new() };
        for (nth, trial) in trials.iter().enumerate() {
            let mut watch = watch(seed + nth as u64);
            if let Err(deviation) = follow(&mut *watch, &trial.events) {
                side.deviation = Some(format!("run {nth}, {deviation}"));
                return side;
            }
            side.runs.push(Seen::of(watch.sights().clone(), &trial.operations));
        }
        side
    }

    fn leaves(&self) -> impl Iterator<Item = u64> + '_ {
        self.runs.iter().flat_map(|run| run.sights.leaves.iter().map(|shown| shown.leaf))
    }
}

impl Seen {
    fn of(sights: Sights, batches: &[Vec<Operation>]) -> Self {
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
        Seen { sights, asked: blocks, kinds }
    }

    /// The leaf that each access showed; `None` where it may be one of several.
    pub(super) fn leaf_of_access(&self) -> Vec<Option<u64>> {
        let mut leaves = alloc::vec![None; self.asked.len()];
        for shown in &self.sights.leaves {
            if let Some(access) = shown.access {
                leaves[access] = Some(shown.leaf);
            }
        }
        leaves
    }
}
