//! A region behaves like memory, for every scheme, cipher, trap and policy.
#![allow(unsafe_code, reason = "threads share the region by its address; each block says why it is sound")]

mod support;

use ameles_pager::access::Access;
use ameles_pager::addresses::{MapRequest, SpanState};
use ameles_pager::after_fault::AfterFault;
use ameles_pager::eviction::Eviction;
use ameles_pager::fault::counters::Counters;
use ameles_pager::fault::policy::Policy;
use ameles_pager::fault_handling::FaultHandling;
use ameles_pager::options::{Listeners, Options, ResidentSizing};
use ameles_pager::page::PAGE_BYTES;
use ameles_pager::region::Region;
use ameles_pager::scheme::Scheme;
use ameles_seal::pages::PageCipher;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use std::ops::Range;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use support::store_or_load;

fn options(scheme: Scheme, fault_handling: FaultHandling) -> Options {
    Options { resident: 7, scheme, fault_handling, ..Options::new(96) }
}

/// Stores and loads of random lengths at random places, compared with a plain array.
fn behaves_like_memory(options: Options, steps: u64) {
    let name = format!("{options:?}");
    let mut region = Region::new(options).unwrap();
    let mut expected = vec![0u8; region.bytes()];
    let mut rng = ChaCha12Rng::seed_from_u64(steps);
    for step in 0..steps {
        store_or_load(&mut region, &mut expected, step, &mut rng, &name);
        if step % 50 == 49 {
            let first = rng.next_u64() % 94;
            region.discard(first..first + 3);
            expected[first as usize * PAGE_BYTES..][..3 * PAGE_BYTES].fill(0);
        }
    }
    assert!(region.as_slice() == expected, "{name}");
    let counters = region.counters();
    assert!(counters.evictions > steps / 2, "{name}: {counters:?}");
    assert_eq!(counters.faults, counters.evictions + 7);
}

#[test]
fn a_region_is_memory_under_every_scheme_and_trap() {
    for scheme in Scheme::ALL {
        for fault_handling in FaultHandling::ALL {
            behaves_like_memory(options(scheme, fault_handling), 600);
        }
    }
}

const WITH_WORKER: [Scheme; 3] = [Scheme::Eager, Scheme::Parallel, Scheme::EagerParallel];

#[test]
fn a_region_is_memory_when_a_second_process_seals_its_pages() {
    for scheme in WITH_WORKER {
        for fault_handling in FaultHandling::ALL {
            for (ratio, cipher) in PageCipher::ALL.into_iter().enumerate() {
                let ratio = [3, 7, 15][ratio % 3];
                let second_process = true;
                behaves_like_memory(
                    Options { ratio, cipher, second_process, ..options(scheme, fault_handling) },
                    300,
                );
            }
        }
    }
}

#[test]
fn parallel_schemes_share_their_work_over_the_threads_that_are_asked_for() {
    for threads in [1, 2, 5] {
        for scheme in [Scheme::Parallel, Scheme::EagerParallel] {
            for fault_handling in FaultHandling::ALL {
                let options = Options { threads: Some(threads), ratio: 7, ..options(scheme, fault_handling) };
                assert_eq!(Region::new(options.clone()).unwrap().threads(), threads);
                behaves_like_memory(options, 200);
            }
        }
    }
    let chosen = Region::new(options(Scheme::Parallel, FaultHandling::InThread)).unwrap().threads();
    let processors = thread::available_parallelism().unwrap().get();
    assert!(chosen == 1 || chosen == processors.min(4));
    assert_eq!(Region::new(options(Scheme::DetWoOram, FaultHandling::InThread)).unwrap().threads(), 1);
}

#[test]
fn a_region_is_memory_under_every_cipher_ratio_and_policy() {
    for cipher in PageCipher::ALL {
        for ratio in [1, 7, 15] {
            behaves_like_memory(
                Options { cipher, ratio, ..options(Scheme::EagerParallel, FaultHandling::HandlerThread) },
                200,
            );
            behaves_like_memory(
                Options {
                    cipher,
                    ratio,
                    policy: Policy::SecondChance { unmapped: 3 },
                    ..options(Scheme::DetWoOram, FaultHandling::InThread)
                },
                200,
            );
        }
    }
}

