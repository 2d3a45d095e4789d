//! Every scheme refuses what is beyond its bounds, and answers nothing once an operation failed or was dropped.

use super::parameters::SchemeParameters;
use super::runs::write_all;
use super::{Scheme, check, check_few};
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::testing::{ArrayModel, Executor, TraceStore, TraceStoreError, finish_now, settle};
use ameles_core::types::BlockId;
use proptest::prelude::*;
use proptest::sample::Index;
use std::cell::{Cell, RefCell};

/// The number of dummies after which a scheme that ever has pending steps must run one.
const DUMMIES: usize = 200;
/// The number of accesses of the work that is interrupted at a point that is drawn.
const ACCESSES: u64 = 24;
/// The number of accesses of the work that is interrupted at each of its points, and the most points of it.
const FEW_ACCESSES: u64 = 4;
const MAX_POINTS: usize = 200;

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

/// The progress of work that is interrupted.
#[derive(Default)]
struct Progress {
    has_steps: Cell<bool>,
    /// The number of accesses that were served.
    served: Cell<u64>,
}

/// Writes this many blocks in turn, and runs what is pending after every third.
async fn work<O: Oram>(oram: &O, accesses: u64, progress: &Progress) -> Result<(), OramError<O::Error>> {
    let payload = vec![1; oram.block_bytes()];
    for nth in 0..accesses {
        while oram.must_step() || nth % 3 == 2 && oram.pending_steps() > 0 {
            progress.has_steps.set(true);
            oram.step().await?;
        }
        oram.access(&mut [Access::Write(BlockId(nth % oram.capacity()), &payload)]).await?;
        progress.served.set(nth + 1);
    }
    Ok(())
}

/// Lets store operations finish one by one, at most this many. Returns how many did.
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

impl<P: SchemeParameters, O: Oram<Error = TraceStoreError>> Scheme<P, O> {
    /// A refusal shows nothing and changes nothing, for an access out of bounds or for a step that must run first. The
    /// scheme continues as if the request had never come.
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

    /// After an operation of the store failed, the scheme answers nothing. It is the same after the future of an access
    /// or a step was dropped while it waited for the store.
    pub(super) fn is_silent_after_a_failure(&self) {
        self.interrupts_at_any_point(&[true, false], |oram, progress| {
            let mut read = vec![0; oram.block_bytes()];
            for access in [Access::Dummy, Access::Read(BlockId(0), &mut read)] {
                let outcome = finish_now(oram.access(&mut [access]));
                assert!(matches!(outcome, Err(OramError::Poisoned)), "{outcome:?}");
            }
            if progress.has_steps.get() {
                let outcome = finish_now(oram.step());
                assert!(matches!(outcome, Err(OramError::Poisoned)), "{outcome:?}");
            }
        });
        self.refuses_those_that_wait_for_a_failure();
    }

    /// A scheme that keeps no state has lost nothing after a failure of the store. Blocks that were written before or
    /// after the failure read as they were written.
    pub(super) fn loses_nothing_by_a_failure(&self) {
        self.interrupts_at_any_point(&[true], |oram, progress| {
            let mut read = vec![0; oram.block_bytes()];
            for block in 0..progress.served.get().min(oram.capacity()) {
                finish_now(oram.access(&mut [Access::Read(BlockId(block), &mut read)])).unwrap();
                assert!(read.iter().all(|byte| *byte == 1), "block {block}");
            }
            let mut model = ArrayModel::new(oram.capacity(), oram.block_bytes());
            write_all(oram, &mut model);
            finish_now(model.read_all(oram));
        });
    }

    /// Interrupts long work at a point that is drawn, and short work at each of its points. Checks the scheme after
    /// each. `fails` has the ways: the store fails, or the future is dropped.
    fn interrupts_at_any_point(&self, fails: &[bool], check_after: impl Fn(&O, &Progress)) {
        let cases = self.with(|_| (any::<u64>(), any::<Index>(), any::<Index>()));
        check(cases, |(parameters, (seed, at, way))| {
            let fails = *way.get(fails);
            let operations = self.operations_of_work(&parameters, seed, ACCESSES);
            if operations > 0 {
                let (oram, progress) =
                    self.interrupted((&parameters, seed), ACCESSES, at.index(operations), fails);
                check_after(&oram, &progress);
            }
        });
        check_few(self.with(|_| any::<u64>()), |(parameters, seed)| {
            let operations = self.operations_of_work(&parameters, seed, FEW_ACCESSES);
            let points = if operations <= MAX_POINTS { operations } else { 0 };
            for (at, fails) in (0..points).flat_map(|at| fails.iter().map(move |fails| (at, *fails))) {
                let (oram, progress) = self.interrupted((&parameters, seed), FEW_ACCESSES, at, fails);
                check_after(&oram, &progress);
            }
        });
    }

    /// Returns the number of store operations of work that is not interrupted.
    fn operations_of_work(&self, parameters: &P, seed: u64, accesses: u64) -> usize {
        let (oram, store) = self.new_oram(parameters, seed);
        store.hold_back(true);
        let progress = Progress::default();
        let mut executor = Executor::new();
        executor.spawn(async { work(&oram, accesses, &progress).await.unwrap() });
        complete(&mut executor, &store, usize::MAX)
    }

    /// Returns a scheme whose work was interrupted after this many store operations: the next one failed, or the future
    /// of the work was dropped.
    fn interrupted(
        &self,
        (parameters, seed): (&P, u64),
        accesses: u64,
        at: usize,
        fails: bool,
    ) -> (O, Progress) {
        let (oram, store) = self.new_oram(parameters, seed);
        store.hold_back(true);
        let (outcome, progress) = (RefCell::new(None), Progress::default());
        let mut executor = Executor::new();
        executor.spawn(async { *outcome.borrow_mut() = Some(work(&oram, accesses, &progress).await) });
        complete(&mut executor, &store, at);
        assert!(store.pending() > 0);
        if fails {
            store.fail(0);
            executor.run();
            let outcome = outcome.take();
            assert!(matches!(outcome, Some(Err(OramError::Store(_)))), "{outcome:?}");
        }
        drop(executor);
        store.hold_back(false);
        (oram, progress)
    }

    /// An access is refused if it waits behind another one whose store operation fails.
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
            let early = second.take();
            store.fail(0);
            executor.run();
            // It may have reads of its own in flight.
            while second.borrow().is_none() && store.pending() > 0 {
                store.complete(0);
                executor.run();
            }
            let (first, second) = (first.take(), second.take());
            assert!(matches!(first, Some(Err(OramError::Store(_)))), "{first:?}");
            match early {
                None => assert!(matches!(second, Some(Err(OramError::Poisoned))), "{second:?}"),
                // The first access left no room for another one before a step.
                early => assert!(matches!(early, Some(Err(OramError::Backlogged))), "{early:?}"),
            }
        });
    }
}
