//! Goes through a log of effects: at each step the machine crashes, recovers, and is checked.

use super::machine::{Machine, remove_orphans, restore_elsewhere, runtime};
use super::model::{Model, ModelEvents};
use crate::support::effect_log::{Effect, MachineState};
use crate::support::fragile_disk::{Crash, JOURNAL};
use crate::support::rng::TestRng;
use ameles_vault::VaultHeader;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::runtime::Runtime;

/// The number of crashes of which one has a recovery that crashes again, at each of its steps. If all did, a lifecycle
/// would take over an hour.
const CRASHES_TO_ONE_AGAIN: usize = 50;

/// A usual run tears the writes to the journal of so many consecutive steps.
const JOURNAL_WRITES_TO_ONE_TORN: usize = 4;

/// The share of the steps that is tested.
#[derive(Clone, Copy)]
pub struct Effort {
    /// The number of consecutive steps of which one is tested.
    pub stride: usize,
}

impl Effort {
    /// Every eighth step of a lifecycle.
    pub const USUAL: Effort = Effort { stride: 8 };
    /// Every step of a lifecycle.
    pub const EVERY_STEP: Effort = Effort { stride: 1 };

    /// Returns whether this step of this many is tested. Lifecycles of different lengths begin at different steps.
    pub fn includes(self, at: usize, of: usize) -> bool {
        at % self.stride == of % self.stride
    }
}

/// The counts of what was done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// The effects of the lifecycle: changes and syncs of the disk, requests to the store.
    pub effects: usize,
    /// The number of crashes of the lifecycle.
    pub crashes: usize,
    /// The number of crashes of recoveries.
    pub again: usize,
    /// The number of crashes in the middle of a write to the journal.
    pub torn: usize,
    /// The number of restores from a store alone.
    pub restored: usize,
}

/// Explores one lifecycle.
///
/// # Panics
/// If a promise is broken.
pub fn explore_crashes(header: &VaultHeader, seed: u64, effort: Effort) -> Summary {
    let runtime = runtime();
    let empty = MachineState::new(header.parameters.layout());
    let new = || Model::new(&header.parameters);
    let mut machine = Machine::new(header, empty.fork(), new(), seed);
    runtime.block_on(machine.run_lifecycle()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let (effects, events) = machine.records();
    runtime.block_on(machine.check_everything()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let mut explorer =
        Explorer { header, seed, effort, runtime, rng: TestRng::of(!seed), summary: Summary::default() };
    explorer.summary.effects = effects.len();
    explorer.explore(empty, &effects, &events, &new);
    explorer.summary
}

struct Explorer<'a> {
    header: &'a VaultHeader,
    seed: u64,
    effort: Effort,
    runtime: Runtime,
    rng: TestRng,
    summary: Summary,
}

impl Explorer<'_> {
    fn explore(
        &mut self,
        machine_state: MachineState,
        effects: &[Effect],
        events: &ModelEvents,
        new: &dyn Fn() -> Model,
    ) {
        let (mut at, mut journal_writes) = (0, 0);
        loop {
            if has_changed(at, effects, events) && self.effort.includes(at, effects.len()) {
                for (machine_state, how) in self.crashes(&machine_state) {
                    let model = || new().at(at, events);
                    let when = format!("seed {}, {how:?} after {at} of {} effects", self.seed, effects.len());
                    let again =
                        (self.summary.crashes + self.seed as usize).is_multiple_of(CRASHES_TO_ONE_AGAIN);
                    self.recover(machine_state, &model, &when, again);
                    self.summary.crashes += 1;
                }
                // Acknowledgements come between two effects.
                let keeps_all = self.header.parameters.journal.is_in_store();
                let has_changed = at > 0
                    && matches!(effects[at - 1], Effect::Put(..) | Effect::Removed(_) | Effect::Deleted(_));
                if has_changed || keeps_all {
                    let (lost, model) = (machine_state.fork(), new().at(at, events));
                    let when = format!("seed {}, a lost machine after {at} effects", self.seed);
                    let removes_orphans = at.is_multiple_of(2);
                    let restoring = async {
                        if removes_orphans {
                            remove_orphans(&lost).await;
                        }
                        restore_elsewhere(self.header, lost.store.clone(), model).await
                    };
                    let restored = with_context(&when, || self.runtime.block_on(restoring));
                    self.summary.restored += usize::from(restored);
                }
            }
            let Some(effect) = effects.get(at) else { break };
            let is_journal_write = matches!(effect, Effect::Change(JOURNAL, _));
            journal_writes += usize::from(is_journal_write);
            if let Effect::Change(JOURNAL, change) = effect
                && self.effort.includes(journal_writes / JOURNAL_WRITES_TO_ONE_TORN, effects.len())
            {
                for torn in change.torn() {
                    let left = machine_state.fork();
                    left.disk.replay(JOURNAL, Some(&torn));
                    let when = format!("seed {}, {torn:?} of effect {at} of {}", self.seed, effects.len());
                    self.recover(left, &|| new().at(at, events), &when, false);
                    self.summary.torn += 1;
                }
            }
            machine_state.replay(effect);
            at += 1;
        }
    }

    /// The states that a crash in this one may leave.
    fn crashes(&mut self, machine_state: &MachineState) -> Vec<(MachineState, Crash)> {
        let loses_power = (!machine_state.disk.is_synced()).then_some(Crash::PowerLoss);
        let ways = [Crash::Kill].into_iter().chain(loses_power);
        let crash = |how| {
            let left = machine_state.fork();
            left.disk.crash(how, &mut self.rng);
            (left, how)
        };
        ways.map(crash).collect()
    }

    /// Lets the vault recover, and checks everything; if requested, also after a crash at each step of the recovery.
    fn recover(&mut self, machine_state: MachineState, model: &dyn Fn() -> Model, when: &str, again: bool) {
        let before = machine_state.fork();
        let mut machine = Machine::new(self.header, machine_state, model(), self.rng.seed());
        if again {
            with_context(when, || {
                self.runtime.block_on(machine.recover()).unwrap_or_else(|error| panic!("{error}"))
            });
        }
        let (effects, events) = machine.records();
        self.check_recovered(machine, when);
        if !again {
            return;
        }
        let mut at = 0;
        loop {
            if has_changed(at, &effects, &events) && self.effort.includes(at, effects.len()) {
                for (machine_state, how) in self.crashes(&before) {
                    let model = model().at(at, &events);
                    let machine = Machine::new(self.header, machine_state, model, self.rng.seed());
                    let of = effects.len();
                    self.check_recovered(
                        machine,
                        &format!("{when}, and {how:?} after {at} of {of} effects of the recovery"),
                    );
                    self.summary.again += 1;
                }
            }
            let Some(effect) = effects.get(at) else { break };
            before.replay(effect);
            at += 1;
        }
    }

    fn check_recovered(&self, mut machine: Machine, when: &str) {
        let looking = machine.check_everything();
        with_context(when, || self.runtime.block_on(looking).unwrap_or_else(|error| panic!("{error}")));
    }
}

/// Returns whether the state after this many effects, or what callers know of it, differs from the previous one.
fn has_changed(at: usize, effects: &[Effect], events: &ModelEvents) -> bool {
    let is_told = events.binary_search_by_key(&at, |(before, _)| *before).is_ok();
    at == 0 || is_told || !matches!(effects[at - 1], Effect::Asked)
}

/// Runs `work`. If it panics, the message says at which step.
fn with_context<T>(when: &str, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        panic!("{when}: {}", text.unwrap_or_default())
    })
}
