//! The parts of a fault, each measured alone over as much memory as the regions use.

use super::bare_trap;
use super::{Bound, PAGES, PROCESSOR, median, min};
use ameles_pager::page::PAGE_BYTES;
use ameles_pager::trap::Trap;
use ameles_seal::pages::{MAX_TAG_BYTES, PageCipher, PageId, PageKey};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;
use std::hint::black_box;
use std::time::Instant;

/// A figure of many rounds: their median, or the least.
pub(super) type Of = fn(&[f64]) -> f64;

/// Microseconds, one for each round.
#[derive(Default)]
pub(super) struct Parts {
    copy: Vec<f64>,
    come: [Vec<f64>; PageCipher::ALL.len()],
    go: [Vec<f64>; PageCipher::ALL.len()],
    in_thread: Vec<f64>,
    in_thread_beside_another: Vec<f64>,
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
            self.go[nth].push(micros_a_page(|slot| {
                black_box(&mut lane).copy_from_slice(black_box(&private));
                key.seal(id(slot), &mut lane, &mut tags[slot][..cipher.tag_bytes()]);
                shared[slot].copy_from_slice(black_box(&lane));
            }));
            self.come[nth].push(micros_a_page(|slot| {
                black_box(&mut private).copy_from_slice(black_box(&shared[slot]));
                let tag = &tags[slot][..cipher.tag_bytes()];
                key.open(id(slot), &mut private, tag).expect("as it was sealed");
            }));
        }
        self.in_thread_beside_another.push(bare_trap::in_thread_beside_another());
        let _bound = Bound::to(PROCESSOR);
        self.in_thread.push(bare_trap::in_thread());
        self.handler_thread.push(bare_trap::handler_thread());
    }

    /// From private to private memory.
    pub(super) fn copy(&self, of: Of) -> f64 {
        of(&self.copy)
    }

    /// Copied out of shared memory, and opened.
    pub(super) fn come(&self, of: Of, cipher: PageCipher) -> f64 {
        of(&self.come[index(cipher)])
    }

    /// Copied into scratch, sealed, and copied to shared memory.
    pub(super) fn go(&self, of: Of, cipher: PageCipher) -> f64 {
        of(&self.go[index(cipher)])
    }

    pub(super) fn trap(&self, of: Of, trap: Trap) -> f64 {
        of(match trap {
            Trap::InThread => &self.in_thread,
            Trap::HandlerThread => &self.handler_thread,
        })
    }

    pub(super) fn print(&self) {
        println!("{:42} {:>8} {:>8}", "part", "median", "least");
        let row =
            |name: &str, micros: &[f64]| println!("{name:42} {:>8.3} {:>8.3}", median(micros), min(micros));
        row("copy a page in private memory", &self.copy);
        for (nth, cipher) in PageCipher::ALL.into_iter().enumerate() {
            row(&format!("copy, seal, copy; {cipher}"), &self.go[nth]);
            row(&format!("copy, open; {cipher}"), &self.come[nth]);
        }
        row("bare trap and two moves, in-thread", &self.in_thread);
        row("the same beside a thread that runs", &self.in_thread_beside_another);
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
