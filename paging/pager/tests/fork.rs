//! A region in two processes after `fork`: each has what it held, and nothing of the other's from then on.
#![cfg(target_env = "gnu")]
#![allow(unsafe_code, reason = "forks, and threads that share the region; each block says why it is sound")]

mod support;

use ameles_pager::access::Access;
use ameles_pager::addresses::MapRequest;
use ameles_pager::eviction::Eviction;
use ameles_pager::fault::policy::Policy;
use ameles_pager::fault_handling::FaultHandling;
use ameles_pager::fork::Forked;
use ameles_pager::options::Options;
use ameles_pager::page::PAGE_BYTES;
use ameles_pager::region::Region;
use ameles_pager::scheme::Scheme;
use ameles_seal::pages::{PageCipher, SharedMemory};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use support::store_or_load;

/// Has one test at a time work: a child has one thread, and would wait for a lock that another test's thread held.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn options(scheme: Scheme, fault_handling: FaultHandling) -> Options {
    Options { resident: 7, scheme, fault_handling, ..Options::new(96) }
}

/// Options of all kinds of regions.
fn kinds() -> Vec<Options> {
    let mut kinds = Vec::new();
    for fault_handling in FaultHandling::ALL {
        for scheme in Scheme::ALL {
            kinds.push(options(scheme, fault_handling));
        }
        for scheme in [Scheme::Eager, Scheme::Parallel, Scheme::EagerParallel] {
            kinds.push(Options { second_process: true, ..options(scheme, fault_handling) });
        }
        kinds.push(Options { threads: Some(3), ..options(Scheme::EagerParallel, fault_handling) });
        for eviction in [Eviction::Move, Eviction::ProtectAndCopy] {
            kinds.push(Options { eviction, ..options(Scheme::DetWoOram, fault_handling) });
        }
        let policy = Policy::SecondChance { unmapped: 3 };
        kinds.push(Options { policy, ..options(Scheme::DetWoOram, fault_handling) });
        for cipher in PageCipher::ALL {
            kinds.push(Options { cipher, ..options(Scheme::Eager, fault_handling) });
        }
    }
    kinds
}

/// Runs a test with a region of each kind, and its options as a name.
fn for_each_kind(test: impl Fn(&str, Region)) {
    let _alone = alone();
    for options in kinds() {
        test(&format!("{options:?}"), Region::new(options).unwrap());
    }
}

/// Forks; the child runs `act`, and its exit status is whether that succeeded.
fn fork_child(region: &mut Region, act: impl FnOnce(&mut Region)) -> libc::pid_t {
    // SAFETY: the child touches this region only, and ends by a bare call.
    match unsafe { region.fork() }.unwrap() {
        Forked::Parent(child) => child,
        Forked::Child => {
            let done = catch_unwind(AssertUnwindSafe(|| act(region)));
            // SAFETY: ends the process.
            unsafe { libc::_exit(if done.is_ok() { 0 } else { 1 }) }
        }
    }
}

/// Waits for a child, which must have ended well.
fn wait_for(child: libc::pid_t, what: &str) {
    let mut status = -1;
    // SAFETY: the status is written.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child, "{what}");
    assert_eq!(status, 0, "{what}");
}

fn random(seed: u64, bytes: usize) -> Vec<u8> {
    let mut random = vec![0; bytes];
    ChaCha12Rng::seed_from_u64(seed).fill_bytes(&mut random);
    random
}

/// Stores and loads at random, compared with a plain array.
fn exercise(region: &mut Region, expected: &mut [u8], seed: u64) {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    for step in 0..200 {
        store_or_load(region, expected, step, &mut rng, "a process");
    }
    assert!(region.as_slice() == expected, "all of it");
}

#[test]
fn a_child_has_what_its_parent_held_and_neither_sees_what_the_other_writes() {
    for_each_kind(|name, mut region| {
        let mut expected = random(1, region.bytes());
        region.as_mut_slice().copy_from_slice(&expected);
        region.discard(20..23);
        expected[20 * PAGE_BYTES..23 * PAGE_BYTES].fill(0);
        for round in 0..3 {
            let child = fork_child(&mut region, |region| {
                let mut expected = expected.clone();
                exercise(region, &mut expected, 10 + round);
            });
            exercise(&mut region, &mut expected, 20 + round);
            wait_for(child, name);
        }
        exercise(&mut region, &mut expected, 30);
    });
}

#[test]
fn a_child_of_a_region_that_was_hardly_used_has_it_too() {
    let _alone = alone();
    for fault_handling in FaultHandling::ALL {
        let mut region = Region::new(options(Scheme::DetWoOram, fault_handling)).unwrap();
        let child =
            fork_child(&mut region, |region| assert!(region.as_slice().iter().all(|byte| *byte == 0)));
        wait_for(child, "untouched");
        region.as_mut_slice()[5] = 5;
        let child = fork_child(&mut region, |region| assert_eq!(region.as_slice()[5], 5));
        wait_for(child, "one page");
    }
}

