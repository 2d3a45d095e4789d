//! What the tests share.

use lethe_core::words::BlockId;
use lethe_hardware::{Bench, Configuration, Faults, Golden, Operation, Pace};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::path::PathBuf;

/// The key of all tests.
pub const KEY: [u8; 16] = *b"a key of tests..";

/// The memory of the paper: 30 cycles to the first beat.
pub const IDEAL: Pace = Pace { read_latency: 30, write_latency: 10 };

/// The library of a configuration, as `cargo xtask hardware` names it.
pub fn library(name: &str) -> PathBuf {
    let folder = std::env::var_os("LETHE_HARDWARE").expect("LETHE_HARDWARE is the folder of the libraries");
    PathBuf::from(folder).join(format!("{name}.so"))
}

/// A bench with its key.
pub fn bench(name: &str, configuration: Configuration, pace: Pace, faults: Faults) -> Bench {
    let mut bench = Bench::new(&library(name), configuration, pace, faults, 1).unwrap();
    bench.load_key(&KEY);
    bench
}

/// Operations of all kinds on random blocks: a block that is in is read, written or taken; one that is not is put in, or
/// comes into being by an access.
pub fn mix(golden: &mut Golden, configuration: Configuration, operations: usize, seed: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..operations {
        let block = BlockId(u64::from(random.next_u32() % configuration.blocks));
        let mut data = vec![0; configuration.block_bytes as usize];
        random.fill_bytes(&mut data);
        let is_in = golden.is_in(block);
        let operation = match random.next_u32() % 8 {
            0..3 => Operation::Read(block),
            3..5 => Operation::Write(block, data),
            5 => Operation::Take(block),
            6 if !is_in => Operation::Put(block, data),
            _ => Operation::Dummy,
        };
        golden.run(operation);
    }
}
