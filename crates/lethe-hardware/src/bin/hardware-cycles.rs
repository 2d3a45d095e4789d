//! Prints the cycles of an access, back to back over the paper's ideal memory, beside the paper's figures and the floor of the
//! bus. `cargo xtask hardware report` runs it.

#![allow(clippy::print_stdout, reason = "it is what it is for")]

use lethe_core::words::BlockId;
use lethe_hardware::{Bench, Configuration, Faults, Golden, Operation, Pace, Scheme, Workshop};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::error::Error;

/// Accesses of which the mean is taken, and those before them.
const MEASURED: usize = 2000;
const BEFORE: usize = 500;

fn main() -> Result<(), Box<dyn Error>> {
    let workshop = Workshop::new()?;
    println!("512 bits a cycle, 30 cycles to the first beat, L = 20, blocks of 64 bytes, without tags");
    println!("{:<52} {:>8} {:>8} {:>8}", "", "cycles", "floor", "paper");
    for (name, scheme, aes_lanes, aes_double, paper) in [
        ("Path ORAM Z = 4, four lanes", Scheme::Path, 4, false, 270),
        ("RAW ORAM Z = A = 5, two lanes", Scheme::Raw, 2, false, 276),
        ("RAW ORAM Z = A = 5, one pipeline at twice the clock", Scheme::Raw, 2, true, 276),
        ("RAW ORAM Z = A = 5, one lane", Scheme::Raw, 1, false, 276),
    ] {
        let configuration = Configuration { aes_lanes, aes_double, ..Configuration::paper(scheme) };
        let cycles = measure(&workshop, configuration)?;
        println!("{name:<52} {cycles:>8.1} {:>8.1} {paper:>8}", floor(&configuration));
    }
    Ok(())
}

/// The beats of an access on the bus.
fn floor(configuration: &Configuration) -> f64 {
    let levels = f64::from(configuration.leaf_level + 1);
    let (bucket, header) = (configuration.bucket_beats() as f64, configuration.header_beats() as f64);
    match configuration.scheme {
        Scheme::Path => 2.0 * levels * bucket,
        Scheme::Raw => levels * (bucket + header + 2.0 * bucket / f64::from(configuration.eviction_rate)),
    }
}

fn measure(workshop: &Workshop, configuration: Configuration) -> Result<f64, Box<dyn Error>> {
    let key = *b"a key of reports";
    let mut golden = Golden::new(configuration, &key, 1);
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..BEFORE + MEASURED {
        golden.run(Operation::Read(BlockId(u64::from(random.next_u32() % configuration.blocks))));
    }
    let library = workshop.library(&configuration, None)?;
    let mut bench = Bench::new(&library, configuration, Pace::IDEAL, Faults::default(), 1)?;
    bench.load_key(&key);
    let run = bench.run(&golden.session())?;
    let (first, last) = (run.answers[BEFORE - 1], run.answers[BEFORE + MEASURED - 1]);
    Ok((last - first) as f64 / MEASURED as f64)
}
