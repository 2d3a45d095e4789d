//! The write-only schemes of the pager: in snapshots every program changes the same slots, in reads each shows itself.
//! And the ways to break them that come to mind first.

use super::setup::*;
use crate::pages::Pages;
use ameles_core::schemes::detworam::DetWoOram;
use ameles_core::schemes::eager::EagerOram;
use ameles_core::schemes::plain::Plain;
use ameles_core::testing::mutants::{Mistake, SkipsCleanWrites, SkipsUnchanged, WritesOnce, WrongSchedule};
use ameles_core::testing::oblivious::programs::{count_writes, faults, programs, pseudocode_1};
use ameles_core::testing::oblivious::schedule::{Schedule, observer};
use ameles_core::testing::oblivious::views::view;
use ameles_core::testing::oblivious::{
    Adversary, Judgement, Pace, Program, Trial, judge, judge_views, run_script,
};
use ameles_core::testing::{Operation, TraceStore};

/// N and M of each case: they divide or do not, are equal, are 1.
const SIZES: [(u64, u64); 6] = [(12, 4), (15, 11), (10, 3), (7, 7), (9, 1), (1, 1)];
const FAULTS: usize = 60;

const PAGES: Pages = Pages { block_bytes: 1, max_batch: MAX_BATCH };

/// Runs what the last expression builds over a store.
macro_rules! trial {
    ($layout:expr, $operations:expr, $pace:expr, |$store:ident| $oram:expr) => {{
        let operations: Vec<Vec<Operation>> = $operations;
        let owned = TraceStore::new($layout);
        let $store = &owned;
        let events = run_script(&$oram, $store, &operations, 0, $pace, current_work());
        Trial { operations, events }
    }};
}

/// A way to run a scheme.
type Run<'a> = &'a dyn Fn(Vec<Vec<Operation>>, Pace) -> Trial;

/// A scheme, and the facts that its adversary knows.
struct Pager<'a> {
    main: u64,
    holding: u64,
    late: u64,
    run: Run<'a>,
}

impl Pager<'_> {
    fn schedule(&self, operations: &[Vec<Operation>]) -> Schedule {
        let writes = count_writes(operations);
        Schedule { main: self.main, holding: self.holding, writes, late: self.late }
    }

    /// Two programs that fault equally often, `together` faults a batch.
    fn judge(
        &self,
        adversary: Adversary,
        pair: (Program, Program),
        together: usize,
        pace: Pace,
    ) -> Judgement {
        let operations = |program: Program| program.operations(self.main, FAULTS, together, 1);
        self.judge_operations(adversary, (operations(pair.0), operations(pair.1)), pace)
    }

    fn judge_operations(
        &self,
        adversary: Adversary,
        (one, other): (Vec<Vec<Operation>>, Vec<Vec<Operation>>),
        pace: Pace,
    ) -> Judgement {
        assert_eq!(count_writes(&one), count_writes(&other), "how often pages go out is not a secret");
        let schedule = self.schedule(&one);
        let observer = || observer(schedule.clone());
        judge_views(adversary, observer, &[(self.run)(one, pace)], &[(self.run)(other, pace)])
    }
}

const PACES: [Pace; 2] = [Pace::Prompt, Pace::Late];

/// Every pair of programs shows a snapshot adversary one and the same, which is the schedule.
fn must_pass(name: &str, pager: &Pager<'_>) {
    let programs = programs(pager.holding);
    for together in [1, 2] {
        for program in programs {
            for pace in PACES {
                let pair = (programs[0], program);
                let judgement = pager.judge(Adversary::Snapshot, pair, together, pace);
                assert!(judgement.passes(), "{name}, {pair:?}, {together}, {pace:?}: {judgement}");
            }
            // While accesses run, the order of changes is the same, however they group.
            for seed in 0..4 {
                let trial =
                    (pager.run)(program.operations(pager.main, FAULTS, together, 1), Pace::Concurrent(seed));
                let schedule = pager.schedule(&trial.operations);
                let judgement = judge(1, |_| observer(schedule.clone()), core::slice::from_ref(&trial), &[]);
                assert!(judgement.passes(), "{name}, {program:?}, {together}, beside: {judgement}");
            }
        }
    }
}

