//! Tests of pages that a worker moves.

use super::setup::{key, layout, memory, snapshot};
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::schemes::detworam::{DetWoOram, DetWoParameters};
use ameles_core::types::BlockId;
use ameles_seal::pages::{
    AtomicMemory, JobStatus, PageCipher, PageError, PageJob, PageWorker, ScheduledVersions, SealedPages,
    SealedSlots, SharedMemory, Ticket, WorkMode,
};
use proptest::prelude::*;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const PAGE: usize = 48;
const MODES: [WorkMode; 3] = [WorkMode::Parallel, WorkMode::Eager, WorkMode::EagerParallel];

/// A worker that does jobs at random times, in the order of their tickets, but only while the caller waits, helps, or
/// wakes it.
struct RandomWorker(Arc<Mutex<State>>);

struct State {
    buffer_count: u64,
    slots: SealedSlots<Arc<AtomicMemory>>,
    rng: ChaCha12Rng,
    buffers: BTreeMap<u64, Vec<u8>>,
    submitted: BTreeMap<Ticket, PageJob>,
    statuses: BTreeMap<Ticket, JobStatus>,
    /// The slots in the order in which they were sealed.
    sealed: Vec<u32>,
    /// The choice of the next job among those that may be done. `None` takes the first.
    choices: Option<Choices>,
    /// True if the worker backs off at random times.
    may_back_off: bool,
}

/// A path through a tree of choices.
#[derive(Default)]
struct Choices {
    /// The choices, each as a number below how many there were.
    path: Vec<(usize, usize)>,
    next: usize,
}

impl Choices {
    /// Follows the path as far as it is given, and then takes the first choice each time.
    fn choose(&mut self, many: usize) -> usize {
        if self.next == self.path.len() {
            self.path.push((0, many));
        }
        let (choice, of) = self.path[self.next];
        assert_eq!(of, many, "earlier choices decide what there is to choose");
        self.next += 1;
        choice
    }

    /// Returns the next path; `None` after the last.
    fn next_path(mut self) -> Option<Self> {
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
    /// Takes the next job: the first, or any job whose prerequisites are done.
    fn take(&mut self) -> Option<(Ticket, PageJob)> {
        let Some(choices) = &mut self.choices else { return self.submitted.pop_first() };
        let statuses = &self.statuses;
        let ready = |(ticket, job): (&Ticket, &PageJob)| {
            let may = job.prerequisites(*ticket).all(|before| statuses.contains_key(&before));
            may.then_some(*ticket)
        };
        let ready: Vec<Ticket> = self.submitted.iter().filter_map(ready).collect();
        assert!(self.submitted.is_empty() || !ready.is_empty(), "every job waits for another");
        let ticket = *ready.get(choices.choose(ready.len().max(1)))?;
        self.submitted.remove_entry(&ticket)
    }

    fn run_one(&mut self) {
        let Some((ticket, job)) = self.take() else { return };
        assert!(
            job.prerequisites(ticket).all(|before| before < ticket && !self.submitted.contains_key(&before))
        );
        let mut page = self.buffers.get(&(ticket % self.buffer_count)).cloned().unwrap_or(vec![0; PAGE]);
        let mut status = JobStatus::Done;
        if let Some(id) = job.open {
            if self.slots.open(id, &mut page).is_err() {
                status = JobStatus::Forged;
            }
            self.buffers.insert(ticket % self.buffer_count, page);
        }
        if let Some((id, source)) = job.seal {
            assert!(
                source <= ticket && ticket - source <= self.buffer_count / 2,
                "the buffer still belongs to the source"
            );
            if self.statuses.get(&source) == Some(&JobStatus::Forged) {
                status = JobStatus::Forged;
            }
            if status == JobStatus::Done {
                let page = self.buffers[&(source % self.buffer_count)].clone();
                self.slots.seal(id, &page, &mut vec![0; self.slots.sealed_bytes()]);
                self.sealed.push(id.slot);
            }
        }
        self.statuses.insert(ticket, status);
    }

    fn run_some(&mut self) {
        while self.choices.is_none() && !self.submitted.is_empty() && !self.rng.next_u32().is_multiple_of(3) {
            self.run_one();
        }
    }
}

impl<M> PageWorker<M> for RandomWorker {
    fn capacity(&self) -> usize {
        self.0.lock().unwrap().buffer_count as usize
    }