#[test]
fn fifty_forks_in_a_row_leave_the_parent_as_it_was() {
    let _alone = alone();
    for second_process in [false, true] {
        let options = options(Scheme::EagerParallel, FaultHandling::HandlerThread);
        let mut region = Region::new(Options { second_process, ..options }).unwrap();
        let mut expected = random(2, region.bytes());
        region.as_mut_slice().copy_from_slice(&expected);
        let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let before = open();
        for round in 0..50 {
            let child = fork_child(&mut region, |region| assert!(region.as_slice() == expected));
            exercise(&mut region, &mut expected, round);
            wait_for(child, "one of fifty");
        }
        // Other tests of this process open some as well.
        assert!(open() < before + 40);
    }
}

/// Each generation forks the next one, and is waited for by the previous one.
fn generations(region: &mut Region, expected: &mut [u8], left: u64) {
    exercise(region, expected, left);
    if left > 0 {
        let child = fork_child(region, |region| generations(region, &mut expected.to_vec(), left - 1));
        exercise(region, expected, 100 + left);
        wait_for(child, "a generation");
    }
}

#[test]
fn a_child_forks_as_its_parent_does() {
    let _alone = alone();
    for fault_handling in FaultHandling::ALL {
        for second_process in [false, true] {
            let options = Options { second_process, ..options(Scheme::Eager, fault_handling) };
            let mut region = Region::new(options).unwrap();
            let mut expected = random(3, region.bytes());
            region.as_mut_slice().copy_from_slice(&expected);
            generations(&mut region, &mut expected, 6);
        }
    }
}

#[test]
fn a_child_goes_on_when_its_parent_has_ended() {
    let _alone = alone();
    for fault_handling in FaultHandling::ALL {
        let options = Options { second_process: true, ..options(Scheme::EagerParallel, fault_handling) };
        let mut region = Region::new(options).unwrap();
        let expected = random(4, region.bytes());
        region.as_mut_slice().copy_from_slice(&expected);
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        let child = fork_child(&mut region, |region| {
            // SAFETY: the call takes nothing.
            let parent = unsafe { libc::getpid() };
            fork_child(region, |region| {
                // SAFETY: as above.
                while unsafe { libc::getppid() } == parent {
                    thread::yield_now();
                }
                exercise(region, &mut expected.clone(), 5);
                writer.write_all(b"held").unwrap();
            });
        });
        wait_for(child, "the one in between");
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "held");
    }
}

/// Threads count up counters of their own while one forks; the child finds each page as it was at one moment.
#[test]
fn a_fork_while_other_threads_fault_loses_nothing_in_either() {
    let _alone = alone();
    const THREADS: usize = 3;
    for fault_handling in FaultHandling::ALL {
        for scheme in [Scheme::DetWoOram, Scheme::Path, Scheme::EagerParallel] {
            let options = Options { second_process: scheme.is_parallel(), ..options(scheme, fault_handling) };
            let mut region = Region::new(options).unwrap();
            let (pages, start) = (region.bytes() / PAGE_BYTES, region.as_ptr() as usize);
            // SAFETY: within the region, aligned, and each thread has its own.
            let counter = move |page: usize, thread: usize| unsafe {
                std::sync::atomic::AtomicU64::from_ptr((start + page * PAGE_BYTES + thread * 8) as *mut u64)
            };
            let stop = AtomicBool::new(false);
            thread::scope(|scope| {
                for thread in 0..THREADS {
                    let stop = &stop;
                    scope.spawn(move || {
                        let mut round = 0;
                        while !stop.load(Ordering::Relaxed) {
                            round += 1;
                            // One page after the other: a page is never ahead of one before it.
                            for page in 0..pages {
                                let before = counter(page, thread).swap(round, Ordering::SeqCst);
                                assert_eq!(before, round - 1, "{scheme} {fault_handling}");
                            }
                        }
                    });
                }
                for _ in 0..15 {
                    let child = fork_child(&mut region, |_| {
                        for thread in 0..THREADS {
                            let all = (0..pages).map(|page| counter(page, thread).load(Ordering::SeqCst));
                            let all: Vec<u64> = all.collect();
                            assert!(all.is_sorted_by(|one, next| one >= next), "{all:?}");
                            assert!(all[0] - all[pages - 1] <= 1, "{all:?}");
                        }
                    });
                    wait_for(child, "of a busy parent");
                }
                stop.store(true, Ordering::Relaxed);
            });
        }
    }
}