#[test]
fn detworam_changes_the_same_slots_for_every_program() {
    for (main, holding) in SIZES {
        let parameters = PAGES.areas(main, holding);
        let run: Run<'_> = &|operations, pace| {
            trial!(parameters.layout(), operations, pace, |store| {
                DetWoOram::new(parameters.clone(), store).expect("valid parameters")
            })
        };
        must_pass("DetWoORAM", &Pager { main, holding, late: 0, run });
    }
}

#[test]
fn eager_detworam_changes_the_same_slots_for_every_program() {
    for (main, holding) in SIZES {
        for step_pages in [1, 3, 100] {
            let parameters = PAGES.eager(main, holding, step_pages);
            let run: Run<'_> = &|operations, pace| {
                trial!(parameters.layout(), operations, pace, |store| {
                    EagerOram::new(parameters.clone(), store).expect("valid parameters")
                })
            };
            must_pass("Eager", &Pager { main, holding, late: 1, run });
        }
    }
}

fn run_det(operations: Vec<Vec<Operation>>, pace: Pace) -> Trial {
    let parameters = PAGES.areas(15, 11);
    trial!(parameters.layout(), operations, pace, |store| DetWoOram::new(parameters.clone(), store).unwrap())
}

fn run_eager(operations: Vec<Vec<Operation>>, pace: Pace) -> Trial {
    let parameters = PAGES.eager(15, 11, 2);
    trial!(parameters.layout(), operations, pace, |store| EagerOram::new(parameters.clone(), store).unwrap())
}

fn run_plain(operations: Vec<Vec<Operation>>, pace: Pace) -> Trial {
    let parameters = PAGES.plain(15);
    trial!(parameters.layout(), operations, pace, |store| Plain::new(parameters.clone(), store).unwrap())
}

fn pager(run: Run<'_>, late: u64) -> Pager<'_> {
    Pager { main: 15, holding: 11, late, run }
}

#[test]
fn reads_give_a_write_only_oram_away_to_whoever_sees_them() {
    use Program::*;
    for pager in [pager(&run_det, 0), pager(&run_eager, 1)] {
        for pair in [(OnePage, Sweep), (Sweep, CleanBackwards), (OnePage, ReadsUnwritten), (TwoPages, Random)]
        {
            let judgement = pager.judge(Adversary::Full, pair, 1, Pace::Prompt);
            assert!(judgement.alarmed("one view"), "{pair:?}: {judgement}");
            assert!(!judgement.alarmed("shape"), "the writes are as they should be: {judgement}");
        }
    }
}

#[test]
fn plain_paging_gives_every_program_away_to_whoever_sees_snapshots() {
    use Program::*;
    let pager = pager(&run_plain, 0);
    for pair in [(OnePage, Sweep), (Sweep, CleanBackwards), (TwoPages, Random)] {
        let judgement = pager.judge(Adversary::Snapshot, pair, 1, Pace::Prompt);
        assert!(judgement.alarmed("one view") && judgement.alarmed("shape"), "{pair:?}: {judgement}");
    }
}

#[test]
fn pseudocode_1_tells_its_secret_under_plain_paging_only() {
    let operations = |secret| faults(&pseudocode_1(secret, 5), 3);
    let (one, other) = (operations(1), operations(2));
    assert_eq!(
        (one.len(), one.iter().map(Vec::len).collect::<Vec<_>>()),
        (other.len(), other.iter().map(Vec::len).collect())
    );
    let judge = |pager: &Pager<'_>, adversary| {
        pager.judge_operations(adversary, (one.clone(), other.clone()), Pace::Prompt)
    };
    // An adversary that has both views beforehand reads the secret off a third.
    for secret in [1, 2] {
        let observed =
            |secret| view(Adversary::Snapshot, &run_plain(operations(secret), Pace::Prompt).events);
        assert_eq!(observed(secret) == observed(1), secret == 1);
    }
    assert!(judge(&pager(&run_plain, 0), Adversary::Snapshot).alarmed("one view"));
    for pager in [pager(&run_det, 0), pager(&run_eager, 1)] {
        assert!(judge(&pager, Adversary::Snapshot).passes());
        assert!(judge(&pager, Adversary::Full).alarmed("one view"));
    }
}

