//! The two sides of a judgement: sets of runs, and the choices that they showed.

use super::super::array_model::Operation;
use super::super::driver::Event;
use super::judgement::Judgement;
use super::observer::{Observations, Observer};
use super::statistics::certain;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A run: its requests, which are secret, and the events that showed.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The batches, in order.
    pub operations: Vec<Vec<Operation>>,
    /// The events of the whole run.
    pub events: Vec<Event>,
}

/// The choices that one set of runs showed, and its requests.
pub(super) struct RunSet {
    pub(super) name: &'static str,
    pub(super) deviation: Option<String>,
    pub(super) runs: Vec<ObservedRun>,
}

/// A run as the judge sees it: the choices that showed, and the requests behind them.
pub(super) struct ObservedRun {
    pub(super) observations: Observations,
    /// The block that each access requested, in order, and the kind of access that makes it.
    pub(super) requested: Vec<Option<u64>>,
    pub(super) kinds: Vec<&'static str>,
    /// The first access of the batch of each.
    pub(super) begins: Vec<usize>,
    /// The access before it of the same block, which has drawn its leaf. A repeat within a batch shows any path, and
    /// draws nothing that shows.
    pub(super) before: Vec<Option<usize>>,
    pub(super) writes: Vec<bool>,
}

/// Shows a run to an observer. A recovery must repeat exactly the work before it, and reveals nothing new.
fn follow(observer: &mut dyn Observer, events: &[Event]) -> Result<(), String> {
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
        if let Event::Yields(work) = event {
            return Err(format!("event {at}: {work:?} let a step pass and waited for nothing"));
        }
        if let Event::Recovers(steps) = event {
            again = (*steps).min(at);
            before = again + 1;
            continue;
        }
        observer.observe(event).map_err(|deviation| format!("event {at}: {deviation}"))?;
    }
    Ok(())
}

impl RunSet {
    pub(super) fn look(
        name: &'static str,
        observer: &impl Fn(u64) -> Box<dyn Observer>,
        trials: &[Trial],
        seed: u64,
    ) -> Self {
        let mut run_set = RunSet { name, deviation: None, runs: Vec::new() };
        for (nth, trial) in trials.iter().enumerate() {
            let mut observer = observer(seed + nth as u64);
            if let Err(deviation) = follow(&mut *observer, &trial.events) {
                run_set.deviation = Some(format!("run {nth}, {deviation}"));
                return run_set;
            }
            run_set.runs.push(ObservedRun::of(observer.observations().clone(), &trial.operations));
        }
        run_set
    }

    /// Looks at both sides, and judges whether their events have the shape that is due.
    pub(super) fn look_at_both(
        observer: impl Fn(u64) -> Box<dyn Observer>,
        one: &[Trial],
        other: &[Trial],
    ) -> ([RunSet; 2], Judgement) {
        let run_sets =
            [RunSet::look("one", &observer, one, 0), RunSet::look("other", &observer, other, 1 << 32)];
        let shape = |run_set: &RunSet| certain(format!("{}: shape", run_set.name), run_set.deviation.clone());
        let findings = run_sets.iter().map(shape).collect();
        (run_sets, Judgement { findings })
    }

    /// The leaves of all runs, in order.
    pub(super) fn leaves(&self) -> impl Iterator<Item = u64> + '_ {
        self.runs.iter().flat_map(|run| run.observations.leaves.iter().map(|shown| shown.leaf))
    }
}

impl ObservedRun {
    fn of(observations: Observations, batches: &[Vec<Operation>]) -> Self {
        let mut blocks = Vec::new();
        let mut kinds = Vec::new();
        let (mut begins, mut befores, mut written) = (Vec::new(), Vec::new(), Vec::new());
        let (mut last, mut drew): (BTreeMap<u64, usize>, BTreeMap<u64, usize>) = Default::default();
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
                begins.push(begin);
                let repeats = before.is_some_and(|before| before >= begin);
                let drawn_by = block.filter(|_| !repeats).and_then(|block| drew.insert(block, blocks.len()));
                befores.push(drawn_by);
                written.push(writes);
                blocks.push(block);
            }
        }
        ObservedRun { observations, requested: blocks, kinds, begins, before: befores, writes: written }
    }

    /// The leaf that each access showed; `None` if it may be one of several.
    pub(super) fn leaf_of_access(&self) -> Vec<Option<u64>> {
        let mut leaves = alloc::vec![None; self.requested.len()];
        for shown in &self.observations.leaves {
            if let Some(access) = shown.access {
                leaves[access] = Some(shown.leaf);
            }
        }
        leaves
    }
}