#[test]
fn what_the_program_has_mapped_protected_and_given_up_is_so_in_the_child() {
    let _alone = alone();
    let mut region = Region::new(options(Scheme::DetWoOram, FaultHandling::HandlerThread)).unwrap();
    let own = region.as_ptr() as usize;
    // SAFETY: the test's own memory, which it knows.
    unsafe {
        region.release_own(own..own + 40 * PAGE_BYTES).unwrap();
        let wanted = MapRequest { at: 0, bytes: 30 * PAGE_BYTES, access: Access::READ_WRITE, flags: 0 };
        let mapped = region.map(wanted).unwrap();
        for page in 0..30 {
            mapped.add(page * PAGE_BYTES).write_volatile(page as u8 + 1);
        }
        let span = |pages: std::ops::Range<usize>| {
            mapped as usize + pages.start * PAGE_BYTES..mapped as usize + pages.end * PAGE_BYTES
        };
        region.protect(span(3..6), Access::NONE).unwrap();
        region.protect(span(25..27), Access::NONE).unwrap();
        region.protect(span(8..10), Access::READ).unwrap();
        region.discard_at(span(12..14));
        for _ in 0..3 {
            let check = |region: &mut Region| {
                region.protect(span(3..6), Access::READ_WRITE).unwrap();
                region.protect(span(25..27), Access::READ_WRITE).unwrap();
                for page in 0..30 {
                    let expected = if (12..14).contains(&page) { 0 } else { page as u8 + 1 };
                    assert_eq!(mapped.add(page * PAGE_BYTES).read_volatile(), expected);
                }
                region.map(MapRequest { bytes: 10 * PAGE_BYTES, ..wanted }).unwrap().write_volatile(1);
                region.protect(span(3..6), Access::NONE).unwrap();
                region.protect(span(25..27), Access::NONE).unwrap();
            };
            let child = fork_child(&mut region, check);
            wait_for(child, "with mappings");
        }
    }
}

fn untrusted(region: &Region) -> Vec<u8> {
    region.settle();
    let mut all = vec![0; region.untrusted().bytes()];
    region.untrusted().load(0, &mut all);
    all
}

/// Parent and child would have the same bytes with the same key: the same pages, in the same slots, of the same
/// versions.
#[test]
fn no_sealed_line_of_the_child_is_one_of_the_parents() {
    for_each_kind(|name, mut region| {
        for (page, chunk) in region.as_mut_slice().chunks_mut(PAGE_BYTES).enumerate() {
            chunk.fill(page as u8);
        }
        let before = untrusted(&region);
        let child = fork_child(&mut region, |region| {
            let now = untrusted(region);
            let sealed = |at: &[u8]| at.iter().any(|byte| *byte != 0);
            assert!(now.iter().any(|byte| *byte != 0));
            let same =
                now.chunks(16).zip(before.chunks(16)).filter(|(one, other)| one == other && sealed(one));
            assert_eq!(same.count(), 0);
        });
        wait_for(child, name);
    });
}

/// Returns whether the parent's memory is unchanged, and the slots that the child has written.
fn fork_transcript(seed: u64, scheme: Scheme, fault_handling: FaultHandling) -> (bool, Vec<bool>) {
    let mut region = Region::new(options(scheme, fault_handling)).unwrap();
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    while region.counters().evictions < 60 {
        let at = rng.next_u64() as usize % region.bytes();
        region.as_mut_slice()[at] = 1;
    }
    let before = untrusted(&region);
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    let child = fork_child(&mut region, |region| {
        let slots = region.options().scheme.layout(96, region.options().ratio).unwrap().slots() as usize;
        let now = untrusted(region);
        let written = now.chunks(now.len() / slots).map(|slot| u8::from(slot.iter().any(|byte| *byte != 0)));
        writer.write_all(&written.collect::<Vec<u8>>()).unwrap();
    });
    drop(writer);
    let mut written = Vec::new();
    reader.read_to_end(&mut written).unwrap();
    wait_for(child, "to be watched");
    (before == untrusted(&region), written.into_iter().map(|byte| byte != 0).collect())
}

#[test]
fn what_a_fork_shows_depends_on_how_many_pages_were_written_and_on_nothing_else() {
    let _alone = alone();
    for fault_handling in FaultHandling::ALL {
        for scheme in [Scheme::DetWoOram, Scheme::Parallel, Scheme::Eager] {
            let (still, one) = fork_transcript(1, scheme, fault_handling);
            assert!(still, "the parent's own memory does not change");
            assert!(one.iter().filter(|written| **written).count() >= 60);
            assert_eq!(one, fork_transcript(2, scheme, fault_handling).1);
        }
    }
}

#[test]
fn a_fork_for_which_there_is_no_memory_fails_and_changes_nothing() {
    let _alone = alone();
    let mut region = Region::new(options(Scheme::DetWoOram, FaultHandling::HandlerThread)).unwrap();
    let mut expected = random(6, region.bytes());
    region.as_mut_slice().copy_from_slice(&expected);
    // In a child of its own, for the limit.
    let child = fork_child(&mut region, |region| {
        let limit = libc::rlimit { rlim_cur: 1 << 20, rlim_max: libc::RLIM_INFINITY };
        let mut before = limit;
        // SAFETY: limits of this process.
        unsafe {
            libc::getrlimit(libc::RLIMIT_AS, &raw mut before);
            libc::setrlimit(libc::RLIMIT_AS, &raw const limit);
            assert!(region.fork().is_err());
            libc::setrlimit(libc::RLIMIT_AS, &raw const before);
        }
        let child = fork_child(region, |region| exercise(region, &mut expected.clone(), 1));
        wait_for(child, "with memory again");
        exercise(region, &mut expected, 2);
    });
    wait_for(child, "without memory");
}
