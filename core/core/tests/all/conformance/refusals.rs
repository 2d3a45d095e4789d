//! Every scheme refuses what is beyond its bounds, and answers nothing once an operation failed or was dropped.

use super::runs::write_all;
use super::{Scheme, check};
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::testing::{ArrayModel, Executor, TraceStore, TraceStoreError, finish_now, settle};
use ameles_core::types::BlockId;
use proptest::prelude::*;
use proptest::sample::Index;
use std::cell::{Cell, RefCell};
use std::fmt::Debug;

/// Dummies after which a scheme that ever has pending steps must run one.
const DUMMIES: usize = 200;
/// Accesses of the work that is interrupted.
const ACCESSES: u64 = 24;

/// Asserts that what is beyond the bounds is refused with its reason, shows nothing, and makes no step pending; an
/// empty batch shows nothing either.
fn assert_refuses_up_front<O: Oram>(oram: &O, store: &TraceStore) {
    let refused = |batch: &mut [Access<'_>]| finish_now(oram.access(batch)).unwrap_err();
    let (capacity, block_bytes, max) = (oram.capacity(), oram.block_bytes(), oram.max_batch());
    let (pending, beyond) = (oram.pending_steps(), BlockId(capacity));
    let (mut fitting, long) = (vec![0; block_bytes], vec![0; block_bytes + 1]);
    match refused(&mut [Access::Read(beyond, &mut fitting)]) {
        OramError::OutOfRange { block, capacity: of } => assert_eq!((block, of), (beyond, capacity)),
        other => panic!("{other}"),
    }
    match refused(&mut [Access::Write(BlockId(0), &long)]) {
        OramError::WrongLength { len, block_bytes: of } => {
            assert_eq!((len, of), (long.len(), block_bytes));
        }
        other => panic!("{other}"),
    }
    let mut too_many: Vec<Access<'_>> = (0..=max).map(|_| Access::Dummy).collect();
    match refused(&mut too_many) {
        OramError::BatchTooLarge { len, max: of } => assert_eq!((len, of), (max + 1, max)),
        other => panic!("{other}"),
    }
    finish_now(oram.access(&mut [])).expect("an empty batch");
    assert_eq!((store.take_trace(), oram.pending_steps()), (vec![], pending));
}

/// Writes blocks in turn, and runs what is pending after every third.
async fn work<O: Oram>(oram: &O, has_steps: &Cell<bool>) -> Result<(), OramError<O::Error>> {
    let payload = vec![1; oram.block_bytes()];
    for nth in 0..ACCESSES {
        while oram.must_step() || nth % 3 == 2 && oram.pending_steps() > 0 {
            has_steps.set(true);
            oram.step().await?;
        }
        oram.access(&mut [Access::Write(BlockId(nth % oram.capacity()), &payload)]).await?;
    }
    Ok(())
}

/// Returns whether an access was not answered: the scheme is poisoned, or asks for a step that will not succeed.
fn is_silent(outcome: &Result<(), OramError<TraceStoreError>>) -> bool {
    matches!(outcome, Err(OramError::Poisoned | OramError::Backlogged))
}

/// Lets store operations finish one by one, at most so many. Returns how many did.
fn complete(executor: &mut Executor<'_>, store: &TraceStore, max: usize) -> usize {
    executor.run();
    let mut completed = 0;
    while executor.unfinished() > 0 && completed < max {
        assert!(store.pending() > 0, "work waits for an operation that no one will complete");
        store.complete(0);
        executor.run();
        completed += 1;
    }
    completed
}

impl<P: Clone + Debug + 'static, O: Oram<Error = TraceStoreError>> Scheme<P, O> {
    /// A refusal, out of bounds or for a step that must run first, shows nothing and changes nothing: the scheme goes
    /// on as one that was never asked.
    pub(super) fn refuses_without_a_mark(&self) {
        check(self.with(|_| any::<u64>()), |(parameters, seed)| {
            let run = |refuses: bool| {
                let (oram, store) = self.new_oram(&parameters, seed);
                if refuses {
                    assert_refuses_up_front(&oram, &store);
                }
                for _ in (0..DUMMIES).take_while(|_| !oram.must_step()) {
                    finish_now(oram.access(&mut [Access::Dummy])).unwrap();
                }
                let mut trace = store.take_trace();
                if refuses && oram.must_step() {
                    let outcome = finish_now(oram.access(&mut [Access::Dummy]));
                    assert!(matches!(outcome, Err(OramError::Backlogged)), "{outcome:?}");
                    assert_eq!(store.take_trace(), []);
                }
                finish_now(settle(&oram));
                assert_eq!((oram.pending_steps(), oram.must_step()), (0, false));
                write_all(&oram, &mut ArrayModel::new(oram.capacity(), oram.block_bytes()));
                trace.extend(store.take_trace());
                (trace, store.contents())
            };
            assert!(run(true) == run(false), "a refusal left a mark");
        });
    }

    /// Once any operation of the store failed, or the future of an access or a step was dropped while it waited for the
    /// store, the scheme answers nothing.
    pub(super) fn is_silent_after_a_failure(&self) {
        let cases = self.with(|_| (any::<u64>(), any::<Index>(), any::<bool>()));
        check(cases, |(parameters, (seed, at, fails))| {
            let has_steps = Cell::new(false);
            let operations = {
                let (oram, store) = self.new_oram(&parameters, seed);
                store.hold_back(true);
                let mut executor = Executor::new();
                executor.spawn(async { work(&oram, &has_steps).await.unwrap() });
                complete(&mut executor, &store, usize::MAX)
            };
            if operations == 0 {
                return;
            }
            let (oram, store) = self.new_oram(&parameters, seed);
            store.hold_back(true);
            let outcome = RefCell::new(None);
            let mut executor = Executor::new();
            executor.spawn(async { *outcome.borrow_mut() = Some(work(&oram, &has_steps).await) });
            complete(&mut executor, &store, at.index(operations));
            assert!(store.pending() > 0);
            if fails {
                store.fail(0);
                executor.run();
                let outcome = outcome.take();
                assert!(matches!(outcome, Some(Err(OramError::Store(_)))), "{outcome:?}");
            }
            drop(executor);
            store.hold_back(false);
            let mut read = vec![0; oram.block_bytes()];
            for access in [Access::Dummy, Access::Read(BlockId(0), &mut read)] {
                let outcome = finish_now(oram.access(&mut [access]));
                assert!(is_silent(&outcome), "{outcome:?}");
            }
            if has_steps.get() {
                let outcome = finish_now(oram.step());
                assert!(matches!(outcome, Err(OramError::Poisoned)), "{outcome:?}");
            }
        });
        self.refuses_those_that_wait_for_a_failure();
    }

    /// An access that waits behind another one whose store operation fails is refused.
    fn refuses_those_that_wait_for_a_failure(&self) {
        check(self.with(|_| any::<u64>()), |(parameters, seed)| {
            let (oram, store) = self.new_oram(&parameters, seed);
            write_all(&oram, &mut ArrayModel::new(oram.capacity(), oram.block_bytes()));
            let payload = vec![1; oram.block_bytes()];
            let (first, second) = (RefCell::new(None), RefCell::new(None));
            store.hold_back(true);
            let mut executor = Executor::new();
            for outcome in [&first, &second] {
                executor.spawn(async {
                    let access = Access::Write(BlockId(0), &payload);
                    *outcome.borrow_mut() = Some(oram.access(&mut [access]).await);
                });
            }
            executor.run();
            if first.borrow().is_some() {
                return;
            }
            store.fail(0);
            executor.run();
            let (first, second) = (first.take(), second.take());
            assert!(matches!(first, Some(Err(OramError::Store(_)))), "{first:?}");
            assert!(second.as_ref().is_some_and(is_silent), "{second:?}");
        });
    }
}
