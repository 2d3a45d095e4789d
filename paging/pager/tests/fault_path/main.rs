//! The five steps of a fault, over page tables that are a plain array.

mod table;

use ameles_core::oram::{Oram, OramError};
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::detworam::{DetWoOram, DetWoParameters};
use ameles_core::schemes::eager::{EagerOram, EagerParameters};
use ameles_core::schemes::path::{PathOram, PathParameters};
use ameles_core::schemes::plain::{Plain, PlainParameters};
use ameles_core::schemes::write_schedule::WriteSchedule;
use ameles_core::store::Store;
use ameles_core::testing::{ArrayStore, TraceEntry, TraceStore};
use ameles_core::types::{Bucket, Slot};
use ameles_pager::fault::error::{FaultError, FaultPathError};
use ameles_pager::fault::path::{FaultOutcome, FaultPath};
use ameles_pager::fault::policy::Policy;
use proptest::prelude::*;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;
use std::rc::Rc;
use table::Table;

const PAGE_BYTES: usize = 32;

/// A program: it touches pages, and faults where they are absent.
struct Program<O> {
    path: FaultPath<O>,
    table: Table,
}

impl<O: Oram> Program<O> {
    fn new(oram: O, resident: usize, policy: Policy) -> Self {
        let table = Table::new(oram.capacity(), policy);
        Program { path: FaultPath::new(oram, resident, policy).unwrap(), table }
    }

    fn touch(&mut self, page: u64) -> &mut [u8; PAGE_BYTES] {
        if self.table.pages[page as usize].is_none() {
            self.path.fault(page, &mut self.table).unwrap();
        }
        self.table.pages[page as usize].as_mut().unwrap()
    }
}

#[derive(Clone, Debug)]
enum Act {
    Store(u64, u8),
    Load(u64),
    Discard(u64, u64),
    Idle,
}

fn acts(pages: u64) -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (0..pages, any::<u8>()).prop_map(|(page, byte)| Act::Store(page, byte)),
        4 => (0..pages).prop_map(Act::Load),
        1 => (0..pages, 0..4u64).prop_map(move |(first, len)| Act::Discard(first, (first + len).min(pages))),
        1 => Just(Act::Idle),
    ];
    proptest::collection::vec(act, 0..300)
}

fn behaves_like_memory<O: Oram>(oram: O, resident: usize, policy: Policy, acts: &[Act]) {
    let mut expected = vec![0u8; oram.capacity() as usize];
    let mut program = Program::new(oram, resident, policy);
    for act in acts {
        match *act {
            Act::Store(page, byte) => {
                program.touch(page).fill(byte);
                expected[page as usize] = byte;
            }
            Act::Load(page) => assert_eq!(*program.touch(page), [expected[page as usize]; PAGE_BYTES]),
            Act::Discard(first, end) => {
                program.path.discard(first..end, &mut program.table).unwrap();
                expected[first as usize..end as usize].fill(0);
            }
            Act::Idle => program.path.step(&program.table).unwrap(),
        }
        assert!(program.table.resident() <= resident);
        assert_eq!(program.path.resident(), program.table.resident());
    }
}

fn detworam(pages: u64, holding: u64) -> DetWoParameters {
    DetWoParameters { capacity: pages, holding, block_bytes: PAGE_BYTES as u32, max_batch: 1 }
}

