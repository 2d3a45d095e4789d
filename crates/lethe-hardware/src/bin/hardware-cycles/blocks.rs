//! The cycles of 4 KiB: by 64 accesses in a row, and as a block of that size.

use super::measure::{Length, means, random_reads, run};
use lethe_hardware::{Configuration, Scheme, Workshop};
use std::error::Error;

/// Accesses to 64 bytes each, in whole pages.
const PAGES: Length = Length { before: 8 * 64, measured: 32 * 64 };

/// Accesses to 4 KiB.
const BLOCKS: Length = Length { before: 40, measured: 100 };

/// Prints them beside the paper's figures.
pub(crate) fn print(workshop: &Workshop) -> Result<(), Box<dyn Error>> {
    println!("4 KiB over the ideal memory, without tags and front end: cycles, and the floor of the bus");
    println!("{:<58} {:>8} {:>8} {:>8}", "", "cycles", "floor", "paper");
    for (name, scheme, paper) in [
        ("Path ORAM Z = 4, four lanes", Scheme::Path, "17280"),
        ("RAW ORAM Z = A = 5, two lanes", Scheme::Raw, "17664"),
    ] {
        let small = Configuration::paper(scheme);
        let row = format!("{name}: 64 blocks of 64 bytes");
        print_row(workshop, &row, &small, PAGES, 64, paper)?;
        // As many bytes as those blocks have in all.
        let large = small.with_large_blocks();
        print_row(workshop, &format!("{name}: a block, L = 14"), &large, BLOCKS, 1, "-")?;
    }
    // A path of such blocks has far more masks than are made ahead of it.
    let lanes = Configuration { aes_lanes: 4, ..Configuration::paper(Scheme::Raw).with_large_blocks() };
    print_row(workshop, "RAW ORAM Z = A = 5, four lanes: a block, L = 14", &lanes, BLOCKS, 1, "-")?;
    Ok(())
}

fn print_row(
    workshop: &Workshop,
    name: &str,
    configuration: &Configuration,
    length: Length,
    accesses: u32,
    paper: &str,
) -> Result<(), Box<dyn Error>> {
    let (run, _) = run(workshop, configuration, &random_reads(configuration, length), None)?;
    let of_all = |of_one: f64| of_one * f64::from(accesses);
    let (cycles, floor) = (of_all(means(&run, length).cycles), of_all(configuration.beats_of_access()));
    println!("{name:<58} {cycles:>8.0} {floor:>8.0} {paper:>8}");
    Ok(())
}
