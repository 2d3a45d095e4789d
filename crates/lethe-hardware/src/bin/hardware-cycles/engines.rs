//! Figure 6: memory bandwidth and encryption bandwidth of a bucket, counted in simulation beside the model, and the engines of AES
//! that this takes.

use super::measure::{Length, Means, means, random_reads, run};
use lethe_hardware::{BucketCost, Configuration, Scheme, Workshop};
use std::error::Error;

/// Z, and the largest A for which the core's tail tool says that a stash of 64 blocks is enough but for a probability of 2^-80, with
/// four fifths of Z a leaf, rounded down.
const PAIRS: [(u32, u32); 7] = [(2, 1), (3, 3), (4, 4), (5, 5), (6, 7), (7, 8), (8, 10)];

/// Prints them relative to Path ORAM with Z = 4.
pub(crate) fn print(workshop: &Workshop) -> Result<(), Box<dyn Error>> {
    println!(
        "Blocks that a bucket costs in an access, counted (beats on the bus, blocks of AES) and by the paper's model; L = 20, blocks"
    );
    println!(
        "of 64 bytes. The last column: blocks of AES in a cycle of a bus that never rests, of 4 in a beat"
    );
    println!(
        "{:<16} {:>7} {:>6} {:>6} {:>11} {:>6} {:>6} {:>8}",
        "", "memory", "model", "Path", "encryption", "model", "Path", "engines"
    );
    let path = Configuration::paper(Scheme::Path);
    let raw = PAIRS.map(|(blocks_per_bucket, eviction_rate)| Configuration {
        blocks_per_bucket,
        eviction_rate,
        ..Configuration::paper(Scheme::Raw)
    });
    let mut base = None;
    for configuration in [path].into_iter().chain(raw) {
        // Whole rounds of A accesses and an eviction.
        let rate = configuration.eviction_rate as usize;
        let length = Length { before: 100 * rate, measured: 200 * rate };
        let (run, _) = run(workshop, &configuration, &random_reads(&configuration, length), None)?;
        let Means { beats, chunks, .. } = means(&run, length);
        let counted = BucketCost::counted(&configuration, beats, chunks);
        let model = BucketCost::modelled(&configuration);
        let of_path = *base.get_or_insert(counted);
        let name = match configuration.scheme {
            Scheme::Path => format!("Path Z{}", configuration.blocks_per_bucket),
            Scheme::Raw => format!("RAW Z{} A{rate}", configuration.blocks_per_bucket),
        };
        let (memory, encryption) = (counted.memory / of_path.memory, counted.encryption / of_path.encryption);
        println!(
            "{name:<16} {:>7.2} {:>6.2} {memory:>6.2} {:>11.2} {:>6.2} {encryption:>6.2} {:>8.2}",
            counted.memory,
            model.memory,
            counted.encryption,
            model.encryption,
            chunks / beats,
        );
    }
    Ok(())
}
