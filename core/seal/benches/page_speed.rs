//! The costs of sealing and opening a page, compared to the bare cipher on private memory, which is their floor.
//!
//! `cargo bench -p ameles-seal --bench page_speed`
//!
//! A refresh opens K pages and seals K pages, as the write of a deterministic write-only ORAM does. The region has the
//! given sizes in MiB: 64, the pager's default, and a small one that stays in the cache. It is traversed in order. The
//! rounds of a row's measurements, including those of its floor, are short and take turns. Each figure is the best
//! round, because other work on the machine can only add time.
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use ameles_core::store::Store;
use ameles_core::tree::layout::{Extent, Layout};
use ameles_core::types::{Bucket, Slot};
use ameles_seal::pages::{
    MAX_TAG_BYTES, PageCipher, PageId, PageKey, PagePool, SealedPages, SharedMemory, TableVersions,
    memory_bytes,
};
use futures::FutureExt;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::hint::black_box;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const PAGE: usize = 4096;
const ROUND_TIME: Duration = Duration::from_micros(400);
const ROUNDS: usize = 150;
const BATCHES: [usize; 4] = [1, 3, 7, 15];

/// Memory with minimal copying cost: a lock for each slot, which no other thread ever takes, costs some
/// nanoseconds.
struct Slabs {
    stride: usize,
    slots: Vec<Slab>,
}

/// A page on cache lines of its own: locks of neighbouring slots do not interfere.
#[repr(align(128))]
struct Slab(Mutex<Box<[u8]>>);

impl Slabs {
    fn new(bytes: usize, slots: u64) -> Self {
        let stride = bytes / slots as usize;
        let slab = || Slab(Mutex::new(vec![0; stride].into_boxed_slice()));
        Slabs { stride, slots: (0..slots).map(|_| slab()).collect() }
    }
}

impl SharedMemory for Slabs {
    fn bytes(&self) -> usize {
        self.stride * self.slots.len()
    }

    fn load(&self, at: usize, into: &mut [u8]) {
        let slab = self.slots[at / self.stride].0.lock().expect("no copy panics");
        into.copy_from_slice(&slab[at % self.stride..][..into.len()]);
    }

    fn store(&self, at: usize, from: &[u8]) {
        let mut slab = self.slots[at / self.stride].0.lock().expect("no copy panics");
        slab[at % self.stride..][..from.len()].copy_from_slice(from);
    }
}

type Region = SealedPages<Slabs, TableVersions>;

fn key(cipher: PageCipher) -> PageKey {
    PageKey::draw(cipher, &mut ChaCha20Rng::seed_from_u64(1))
}

fn region(cipher: PageCipher, slots: u64, pool: Option<&Arc<PagePool>>) -> Region {
    let layout = Layout::new(vec![Extent { buckets: slots, slots: 1, slot_bytes: PAGE as u32 }]);
    let memory = Slabs::new(memory_bytes(&layout, cipher).expect("the layout fits"), slots);
    let region = SealedPages::new(memory, &layout, key(cipher), TableVersions::new(slots)).expect("it fits");
    let page = [1; PAGE];
    for bucket in (0..slots).map(Bucket) {
        region.write(&[bucket], &page).now_or_never().expect("ready").expect("it writes");
    }
    match pool {
        Some(pool) => region.with_pool(Arc::clone(pool)),
        None => region,
    }
}

/// Traverses a region in order, K pages at a time.
struct Walk<'a> {
    region: &'a Region,
    slots: u64,
    at: u64,
    batch: usize,
    pages: Vec<u8>,
    named: Vec<Slot>,
    buckets: Vec<Bucket>,
}

impl<'a> Walk<'a> {
    fn new(region: &'a Region, slots: u64, batch: usize) -> Self {
        let pages = vec![1; batch * PAGE];
        Walk { region, slots, at: 0, batch, pages, named: Vec::new(), buckets: Vec::new() }
    }

    fn step(&mut self) {
        self.buckets.clear();
        self.buckets.extend((0..self.batch as u64).map(|i| Bucket((self.at + i) % self.slots)));
        self.named.clear();
        self.named.extend(self.buckets.iter().map(|&bucket| Slot { bucket, index: 0 }));
        self.at = (self.at + self.batch as u64) % self.slots;
    }

    fn open(&mut self) {
        let read = self.region.read(&self.named, &mut self.pages);
        read.now_or_never().expect("ready").expect("nobody tampers");
    }

    fn seal(&mut self) {
        let write = self.region.write(&self.buckets, &self.pages);
        write.now_or_never().expect("ready").expect("it writes");
    }
}

