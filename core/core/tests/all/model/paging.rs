//! The schemes of the pager against an array: DetWoORAM, its eager form, and plain paging.

use super::setup::*;
use crate::pages::Pages;
use ameles_core::check_refusals;
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::schemes::detworam::{DetWoOram, DetWoParameters};
use ameles_core::schemes::eager::{EagerOram, EagerParameters};
use ameles_core::schemes::plain::{Plain, PlainParameters};
use ameles_core::schemes::write_schedule::WriteSchedule;
use ameles_core::store::Store;
use ameles_core::testing::parameters;
use ameles_core::testing::{
    ArrayModel, Executor, Operation, TraceEntry, TraceStore, exercise, finish_now, settle,
};
use ameles_core::types::{BlockId, Bucket, Slot};
use proptest::prelude::*;

const PAGES: Pages = Pages { block_bytes: 3, max_batch: MAX_BATCH };

/// N and M: any, equal, M = 1, N = 1, and ratios that do not divide.
fn sizes() -> impl Strategy<Value = (u64, u64)> {
    let any = (1u64..40).prop_flat_map(|main| (Just(main), 1..=main));
    prop_oneof![
        6 => any,
        1 => (1u64..40).prop_map(|n| (n, n)),
        1 => (1u64..40).prop_map(|n| (n, 1)),
        1 => Just((1, 1)),
    ]
}

pub(crate) fn small_areas() -> impl Strategy<Value = DetWoParameters> {
    sizes().prop_map(|(main, holding)| PAGES.areas(main, holding))
}

pub(crate) fn small_eager() -> impl Strategy<Value = EagerParameters> {
    (sizes(), 1u32..50).prop_map(|((main, holding), step)| PAGES.eager(main, holding, step))
}

pub(crate) fn small_plain() -> impl Strategy<Value = PlainParameters> {
    (1u64..40).prop_map(|capacity| PAGES.plain(capacity))
}

pub(crate) fn detworam<S: Store>(parameters: &DetWoParameters, store: S) -> DetWoOram<S> {
    DetWoOram::new(parameters.clone(), store).unwrap()
}

pub(crate) fn eager<S: Store>(parameters: &EagerParameters, store: S) -> EagerOram<S> {
    EagerOram::new(parameters.clone(), store).unwrap()
}

pub(crate) fn plain<S: Store>(parameters: &PlainParameters, store: S) -> Plain<S> {
    Plain::new(parameters.clone(), store).unwrap()
}

/// Batches as an adversary would have them: the accesses fall on the weakest places of the schedule.
fn adversarial(main: u64, holding: u64) -> impl Strategy<Value = Vec<Vec<Operation>>> {
    let write = |page: u64, seed: u64| Operation::Write(BlockId(page), seed as u8);
    let read = |page: u64| Operation::Read(BlockId(page));
    let pages = prop_oneof![
        // The same page forever.
        (0..main).prop_map(|page| vec![page]),
        // Sweeps, both ways.
        Just((0..main).collect()),
        Just((0..main).rev().collect()),
        // As many pages as the holding area has, or one less, or one more, over and over.
        (0..main, 0u64..3)
            .prop_map(move |(from, more)| (from..from + (holding + more).saturating_sub(1).max(1))
                .map(|page| page % main)
                .collect()),
        // The page that is refreshed by the very write, before and after it.
        (0..main).prop_map(move |by| {
            let schedule = WriteSchedule::new(main, holding).unwrap();
            (0..holding)
                .flat_map(|write| schedule.refreshes(write).next())
                .map(|slot| (slot + by) % main)
                .collect()
        }),
        // Anything.
        prop::collection::vec(0..main, 1..30),
    ];
    (pages, 1usize..200, any::<u64>()).prop_map(move |(pages, faults, seed): (Vec<u64>, _, _)| {
        (0..faults)
            .map(|nth| {
                let (page, mixed) = (pages[nth % pages.len()], seed.wrapping_mul(2 * nth as u64 + 1));
                match mixed >> 61 {
                    0 => vec![Operation::Dummy, read(page)],
                    1 => vec![write(page, mixed), read(page), write(page, mixed + 1)],
                    2 => vec![read(page)],
                    // A page out, a page in.
                    _ => vec![write(page, nth as u64), read(pages[(nth + 1) % pages.len()])],
                }
            })
            .collect()
    })
}

/// Returns the slots that the schedule has for this many writes, in order.
fn scheduled(main: u64, holding: u64, writes: u64) -> Vec<Bucket> {
    let schedule = WriteSchedule::new(main, holding).unwrap();
    let of_write = |write| {
        core::iter::once(main + schedule.holding_slot(write)).chain(schedule.refreshes(write)).map(Bucket)
    };
    (0..writes).flat_map(of_write).collect()
}

fn written(trace: &[TraceEntry]) -> Vec<Bucket> {
    let writes = trace.iter().filter_map(|entry| match entry {
        TraceEntry::Write(buckets) => Some(buckets.clone()),
        TraceEntry::Read(_) => None,
    });
    writes.flatten().collect()
}

