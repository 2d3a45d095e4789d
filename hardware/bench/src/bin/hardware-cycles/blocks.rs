//! The cycles to access 4 KiB, with 64 accesses in a row and as one block of that size.

use super::measure::{Length, means, one_at_a_time, random_reads, run};
use ameles_hardware_bench::{Configuration, DesignBuilder, Scheme};
use std::error::Error;

/// Accesses to 64 bytes each, in whole pages.
const PAGES: Length = Length { before: 8 * 64, measured: 32 * 64 };

/// Accesses to 4 KiB.
const BLOCKS: Length = Length { before: 40, measured: 100 };

/// Prints the cycles with the paper's figures.
pub(crate) fn print(builder: &DesignBuilder) -> Result<(), Box<dyn Error>> {
    println!(
        "4 KiB over the ideal memory, without tags and front end: cycles, and the lower bound of the bus"
    );
    println!("Back to back, and each access after the answer of the one before; the paper's is 64 latencies");
    println!("{:<58} {:>12} {:>12} {:>8} {:>8}", "", "back to back", "lower bound", "alone", "paper");
    for (name, scheme, paper) in [
        ("Path ORAM Z = 4, four lanes", Scheme::Path, "17280"),
        ("RAW ORAM Z = A = 5, two lanes", Scheme::Raw, "17664"),
    ] {
        let small = Configuration::paper(scheme);
        let row = format!("{name}: 64 blocks of 64 bytes");
        print_row(builder, &row, &small, PAGES, 64, paper)?;
        // As many bytes as those blocks have in all.
        let large = small.with_large_blocks();
        print_row(builder, &format!("{name}: a block, L = 14"), &large, BLOCKS, 1, "-")?;
    }
    // A path of such blocks needs far more masks than are computed ahead of it.
    let lanes = Configuration { aes_lanes: 4, ..Configuration::paper(Scheme::Raw).with_large_blocks() };
    print_row(builder, "RAW ORAM Z = A = 5, four lanes: a block, L = 14", &lanes, BLOCKS, 1, "-")?;
    Ok(())
}

fn print_row(
    builder: &DesignBuilder,
    name: &str,
    configuration: &Configuration,
    length: Length,
    accesses: u32,
    paper: &str,
) -> Result<(), Box<dyn Error>> {
    let session = random_reads(configuration, length);
    let cycles = |session| -> Result<f64, Box<dyn Error>> {
        let (run, _) = run(builder, configuration, session, None)?;
        Ok(means(&run, length).cycles * f64::from(accesses))
    };
    let (together, single) = (cycles(&session)?, cycles(&one_at_a_time(&session))?);
    let lower_bound = configuration.beats_of_access() * f64::from(accesses);
    println!("{name:<58} {together:>12.0} {lower_bound:>12.0} {single:>8.0} {paper:>8}");
    Ok(())
}