    fn fill(&self, ticket: Ticket, page: &[u8]) {
        let mut state = self.0.lock().unwrap();
        let buffer = ticket % state.buffer_count;
        let is_source =
            |job: &PageJob| job.seal.is_some_and(|(_, source)| source % state.buffer_count == buffer);
        assert!(!state.submitted.values().any(is_source), "a page in this buffer is still to be sealed");
        state.buffers.insert(buffer, page.to_vec());
    }

    fn submit(&self, ticket: Ticket, job: PageJob) {
        let mut state = self.0.lock().unwrap();
        assert!(
            state.submitted.len() as u64 <= state.buffer_count / 2,
            "no more jobs are in flight than are allowed"
        );
        state.submitted.insert(ticket, job);
    }

    fn wake(&self) {
        self.0.lock().unwrap().run_some();
    }

    fn status(&self, ticket: Ticket) -> JobStatus {
        self.0.lock().unwrap().statuses.get(&ticket).copied().unwrap_or(JobStatus::Pending)
    }

    fn help(&self, _: &SealedSlots<M>) {
        self.0.lock().unwrap().run_one();
    }

    fn has_backed_off(&self) -> bool {
        let mut state = self.0.lock().unwrap();
        state.may_back_off && state.rng.next_u32().is_multiple_of(4)
    }

