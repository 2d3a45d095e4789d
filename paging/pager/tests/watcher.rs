//! The changes that an observer of the untrusted memory sees at each fault, by reading the memory itself.

use ameles_core::schemes::write_schedule::WriteSchedule;
use ameles_pager::fault::policy::Policy;
use ameles_pager::fault_handling::FaultHandling;
use ameles_pager::options::{Options, ResidentSizing};
use ameles_pager::page::PAGE_BYTES;
use ameles_pager::region::Region;
use ameles_pager::scheme::Scheme;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use rustix::io::pread;

const PAGES: u64 = 40;
const RESIDENT: usize = 5;

/// The observer's copy of the untrusted memory.
struct Watcher {
    stride: usize,
    last: Vec<u8>,
}

impl Watcher {
    fn new(region: &Region) -> Self {
        let Options { pages, scheme, ratio, cipher, .. } = *region.options();
        let bytes = scheme.untrusted_bytes(pages, ratio, cipher).unwrap() as usize;
        let slots = scheme.layout(pages, ratio).unwrap().slots() as usize;
        let mut watcher = Watcher { stride: bytes / slots, last: vec![0; bytes] };
        watcher.changed(region);
        watcher
    }

    /// Returns the slots that have changed since the last call, in their order in memory.
    fn changed(&mut self, region: &Region) -> Vec<u64> {
        let mut now = vec![0; self.last.len()];
        assert_eq!(pread(region.untrusted(), &mut now, 0), Ok(now.len()));
        let slots = now.chunks(self.stride).zip(self.last.chunks(self.stride)).enumerate();
        let changed = slots.filter(|(_, (now, last))| now != last).map(|(slot, _)| slot as u64).collect();
        self.last = now;
        changed
    }
}

/// A program whose accesses, writes and discards depend on the seed.
fn program(region: &mut Region, seed: u64, mut look: impl FnMut(&Region)) {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    let spread = 1 + seed % PAGES;
    for _ in 0..200 {
        let page = rng.next_u64() % (5 + spread).min(PAGES);
        match rng.next_u64() % 8 {
            0 => region.discard(page..page + 1),
            1..4 => region.as_mut_slice()[page as usize * PAGE_BYTES] = 1,
            _ => assert!(region.as_slice()[page as usize * PAGE_BYTES] <= 1),
        }
        look(region);
    }
}

fn options(scheme: Scheme, ratio: u64, fault_handling: FaultHandling) -> Options {
    Options { resident: RESIDENT, scheme, ratio, fault_handling, ..Options::new(PAGES) }
}

/// The holding slot, then the main slots, of one write after the other.
fn scheduled(ratio: u64) -> impl Iterator<Item = u64> {
    let schedule = WriteSchedule::new(PAGES, PAGES.div_ceil(ratio)).unwrap();
    (0..).flat_map(move |write| {
        std::iter::once(PAGES + schedule.holding_slot(write)).chain(schedule.refreshes(write))
    })
}

#[test]
fn every_program_changes_the_slots_of_the_schedule_at_its_faults_and_nothing_between() {
    for scheme in [Scheme::DetWoOram, Scheme::Parallel] {
        for (fault_handling, ratio) in
            [(FaultHandling::InThread, 3), (FaultHandling::HandlerThread, 3), (FaultHandling::InThread, 7)]
        {
            for seed in [0, 1, 17, 39] {
                let policy = if seed == 17 { Policy::SecondChance { unmapped: 2 } } else { Policy::Fifo };
                let region =
                    Region::new(Options { policy, ..options(scheme, ratio, fault_handling) }).unwrap();
                changes_the_slots_of_the_schedule(region, seed);
            }
        }
    }
}

