//! The traces of the same reads that the provider of a store sees: once of encrypted objects, once of Ameles. Both
//! traces are recorded by the same recorder, below everything that encrypts.
//!
//!     cargo run -p ameles-examples --example watching_your_trace
//!     cargo run -p ameles-examples --example watching_your_trace -- docs/pictures/trace.svg

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

mod drawing;
mod reads;
mod recording;

use drawing::{Panel, svg, text};
use recording::{encrypted_objects, with_ameles};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let reads = reads::working_day_reads();
    let bare = encrypted_objects(&reads)?;
    let ameles = with_ameles(&reads)?;

    let bare_panel = Panel::of_objects("Encrypted objects", &bare);
    let ameles_panel = Panel::of_slots("Ameles", &ameles);
    println!("{}\n{}", text(&bare_panel), text(&ameles_panel));

    // The watcher of the bare store knows every read.
    assert_eq!(bare, reads);
    // The watcher of Ameles's store sees one slot on each level, for any reads: also if it is one block all the time.
    let one_block = with_ameles(&vec![0; reads.len()])?;
    for trace in [&ameles, &one_block] {
        assert!(trace.accesses.iter().all(|access| access.on_line.len() == trace.levels));
        let places: usize = trace.places();
        println!(
            "{} reads showed {} slots on line, in {places} different places of the store; {} buckets were rewritten",
            trace.accesses.len(),
            trace.accesses.len() * trace.levels,
            trace.accesses.iter().map(|access| access.rewritten.len()).sum::<usize>(),
        );
    }
    if let Some(file) = std::env::args().nth(1) {
        std::fs::write(&file, svg(&bare_panel, &ameles_panel))?;
        println!("drawn into {file}");
    }
    Ok(())
}