/// The judge alarms under `Snapshot` with this finding, and passes the sound scheme on the same programs.
fn assert_caught(broken: Run<'_>, late: u64, pair: (Program, Program), together: usize, finding: &str) {
    let sound: Run<'_> = if late == 0 { &run_det } else { &run_eager };
    for pace in PACES {
        assert!(pager(sound, late).judge(Adversary::Snapshot, pair, together, pace).passes());
        let judgement = pager(broken, late).judge(Adversary::Snapshot, pair, together, pace);
        assert!(judgement.alarmed(finding), "{pair:?}, {pace:?}: {judgement}");
    }
}

/// A run of the scheme that the last expression builds, for the sizes of [`pager`].
macro_rules! broken {
    (|$store:ident| $oram:expr) => {
        &|operations, pace| trial!(PAGES.areas(15, 11).layout(), operations, pace, |$store| $oram)
    };
}

fn det<S: ameles_core::store::Store>(store: S) -> DetWoOram<S> {
    DetWoOram::new(PAGES.areas(15, 11), store).expect("valid parameters")
}

fn eager_over<S: ameles_core::store::Store>(store: S) -> EagerOram<S> {
    EagerOram::new(PAGES.eager(15, 11, 2), store).expect("valid parameters")
}

#[test]
fn a_refresh_that_is_skipped_where_the_page_is_in_place_is_caught() {
    use Program::*;
    let run: Run<'_> = broken!(|store| det(SkipsUnchanged::new(store, 15)));
    assert_caught(run, 0, (OnePage, Sweep), 1, "shape");
    let run: Run<'_> = broken!(|store| eager_over(SkipsUnchanged::new(store, 15)));
    assert_caught(run, 1, (OnePage, Sweep), 1, "shape");
}

#[test]
fn an_unload_that_skips_clean_pages_is_caught() {
    use Program::*;
    let run: Run<'_> = broken!(|store| eager_over(SkipsUnchanged::new(store, 15 + 11)));
    assert_caught(run, 1, (OneDirtyPage, Random), 1, "shape");
}

#[test]
fn a_write_that_is_dropped_for_a_later_one_of_the_same_page_is_caught() {
    use Program::*;
    let run: Run<'_> = broken!(|store| WritesOnce(det(store)));
    assert_caught(run, 0, (OneDirtyPage, Sweep), 2, "one: shape");
    let run: Run<'_> = broken!(|store| WritesOnce(eager_over(store)));
    assert_caught(run, 1, (OneDirtyPage, Sweep), 2, "one: shape");
}

#[test]
fn a_clean_page_that_is_not_written_is_caught() {
    use Program::*;
    let run: Run<'_> = broken!(|store| SkipsCleanWrites::new(det(store)));
    assert_caught(run, 0, (Sweep, CleanBackwards), 1, "other: shape");
    let run: Run<'_> = broken!(|store| SkipsCleanWrites::new(eager_over(store)));
    assert_caught(run, 1, (Sweep, CleanBackwards), 1, "other: shape");
}

#[test]
fn a_schedule_that_is_computed_wrongly_is_caught() {
    for mistake in [Mistake::Rounds, Mistake::ReducesAsAPair] {
        let run: Run<'_> = broken!(|store| WrongSchedule::new(PAGES.areas(15, 11), store, mistake));
        assert_caught(run, 0, (Program::OnePage, Program::Sweep), 1, "shape");
    }
}
