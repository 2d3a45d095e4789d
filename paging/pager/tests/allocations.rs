//! A fault may come from inside an allocator: serving it allocates nothing, on any thread.
#![allow(unsafe_code, reason = "an allocator that counts")]

use ameles_pager::fault::policy::Policy;
use ameles_pager::fault_handling::FaultHandling;
use ameles_pager::options::Options;
use ameles_pager::page::PAGE_BYTES;
use ameles_pager::region::Region;
use ameles_pager::scheme::Scheme;
use ameles_seal::pages::PageCipher;
use libtest_mimic::{Arguments, Trial};
use std::alloc::{GlobalAlloc, Layout, System};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

struct CountingAllocator;

static ENABLED: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: it is the allocator of the system, and counts.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if ENABLED.load(Ordering::Relaxed) {
            ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Runs the one test on this thread and nothing else: only the pager allocates.
fn main() -> ExitCode {
    let test = Trial::test("serving_faults_allocates_nothing_on_any_thread", || {
        serving_faults_allocates_nothing_on_any_thread();
        Ok(())
    });
    // With more threads, the harness waits for the outcome on another one, and allocates when it begins to wait.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    libtest_mimic::run(&arguments, vec![test]).exit_code()
}

fn serving_faults_allocates_nothing_on_any_thread() {
    let schemes = [Scheme::Plain, Scheme::DetWoOram, Scheme::Eager, Scheme::Parallel, Scheme::EagerParallel];
    let with_worker = [Scheme::Eager, Scheme::Parallel, Scheme::EagerParallel].map(|scheme| (scheme, true));
    for (scheme, second_process) in schemes.map(|scheme| (scheme, false)).into_iter().chain(with_worker) {
        for fault_handling in FaultHandling::ALL {
            // Each policy with every other cipher.
            let policies = [Policy::Fifo, Policy::SecondChance { unmapped: 2 }].into_iter().cycle();
            for (cipher, policy) in PageCipher::ALL.into_iter().zip(policies) {
                let options = Options {
                    resident: 5,
                    scheme,
                    fault_handling,
                    cipher,
                    policy,
                    ratio: 7,
                    threads: Some(2),
                    second_process,
                    ..Options::new(50)
                };
                let mut region = Region::new(options).unwrap();
                let slice = region.as_mut_slice();
                ALLOCATIONS.store(0, Ordering::SeqCst);
                ENABLED.store(true, Ordering::SeqCst);
                for touch in 0..150 {
                    slice[touch * 7 % 50 * PAGE_BYTES] += 1;
                }
                ENABLED.store(false, Ordering::SeqCst);
                assert_eq!(ALLOCATIONS.load(Ordering::SeqCst), 0, "{scheme} {fault_handling} {cipher}");
                assert!(region.counters().evictions >= 140);
            }
        }
    }
}
