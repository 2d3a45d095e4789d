//! The pace at which a driver does what is owed. It decides by public facts only.

use super::super::array_model::{ArrayModel, Operation};
use super::super::stage::{Event, Stage, Work};
use super::super::trace_store::TraceStore;
use super::watch::draw_below;
use crate::oram::Oram;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::Cell;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// The pace at which a driver does what is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// All of it, after each batch.
    Prompt,
    /// As late as may be.
    Late,
    /// Beside the accesses, the store getting done in an order drawn from a public seed. The contents of the store by
    /// then are written promptly.
    Beside(u64),
    /// The same, with two steps of off-line work at a time.
    Overlapping(u64),
}

/// Runs a script on an ORAM that was never used, and gives back all that showed. `working` learns whose work is polled.
///
/// # Panics
/// If the ORAM answers anything else than a plain array, fails, waits forever or makes an emergency eviction.
pub fn run_script<O: Oram>(
    oram: &O,
    store: &TraceStore,
    script: &[Vec<Operation>],
    prompt: usize,
    pace: Pace,
    working: Rc<Cell<Work>>,
) -> Vec<Event> {
    let model = ArrayModel::new(oram.capacity(), oram.block_bytes());
    let mut stage = Stage::new(oram, store, model);
    stage.report_work_to(working);
    let (first, rest) = script.split_at(prompt.min(script.len()));
    for batch in first {
        stage.begin_access(batch);
        while stage.owes().0 > 0 {
            stage.begin_idle();
        }
    }
    match pace {
        Pace::Prompt | Pace::Late => {
            for batch in rest {
                stage.begin_access(batch);
                let goes_on =
                    |(owed, must_step): (u64, bool)| must_step || (pace == Pace::Prompt && owed > 0);
                while goes_on(stage.owes()) {
                    stage.begin_idle();
                }
            }
        }
        Pace::Beside(seed) => beside(&mut stage, rest, 1, seed),
        Pace::Overlapping(seed) => beside(&mut stage, rest, 2, seed),
    }
    assert_eq!(oram.emergencies(), 0, "an eviction outside of the public schedule");
    stage.take_events()
}

fn beside<O: Oram>(
    stage: &mut Stage<'_, O>,
    script: &[Vec<Operation>],
    max_concurrent_steps: usize,
    seed: u64,
) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut batches = script.iter();
    stage.hold_back(true);
    loop {
        let (owed, must_step) = stage.owes();
        let can_access = !stage.is_accessing() && !must_step && batches.len() > 0;
        let can_idle = stage.idles() < max_concurrent_steps && owed > 0;
        let others = usize::from(can_access) + usize::from(can_idle);
        match others + stage.asking().len() {
            0 => break,
            kinds => match draw_below(&mut random, kinds) {
                0 if can_access => stage.begin_access(batches.next().expect("there is one")),
                nth if nth < others => stage.begin_idle(),
                nth => stage.complete(nth - others),
            },
        }
    }
    stage.finish();
    assert_eq!(batches.len(), 0, "work waits for something that nobody will do");
    stage.hold_back(false);
}
