//! Pages that a partner beside the caller carries.

use super::setup::{key, layout, memory, snapshot};
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::schemes::detworam::{DetWoOram, DetWoParameters};
use ameles_core::types::BlockId;
use ameles_seal::pages::{
    AtomicMemory, Carrier, Outcome, PageCipher, PageError, PageJob, PageWorker, ScheduledVersions,
    SealedPages, SharedMemory, Turn, WorkMode,
};
use proptest::prelude::*;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const PAGE: usize = 48;
const MANNERS: [WorkMode; 3] = [WorkMode::Parallel, WorkMode::Eager, WorkMode::EagerParallel];

/// A partner that does turns when it likes, in their order, but never before it must: while the caller waits, helps, or
/// says go.
struct Whimsical(Arc<Mutex<State>>);

struct State {
    room: u64,
    carrier: Carrier<Arc<AtomicMemory>>,
    whims: ChaCha12Rng,
    lanes: BTreeMap<u64, Vec<u8>>,
    waiting: BTreeMap<Turn, PageJob>,
    outcomes: BTreeMap<Turn, Outcome>,
    /// Slots in the order in which they were sealed.
    sealed: Vec<u32>,
    /// The choice of the turn that is done next among those that may be done, where it is not the first.
    any: Option<Choices>,
    /// If set, it steps back by whim.
    may_rest: bool,
}

/// A way through a tree of choices.
#[derive(Default)]
struct Choices {
    /// The choices, each as a number below how many there were.
    path: Vec<(usize, usize)>,
    next: usize,
}

impl Choices {
    /// Chooses the same as the last time as far as that was told, and then the first.
    fn choose(&mut self, many: usize) -> usize {
        if self.next == self.path.len() {
            self.path.push((0, many));
        }
        let (choice, of) = self.path[self.next];
        assert_eq!(of, many, "what is chosen before decides what there is to choose");
        self.next += 1;
        choice
    }

    /// Returns the next way; `None` after the last.
    fn another(mut self) -> Option<Self> {
        self.next = 0;
        while let Some((choice, of)) = self.path.pop() {
            if choice + 1 < of {
                self.path.push((choice + 1, of));
                return Some(self);
            }
        }
        None
    }
}

impl State {
    /// Takes the turn that is done next: the first, or any that has nothing to wait for.
    fn take(&mut self) -> Option<(Turn, PageJob)> {
        let Some(choices) = &mut self.any else { return self.waiting.pop_first() };
        let outcomes = &self.outcomes;
        let ready = |(turn, carry): (&Turn, &PageJob)| {
            let may = carry.waits_for(*turn).all(|before| outcomes.contains_key(&before));
            may.then_some(*turn)
        };
        let ready: Vec<Turn> = self.waiting.iter().filter_map(ready).collect();
        assert!(self.waiting.is_empty() || !ready.is_empty(), "each waits for another");
        let turn = *ready.get(choices.choose(ready.len().max(1)))?;
        self.waiting.remove_entry(&turn)
    }

    fn do_one(&mut self) {
        let Some((turn, carry)) = self.take() else { return };
        assert!(carry.waits_for(turn).all(|before| before < turn && !self.waiting.contains_key(&before)));
        let mut page = self.lanes.get(&(turn % self.room)).cloned().unwrap_or(vec![0; PAGE]);
        let mut outcome = Outcome::Done;
        if let Some(id) = carry.open {
            if self.carrier.open(id, &mut page).is_err() {
                outcome = Outcome::Forged;
            }
            self.lanes.insert(turn % self.room, page);
        }
        if let Some((id, source)) = carry.seal {
            assert!(source <= turn && turn - source <= self.room / 2, "the lane is still the source's");
            if self.outcomes.get(&source) == Some(&Outcome::Forged) {
                outcome = Outcome::Forged;
            }
            if outcome == Outcome::Done {
                let page = self.lanes[&(source % self.room)].clone();
                self.carrier.seal(id, &page, &mut vec![0; self.carrier.sealed_bytes()]);
                self.sealed.push(id.slot);
            }
        }
        self.outcomes.insert(turn, outcome);
    }

    fn do_some(&mut self) {
        while self.any.is_none() && !self.waiting.is_empty() && !self.whims.next_u32().is_multiple_of(3) {
            self.do_one();
        }
    }
}

impl<M> PageWorker<M> for Whimsical {
    fn room(&self) -> usize {
        self.0.lock().unwrap().room as usize
    }

