//! Measures the speed of Path ORAM over plain memory, with a flat position map and no sealing. It fills a vault, then
//! reads and writes at random, half and half.
//!
//!     cargo bench -p ameles-core --bench path_speed -- [capacity] [block bytes] [trusted share] [accesses]

#![allow(clippy::print_stdout, reason = "this is what the example is for")]
#![allow(clippy::disallowed_types, reason = "an example may look at the clock")]

use ameles_core::oram::{Access, Oram};
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::path::{PathOram, PathParameters};
use ameles_core::testing::{ArrayStore, finish_now};
use ameles_core::types::{BlockId, Bucket};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::time::Instant;

fn main() {
    // Cargo adds a flag of its own.
    let arguments: Vec<String> = std::env::args().filter(|argument| argument != "--bench").collect();
    let argument = |nth: usize, default: u64| -> u64 {
        arguments.get(nth).map_or(default, |text| text.parse().expect("a whole number"))
    };
    let (capacity, block_bytes) = (argument(1, 1 << 20), argument(2, 64));
    let parameters =
        PathParameters::for_capacity(capacity, block_bytes as u32, capacity / argument(3, 32), 1)
            .expect("a capacity and a block size in range");
    println!("{parameters:?}");
    let layout = parameters.layout();
    println!("stored {:.2} times the payload", layout.bytes().0 as f64 / (capacity * block_bytes) as f64);
    let store = ArrayStore::new(&layout);
    let positions = FlatPositionMap::new(Positions::new(capacity));
    let oram = PathOram::new(parameters, Bucket(0), store, positions, ChaCha8Rng::seed_from_u64(1))
        .expect("good parameters");
    let mut block = vec![7; block_bytes as usize];
    let mut access = |id: u64, write: bool| {
        let access =
            if write { Access::Write(BlockId(id), &block) } else { Access::Read(BlockId(id), &mut block) };
        finish_now(oram.access(&mut [access])).expect("the access");
        finish_now(oram.step()).expect("the write-back");
    };
    (0..capacity).for_each(|id| access(id, true));
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let accesses = argument(4, 2_000_000);
    let start = Instant::now();
    for _ in 0..accesses {
        let random = rng.next_u64();
        access((random >> 1) % capacity, random & 1 == 1);
    }
    let rate = accesses as f64 / start.elapsed().as_secs_f64();
    println!(
        "{rate:.0} accesses/s; {:.3} of the payload on the trusted side, position map not counted",
        (oram.trusted_bytes() as f64 - 4.0 * capacity as f64) / (capacity as f64 * block_bytes.max(1) as f64)
    );
}