fn changes_the_slots_of_the_schedule(mut region: Region, seed: u64) -> Region {
    let mut watcher = Watcher::new(&region);
    let schedule = WriteSchedule::new(PAGES, PAGES.div_ceil(region.options().ratio)).unwrap();
    let mut evictions = 0;
    program(&mut region, seed, |region| {
        let mut expected: Vec<u64> = (evictions..region.counters().evictions)
            .flat_map(|write| schedule.refreshes(write).chain([PAGES + schedule.holding_slot(write)]))
            .collect();
        expected.sort_unstable();
        evictions = region.counters().evictions;
        assert_eq!(watcher.changed(region), expected, "{:?} seed {seed}", region.options());
        // Each fault is one write, once the initial limit of resident pages was reached.
        assert_eq!(evictions, region.counters().faults.saturating_sub(RESIDENT as u64));
    });
    assert!(evictions > 10, "the program pages");
    region
}

#[test]
fn resident_pages_whose_number_follows_the_program_show_in_no_slot() {
    for scheme in [Scheme::DetWoOram, Scheme::Parallel] {
        for policy in [Policy::Fifo, Policy::SecondChance { unmapped: 2 }] {
            let resident_sizing = ResidentSizing { grows: true, estimates: true };
            let options =
                Options { policy, resident_sizing, ..options(scheme, 3, FaultHandling::HandlerThread) };
            let region = changes_the_slots_of_the_schedule(Region::new(options).unwrap(), 39);
            assert_eq!(region.counters().max_resident, 2 * RESIDENT as u64);
            assert!(region.resident_for_half_the_faults().is_some_and(|pages| (6..=PAGES).contains(&pages)));
        }
    }
}

#[test]
fn eager_schemes_change_the_slots_in_the_same_order_when_the_offline_work_is_done() {
    let with_worker = [Scheme::Eager, Scheme::Parallel, Scheme::EagerParallel].map(|scheme| (scheme, true));
    for (scheme, second_process) in
        with_worker.into_iter().chain([(Scheme::Eager, false), (Scheme::EagerParallel, false)])
    {
        for fault_handling in FaultHandling::ALL {
            for seed in [0, 1, 17, 39] {
                let options = Options { second_process, ..options(scheme, 3, fault_handling) };
                let mut region = Region::new(options).unwrap();
                let mut watcher = Watcher::new(&region);
                let mut order = scheduled(3);
                let mut seen = 0;
                program(&mut region, seed, |region| {
                    // A write during the comparison would be seen partly.
                    region.settle();
                    let changed = watcher.changed(region);
                    let mut expected: Vec<u64> = order.by_ref().take(changed.len()).collect();
                    expected.sort_unstable();
                    assert_eq!(changed, expected, "{scheme} {fault_handling} seed {seed}");
                    seen += changed.len();
                });
                assert!(seen > 40, "the program pages");
            }
        }
    }
}

#[test]
fn under_plain_the_watcher_sees_which_page_was_evicted() {
    let mut region = Region::new(options(Scheme::Plain, 3, FaultHandling::InThread)).unwrap();
    let mut watcher = Watcher::new(&region);
    let mut seen = Vec::new();
    for page in [9, 3, 30, 7, 12, 1, 2, 4, 5] {
        region.as_mut_slice()[page * PAGE_BYTES] = 1;
        seen.extend(watcher.changed(&region));
    }
    assert_eq!(seen, [9, 3, 30, 7]);
}

#[test]
fn nothing_readable_stands_in_untrusted_memory() {
    for scheme in Scheme::ALL {
        let mut region = Region::new(options(scheme, 3, FaultHandling::HandlerThread)).unwrap();
        let text = b"a secret of thirty-two bytes, so";
        for chunk in region.as_mut_slice().chunks_exact_mut(32) {
            chunk.copy_from_slice(text);
        }
        let mut watcher = Watcher::new(&region);
        watcher.changed(&region);
        assert!(watcher.last.iter().any(|byte| *byte != 0));
        assert!(
            !watcher.last.windows(8).any(|window| text.windows(8).any(|part| part == window)),
            "{scheme}"
        );
    }
}