    fn fill(&self, turn: Turn, page: &[u8]) {
        let mut state = self.0.lock().unwrap();
        let lane = turn % state.room;
        let is_source = |carry: &PageJob| carry.seal.is_some_and(|(_, source)| source % state.room == lane);
        assert!(!state.waiting.values().any(is_source), "a page in this lane is still to be sealed");
        state.lanes.insert(lane, page.to_vec());
    }

    fn ask(&self, turn: Turn, carry: PageJob) {
        let mut state = self.0.lock().unwrap();
        assert!(state.waiting.len() as u64 <= state.room / 2, "no more are under way than there is room for");
        state.waiting.insert(turn, carry);
    }

    fn go(&self) {
        self.0.lock().unwrap().do_some();
    }

    fn outcome(&self, turn: Turn) -> Outcome {
        self.0.lock().unwrap().outcomes.get(&turn).copied().unwrap_or(Outcome::Pending)
    }

    fn help(&self, _: &Carrier<M>) {
        self.0.lock().unwrap().do_one();
    }

    fn rests(&self) -> bool {
        let mut state = self.0.lock().unwrap();
        state.may_rest && state.whims.next_u32().is_multiple_of(4)
    }

    fn wait(&self, _: &Carrier<M>) {
        self.0.lock().unwrap().do_one();
    }
}

type Pages = SealedPages<Arc<AtomicMemory>, ScheduledVersions>;

struct Carried {
    memory: Arc<AtomicMemory>,
    state: Arc<Mutex<State>>,
    oram: DetWoOram<Pages>,
}

fn areas(capacity: u64, holding: u64) -> DetWoParameters {
    DetWoParameters { capacity, holding, block_bytes: PAGE as u32, max_batch: 1 }
}

fn carried(areas: &DetWoParameters, manner: WorkMode, room: u64, whims: u64) -> Carried {
    let (schedule, cipher) = (areas.schedule().unwrap(), PageCipher::Aes256Gcm);
    let layout = layout(areas.capacity + areas.holding, 1, PAGE as u32);
    let memory = memory(&layout, cipher);
    let carrier = Carrier::new(Arc::clone(&memory), &layout, key(cipher, 1)).unwrap();
    let state = Arc::new(Mutex::new(State {
        room,
        carrier,
        whims: ChaCha12Rng::seed_from_u64(whims),
        lanes: BTreeMap::new(),
        waiting: BTreeMap::new(),
        outcomes: BTreeMap::new(),
        sealed: Vec::new(),
        any: None,
        may_rest: false,
    }));
    let versions = ScheduledVersions::new(&schedule);
    let pages = SealedPages::new(Arc::clone(&memory), &layout, key(cipher, 1), versions).unwrap();
    let pages = pages.with_worker(Box::new(Whimsical(Arc::clone(&state))), manner);
    Carried { memory, state, oram: DetWoOram::new(areas.clone(), pages).unwrap() }
}

fn access(oram: &DetWoOram<Pages>, access: Access<'_>) -> Result<(), OramError<PageError>> {
    futures::executor::block_on(oram.access(&mut [access]))
}

fn settle(oram: &DetWoOram<Pages>) -> Result<(), OramError<PageError>> {
    futures::executor::block_on(oram.step())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Also with a room that is too small for reading ahead, or for a whole write.
    #[test]
    fn pages_carried_beside_are_those_carried_by_hand_in_the_same_order_whenever_it_is_done(
        (capacity, holding) in (1u64..24).prop_flat_map(|capacity| (Just(capacity), 1..=capacity)),
        room in 2u64..60,
        may_rest in any::<bool>(),
        steps in proptest::collection::vec((0u64..24, any::<bool>(), any::<u8>()), 1..80),
        whims in any::<u64>(),
    ) {
        let areas = areas(capacity, holding);
        for manner in MANNERS {
            let Carried { memory, state, oram } = carried(&areas, manner, room, whims);
            state.lock().unwrap().may_rest = may_rest;
            let mut expected = vec![[0; PAGE]; capacity as usize];
            let mut writes = 0;
            for (page, writing, byte) in &steps {
                let page = page % capacity;
                if *writing {
                    expected[page as usize] = [*byte; PAGE];
                    access(&oram, Access::Write(BlockId(page), &[*byte; PAGE])).unwrap();
                    writes += 1;
                } else {
                    let mut read = [1; PAGE];
                    access(&oram, Access::Read(BlockId(page), &mut read)).unwrap();
                    prop_assert_eq!(read, expected[page as usize]);
                }
            }
            settle(&oram).unwrap();
            prop_assert!(state.lock().unwrap().waiting.is_empty());
            let schedule = areas.schedule().unwrap();
            let order: Vec<u32> = (0..writes)
                .flat_map(|write| {
                    std::iter::once(capacity + schedule.holding_slot(write)).chain(schedule.refreshes(write))
                })
                .map(|slot| slot as u32)
                .collect();
            let sealed = state.lock().unwrap().sealed.clone();
            // Writes that there is no room for, or that come while it rests, are done by hand.
            if schedule.max_refreshes() < room / 2 && !may_rest {
                prop_assert_eq!(sealed, order);
            }
            // The same key, identities and pages: the same bytes.
            let by_hand = carried(&areas, manner, 0, 0);
            for (page, writing, byte) in &steps {
                if *writing {
                    access(&by_hand.oram, Access::Write(BlockId(page % capacity), &[*byte; PAGE])).unwrap();
                }
            }
            prop_assert!(by_hand.state.lock().unwrap().sealed.is_empty());
            prop_assert!(snapshot(&memory) == snapshot(&by_hand.memory));
        }
    }
}

