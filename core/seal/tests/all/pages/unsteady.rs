//! Memory that changes while it is read: each byte is loaded once, and unauthenticated bytes are never returned.

use super::setup::{layout, memory, new_region, part, pool, read, region, slot, snapshot, write};
use ameles_core::types::Slot;
use ameles_seal::pages::{AtomicMemory, PageCipher, PageError, SharedMemory, memory_bytes};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

const PAGE: usize = 100;

/// Returns the true value at the first load of a byte since its last store, and a false one at every later one.
struct ChangingMemory {
    memory: AtomicMemory,
    loads: Vec<AtomicU32>,
    stores: Vec<AtomicU32>,
}

impl ChangingMemory {
    fn new(bytes: usize) -> Self {
        let counts = || (0..bytes).map(|_| AtomicU32::new(0)).collect();
        ChangingMemory { memory: AtomicMemory::new(bytes), loads: counts(), stores: counts() }
    }

    fn forget(&self) {
        self.loads.iter().chain(&self.stores).for_each(|count| count.store(0, Ordering::Relaxed));
    }
}

impl SharedMemory for ChangingMemory {
    fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    fn load(&self, at: usize, into: &mut [u8]) {
        self.memory.load(at, into);
        for (byte, count) in into.iter_mut().zip(&self.loads[at..]) {
            if count.fetch_add(1, Ordering::Relaxed) > 0 {
                *byte ^= 0xff;
            }
        }
    }

    fn store(&self, at: usize, from: &[u8]) {
        self.memory.store(at, from);
        for count in &self.stores[at..at + from.len()] {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Counts the loads of each byte of a slot: page and tag, and the rest of its stride.
fn touches(counts: &[AtomicU32], slot: usize, stride: usize, sealed: usize) -> (Vec<u32>, Vec<u32>) {
    let counts = counts[slot * stride..][..stride].iter().map(|count| count.load(Ordering::Relaxed));
    let (page, rest): (Vec<_>, Vec<_>) = counts.enumerate().partition(|(at, _)| *at < sealed);
    let only = |counts: Vec<(usize, u32)>| counts.into_iter().map(|(_, count)| count).collect();
    (only(page), only(rest))
}

#[test]
fn each_byte_crosses_once_in_each_direction_and_only_the_bytes_of_the_pages_asked_for() {
    for (cipher, threads) in PageCipher::ALL.into_iter().flat_map(|c| [(c, 1), (c, 2)]) {
        let layout = layout(6, 1, PAGE as u32);
        let memory = Arc::new(ChangingMemory::new(memory_bytes(&layout, cipher).unwrap()));
        let pages = region(Arc::clone(&memory), &layout, cipher, 1).with_pool(pool(threads));
        let sealed = PAGE + cipher.tag_bytes();
        let text: Vec<u8> = (0..4 * PAGE).map(|i| i as u8).collect();
        let written = [5, 0, 3, 1];
        write(&pages, &written, &text).unwrap();
        for slot in 0..6 {
            let once = u32::from(written.contains(&slot));
            let (page, rest) = touches(&memory.stores, slot as usize, pages.stride(), sealed);
            assert!(page.iter().all(|count| *count == once) && rest.iter().all(|count| *count == 0));
        }
        assert!(memory.loads.iter().all(|count| count.load(Ordering::Relaxed) == 0), "sealing reads nothing");

        memory.forget();
        let asked = [slot(0, 0), slot(5, 0), slot(2, 0)];
        // It opens although every second load would return something else.
        let plain = read(&pages, &asked, PAGE).unwrap();
        assert_eq!(plain, [&text[PAGE..2 * PAGE], &text[..PAGE], &[0; PAGE]].concat());
        for slot in 0..6 {
            let once = u32::from([0, 5].contains(&slot));
            let (page, rest) = touches(&memory.loads, slot, pages.stride(), sealed);
            assert!(page.iter().all(|count| *count == once) && rest.iter().all(|count| *count == 0));
        }
        assert!(
            memory.stores.iter().all(|count| count.load(Ordering::Relaxed) == 0),
            "opening writes nothing"
        );

        // And after one load, it no longer opens.
        let (error, into) = read(&pages, &asked, PAGE).unwrap_err();
        assert_eq!(error, PageError::Forged { slot: slot(0, 0), version: 1 });
        assert_eq!(into, [0; 3 * PAGE]);
    }
}

#[test]
fn a_copy_torn_between_two_writings_is_forged_wherever_it_tears() {
    for cipher in PageCipher::ALL {
        let (memory, pages) = new_region(&layout(1, 1, PAGE as u32), cipher, 1);
        let sealed = PAGE + cipher.tag_bytes();
        write(&pages, &[0], &[1; PAGE]).unwrap();
        let old = part(&memory, 0, sealed);
        write(&pages, &[0], &[2; PAGE]).unwrap();
        let new = part(&memory, 0, sealed);
        for tear in 1..sealed {
            for (head, tail) in [(&old, &new), (&new, &old)] {
                memory.store(0, &[&head[..tear], &tail[tear..]].concat());
                let whole = holds(&memory, &new);
                let outcome = read(&pages, &[slot(0, 0)], PAGE);
                match outcome {
                    Ok(plain) => assert!(whole && plain == [2; PAGE]),
                    Err((_, into)) => assert!(!whole && into == [0; PAGE]),
                }
            }
        }
    }
}

fn holds(memory: &AtomicMemory, sealed: &[u8]) -> bool {
    snapshot(memory).starts_with(sealed)
}

/// Stops the writer also when the test fails.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn under_a_holder_that_scribbles_all_the_time_each_answer_is_the_last_writing_or_an_error_and_wiped() {
    let slots: Vec<Slot> = (0..8).map(|bucket| slot(bucket, 0)).collect();
    for (cipher, threads) in PageCipher::ALL.into_iter().flat_map(|c| [(c, 1), (c, 2)]) {
        let layout = layout(8, 1, PAGE as u32);
        let memory = memory(&layout, cipher);
        let pages = region(Arc::clone(&memory), &layout, cipher, 1).with_pool(pool(threads));
        let (mut answers, mut errors) = (0, 0);
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let _stops = StopOnDrop(&stop);
            scope.spawn(|| {
                let mut at = 0;
                while !stop.load(Ordering::Relaxed) {
                    // A byte changes, and usually changes back.
                    at = (at + 7919) % memory.bytes();
                    let byte = part(&memory, at, 1)[0];
                    memory.store(at, &[byte ^ 1]);
                    thread::yield_now();
                    memory.store(at, &[byte]);
                }
            });
            for round in 0..400u32 {
                let byte = round as u8;
                write(&pages, &[0, 1, 2, 3, 4, 5, 6, 7], &[byte; 8 * PAGE]).unwrap();
                match read(&pages, &slots, PAGE) {
                    Ok(plain) => {
                        assert_eq!(plain, [byte; 8 * PAGE]);
                        answers += 1;
                    }
                    Err((PageError::Forged { version, .. }, into)) => {
                        assert_eq!((version, into), (u64::from(round) + 1, vec![0; 8 * PAGE]));
                        errors += 1;
                    }
                    Err((other, _)) => panic!("{other}"),
                }
            }
        });
        assert_eq!(answers + errors, 400);
        assert!(answers > 0, "nothing was ever answered");
    }
}