/// Returns the seconds of one call in the best round of each measurement; the rounds alternate.
fn best(measurements: &mut [Box<dyn FnMut() + '_>]) -> Vec<f64> {
    let mut best = vec![f64::MAX; measurements.len()];
    for _ in 0..ROUNDS {
        for (call, best) in measurements.iter_mut().zip(&mut best) {
            let (start, mut calls) = (Instant::now(), 0u32);
            while start.elapsed() < ROUND_TIME {
                (0..8).for_each(|_| call());
                calls += 8;
            }
            *best = best.min(start.elapsed().as_secs_f64() / f64::from(calls));
        }
    }
    best
}

/// The bare cipher on one page of private memory. Opening cannot be repeated without sealing, so its time is the
/// difference of two measurements.
struct Bare {
    key: PageKey,
    page: Vec<u8>,
    version: u64,
}

impl Bare {
    fn new(cipher: PageCipher) -> Self {
        Bare { key: key(cipher), page: vec![1; PAGE], version: 0 }
    }

    fn once(&mut self, opens: bool) {
        let mut tag = [0; MAX_TAG_BYTES];
        let tag = &mut tag[..self.key.cipher().tag_bytes()];
        self.version += 1;
        let id = PageId { slot: 1, version: self.version };
        self.key.seal(id, black_box(&mut self.page), tag);
        if opens {
            self.key.open(id, black_box(&mut self.page), tag).expect("it was sealed so");
        }
    }
}

fn copy() -> f64 {
    let (from, mut to) = (vec![1u8; PAGE], vec![0u8; PAGE]);
    best(&mut [Box::new(|| black_box(&mut to).copy_from_slice(black_box(&from)))])[0] * 1e6
}

/// Measures µs per page for sealing, opening and refreshing batches, each with its floor.
fn row(cipher: PageCipher, slots: u64, pool: Option<&Arc<PagePool>>) {
    const WORK: [(&str, bool, bool); 3] =
        [("seal", false, true), ("open", true, false), ("refresh", true, true)];
    let region = region(cipher, slots, pool);
    let (mut sealed, mut both) = (Bare::new(cipher), Bare::new(cipher));
    let mut calls: Vec<Box<dyn FnMut()>> =
        vec![Box::new(|| sealed.once(false)), Box::new(|| both.once(true))];
    for (_, opens, seals) in WORK {
        for batch in BATCHES {
            let mut walk = Walk::new(&region, slots, batch);
            calls.push(Box::new(move || {
                walk.step();
                if opens {
                    walk.open();
                }
                if seals {
                    walk.seal();
                }
            }));
        }
    }
    let times = best(&mut calls);
    let (seal, both) = (times[0], times[1]);
    let threads = pool.map_or(1, |pool| pool.threads());
    for ((what, ..), (floor, times)) in
        WORK.iter().zip([seal, both - seal, both].iter().zip(times[2..].chunks(BATCHES.len())))
    {
        print!("{:<22}{threads:>7} {what:<8}{:>6.2}", cipher.name(), floor * 1e6);
        for (time, batch) in times.iter().zip(BATCHES) {
            let page = time / batch as f64;
            print!("  {:>6.2} {:>5.2}x", page * 1e6, page / floor);
        }
        println!();
    }
}

/// Binds the thread to its own processor: on a busy machine the scheduler would put two on one.
#[cfg(target_os = "linux")]
fn bind(lane: usize) {
    let mut processors = rustix::thread::CpuSet::new();
    processors.set(lane);
    // If that is refused, it still measures.
    let _ = rustix::thread::sched_setaffinity(None, &processors);
}

#[cfg(not(target_os = "linux"))]
fn bind(_lane: usize) {}

fn main() {
    let threads = thread::available_parallelism().map_or(2, |threads| threads.get().clamp(2, 16));
    // The caller is lane 0.
    bind(0);
    let pool = ameles_fork_join::Pool::with_start(threads, PagePool::SPIN_TIME, bind).expect("threads");
    let pool = Arc::new(PagePool::from_pool(pool));
    println!("µs for a page of {PAGE} bytes; best of {ROUNDS} rounds; memcpy {:.3}", copy());
    println!("floor: the bare cipher on private memory; x: times the floor");
    for mib in [1, 64] {
        // A whole number of batches: a slot is moved by the same thread in each round, as under a fixed schedule.
        let slots = (mib << 20) / (PAGE as u64 + 64) / 105 * 105;
        println!("\nregion of {mib} MiB");
        print!("{:<22}{:>7} {:<8}{:>6}", "cipher", "threads", "", "floor");
        BATCHES.iter().for_each(|batch| print!("  {:>13}", format!("K = {batch}")));
        println!();
        for cipher in PageCipher::ALL {
            row(cipher, slots, None);
            row(cipher, slots, Some(&pool));
        }
    }
}
