//! The pace of the pacer: the cycles of an access for slots of several lengths. Short ones come before the next path
//! of a request may be known, and are spent on no block; long ones wait.

use crate::whole::{TAG_BITS, print_head, print_traces};
use ameles_hardware_bench::{Configuration, DesignBuilder, Scheme};
use std::error::Error;

/// Prints a row for each length of a slot.
pub(crate) fn print(builder: &DesignBuilder) -> Result<(), Box<dyn Error>> {
    println!("Front end, tags of {TAG_BITS} bits and pacer, as in `whole`");
    print_head();
    for (name, scheme, lengths) in [
        ("Path ORAM Z = 4, four lanes", Scheme::Path, [380, 420, 460, 500]),
        ("RAW ORAM Z = A = 5, two lanes", Scheme::Raw, [300, 340, 380, 440]),
    ] {
        for slots in lengths {
            let configuration =
                Configuration::paper(scheme).with_front_end().with_tags(TAG_BITS).with_slots(slots);
            print_traces(builder, &format!("{name}, slots of {slots}"), configuration)?;
        }
    }
    Ok(())
}
