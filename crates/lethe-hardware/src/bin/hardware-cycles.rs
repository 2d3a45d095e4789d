//! Prints the cycles of an access, back to back over the paper's ideal memory, beside the paper's figures and the floor of the
//! bus. `cargo xtask hardware report` runs it. An argument is a part of the names of those that are measured.

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
    let wanted = std::env::args().nth(1).unwrap_or_default();
    println!("512 bits a cycle, 30 cycles to the first beat, L = 20, blocks of 64 bytes, without tags");
    println!("{:<44} {:>8} {:>8} {:>8}", "", "cycles", "floor", "paper");
    // Lanes of AES, of the scan, and levels on chip.
    for (name, scheme, (aes_lanes, scan_lanes, top_levels), paper) in [
        ("Path ORAM Z = 4, four lanes", Scheme::Path, (4, 1, 0), 270),
        ("RAW ORAM Z = A = 5, two lanes", Scheme::Raw, (2, 1, 0), 276),
        ("RAW ORAM Z = A = 5, one lane", Scheme::Raw, (1, 1, 0), 276),
        ("Path ORAM, eight levels on chip, two scanned", Scheme::Path, (4, 2, 8), 270),
        ("RAW ORAM, eight levels on chip", Scheme::Raw, (2, 1, 8), 276),
        ("RAW ORAM, eight levels on chip, two scanned", Scheme::Raw, (2, 2, 8), 276),
    ] {
        if !name.contains(&wanted) {
            continue;
        }
        let configuration =
            Configuration { aes_lanes, scan_lanes, top_levels, ..Configuration::paper(scheme) };
        let cycles = measure(&workshop, configuration)?;
        println!("{name:<44} {cycles:>8.1} {:>8.1} {paper:>8}", floor(&configuration));
    }
    Ok(())
}

/// The beats of an access on the bus.
fn floor(configuration: &Configuration) -> f64 {
    let levels = configuration.top_levels..=configuration.leaf_level;
    let buckets: usize = levels.clone().map(|level| configuration.bucket_beats(level)).sum();
    let (buckets, headers) = (buckets as f64, (levels.count() * configuration.header_beats()) as f64);
    match configuration.scheme {
        Scheme::Path => 2.0 * buckets,
        Scheme::Raw => buckets + headers + 2.0 * buckets / f64::from(configuration.eviction_rate),
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