fn count_writes(batches: &[Vec<Operation>]) -> u64 {
    batches.iter().flatten().filter(|operation| !matches!(operation, Operation::Read(_))).count() as u64
}

proptest! {
    #[test]
    fn detworam_answers_like_an_array_and_changes_slots_in_the_order_of_the_schedule(
        ((main, holding), batches) in sizes().prop_flat_map(|(n, m)| (Just((n, m)), adversarial(n, m))),
    ) {
        let store = TraceStore::new(PAGES.areas(main, holding).layout());
        let oram = DetWoOram::new(PAGES.areas(main, holding), &store).unwrap();
        exercise(&oram, &batches, true);
        let writes = count_writes(&batches);
        prop_assert_eq!(oram.writes(), writes);
        prop_assert_eq!(written(&store.take_trace()), scheduled(main, holding, writes));
    }

    #[test]
    fn eager_detworam_answers_like_an_array_and_changes_slots_in_the_order_of_the_schedule(
        ((main, holding), batches) in sizes().prop_flat_map(|(n, m)| (Just((n, m)), adversarial(n, m))),
        step in 1u32..50,
        prompt: bool,
    ) {
        let store = TraceStore::new(PAGES.areas(main, holding).layout());
        let oram = EagerOram::new(PAGES.eager(main, holding, step), &store).unwrap();
        exercise(&oram, &batches, prompt);
        finish_now(settle(&oram));
        let writes = count_writes(&batches);
        prop_assert_eq!(oram.writes(), writes);
        prop_assert_eq!(written(&store.take_trace()), scheduled(main, holding, writes));
    }

    #[test]
    fn eager_detworam_answers_like_an_array_in_whatever_order_the_store_finishes(
        ((main, holding), steps) in sizes().prop_flat_map(|(n, m)| (Just((n, m)), schedule(n))),
        step in 1u32..50,
    ) {
        let store = TraceStore::new(PAGES.areas(main, holding).layout());
        let oram = EagerOram::new(PAGES.eager(main, holding, step), &store).unwrap();
        drive(&oram, &store, &steps);
        finish_now(settle(&oram));
        prop_assert_eq!(written(&store.take_trace()), scheduled(main, holding, oram.writes()));
    }
}

#[test]
fn a_write_of_detworam_reads_what_is_due_at_once_and_writes_it_at_once() {
    let store = TraceStore::new(PAGES.areas(10, 3).layout());
    let oram = DetWoOram::new(PAGES.areas(10, 3), &store).unwrap();
    let mut model = ArrayModel::new(10, 3);
    let slots = |buckets: &[u64]| {
        TraceEntry::Read(buckets.iter().map(|bucket| Slot { bucket: Bucket(*bucket), index: 0 }).collect())
    };
    let buckets = |buckets: &[u64]| TraceEntry::Write(buckets.iter().copied().map(Bucket).collect());
    let write = |page| [Operation::Write(BlockId(page), 7)];
    finish_now(model.batch(&oram, &write(4)));
    assert_eq!(store.take_trace(), [slots(&[0, 1, 2]), buckets(&[10, 0, 1, 2])]);
    finish_now(model.batch(&oram, &[Operation::Read(BlockId(4))]));
    assert_eq!(store.take_trace(), [slots(&[10])]);
    // Page 4 is due now and its newest copy is in the holding area; page 5 is the one that is written.
    finish_now(model.batch(&oram, &write(5)));
    assert_eq!(store.take_trace(), [slots(&[3, 10, 5]), buckets(&[11, 3, 4, 5])]);
    finish_now(model.batch(&oram, &[Operation::Read(BlockId(4)), Operation::Read(BlockId(5))]));
    assert_eq!(store.take_trace(), [slots(&[4]), slots(&[5])]);
    // The last write of the round has four slots to refresh.
    finish_now(model.batch(&oram, &[Operation::Dummy]));
    assert_eq!(store.take_trace(), [slots(&[6, 7, 8, 9]), buckets(&[12, 6, 7, 8, 9])]);
    finish_now(model.read_all(&oram));
}

#[test]
fn a_write_of_eager_detworam_needs_no_store_once_it_was_idled_and_does_what_is_missing_otherwise() {
    for idled in 0..=4u64 {
        let store = TraceStore::new(PAGES.areas(8, 2).layout());
        let oram = EagerOram::new(PAGES.eager(8, 2, 3), &store).unwrap();
        let mut model = ArrayModel::new(8, 3);
        finish_now(settle(&oram));
        assert_eq!(store.take_trace().len(), 2, "four pages are preloaded in steps of three");
        finish_now(model.batch(&oram, &[Operation::Write(BlockId(1), 9), Operation::Read(BlockId(1))]));
        assert_eq!(store.take_trace(), [], "it is in the buffer, and read from there");
        assert_eq!(
            (oram.pending_steps(), oram.writes()),
            (4, 1),
            "two steps to unload five pages, two to preload four"
        );
        for step in 0..idled {
            finish_now(oram.step()).unwrap();
            assert_eq!(oram.pending_steps(), 3 - step);
        }
        store.take_trace();
        finish_now(model.batch(&oram, &[Operation::Write(BlockId(5), 8)]));
        let moved: Vec<(bool, usize)> = store
            .take_trace()
            .into_iter()
            .map(|entry| match entry {
                TraceEntry::Read(slots) => (false, slots.len()),
                TraceEntry::Write(buckets) => (true, buckets.len()),
            })
            .collect();
        let missing: &[(bool, usize)] = match idled {
            0 => &[(true, 5), (false, 4)],
            1 => &[(true, 2), (false, 4)],
            2 => &[(false, 4)],
            3 => &[(false, 1)],
            _ => &[],
        };
        assert_eq!(moved, missing, "after {idled} steps");
        finish_now(model.read_all(&oram));
    }
}

