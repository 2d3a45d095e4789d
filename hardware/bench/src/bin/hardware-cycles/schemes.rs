//! The cycles of an access over the paper's ideal memory, back to back and alone. Alone, the time to the answer
//! (latency) differs from the time to the next answer (period).

use super::measure::{LONG, Means, mean_latency, means, one_at_a_time, random_reads, run};
use ameles_hardware_bench::{Configuration, DesignBuilder, Scheme};
use std::error::Error;

/// Prints the cycles with the paper's figures and the lower bound of the bus.
pub(crate) fn print(builder: &DesignBuilder) -> Result<(), Box<dyn Error>> {
    println!(
        "Ideal memory: 512 bits a cycle, 30 cycles to the first beat. L = 20, blocks of 64 bytes, without tags"
    );
    println!(
        "Back to back: the next request waits for nothing. Alone: for the answer before. The paper gives a latency"
    );
    println!(
        "{:<44} {:>12} {:>12} {:>8} {:>8} {:>8} {:>12}",
        "", "back to back", "lower bound", "latency", "paper", "period", "AES blocks"
    );
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
        let session = random_reads(&configuration, LONG);
        let (together, _) = run(builder, &configuration, &session, None)?;
        let (single, _) = run(builder, &configuration, &one_at_a_time(&session), None)?;
        let Means { cycles, chunks, .. } = means(&together, LONG);
        let (latency, period) = (mean_latency(&single, LONG), means(&single, LONG).cycles);
        let lower_bound = configuration.beats_of_access();
        println!(
            "{name:<44} {cycles:>12.1} {lower_bound:>12.1} {latency:>8.1} {paper:>8} {period:>8.1} {chunks:>12.1}"
        );
    }
    Ok(())
}