fn policies() -> impl Strategy<Value = (usize, Policy)> {
    prop_oneof![
        (1..7usize).prop_map(|resident| (resident, Policy::Fifo)),
        (2..7usize)
            .prop_flat_map(|resident| (Just(resident), 1..resident))
            .prop_map(|(resident, unmapped)| (resident, Policy::SecondChance { unmapped })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..Default::default() })]

    #[test]
    fn a_region_behaves_like_memory_under_every_scheme_and_policy(
        (resident, policy) in policies(),
        holding in 1..=23u64,
        step_pages in 1..4u32,
        acts in acts(23),
    ) {
        let parameters = PlainParameters { capacity: 23, block_bytes: PAGE_BYTES as u32, max_batch: 1 };
        let store = TraceStore::new(parameters.layout());
        behaves_like_memory(Plain::new(parameters, store).unwrap(), resident, policy, &acts);

        let areas = detworam(23, holding);
        let store = TraceStore::new(areas.layout());
        behaves_like_memory(DetWoOram::new(areas.clone(), store).unwrap(), resident, policy, &acts);

        let store = TraceStore::new(areas.layout());
        let eager = EagerParameters { areas, step_pages };
        behaves_like_memory(EagerOram::new(eager, store).unwrap(), resident, policy, &acts);

        let parameters = PathParameters::for_capacity(23, PAGE_BYTES as u32, 12, 1).unwrap();
        let store = TraceStore::new(parameters.layout());
        let positions = FlatPositionMap::new(Positions::new(23));
        let rng = ChaCha12Rng::seed_from_u64(holding);
        let path = PathOram::new(parameters, Bucket(0), store, positions, rng).unwrap();
        behaves_like_memory(path, resident, policy, &acts);
    }

    #[test]
    fn every_fault_of_a_full_region_writes_where_the_schedule_says_whatever_was_touched(
        (resident, policy) in policies(),
        touches in proptest::collection::vec((0..23u64, any::<bool>()), 0..200),
    ) {
        let areas = detworam(23, 7);
        let store = Rc::new(TraceStore::new(areas.layout()));
        let mut program = Program::new(DetWoOram::new(areas, store.clone()).unwrap(), resident, policy);
        for (page, discard) in touches {
            if discard {
                program.path.discard(page..page + 1, &mut program.table).unwrap();
            } else {
                program.touch(page);
            }
        }
        let counters = *program.path.counters();
        prop_assert_eq!(counters.evictions, counters.faults.saturating_sub(resident as u64));
        let written: Vec<u64> = store.take_trace().into_iter().filter_map(|entry| match entry {
            TraceEntry::Write(buckets) => Some(buckets),
            TraceEntry::Read(_) => None,
        }).flatten().map(|bucket| bucket.0).collect();
        let schedule = WriteSchedule::new(23, 7).unwrap();
        let expected: Vec<u64> = (0..counters.evictions)
            .flat_map(|write| std::iter::once(23 + schedule.holding_slot(write)).chain(schedule.refreshes(write)))
            .collect();
        prop_assert_eq!(written, expected);
    }
}

fn plain(pages: u64, resident: usize, policy: Policy) -> (Rc<TraceStore>, Program<Plain<Rc<TraceStore>>>) {
    let parameters = PlainParameters { capacity: pages, block_bytes: PAGE_BYTES as u32, max_batch: 1 };
    let store = Rc::new(TraceStore::new(parameters.layout()));
    (store.clone(), Program::new(Plain::new(parameters, store).unwrap(), resident, policy))
}

fn written(store: &TraceStore) -> Vec<u64> {
    let writes = store.take_trace().into_iter().filter_map(|entry| match entry {
        TraceEntry::Write(buckets) => Some(buckets[0].0),
        TraceEntry::Read(_) => None,
    });
    writes.collect()
}

#[test]
fn the_page_that_came_first_goes_first() {
    let (store, mut program) = plain(9, 3, Policy::Fifo);
    for page in [4, 5, 6, 4, 7, 8, 0, 4] {
        program.touch(page);
    }
    assert_eq!(written(&store), [4, 5, 6, 7]);
}

#[test]
fn a_page_that_is_touched_in_its_second_chance_stays_and_shows_nothing() {
    let (store, mut program) = plain(9, 4, Policy::SecondChance { unmapped: 2 });
    for page in [0, 1, 2, 3] {
        program.touch(page)[0] = page as u8 + 1;
    }
    assert_eq!(program.table.in_sight(), 2);
    store.take_trace();
    assert_eq!(program.path.fault(0, &mut program.table).unwrap(), FaultOutcome::Remapped);
    assert_eq!(store.take_trace(), []);
    assert_eq!(program.touch(0)[0], 1);
    program.touch(4);
    program.touch(5);
    assert_eq!(written(&store), [1, 2], "page 0 came first, but was touched again");
    assert_eq!(program.path.counters().soft_faults, 1);
}

#[test]
fn a_page_that_is_in_use_elsewhere_is_passed_over() {
    let (store, mut program) = plain(9, 3, Policy::Fifo);
    program.table.busy = vec![0];
    for page in [0, 1, 2, 3, 4] {
        program.touch(page);
    }
    assert_eq!(written(&store), [1, 2]);
    program.table.busy.clear();
    let (_, mut program) = plain(9, 1, Policy::Fifo);
    program.table.busy = vec![5];
    program.touch(5);
    let refused = program.path.fault(6, &mut program.table);
    assert!(matches!(refused, Err(FaultError::AllBusy { resident: 1 })), "{refused:?}");
}

