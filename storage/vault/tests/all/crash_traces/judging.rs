//! Statistical tests of many lifecycles under both workloads.

use super::altered_traces::{paths_of_first_leaf, redraw_slots};
use super::flaws::Flaw;
use super::lifecycle::{LifecycleResult, run_lifecycle};
use super::losses::Losses;
use super::redrawn_leaves::RedrawnLeaves;
use super::transcript::transcribe;
use super::{DEATHS, Workload, hammer, public, ring_parameters, scan, script};
use ameles_core::schemes::ring::RingParameters;
use ameles_core::testing::Operation;
use ameles_core::testing::oblivious::statistics::{certain, fair_signs};
use ameles_core::testing::oblivious::{
    Adversary, EvictionRate, Finding, Judgement, Observer, Pool, Trial, judge_and_pool, ring,
};
use ameles_vault::VaultError;

/// The number of seeds of which [`Flaw::FirstLeafOften`] keeps the one that shows the first leaf most often.
const SEEDS: u64 = 5;

/// The lifecycles of a Ring ORAM vault that are tested together.
#[derive(Clone)]
pub struct Case {
    /// The number of the case: no two cases of a pool use the same seeds.
    pub nth: u64,
    pub ring: RingParameters,
    /// The number of lifecycles under each workload.
    pub lives: u64,
    /// The number of openings of each that are killed.
    pub deaths: usize,
    /// The number of batches after which the client no longer waits until the vault is quiet.
    pub quiet: usize,
    pub losses: Losses,
    pub flaw: Option<Flaw>,
    /// True if a request of a recovery that differs from the announced one is an alarm; otherwise it counts as a new
    /// request.
    pub is_strict: bool,
}

/// The lifecycles under one workload.
pub type LifecycleResults = Vec<Result<LifecycleResult, VaultError>>;

/// The counts in many lifecycles besides the draws.
#[derive(Debug, Default)]
pub struct RepeatCounts {
    pub repeated: usize,
    pub redone: usize,
    pub belated: usize,
    pub beside: usize,
    pub overlapping: usize,
    pub deaths: usize,
    /// The restores that drew all positions again, the accesses that they lost, and the leaves that showed after them.
    pub redrawn: usize,
    pub lost: u64,
    pub redrawn_leaves: RedrawnLeaves,
    /// The steps of all requests of each lifecycle under either workload.
    steps: [Vec<u64>; 2],
}

impl RepeatCounts {
    /// Adds the steps of other lifecycles.
    pub fn add_steps(&mut self, other: RepeatCounts) {
        self.steps.iter_mut().zip(other.steps).for_each(|(all, more)| all.extend(more));
    }

    /// Tests, one lifecycle at a time, under which workload requests are made in later steps.
    pub fn judge_steps(&self) -> Finding {
        let [one, other] = &self.steps;
        let pairs = one.iter().zip(other).map(|(one, other)| (*one as f64, *other as f64));
        fair_signs("both: steps of requests".to_owned(), pairs)
    }
}

impl Case {
    /// Lifecycles with crashes of a vault with this flaw.
    pub fn of(lives: u64, quiet: usize, flaw: Option<Flaw>) -> Self {
        let losses = Losses::Never;
        Case { nth: 0, ring: ring_parameters(), lives, deaths: DEATHS, quiet, losses, flaw, is_strict: true }
    }

    /// A pool for the draws of lifecycles.
    pub fn pool(&self) -> Pool {
        let rate = EvictionRate {
            evictions: self.ring.slices().len() as u64,
            accesses: self.ring.eviction_rate.into(),
        };
        Pool::new(1 << self.ring.leaf_level.0, rate)
    }

    /// Tests the lifecycles by themselves.
    pub fn judge(&self) -> Judgement {
        self.judge_and_pool(&self.run_lifecycle(), &mut self.pool(), &mut RepeatCounts::default())
    }