    fn wait(&self, _: &SealedSlots<M>) {
        self.0.lock().unwrap().run_one();
    }
}

type Pages = SealedPages<Arc<AtomicMemory>, ScheduledVersions>;

struct Setup {
    memory: Arc<AtomicMemory>,
    state: Arc<Mutex<State>>,
    oram: DetWoOram<Pages>,
}

fn areas(capacity: u64, holding: u64) -> DetWoParameters {
    DetWoParameters { capacity, holding, block_bytes: PAGE as u32, max_batch: 1 }
}

fn setup(areas: &DetWoParameters, mode: WorkMode, buffer_count: u64, seed: u64) -> Setup {
    let (schedule, cipher) = (areas.schedule().unwrap(), PageCipher::Aes256Gcm);
    let layout = layout(areas.capacity + areas.holding, 1, PAGE as u32);
    let memory = memory(&layout, cipher);
    let slots = SealedSlots::new(Arc::clone(&memory), &layout, key(cipher, 1)).unwrap();
    let state = Arc::new(Mutex::new(State {
        buffer_count,
        slots,
        rng: ChaCha12Rng::seed_from_u64(seed),
        buffers: BTreeMap::new(),
        submitted: BTreeMap::new(),
        statuses: BTreeMap::new(),
        sealed: Vec::new(),
        choices: None,
        may_back_off: false,
    }));
    let versions = ScheduledVersions::new(&schedule);
    let pages = SealedPages::new(Arc::clone(&memory), &layout, key(cipher, 1), versions).unwrap();
    let pages = pages.with_worker(Box::new(RandomWorker(Arc::clone(&state))), mode);
    Setup { memory, state, oram: DetWoOram::new(areas.clone(), pages).unwrap() }
}

fn access(oram: &DetWoOram<Pages>, access: Access<'_>) -> Result<(), OramError<PageError>> {
    futures::executor::block_on(oram.access(&mut [access]))
}

fn settle(oram: &DetWoOram<Pages>) -> Result<(), OramError<PageError>> {
    futures::executor::block_on(oram.step())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Covers buffers that are too few for prefetching, or for a whole write.
    #[test]
    fn a_worker_leaves_the_same_pages_as_the_caller_would_in_the_same_order_at_whatever_times_it_works(
        (capacity, holding) in (1u64..24).prop_flat_map(|capacity| (Just(capacity), 1..=capacity)),
        buffer_count in 2u64..60,
        may_back_off in any::<bool>(),
        steps in proptest::collection::vec((0u64..24, any::<bool>(), any::<u8>()), 1..80),
        seed in any::<u64>(),
    ) {
        let areas = areas(capacity, holding);
        for mode in MODES {
            let Setup { memory, state, oram } = setup(&areas, mode, buffer_count, seed);
            state.lock().unwrap().may_back_off = may_back_off;
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
            prop_assert!(state.lock().unwrap().submitted.is_empty());
            let schedule = areas.schedule().unwrap();
            let order: Vec<u32> = (0..writes)
                .flat_map(|write| {
                    std::iter::once(capacity + schedule.holding_slot(write)).chain(schedule.refreshes(write))
                })
                .map(|slot| slot as u32)
                .collect();
            let sealed = state.lock().unwrap().sealed.clone();
            // The caller does writes for which there are too few buffers, and writes while the worker backs off.
            if schedule.max_refreshes() < buffer_count / 2 && !may_back_off {
                prop_assert_eq!(sealed, order);
            }
            // The same key, identities and pages give the same bytes.
            let without_worker = setup(&areas, mode, 0, 0);
            for (page, writing, byte) in &steps {
                if *writing {
                    access(&without_worker.oram, Access::Write(BlockId(page % capacity), &[*byte; PAGE])).unwrap();
                }
            }
            prop_assert!(without_worker.state.lock().unwrap().sealed.is_empty());
            prop_assert!(snapshot(&memory) == snapshot(&without_worker.memory));
        }
    }
}

/// Writes pages one after the other and reads all of them, while `choices` give the order of the jobs.
fn write_in_an_order(areas: &DetWoParameters, mode: WorkMode, pages: &[u64], choices: Choices) -> Choices {
    let buffer_count = 4 * (areas.schedule().unwrap().max_refreshes() + 1);
    let Setup { memory, state, oram } = setup(areas, mode, buffer_count, 0);
    let without_worker = setup(areas, mode, 0, 0);
    state.lock().unwrap().choices = Some(choices);
    let mut expected = vec![[0; PAGE]; areas.capacity as usize];
    for (page, byte) in pages.iter().zip(1u8..) {
        expected[*page as usize] = [byte; PAGE];
        for oram in [&oram, &without_worker.oram] {
            access(oram, Access::Write(BlockId(*page), &[byte; PAGE])).expect("nothing was forged");
        }
    }
    for (page, expected) in (0..).zip(&expected) {
        let mut read = [0; PAGE];
        access(&oram, Access::Read(BlockId(page), &mut read)).expect("nothing was forged");
        assert_eq!(read, *expected);
    }
    settle(&oram).expect("nothing was forged");
    assert!(snapshot(&memory) == snapshot(&without_worker.memory));
    state.lock().unwrap().choices.take().expect("it was put there")
}

/// Tries every order of the jobs that their prerequisites allow.
#[test]
fn jobs_in_any_order_that_their_prerequisites_allow_leave_the_same_pages() {
    // Pages that are due themselves, pages written twice, ratios of one and two.
    let cases: [(u64, u64, &[u64]); 4] =
        [(1, 1, &[0; 6]), (2, 2, &[0, 0, 1, 1]), (2, 1, &[1, 0, 0]), (3, 2, &[2, 0])];
    let mut orders = 0;
    for (capacity, holding, pages) in cases {
        let areas = areas(capacity, holding);
        for mode in MODES {
            let mut choices = Some(Choices::default());
            while let Some(chosen) = choices {
                orders += 1;
                choices = write_in_an_order(&areas, mode, pages, chosen).next_path();
            }
        }
    }
    assert!(orders > 1000, "only {orders} orders were tried");
}

#[test]
fn a_forged_page_is_reported_when_all_is_settled_or_before_and_is_not_sealed_again() {
    let areas = areas(12, 4);
    for mode in MODES {
        for seed in 0..20 {
            let Setup { memory, state, oram } = setup(&areas, mode, 64, seed);
            for page in 0..12 {
                access(&oram, Access::Write(BlockId(page), &[7; PAGE])).unwrap();
            }
            settle(&oram).unwrap();
            let before = snapshot(&memory);
            let forged: Vec<u8> = before.iter().map(|byte| byte ^ 1).collect();
            memory.store(0, &forged);
            // Pages that were prefetched earlier are genuine.
            let reported =
                (0..3).find_map(|page| access(&oram, Access::Write(BlockId(page), &[8; PAGE])).err());
            let reported = reported.or_else(|| settle(&oram).err());
            assert!(
                matches!(reported, Some(OramError::Store(PageError::Forged { .. }))),
                "{mode:?} {seed}: {reported:?}"
            );
            let state = state.lock().unwrap();
            let failed = state.statuses.values().filter(|status| **status == JobStatus::Forged).count();
            assert!(failed > 0, "{mode:?} {seed}");
        }
    }
}