#[test]
fn a_region_is_memory_also_where_the_kernel_cannot_move_pages() {
    for eviction in [Eviction::Move, Eviction::ProtectAndCopy] {
        for fault_handling in FaultHandling::ALL {
            behaves_like_memory(Options { eviction, ..options(Scheme::DetWoOram, fault_handling) }, 300);
            behaves_like_memory(Options { eviction, ..options(Scheme::Eager, fault_handling) }, 300);
        }
    }
}

#[test]
fn a_region_whose_resident_pages_follow_its_size_is_memory() {
    let resident_sizing = ResidentSizing { grows: true, estimates: true };
    for scheme in [Scheme::Plain, Scheme::DetWoOram, Scheme::EagerParallel, Scheme::Path, Scheme::Opam] {
        for policy in [Policy::Fifo, Policy::SecondChance { unmapped: 2 }] {
            let options = options(scheme, FaultHandling::HandlerThread);
            behaves_like_memory(Options { resident_sizing, policy, second_process: true, ..options }, 300);
        }
    }
}

/// Each thread counts up a counter of its own in every page, while other threads page it in and out. A store
/// that an eviction lost would be found.
fn loses_no_store(options: Options, rounds: u64) {
    const THREADS: usize = 4;
    let name = format!("{options:?}");
    let region = Region::new(options).unwrap();
    let pages = region.bytes() / PAGE_BYTES;
    let start = region.as_ptr() as usize;
    let barrier = Barrier::new(THREADS);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (barrier, name) = (&barrier, &name);
            scope.spawn(move || {
                let mut rng = ChaCha12Rng::seed_from_u64(thread as u64);
                let mut counts = vec![0u64; pages];
                barrier.wait();
                for _ in 0..rounds {
                    let page = rng.next_u64() as usize % pages;
                    let counter = (start + page * PAGE_BYTES + thread * 8) as *mut u64;
                    // Several stores, so that some fall into an eviction.
                    for _ in 0..20 {
                        // SAFETY: within the region, aligned, and no other thread uses these eight bytes.
                        let count = unsafe { counter.read_volatile() };
                        assert_eq!(count, counts[page], "{name}");
                        // SAFETY: as above.
                        unsafe { counter.write_volatile(count + 1) };
                        counts[page] += 1;
                    }
                }
                for (page, count) in counts.into_iter().enumerate() {
                    let counter = (start + page * PAGE_BYTES + thread * 8) as *const u64;
                    // SAFETY: as above.
                    assert_eq!(unsafe { counter.read_volatile() }, count, "{name}");
                }
            });
        }
    });
}

#[test]
fn no_store_of_any_thread_is_lost_under_heavy_paging() {
    for fault_handling in FaultHandling::ALL {
        for scheme in [Scheme::Plain, Scheme::DetWoOram, Scheme::Eager, Scheme::EagerParallel] {
            for eviction in [Eviction::Auto, Eviction::ProtectAndCopy] {
                loses_no_store(Options { resident: 3, eviction, ..options(scheme, fault_handling) }, 400);
            }
        }
        let policy = Policy::SecondChance { unmapped: 2 };
        loses_no_store(Options { resident: 4, policy, ..options(Scheme::DetWoOram, fault_handling) }, 400);
    }
}

#[test]
fn several_regions_exist_at_once_and_one_after_the_other() {
    for fault_handling in FaultHandling::ALL {
        for _ in 0..3 {
            let mut one = Region::new(options(Scheme::DetWoOram, fault_handling)).unwrap();
            let mut other = Region::new(options(Scheme::Plain, fault_handling)).unwrap();
            for page in 0..96 {
                one.as_mut_slice()[page * PAGE_BYTES] = page as u8;
                other.as_mut_slice()[page * PAGE_BYTES] = !page as u8;
            }
            drop(one);
            for page in 0..96 {
                assert_eq!(other.as_slice()[page * PAGE_BYTES], !page as u8);
            }
        }
    }
}