    /// The seed of a lifecycle under one workload.
    fn seed(&self, side: usize, nth: u64) -> u64 {
        (2 * self.nth + side as u64 + 1) << 32 | nth
    }

    /// Runs the lifecycles under both workloads.
    pub fn run_lifecycle(&self) -> [LifecycleResults; 2] {
        [(hammer as Workload, 0), (scan, 1)].map(|(workload, side)| {
            let live = |nth| self.live_once(nth, &script(nth, workload), self.seed(side, nth));
            (0..self.lives).map(live).collect()
        })
    }

    fn live_once(
        &self,
        nth: u64,
        script: &[Vec<Operation>],
        seed: u64,
    ) -> Result<LifecycleResult, VaultError> {
        let mut public = public(&self.ring, nth, 0, self.quiet);
        public.deaths.truncate(self.deaths);
        self.losses.add_to(&mut public);
        let seeds = if self.flaw == Some(Flaw::FirstLeafOften) { SEEDS } else { 1 };
        let lives = (0..seeds).map(|nth| run_lifecycle(&public, script, nth << 48 | seed, self.flaw));
        let lives: Vec<LifecycleResult> = lives.collect::<Result<_, _>>()?;
        let max = lives.into_iter().max_by_key(|lifecycle| paths_of_first_leaf(&lifecycle.trace, &self.ring));
        Ok(max.expect("there is one"))
    }

    /// Tests lifecycles, and adds their draws to a pool.
    pub fn judge_and_pool(
        &self,
        lives: &[LifecycleResults; 2],
        pool: &mut Pool,
        again: &mut RepeatCounts,
    ) -> Judgement {
        let [one, other] = lives;
        let trials = self.trials(one, 0, again).and_then(|one| Ok([one, self.trials(other, 1, again)?]));
        let [one, other] = match trials {
            Ok(trials) => trials,
            Err(deviation) => {
                return Judgement { findings: vec![certain("repetition".to_owned(), Some(deviation))] };
            }
        };
        let leaves = 1 << self.ring.leaf_level.0;
        judge_and_pool(pool, ["hammer", "scan"], leaves, |seed| self.observer(seed), [&one, &other])
    }

    fn observer(&self, seed: u64) -> Box<dyn Observer> {
        ring::observer(&self.ring, Adversary::Full, seed ^ self.nth << 40)
    }

    /// The lifecycles under one workload, as the core's tests read them.
    fn trials(
        &self,
        lives: &LifecycleResults,
        side: usize,
        again: &mut RepeatCounts,
    ) -> Result<Vec<Trial>, String> {
        let mut trials = Vec::new();
        for (nth, lifecycle) in lives.iter().enumerate() {
            let lifecycle =
                lifecycle.as_ref().map_err(|refusal| format!("life {nth}: the vault refused: {refusal}"))?;
            let mut trace = lifecycle.trace.clone();
            if let Some(flaw) = self.flaw.filter(|flaw| flaw.is_of_slots()) {
                redraw_slots(&mut trace, &self.ring, flaw, self.seed(side, nth as u64));
            }
            let how = (self.is_strict, self.losses.announces());
            let told = transcribe(&trace, &self.ring, self.quiet, how);
            let told = told.map_err(|deviation| format!("life {nth}: {deviation}"))?;
            again.deaths += lifecycle.deaths;
            again.repeated += told.repeated;
            again.redone += told.redone;
            again.belated += told.belated;
            again.beside += told.beside;
            again.overlapping += told.overlapping;
            again.steps[side].push(told.steps);
            again.redrawn += told.redrawn;
            again.lost += told.lost;
            let operations = told.begun.iter().map(|nth| lifecycle.requested[*nth].clone()).collect();
            let trial = Trial { operations, events: told.events };
            if told.redrawn > 0 {
                again.redrawn_leaves.add(&trial, &mut *self.observer(0))?;
            }
            trials.push(trial);
        }
        Ok(trials)
    }
}
