//! Simulates the tail of Path ORAM's stash (trusted top included) on its worst case: a full vault, read in a scan,
//! always the block that was longest unread. Prints the parameters, the mean and the deviation of the stash after the
//! write-backs, and how often it held more than each number of blocks.
//!
//!     cargo run --release -p lethe-core --example path_tail -- [capacity] [leaf level] [top] [Z] [batch] [accesses] [seed]

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use lethe_core::oram::{Access, Oram};
use lethe_core::position_map::flat::{FlatPositionMap, Positions};
use lethe_core::schemes::path::{PathOram, PathParameters};
use lethe_core::testing::{ArrayStore, finish_now};
use lethe_core::words::{BlockId, Bucket, Level};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use std::collections::BTreeMap;

fn main() {
    let argument = |nth: usize, default: u64| -> u64 {
        std::env::args().nth(nth).map_or(default, |text| text.parse().expect("a whole number"))
    };
    let capacity = argument(1, 4096);
    let parameters = PathParameters {
        capacity,
        block_bytes: 0,
        leaf_level: Level(argument(2, u64::from(capacity.ilog2() - 2)) as u32),
        top: Level(argument(3, 0) as u32),
        blocks_per_bucket: argument(4, 4) as u32,
        max_batch: argument(5, 1) as u32,
        stash_bound: 1 << 24,
    };
    let accesses = argument(6, 1_000_000);
    let batch = u64::from(parameters.max_batch);
    let store = ArrayStore::new(&parameters.layout());
    let slots = u64::from(parameters.blocks_per_bucket) * ((2 << parameters.leaf_level.0) - 1);
    println!("{parameters:?}\nslots / capacity {:.2}", slots as f64 / capacity as f64);
    println!("places of a path {}", parameters.path_buckets() * parameters.blocks_per_bucket as usize);
    let subtrees = 1u64 << parameters.top.0;
    let positions = FlatPositionMap::new(Positions::new(capacity));
    let rng = ChaCha8Rng::seed_from_u64(argument(7, 1));
    let oram = PathOram::new(parameters, Bucket(0), store, positions, rng).expect("good parameters");
    let mut held: BTreeMap<usize, u64> = BTreeMap::new();
    let (warm, mut moved) = (4 * capacity, 0);
    let mut nothing: Vec<[u8; 0]> = vec![[]; batch as usize];
    for nth in 0..(warm + accesses) / batch {
        let request = |(at, into)| Access::Read(BlockId((nth * batch + at as u64) % capacity), into);
        let mut accesses: Vec<Access<'_>> =
            nothing.iter_mut().map(|into| &mut into[..]).enumerate().map(request).collect();
        finish_now(oram.access(&mut accesses)).expect("the access");
        moved += oram.stash_blocks();
        while oram.owed() > 0 {
            finish_now(oram.idle()).expect("the write-back");
        }
        moved -= oram.stash_blocks();
        if nth == warm / batch {
            moved = 0;
        }
        if nth >= warm / batch {
            *held.entry(oram.stash_blocks()).or_default() += 1;
        }
    }
    let samples: u64 = held.values().sum();
    let sum = |of: &dyn Fn(f64) -> f64| -> f64 {
        held.iter().map(|(held, times)| of(*held as f64) * *times as f64).sum::<f64>() / samples as f64
    };
    let mean = sum(&|held| held);
    let deviation = sum(&|held| (held - mean) * (held - mean)).sqrt();
    println!("stash mean {mean:.2}, {:.3} a subtree, deviation {deviation:.2}", mean / subtrees as f64);
    println!("blocks written back by an access {:.2}", moved as f64 / (samples * batch) as f64);
    let mut above = 0;
    for (held, times) in held.iter().rev() {
        above += times;
        println!("P(stash >= {held:4}) = 2^{:.2}", (above as f64 / samples as f64).log2());
    }
}
