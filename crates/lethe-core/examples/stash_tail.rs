//! Simulates the tail of Ring ORAM's stash (tree top included) on its worst case: a full vault, read in a scan,
//! always the block that was longest unread. Prints the parameters, the measured cost of an access in slots, and how
//! often the stash held more than each number of blocks.
//!
//!     cargo run --release -p lethe-core --example stash_tail -- [capacity] [trusted blocks] [accesses] [batch]

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use futures::executor::block_on;
use lethe_core::oram::{Access, Oram};
use lethe_core::position_map::flat::{FlatPositionMap, Positions};
use lethe_core::schemes::ring::{Ring, RingParameters};
use lethe_core::store::Store;
use lethe_core::tree::geometry::Geometry;
use lethe_core::words::{BlockId, Bucket, Slot};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::convert::Infallible;

/// Headers only: the payload of a simulated block is empty.
struct Headers {
    tree: Geometry,
    slots: RefCell<Vec<u8>>,
    moved: Cell<u64>,
}

impl Headers {
    fn place(&self, bucket: Bucket) -> (usize, usize) {
        let level = self.tree.level_of(bucket);
        let shape = self.tree.shape(level);
        let before =
            self.tree.slots_before(level) + (bucket.0 - self.tree.first_of(level).0) * u64::from(shape.slots);
        (before as usize * shape.slot_bytes as usize, shape.slots as usize * shape.slot_bytes as usize)
    }
}

impl Store for Headers {
    type Error = Infallible;

    async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), Infallible> {
        self.moved.set(self.moved.get() + slots.len() as u64);
        let all = self.slots.borrow();
        for (slot, into) in slots.iter().zip(into.chunks_exact_mut(16)) {
            let start = self.place(slot.bucket).0 + slot.index as usize * 16;
            into.copy_from_slice(&all[start..start + 16]);
        }
        Ok(())
    }

    async fn write(&self, buckets: &[Bucket], mut from: &[u8]) -> Result<(), Infallible> {
        let mut all = self.slots.borrow_mut();
        for bucket in buckets {
            let (start, bytes) = self.place(*bucket);
            all[start..start + bytes].copy_from_slice(&from[..bytes]);
            from = &from[bytes..];
            self.moved.set(self.moved.get() + bytes as u64 / 16);
        }
        Ok(())
    }
}

fn main() {
    let argument = |nth: usize, default: u64| -> u64 {
        std::env::args().nth(nth).map_or(default, |text| text.parse().expect("a whole number"))
    };
    let capacity = argument(1, 4096);
    let trusted = argument(2, capacity / 8);
    let accesses = argument(3, 1_000_000);
    let batch = argument(4, 16);
    let parameters = RingParameters::for_capacity(capacity, 0, trusted, batch as u32);
    let tree = parameters.geometry();
    println!("{parameters:#?}");
    println!("slots / capacity      {:.2}", tree.layout().slots() as f64 / capacity as f64);
    println!("slots moved, expected {:.2} an access", parameters.slots_per_access());
    let slots = RefCell::new(vec![0; tree.layout().slots() as usize * 16]);
    let store = Headers { tree, slots, moved: Cell::new(0) };
    let positions = FlatPositionMap::new(Positions::new(capacity));
    let seed = argument(5, 1);
    let ring = Ring::new(parameters, store, positions, ChaCha8Rng::seed_from_u64(seed)).expect("planned");
    let mut held: BTreeMap<usize, u64> = BTreeMap::new();
    let warm = 4 * capacity;
    for nth in 0..(warm + accesses) / batch {
        if nth == warm / batch {
            ring.store().moved.set(0);
            held.clear();
        }
        let mut nothing: Vec<[u8; 0]> = vec![[]; batch as usize];
        let mut accesses: Vec<Access<'_>> = nothing
            .iter_mut()
            .enumerate()
            .map(|(at, into)| Access::Read(BlockId((nth * batch + at as u64) % capacity), into))
            .collect();
        block_on(ring.access(&mut accesses)).expect("the access");
        *held.entry(ring.stash_blocks().0).or_default() += 1;
        // As late as the schedule allows: one eviction stays owed.
        while ring.must_idle() {
            block_on(ring.idle()).expect("the eviction");
        }
    }
    println!("slots moved, measured {:.2} an access", ring.store().moved.get() as f64 / accesses as f64);
    println!("emergency evictions   {}", ring.emergencies());
    println!("stash peak, with evictions in flight {}", ring.stash_blocks().1);
    let samples: u64 = held.values().sum();
    let mean = held.iter().map(|(held, times)| *held as f64 * *times as f64).sum::<f64>() / samples as f64;
    let variance =
        held.iter().map(|(held, times)| (*held as f64 - mean).powi(2) * *times as f64).sum::<f64>()
            / samples as f64;
    println!("stash mean {mean:.1}, standard deviation {:.2}", variance.sqrt());
    println!(
        "(bound - mean) / deviation {:.2}",
        (f64::from(ring.parameters().stash_bound) - mean) / variance.sqrt()
    );
    let mut above = 0;
    for (held, times) in held.iter().rev() {
        above += times;
        println!("P(stash >= {held:4}) = 2^{:.2}", (above as f64 / samples as f64).log2());
    }
}