#[test]
fn a_page_that_comes_in_never_stands_where_another_one_was() {
    for policy in [Policy::Fifo, Policy::SecondChance { unmapped: 2 }] {
        let (_, mut program) = plain(9, 4, policy);
        for page in (0..9).cycle().take(40) {
            program.touch(page)[0] = 1;
        }
        assert_eq!(program.table.renewed as u64, program.path.counters().evictions);
        assert!(program.table.renewed > 30);
    }
}

#[test]
fn while_all_pages_are_held_more_are_resident_and_afterwards_as_many_as_were_asked_for() {
    for policy in [Policy::Fifo, Policy::SecondChance { unmapped: 1 }] {
        let (store, mut program) = plain(30, 3, policy);
        program.table.may_exceed = true;
        program.table.busy = (0..6).collect();
        for page in 0..6 {
            program.touch(page)[0] = page as u8 + 1;
        }
        assert_eq!(program.path.resident(), 6);
        assert_eq!(written(&store), [], "nothing could go");
        program.table.busy.clear();
        let mut fewer = Vec::new();
        for page in 6..30 {
            program.path.fault(page, &mut program.table).unwrap();
            fewer.push(program.path.resident());
        }
        // One that was pinned is looked at within eight evictions, and the others follow it.
        assert!(fewer[0] == 7 && fewer.is_sorted_by(|one, next| one >= next), "{fewer:?}");
        assert_eq!(fewer[16..], [3; 8]);
        for page in 0..6 {
            assert_eq!(program.touch(page)[0], page as u8 + 1);
        }
    }
}

/// A program of which so many pages are pinned, after it has touched them and others.
fn pinned(pages: u64, resident: usize, policy: Policy) -> Program<Plain<Rc<TraceStore>>> {
    let (_, mut program) = plain(pages + 200, resident, policy);
    program.table.may_exceed = true;
    program.table.busy = (0..pages).collect();
    for page in 0..pages + 200 {
        program.touch(page);
    }
    program
}

#[test]
fn pinned_pages_are_looked_at_now_and_then_and_not_at_each_fault() {
    for policy in [Policy::Fifo, Policy::SecondChance { unmapped: 8 }] {
        for pages in [20, 40, 400] {
            let mut program = pinned(pages, 64, policy);
            (program.table.taken, program.table.clock) = (0, 0);
            let before = *program.path.counters();
            for page in (pages..pages + 200).cycle().take(1000) {
                program.touch(page);
            }
            let faults = program.path.counters().faults - before.faults;
            assert!(
                faults == 1000 && program.table.taken < 1300,
                "{policy:?}, {pages}: {}",
                program.table.taken
            );
        }
    }
}

#[test]
fn pinned_pages_leave_half_of_the_room_to_others() {
    for policy in [Policy::Fifo, Policy::SecondChance { unmapped: 8 }] {
        let mut program = pinned(400, 64, policy);
        for page in (400..424).cycle().take(100) {
            program.touch(page);
        }
        let before = program.path.counters().faults;
        for page in (400..424).cycle().take(100) {
            program.touch(page);
        }
        assert_eq!(program.path.counters().faults, before, "{policy:?}");
    }
}

#[test]
fn the_writes_of_all_evictions_are_booked_as_writing() {
    let mut program = pinned(100, 8, Policy::Fifo);
    // From now on each fault evicts two.
    program.table.busy.clear();
    let before = *program.path.counters();
    for page in 100..150 {
        program.touch(page);
    }
    let after = *program.path.counters();
    assert!(after.evictions - before.evictions > 80, "{after:?}");
    assert_eq!(after.frames_nanos, before.frames_nanos);
    assert_eq!(after.write_nanos - before.write_nanos, (after.evictions - before.evictions) * 1000);
}

#[test]
fn pages_that_hold_something_are_counted_until_they_are_given_up() {
    let (_, mut program) = plain(9, 3, Policy::Fifo);
    for page in [0, 1, 2, 3, 4, 0, 1] {
        program.touch(page);
    }
    program.path.discard(0..3, &mut program.table).unwrap();
    program.path.discard(0..3, &mut program.table).unwrap();
    let counters = program.path.counters();
    assert_eq!((counters.held_pages, counters.max_held_pages), (2, 5));
}

#[test]
fn a_fault_that_was_served_already_is_confirmed_and_shows_nothing() {
    let (store, mut program) = plain(9, 3, Policy::Fifo);
    program.touch(2);
    store.take_trace();
    assert_eq!(program.path.fault(2, &mut program.table).unwrap(), FaultOutcome::AlreadyMapped);
    assert_eq!(program.table.confirmed, [2]);
    assert_eq!(store.take_trace(), []);
    assert_eq!(program.path.counters().repeated, 1);
}