#[test]
fn reads_of_eager_detworam_never_wait_for_a_step_and_a_write_does() {
    let store = TraceStore::new(PAGES.areas(6, 2).layout());
    let oram = EagerOram::new(PAGES.eager(6, 2, 4), &store).unwrap();
    let mut model = ArrayModel::new(6, 3);
    for page in 0..6 {
        finish_now(model.batch(&oram, &[Operation::Write(BlockId(page), page as u8)]));
    }
    store.hold_back(true);
    // Unloading, then preloading: each is held back while every page is read.
    for _ in 0..2 {
        let mut executor = Executor::new();
        executor.spawn(async { oram.step().await.unwrap() });
        executor.run();
        assert_eq!(store.pending(), 1);
        for page in 0..6 {
            let before = executor.ended();
            executor.spawn(model.prepare(&[Operation::Read(BlockId(page))]).run(&oram));
            executor.run();
            if store.pending() == 2 {
                store.complete(1);
                executor.run();
            }
            assert_eq!(executor.ended(), before + 1, "page {page} waits");
        }
        executor.spawn(model.prepare(&[Operation::Write(BlockId(3), 77)]).run(&oram));
        executor.run();
        assert_eq!((executor.unfinished(), store.pending()), (2, 1), "the write waits for the step");
        while store.pending() > 0 {
            store.complete(0);
            executor.run();
        }
        assert_eq!(executor.unfinished(), 0);
        if oram.pending_steps() > 0 {
            store.hold_back(false);
            finish_now(oram.step()).unwrap();
            store.hold_back(true);
        }
    }
    store.hold_back(false);
    finish_now(model.read_all(&oram));
}

#[test]
fn a_write_that_waits_for_a_step_that_fails_is_not_answered() {
    let store = TraceStore::new(PAGES.areas(6, 2).layout());
    let oram = EagerOram::new(PAGES.eager(6, 2, 2), &store).unwrap();
    store.hold_back(true);
    let mut executor = Executor::new();
    executor.spawn(async {
        assert!(matches!(oram.step().await, Err(OramError::Store(_))));
    });
    executor.spawn(async {
        assert!(matches!(oram.access(&mut [Access::Dummy]).await, Err(OramError::Poisoned)));
    });
    executor.run();
    store.fail(0);
    executor.run();
    assert_eq!(executor.unfinished(), 0);
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    check_refusals!(
        PAGES.areas(4, 2),
        ("capacity is 4294967296", |p| p.capacity = 1 << 32),
        ("holding is 5", |p| p.holding = 5),
    );
    parameters::check_refusals(
        &PAGES.eager(4, 2, 1),
        EagerParameters::validate,
        &[("step_pages is 0", |p| p.step_pages = 0)],
    );
    check_refusals!(PAGES.plain(1));
}

#[test]
fn a_ratio_that_does_not_divide_gets_a_holding_area_that_is_large_enough() {
    for (capacity, ratio, holding) in [(16_384, 7, 2341), (100, 3, 34), (5, 15, 1), (10, 0, 10)] {
        let parameters = DetWoParameters::for_ratio(capacity, ratio, 4096);
        assert_eq!(parameters.holding, holding);
        let schedule = parameters.schedule().unwrap();
        assert!(schedule.max_refreshes() <= ratio.max(1), "{capacity} pages, ratio {ratio}");
    }
}

#[test]
fn trusted_bytes_are_the_position_map_and_the_buffer() {
    let parameters = DetWoParameters::for_ratio(16_384, 7, 4096);
    let store = TraceStore::new(parameters.layout());
    let det = DetWoOram::new(parameters.clone(), &store).unwrap();
    let eager = EagerOram::new(EagerParameters { areas: parameters, step_pages: 8 }, &store).unwrap();
    let (map, buffer) = (4 * 16_384, 8 * 4096);
    for bytes in [det.trusted_bytes(), eager.trusted_bytes()] {
        assert!((map + buffer..map + buffer + 1024).contains(&bytes), "{bytes}");
    }
    let plain = Plain::new(PAGES.plain(16_384), &store).unwrap();
    assert!(plain.trusted_bytes() < 64);
}

#[test]
fn a_scheme_can_be_handed_to_the_thread_that_serves_faults() {
    fn movable<T: Send>() {}
    movable::<DetWoOram<Vec<u8>>>();
    movable::<EagerOram<Vec<u8>>>();
    movable::<Plain<Vec<u8>>>();
}
