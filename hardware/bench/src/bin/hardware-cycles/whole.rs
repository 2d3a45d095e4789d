//! The cycles of the whole controller with tags, and with a pacer: what integrity costs, and what it costs that
//! nothing shows.

use super::measure::{Length, drive, means, paths};
use ameles_core::types::Leaf;
use ameles_hardware_bench::{
    Configuration, DesignBuilder, ProgramAccess, Scheme, Session, rand, scan, session_of,
};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::error::Error;

/// The length of each run: the PLB has 128 lines.
const RUN: Length = Length { before: 500, measured: 2000 };

/// The bits of tags of which five fit a beat.
pub(crate) const TAG_BITS: u32 = 96;

/// Prints the cycles with the lower bound of the bus.
pub(crate) fn print(builder: &DesignBuilder) -> Result<(), Box<dyn Error>> {
    println!(
        "The whole controller back to back over the ideal memory, L = 20, blocks of 64 bytes; {} accesses after {}.",
        RUN.measured, RUN.before
    );
    println!("The lower bound is that of a path with its share of an eviction, and tags of {TAG_BITS} bits");
    print_head();
    // Of the lengths in the part `slots`, those with the fewest cycles.
    for (name, scheme, slots) in [
        ("Path ORAM Z = 4, four lanes", Scheme::Path, 380),
        ("RAW ORAM Z = A = 5, two lanes", Scheme::Raw, 380),
    ] {
        let plain = Configuration::paper(scheme).with_front_end();
        let tagged = plain.with_tags(TAG_BITS);
        let rows = [
            (name.to_string(), plain),
            (format!("{name}, tags"), tagged),
            (format!("{name}, tags, slots of {slots}"), tagged.with_slots(slots)),
        ];
        for (name, configuration) in rows {
            print_traces(builder, &name, configuration)?;
        }
    }
    Ok(())
}

/// Prints the names of the columns.
pub(crate) fn print_head() {
    println!(
        "{:<40} {:<6} {:>7} {:>7} {:>9} {:>12}",
        "", "trace", "cycles", "paths", "of a path", "lower bound"
    );
}

/// Prints what both traces take.
pub(crate) fn print_traces(
    builder: &DesignBuilder,
    name: &str,
    configuration: Configuration,
) -> Result<(), Box<dyn Error>> {
    let count = RUN.before + RUN.measured;
    for (trace, accesses) in [("scan", scan(count)), ("rand", rand(configuration.blocks, count))] {
        print_row(builder, &format!("{name:<40} {trace:<6}"), configuration, &accesses)?;
    }
    Ok(())
}

fn print_row(
    builder: &DesignBuilder,
    name: &str,
    configuration: Configuration,
    accesses: &[ProgramAccess],
) -> Result<(), Box<dyn Error>> {
    let design = builder.design(&configuration, None)?;
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let mut leaf = || Leaf(u64::from(random.next_u32()) & ((1 << configuration.leaf_level) - 1));
    let is_paced = configuration.front_end.is_some_and(|front_end| front_end.slot_cycles > 0);
    let spare = (0..if is_paced { 10 * accesses.len() } else { 0 }).map(|_| leaf()).collect();
    let session = Session { spare, ..session_of(&configuration, accesses) };
    let run = drive(&design, configuration, &session)?;
    let (cycles, paths) = (means(&run, RUN).cycles, paths(&configuration, &run, RUN));
    let lower_bound = configuration.beats_of_access();
    println!("{name} {cycles:>7.1} {paths:>7.2} {:>9.1} {lower_bound:>12.1}", cycles / paths);
    Ok(())
}