#[test]
fn after_a_failure_nothing_is_served() {
    let (store, mut program) = plain(9, 2, Policy::Fifo);
    program.touch(0);
    store.hold_back(true);
    let waits = program.path.fault(1, &mut program.table);
    assert!(matches!(waits, Err(FaultError::Waits)), "{waits:?}");
    store.complete(0);
    assert!(matches!(program.path.fault(0, &mut program.table), Err(FaultError::Failed)));
    assert!(matches!(program.path.discard(0..1, &mut program.table), Err(FaultError::Failed)));
    assert!(matches!(program.path.step(&program.table), Err(FaultError::Failed)));
    assert_eq!(program.path.pending_steps(), 0);
}

#[test]
fn a_page_beyond_the_region_is_refused_and_harms_nothing() {
    let (_, mut program) = plain(9, 2, Policy::Fifo);
    let beyond = program.path.fault(9, &mut program.table);
    assert!(matches!(beyond, Err(FaultError::OutOfRange { pages: 9 })), "{beyond:?}");
    assert!(matches!(program.path.discard(8..10, &mut program.table), Err(FaultError::OutOfRange { .. })));
    program.touch(8);
}

#[test]
fn parameters_that_make_no_sense_are_refused_with_what_to_choose() {
    let parameters = PlainParameters { capacity: 9, block_bytes: 0, max_batch: 1 };
    let new = |resident, policy| {
        let store = TraceStore::new(parameters.layout());
        FaultPath::new(Plain::new(parameters.clone(), store).unwrap(), resident, policy).err()
    };
    assert_eq!(new(0, Policy::Fifo), Some(FaultPathError::Resident { resident: 0, min: 1 }));
    let one = Policy::SecondChance { unmapped: 1 };
    assert_eq!(new(1, one), Some(FaultPathError::Resident { resident: 1, min: 2 }));
    for unmapped in [0, 4] {
        let error = new(4, Policy::SecondChance { unmapped }).unwrap();
        assert_eq!(error, FaultPathError::Unmapped { unmapped, resident: 4, max: 3 });
    }
    assert_eq!(new(1, Policy::Fifo), None);
}

/// Memory of which one slot cannot be read.
struct Broken;

#[derive(Debug, thiserror::Error)]
#[error("slot 1 is broken")]
struct BrokenSlot;

impl Store for Broken {
    type Error = BrokenSlot;

    async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), BrokenSlot> {
        into.fill(0);
        if slots[0].bucket == Bucket(1) { Err(BrokenSlot) } else { Ok(()) }
    }

    async fn write(&self, _: &[Bucket], _: &[u8]) -> Result<(), BrokenSlot> {
        Ok(())
    }
}

#[test]
fn a_scheme_that_fails_says_why_and_the_page_stays_absent() {
    let parameters = PlainParameters { capacity: 9, block_bytes: PAGE_BYTES as u32, max_batch: 1 };
    let mut program = Program::new(Plain::new(parameters, Broken).unwrap(), 2, Policy::Fifo);
    program.touch(0);
    let failed = program.path.fault(1, &mut program.table);
    assert!(matches!(failed, Err(FaultError::Scheme(OramError::Store(BrokenSlot)))), "{failed:?}");
    assert_eq!(program.table.pages[1], None);
}

/// Checks that the need of pages behind the scheme and in sight was allocated before the first fault.
#[test]
fn a_fault_allocates_nothing_from_the_first_on() {
    fn faults<O: Oram>(oram: O, policy: Policy) -> u64 {
        let mut program = Program::new(oram, 5, policy);
        let measured = allocation_counter::measure(|| {
            for touch in 0..400u64 {
                program.touch(touch * 7 % 23)[3] = touch as u8;
                if touch % 9 == 0 {
                    program.path.discard(3..5, &mut program.table).unwrap();
                    program.path.step(&program.table).unwrap();
                }
            }
        });
        measured.count_total
    }
    for policy in [Policy::Fifo, Policy::SecondChance { unmapped: 2 }] {
        let memory = || ArrayStore::new(&detworam(23, 23).layout());
        let plain = PlainParameters { capacity: 23, block_bytes: PAGE_BYTES as u32, max_batch: 1 };
        assert_eq!(faults(Plain::new(plain, memory()).unwrap(), policy), 0);
        assert_eq!(faults(DetWoOram::new(detworam(23, 7), memory()).unwrap(), policy), 0);
        let eager = EagerParameters { areas: detworam(23, 7), step_pages: 2 };
        assert_eq!(faults(EagerOram::new(eager, memory()).unwrap(), policy), 0);
    }
}
