//! The cycles of an access, back to back over the paper's ideal memory.

use super::measure::{LONG, Means, means, random_reads, run};
use lethe_hardware::{Configuration, Scheme, Workshop};
use std::error::Error;

/// Prints them beside the paper's figures and the floor of the bus.
pub(crate) fn print(workshop: &Workshop) -> Result<(), Box<dyn Error>> {
    println!(
        "Ideal memory: 512 bits a cycle, 30 cycles to the first beat. L = 20, blocks of 64 bytes, without tags"
    );
    println!("{:<44} {:>8} {:>8} {:>8} {:>12}", "", "cycles", "floor", "paper", "AES blocks");
    // Lanes of AES, of the scan, and levels on chip.
    for (name, scheme, (aes_lanes, scan_lanes, top_levels), paper) in [
        ("Path ORAM Z = 4, four lanes", Scheme::Path, (4, 1, 0), "270"),
        ("RAW ORAM Z = A = 5, two lanes", Scheme::Raw, (2, 1, 0), "276"),
        ("RAW ORAM Z = A = 5, one lane", Scheme::Raw, (1, 1, 0), "276"),
        ("RAW ORAM, one pipeline at twice the clock", Scheme::Raw, (2, 1, 0), "276"),
        ("Path ORAM, eight levels on chip, two scanned", Scheme::Path, (4, 2, 8), "-"),
        ("RAW ORAM, eight levels on chip", Scheme::Raw, (2, 1, 8), "-"),
        ("RAW ORAM, eight levels on chip, two scanned", Scheme::Raw, (2, 2, 8), "-"),
    ] {
        let aes_double = name.ends_with("at twice the clock");
        let configuration =
            Configuration { aes_lanes, aes_double, scan_lanes, top_levels, ..Configuration::paper(scheme) };
        let (run, _) = run(workshop, &configuration, &random_reads(&configuration, LONG), None)?;
        let Means { cycles, chunks, .. } = means(&run, LONG);
        let floor = configuration.beats_of_access();
        println!("{name:<44} {cycles:>8.1} {floor:>8.1} {paper:>8} {chunks:>12.1}");
    }
    Ok(())
}
