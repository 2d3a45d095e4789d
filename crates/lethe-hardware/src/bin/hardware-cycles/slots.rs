//! The pace of the pacer: the cycles of an access for slots of several lengths. Short ones come before the next path of a request may be
//! known, and are spent on no block; long ones wait.

use crate::whole::{TAG_BITS, print_row};
use lethe_hardware::{Configuration, Scheme, Workshop, rand, scan};
use std::error::Error;

/// Accesses of a row.
const ACCESSES: usize = crate::whole::RUN.before + crate::whole::RUN.measured;

/// Prints a row for each length of a slot.
pub(crate) fn print(workshop: &Workshop) -> Result<(), Box<dyn Error>> {
    println!("Front end, tags of {TAG_BITS} bits and pacer, as in `whole`");
    println!("{:<40} {:<6} {:>7} {:>7} {:>9} {:>7}", "", "trace", "cycles", "paths", "of a path", "floor");
    for (name, scheme, lengths) in [
        ("Path ORAM Z = 4, four lanes", Scheme::Path, [380, 420, 460, 500]),
        ("RAW ORAM Z = A = 5, two lanes", Scheme::Raw, [300, 340, 380, 440]),
    ] {
        for slots in lengths {
            let configuration =
                Configuration::paper(scheme).with_front_end().with_tags(TAG_BITS).with_slots(slots);
            for (trace, accesses) in
                [("scan", scan(ACCESSES)), ("rand", rand(configuration.blocks, ACCESSES))]
            {
                let name = format!("{:<40} {trace:<6}", format!("{name}, slots of {slots}"));
                print_row(workshop, &name, configuration, &accesses)?;
            }
        }
    }
    Ok(())
}