/// Writes pages one after the other and reads all of them, where turns are done in an order of choice.
fn write_in_an_order(areas: &DetWoParameters, manner: WorkMode, pages: &[u64], choices: Choices) -> Choices {
    let room = 4 * (areas.schedule().unwrap().max_refreshes() + 1);
    let Carried { memory, state, oram } = carried(areas, manner, room, 0);
    let by_hand = carried(areas, manner, 0, 0);
    state.lock().unwrap().any = Some(choices);
    let mut expected = vec![[0; PAGE]; areas.capacity as usize];
    for (page, byte) in pages.iter().zip(1u8..) {
        expected[*page as usize] = [byte; PAGE];
        for oram in [&oram, &by_hand.oram] {
            access(oram, Access::Write(BlockId(*page), &[byte; PAGE])).expect("nothing was forged");
        }
    }
    for (page, expected) in (0..).zip(&expected) {
        let mut read = [0; PAGE];
        access(&oram, Access::Read(BlockId(page), &mut read)).expect("nothing was forged");
        assert_eq!(read, *expected);
    }
    settle(&oram).expect("nothing was forged");
    assert!(snapshot(&memory) == snapshot(&by_hand.memory));
    state.lock().unwrap().any.take().expect("it was put there")
}

/// Nothing but what a turn says of others holds it back here: each order that this leaves is gone through.
#[test]
fn turns_done_in_any_order_that_they_allow_leave_what_they_leave_one_after_the_other() {
    // Pages that are themselves due, pages written twice, a ratio of one and of two.
    let cases: [(u64, u64, &[u64]); 4] =
        [(1, 1, &[0; 6]), (2, 2, &[0, 0, 1, 1]), (2, 1, &[1, 0, 0]), (3, 2, &[2, 0])];
    let mut orders = 0;
    for (capacity, holding, pages) in cases {
        let areas = areas(capacity, holding);
        for manner in MANNERS {
            let mut choices = Some(Choices::default());
            while let Some(chosen) = choices {
                orders += 1;
                choices = write_in_an_order(&areas, manner, pages, chosen).another();
            }
        }
    }
    assert!(orders > 1000, "there was a choice of {orders} only");
}

#[test]
fn what_was_forged_is_told_at_the_latest_when_all_is_settled_and_nothing_of_it_is_sealed_anew() {
    let areas = areas(12, 4);
    for manner in MANNERS {
        for whims in 0..20 {
            let Carried { memory, state, oram } = carried(&areas, manner, 64, whims);
            for page in 0..12 {
                access(&oram, Access::Write(BlockId(page), &[7; PAGE])).unwrap();
            }
            settle(&oram).unwrap();
            let before = snapshot(&memory);
            let forged: Vec<u8> = before.iter().map(|byte| byte ^ 1).collect();
            memory.store(0, &forged);
            // The pages that were read ahead before were true.
            let told = (0..3).find_map(|page| access(&oram, Access::Write(BlockId(page), &[8; PAGE])).err());
            let told = told.or_else(|| settle(&oram).err());
            assert!(
                matches!(told, Some(OramError::Store(PageError::Forged { .. }))),
                "{manner:?} {whims}: {told:?}"
            );
            let state = state.lock().unwrap();
            let failed = state.outcomes.values().filter(|outcome| **outcome == Outcome::Forged).count();
            assert!(failed > 0, "{manner:?} {whims}");
        }
    }
}
