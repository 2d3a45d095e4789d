//! The costs that a refresh of a page by its masks alone would have, without opening it, and the costs of opening
//! and sealing.
//!
//! `cargo bench -p ameles-seal --bench refresh_by_masking`
//!
//! No cipher of pages does this; `docs/decisions/0023-refresh-opens.md` says why, with these figures. A refresh by
//! masks is two keystreams. Its price is that every page that is read or written needs a keystream and a hash of the
//! plaintext, in two passes. Each figure is on private memory, and then with the copies of a page from a slot and back
//! into it, repeatedly in 64 MiB. Rounds alternate and are short.
#![allow(clippy::print_stdout, reason = "it prints its figures")]

use aegis::aegis256x4::{Aegis256X4, Aegis256X4Mac};
use aes::Aes256Enc;
use ameles_seal::pages::{MAX_TAG_BYTES, PageCipher, PageId, PageKey};
use ctr::CtrCore;
use ctr::cipher::{InnerIvInit, KeyInit, StreamCipher, StreamCipherCoreWrapper};
use ctr::flavors::Ctr32BE;
use polyval::Polyval;
use polyval::universal_hash::UniversalHash;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::hint::black_box;
use std::time::{Duration, Instant};

const PAGE: usize = 4096;
const TAG: usize = 16;
/// The bytes from one slot to the next.
const STRIDE: usize = PAGE + 64;
const SLOTS: usize = (64 << 20) / STRIDE;
const ROUND_TIME: Duration = Duration::from_micros(400);
const ROUNDS: usize = 150;

/// A private page with its tag, and the slots that it is copied from.
struct Bench {
    page: Vec<u8>,
    slots: Vec<u8>,
    slot: usize,
    version: u64,
}

impl Bench {
    fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    /// Copies the next slot's page into private memory, calls the work, and copies it back.
    fn carry(&mut self, work: impl FnOnce(&mut Bench)) {
        self.slot = (self.slot + 1) % SLOTS;
        let slot = self.slot * STRIDE..self.slot * STRIDE + PAGE + TAG;
        self.page.copy_from_slice(black_box(&self.slots[slot.clone()]));
        work(self);
        self.slots[slot].copy_from_slice(black_box(&self.page));
    }

    /// Does the same work as opening a page and sealing it again: it is sealed first, so that it opens.
    fn seal_and_open(&mut self, key: &PageKey) {
        let mut tag = [0; MAX_TAG_BYTES];
        let tag = &mut tag[..key.cipher().tag_bytes()];
        let id = PageId { slot: 1, version: self.next_version() };
        key.seal(id, black_box(&mut self.page[..PAGE]), tag);
        key.open(id, black_box(&mut self.page[..PAGE]), tag).expect("it was sealed so");
    }

    fn mask_aes(&mut self, key: &Aes256Enc) {
        let mut block = [0; 16];
        block[4..12].copy_from_slice(&self.next_version().to_be_bytes());
        let core = CtrCore::<&Aes256Enc, Ctr32BE>::inner_iv_init(key, &block.into());
        StreamCipherCoreWrapper::from_core(core).apply_keystream(black_box(&mut self.page));
    }

    fn mask_aegis(&mut self, key: &[u8; 32]) {
        let mut nonce = [0; 32];
        nonce[4..12].copy_from_slice(&self.next_version().to_be_bytes());
        Aegis256X4::<TAG>::new(key, &nonce).stream_xor_in_place(black_box(&mut self.page));
    }

    fn hash_polyval(&mut self, key: &Polyval) {
        let mut hash = key.clone();
        hash.update_padded(black_box(&self.page[..PAGE]));
        black_box(hash.finalize());
    }

    fn hash_aegis(&mut self, key: &[u8; 32]) {
        let mut hash = Aegis256X4Mac::<TAG>::new(key);
        hash.update(black_box(&self.page[..PAGE]));
        black_box(hash.finalize());
    }
}

type Work<'a> = Box<dyn Fn(&mut Bench) + 'a>;

fn main() {
    let secret = [7; 32];
    let keys = PageCipher::ALL.map(|cipher| PageKey::draw(cipher, &mut ChaCha20Rng::seed_from_u64(1)));
    let (aes, polyval) = (Aes256Enc::new(&secret.into()), Polyval::new(&[9; 16].into()));
    let mut rows: Vec<(String, Work<'_>)> = vec![("only copied".into(), Box::new(|_| ()))];
    for key in &keys {
        let name = format!("opened and sealed: {}", key.cipher());
        rows.push((name, Box::new(|bench| bench.seal_and_open(key))));
    }
    rows.push((
        "refreshed by masks: aes-256-ctr".into(),
        Box::new(|bench| (0..2).for_each(|_| bench.mask_aes(&aes))),
    ));
    rows.push((
        "refreshed by masks: aegis-256x4".into(),
        Box::new(|bench| (0..2).for_each(|_| bench.mask_aegis(&secret))),
    ));
    rows.push((
        "masked and hashed: aes-256-ctr, polyval".into(),
        Box::new(|bench| {
            bench.mask_aes(&aes);
            bench.hash_polyval(&polyval);
        }),
    ));
    rows.push((
        "masked and hashed: aegis-256x4, its mac".into(),
        Box::new(|bench| {
            bench.mask_aegis(&secret);
            bench.hash_aegis(&secret);
        }),
    ));
    print(&rows, &measure(&rows));
}

/// Returns the seconds of one call: for each row the rounds without copies and with them.
fn measure(rows: &[(String, Work<'_>)]) -> Vec<[Vec<f64>; 2]> {
    let mut bench = Bench { page: vec![1; PAGE + TAG], slots: vec![2; SLOTS * STRIDE], slot: 0, version: 0 };
    let mut rounds = vec![[Vec::new(), Vec::new()]; rows.len()];
    for _ in 0..ROUNDS {
        for ((_, work), rounds) in rows.iter().zip(&mut rounds) {
            rounds[0].push(round(|| work(&mut bench)));
            rounds[1].push(round(|| bench.carry(work)));
        }
    }
    rounds
}

fn round(mut call: impl FnMut()) -> f64 {
    let (start, mut calls) = (Instant::now(), 0u32);
    while start.elapsed() < ROUND_TIME {
        (0..8).for_each(|_| call());
        calls += 8;
    }
    start.elapsed().as_secs_f64() / f64::from(calls)
}

fn print(rows: &[(String, Work<'_>)], rounds: &[[Vec<f64>; 2]]) {
    println!("µs for a page of {PAGE} bytes: the best of {ROUNDS} rounds, and their median");
    println!("{:<42}{:>16}{:>18}", "", "private", "with copies");
    for ((name, _), rounds) in rows.iter().zip(rounds) {
        let figures = rounds.each_ref().map(|rounds| {
            let mut sorted = rounds.clone();
            sorted.sort_by(f64::total_cmp);
            format!("{:>8.2} {:>8.2}", sorted[0] * 1e6, sorted[sorted.len() / 2] * 1e6)
        });
        println!("{name:<42}{} {}", figures[0], figures[1]);
    }
}
