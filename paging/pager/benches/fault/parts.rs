//! The parts of a fault, each measured alone over as much memory as the regions use.

use super::bare_trap;
use super::{Bound, PAGES, PROCESSOR, median, min};
use ameles_pager::fault_handling::FaultHandling;
use ameles_pager::page::PAGE_BYTES;
use ameles_seal::pages::{MAX_TAG_BYTES, PageCipher, PageId, PageKey};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;
use std::hint::black_box;
use std::time::Instant;

/// A statistic over rounds: the median or the minimum.
pub(super) type Statistic = fn(&[f64]) -> f64;

/// Microseconds, one for each round.
#[derive(Default)]
pub(super) struct Parts {
    copy: Vec<f64>,
    open: [Vec<f64>; PageCipher::ALL.len()],
    seal: [Vec<f64>; PageCipher::ALL.len()],
    in_thread: Vec<f64>,
    in_thread_with_busy_thread: Vec<f64>,
    handler_thread: Vec<f64>,
}

impl Parts {
    pub(super) fn measure(&mut self) {
        let mut shared = vec![[1u8; PAGE_BYTES]; PAGES];
        let (mut private, mut lane) = ([2u8; PAGE_BYTES], [3u8; PAGE_BYTES]);
        self.copy.push(micros_a_page(|_| {
            black_box(&mut private).copy_from_slice(black_box(&lane));
        }));
        for (nth, cipher) in PageCipher::ALL.into_iter().enumerate() {
            let key = PageKey::draw(cipher, &mut ChaCha12Rng::seed_from_u64(1));
            let mut tags = vec![[0; MAX_TAG_BYTES]; PAGES];
            let id = |slot| PageId { slot: slot as u32, version: 1 };
            self.seal[nth].push(micros_a_page(|slot| {
                black_box(&mut lane).copy_from_slice(black_box(&private));
                key.seal(id(slot), &mut lane, &mut tags[slot][..cipher.tag_bytes()]);
                shared[slot].copy_from_slice(black_box(&lane));
            }));
            self.open[nth].push(micros_a_page(|slot| {
                black_box(&mut private).copy_from_slice(black_box(&shared[slot]));
                let tag = &tags[slot][..cipher.tag_bytes()];
                key.open(id(slot), &mut private, tag).expect("as it was sealed");
            }));
        }
        self.in_thread_with_busy_thread.push(bare_trap::in_thread_with_busy_thread());
        let _bound = Bound::to(PROCESSOR);
        self.in_thread.push(bare_trap::in_thread());
        self.handler_thread.push(bare_trap::handler_thread());
    }

    /// A copy in private memory.
    pub(super) fn copy(&self, of: Statistic) -> f64 {
        of(&self.copy)
    }

    /// A copy out of shared memory, and opening.
    pub(super) fn open(&self, of: Statistic, cipher: PageCipher) -> f64 {
        of(&self.open[index(cipher)])
    }

    /// A copy into scratch memory, sealing, and a copy to shared memory.
    pub(super) fn seal(&self, of: Statistic, cipher: PageCipher) -> f64 {
        of(&self.seal[index(cipher)])
    }

    pub(super) fn trap(&self, of: Statistic, fault_handling: FaultHandling) -> f64 {
        of(match fault_handling {
            FaultHandling::InThread => &self.in_thread,
            FaultHandling::HandlerThread => &self.handler_thread,
        })
    }

    pub(super) fn print(&self) {
        println!("{:42} {:>8} {:>8}", "part", "median", "least");
        let row =
            |name: &str, micros: &[f64]| println!("{name:42} {:>8.3} {:>8.3}", median(micros), min(micros));
        row("copy a page in private memory", &self.copy);
        for (nth, cipher) in PageCipher::ALL.into_iter().enumerate() {
            row(&format!("copy, seal, copy; {cipher}"), &self.seal[nth]);
            row(&format!("copy, open; {cipher}"), &self.open[nth]);
        }
        row("bare trap and two moves, in-thread", &self.in_thread);
        row("the same with a busy thread", &self.in_thread_with_busy_thread);
        row("bare trap and two moves, handler-thread", &self.handler_thread);
    }
}

fn index(cipher: PageCipher) -> usize {
    PageCipher::ALL.into_iter().position(|other| other == cipher).expect("one of them all")
}

fn micros_a_page(mut work: impl FnMut(usize)) -> f64 {
    let begin = Instant::now();
    (0..PAGES).for_each(&mut work);
    begin.elapsed().as_secs_f64() * 1e6 / PAGES as f64
}
