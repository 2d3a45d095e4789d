//! The pace at which a driver does the pending work. It decides by public facts only.

use super::super::array_model::{ArrayModel, Operation};
use super::super::driver::{Driver, Event, Work};
use super::super::trace_store::TraceStore;
use super::observer::draw_below;
use crate::oram::Oram;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::Cell;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// The pace at which a driver does the pending work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// All work is done after each batch.
    Prompt,
    /// The work is done as late as possible.
    Late,
    /// The work is done in parallel with the accesses. The store finishes in an order drawn from a public seed. The
    /// first batches, which write the contents of the store, are run promptly.
    Concurrent(u64),
    /// The work is done as in `Concurrent`, with two steps of off-line work at a time.
    Overlapping(u64),
    /// The work is done as in `Overlapping`, with as many batches in flight as the scheme allows.
    Pipelined(u64),
}

/// Runs a script on an ORAM that was never used, and gives back all that showed. `current_work` learns whose work is
/// polled.
///
/// # Panics
/// If the ORAM answers anything else than a plain array, fails, waits forever or makes an emergency eviction.
pub fn run_script<O: Oram>(
    oram: &O,
    store: &TraceStore,
    script: &[Vec<Operation>],
    prompt: usize,
    pace: Pace,
    current_work: Rc<Cell<Work>>,
) -> Vec<Event> {
    let model = ArrayModel::new(oram.capacity(), oram.block_bytes());
    let mut driver = Driver::new(oram, store, model);
    driver.report_current_work(current_work);
    let (first, rest) = script.split_at(prompt.min(script.len()));
    for batch in first {
        driver.begin_access(batch);
        while driver.query_pending().0 > 0 {
            driver.begin_step();
        }
    }
    match pace {
        Pace::Prompt | Pace::Late => {
            for batch in rest {
                driver.begin_access(batch);
                let goes_on = |(pending_steps, must_step): (u64, bool)| {
                    must_step || (pace == Pace::Prompt && pending_steps > 0)
                };
                while goes_on(driver.query_pending()) {
                    driver.begin_step();
                }
            }
        }
        Pace::Concurrent(seed) => run_concurrently(&mut driver, rest, (1, 1), seed),
        Pace::Overlapping(seed) => run_concurrently(&mut driver, rest, (1, 2), seed),
        Pace::Pipelined(seed) => {
            run_concurrently(&mut driver, rest, (oram.max_concurrent_batches(), 2), seed);
        }
    }
    assert_eq!(oram.emergencies(), 0, "an eviction outside of the public schedule");
    driver.take_events()
}

fn run_concurrently<O: Oram>(
    driver: &mut Driver<'_, O>,
    script: &[Vec<Operation>],
    (max_concurrent_batches, max_concurrent_steps): (usize, usize),
    seed: u64,
) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut batches = script.iter();
    driver.hold_back(true);
    loop {
        let (pending_steps, must_step) = driver.query_pending();
        let can_access = driver.accesses() < max_concurrent_batches && !must_step && batches.len() > 0;
        let can_step = driver.steps() < max_concurrent_steps && pending_steps > 0;
        let others = usize::from(can_access) + usize::from(can_step);
        match others + driver.waiting_for_store().len() {
            0 => break,
            kinds => match draw_below(&mut random, kinds) {
                0 if can_access => driver.begin_access(batches.next().expect("there is one")),
                nth if nth < others => driver.begin_step(),
                nth => driver.complete(nth - others),
            },
        }
    }
    driver.finish();
    assert_eq!(batches.len(), 0, "work waits for an operation that no one will complete");
    driver.hold_back(false);
}