#[test]
fn memory_that_is_given_back_to_the_system_becomes_zeros() {
    for fault_handling in FaultHandling::ALL {
        for eviction in [Eviction::Auto, Eviction::ProtectAndCopy] {
            let mut region =
                Region::new(Options { eviction, ..options(Scheme::DetWoOram, fault_handling) }).unwrap();
            region.as_mut_slice()[..3 * PAGE_BYTES].fill(7);
            let advice = if region.is_locked() { libc::MADV_DONTNEED_LOCKED } else { libc::MADV_DONTNEED };
            // SAFETY: nobody has the slice.
            assert_eq!(unsafe { libc::madvise(region.as_ptr().cast(), 2 * PAGE_BYTES, advice) }, 0);
            assert_eq!(region.as_slice()[17], 0);
            for page in 0..96 {
                let expected = if page == 2 { 7 } else { 0 };
                assert_eq!(region.as_slice()[page * PAGE_BYTES], expected);
            }
        }
    }
}

/// Reserved pages of addresses, with the access and the contents that the program expects.
struct Reserved {
    region: Region,
    start: usize,
    pages: Vec<(Access, u8)>,
}

impl Reserved {
    const PAGES: usize = 60;

    fn new(options: Options) -> Self {
        let region = Region::new(options).unwrap();
        let own = region.as_ptr() as usize..region.as_ptr() as usize + region.bytes();
        let wanted = MapRequest { at: 0, bytes: Self::PAGES * PAGE_BYTES, access: Access::NONE, flags: 0 };
        // SAFETY: nobody has touched the region, and the addresses are of the kernel's choice.
        let start = unsafe {
            region.release_own(own).unwrap();
            region.map(wanted).unwrap() as usize
        };
        Reserved { region, start, pages: vec![(Access::NONE, 0); Self::PAGES] }
    }

    fn span(&self, pages: &Range<usize>) -> Range<usize> {
        self.start + pages.start * PAGE_BYTES..self.start + pages.end * PAGE_BYTES
    }

    fn map(&mut self, pages: Range<usize>, access: Access) {
        let at = self.span(&pages);
        let wanted = MapRequest { at: at.start, bytes: at.len(), access, flags: libc::MAP_FIXED as u32 };
        // SAFETY: the addresses are ours.
        unsafe { self.region.map(wanted).unwrap() };
        self.pages[pages].fill((access, 0));
    }

    fn protect(&mut self, pages: Range<usize>, access: Access) {
        // SAFETY: the addresses are ours.
        unsafe { self.region.protect(self.span(&pages), access).unwrap() };
        self.pages[pages].iter_mut().for_each(|page| page.0 = access);
    }

    fn is_paged(&self, pages: &Range<usize>) -> bool {
        self.region.known(self.span(pages)).iter().all(|part| part.known == SpanState::Paged)
    }

    fn discard(&mut self, pages: Range<usize>) {
        // SAFETY: the addresses are ours.
        unsafe { self.region.discard_at(self.span(&pages)) };
        self.pages[pages].iter_mut().for_each(|page| page.1 = 0);
    }

    /// Stores and loads as far as the rights allow.
    fn touch(&mut self, page: usize, byte: u8) {
        let at = (self.start + page * PAGE_BYTES + 17) as *mut u8;
        if self.pages[page].0 != Access::NONE {
            // SAFETY: the page may be read.
            assert_eq!(unsafe { at.read_volatile() }, self.pages[page].1, "page {page}");
        }
        if self.pages[page].0.writes() {
            // SAFETY: the page may be written.
            unsafe { at.write_volatile(byte) };
            self.pages[page].1 = byte;
        }
    }

