//! Figure 6: memory bandwidth and encryption bandwidth of a bucket, counted in simulation and compared with the model.
//! It also has the AES engines that this needs.

use super::measure::{Length, Means, means, random_reads, run};
use ameles_hardware_bench::{BucketCost, Configuration, DesignBuilder, Scheme};
use std::error::Error;

/// Z, and the largest A for which a stash of 64 blocks is enough, except with a probability of 2^-80. The example
/// `raw_tail` of the core computed A. Each leaf has four fifths of Z blocks, rounded down.
const PAIRS: [(u32, u32); 7] = [(2, 1), (3, 3), (4, 4), (5, 5), (6, 7), (7, 8), (8, 10)];

/// Prints the bandwidths relative to Path ORAM with Z = 4.
pub(crate) fn print(builder: &DesignBuilder) -> Result<(), Box<dyn Error>> {
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
    let raw = PAIRS.map(|(blocks_per_bucket, eviction_rate)| raw(blocks_per_bucket, eviction_rate));
    let mut base = None;
    for configuration in [Configuration::paper(Scheme::Path)].into_iter().chain(raw) {
        let (counted, engines) = count(builder, &configuration)?;
        let model = BucketCost::modelled(&configuration);
        let of_path = *base.get_or_insert(counted);
        let name = match configuration.scheme {
            Scheme::Path => format!("Path Z{}", configuration.blocks_per_bucket),
            Scheme::Raw => {
                format!("RAW Z{} A{}", configuration.blocks_per_bucket, configuration.eviction_rate)
            }
        };
        let (memory, encryption) = (counted.memory / of_path.memory, counted.encryption / of_path.encryption);
        println!(
            "{name:<16} {:>7.2} {:>6.2} {memory:>6.2} {:>11.2} {:>6.2} {encryption:>6.2} {engines:>8.2}",
            counted.memory, model.memory, counted.encryption, model.encryption,
        );
    }
    Ok(())
}

/// Prints memory and encryption of every Z with every A up to the largest, relative to Path ORAM with Z = 4.
pub(crate) fn print_pairs(builder: &DesignBuilder) -> Result<(), Box<dyn Error>> {
    let (of_path, _) = count(builder, &Configuration::paper(Scheme::Path))?;
    println!("Memory / encryption of a bucket in an access, counted, of Path ORAM's with Z = 4; A from 1 on");
    for (blocks_per_bucket, max) in PAIRS {
        print!("Z{blocks_per_bucket:<4}");
        for eviction_rate in 1..=max {
            let (counted, _) = count(builder, &raw(blocks_per_bucket, eviction_rate))?;
            print!(
                " {:>5.2} / {:.2}",
                counted.memory / of_path.memory,
                counted.encryption / of_path.encryption
            );
        }
        println!();
    }
    Ok(())
}

fn raw(blocks_per_bucket: u32, eviction_rate: u32) -> Configuration {
    Configuration { blocks_per_bucket, eviction_rate, ..Configuration::paper(Scheme::Raw) }
}

/// Counts what a bucket costs, and the blocks of AES in a cycle of a bus that never rests.
fn count(
    builder: &DesignBuilder,
    configuration: &Configuration,
) -> Result<(BucketCost, f64), Box<dyn Error>> {
    // Whole rounds of A accesses and an eviction.
    let rate = configuration.eviction_rate as usize;
    let length = Length { before: 100 * rate, measured: 200 * rate };
    let (run, _) = run(builder, configuration, &random_reads(configuration, length), None)?;
    let Means { beats, chunks, .. } = means(&run, length);
    Ok((BucketCost::counted(configuration, beats, chunks), chunks / beats))
}