    /// Everything that an observer sees.
    fn view(&self) -> (u64, u64, Vec<u8>) {
        self.region.settle();
        let counters = self.region.counters();
        let Options { scheme, pages, ratio, cipher, .. } = *self.region.options();
        let mut untrusted = vec![0; scheme.untrusted_bytes(pages, ratio, cipher).unwrap() as usize];
        assert_eq!(rustix::io::pread(self.region.untrusted(), &mut untrusted, 0), Ok(untrusted.len()));
        (counters.faults, counters.evictions, untrusted)
    }
}

#[test]
fn memory_at_any_address_keeps_what_it_holds_and_its_changes_show_nothing() {
    let accesses = [Access::NONE, Access::READ, Access::READ_WRITE, Access::of(libc::PROT_EXEC).unwrap()];
    let policies = [Policy::Fifo, Policy::SecondChance { unmapped: 3 }];
    for (eviction, policy) in [Eviction::Auto, Eviction::ProtectAndCopy].into_iter().zip(policies) {
        let scheme = Scheme::DetWoOram;
        let options = Options { eviction, policy, ..options(scheme, FaultHandling::HandlerThread) };
        let mut memory = Reserved::new(options);
        let mut rng = ChaCha12Rng::seed_from_u64(11);
        for step in 0..1500_u32 {
            let first = rng.next_u64() as usize % Reserved::PAGES;
            let pages = first..(first + 1 + rng.next_u64() as usize % 9).min(Reserved::PAGES);
            let access = accesses[rng.next_u64() as usize % accesses.len()];
            if step % 4 != 0 {
                pages.for_each(|page| memory.touch(page, step as u8));
                continue;
            }
            let before = memory.view();
            match rng.next_u64() % 4 {
                0 => memory.map(pages, if access.executes() { Access::READ_WRITE } else { access }),
                1 => memory.discard(pages),
                // Memory that is executed before it is written is code, and does not belong to the region.
                _ if access.executes() && !memory.is_paged(&pages) => {}
                _ => memory.protect(pages, access),
            }
            assert!(memory.view() == before, "step {step} shows");
        }
        assert!(memory.region.counters().evictions > 500);
        let all = memory.span(&(0..Reserved::PAGES));
        // SAFETY: nobody uses it any more.
        unsafe { memory.region.unmap(all.clone()).unwrap() };
        assert!(memory.region.known(all).iter().all(|part| part.known == SpanState::Nothing));
    }
}

#[test]
fn trusted_memory_is_what_the_scheme_needs_and_not_the_region() {
    for scheme in Scheme::ALL {
        let region = Region::new(options(scheme, FaultHandling::HandlerThread)).unwrap();
        let resident = 7 * PAGE_BYTES;
        let trusted = region.trusted_bytes();
        assert!(trusted > resident, "{scheme}");
        if scheme.has_ratio() {
            let bookkeeping = 96 * 5 + 4096;
            // A frame, eight that wait to be freed, a buffer; the memory of the scheme and of sealing.
            assert!(
                trusted < resident + (1 + 8 + 1 + 4 + 2) * PAGE_BYTES + bookkeeping,
                "{scheme}: {trusted}"
            );
        }
    }
}

#[test]
fn the_listener_is_called_after_every_fault_before_the_next_is_handled() {
    for fault_handling in FaultHandling::ALL {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let after_fault = AfterFault::Call(Arc::new(move |counters: &Counters| {
            log.lock().unwrap().push((counters.faults, counters.evictions));
        }));
        let listeners = Listeners { after_fault, ..Listeners::default() };
        let options = Options { resident: 2, fault_handling, listeners, ..Options::new(8) };
        let mut region = Region::new(options).unwrap();
        for page in [0, 1, 1, 2, 0] {
            region.as_mut_slice()[page * PAGE_BYTES] = 1;
        }
        drop(region);
        assert_eq!(*seen.lock().unwrap(), [(1, 0), (2, 0), (3, 1), (4, 2)], "{fault_handling}");
    }
}
