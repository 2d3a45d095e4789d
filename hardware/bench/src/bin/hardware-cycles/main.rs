//! Prints the cycles of the controller in simulation, with the paper's figures and the lower bounds of its bus.
//! `cargo xtask hardware report` runs it.
//!
//! ```text
//! hardware-cycles [part …]     # all parts but `pairs`, which takes a quarter of an hour, or those that are named
//! ```

#![allow(clippy::print_stdout, reason = "it is what it is for")]

mod blocks;
mod dram;
mod engines;
mod measure;
mod programs;
mod schemes;
mod slots;
mod stash;
mod whole;

use ameles_hardware_bench::DesignBuilder;
use std::error::Error;

/// A part of the report.
type Part = fn(&DesignBuilder) -> Result<(), Box<dyn Error>>;

/// The part that runs only when it is named.
const LONG: &str = "pairs";

/// All parts, with their names.
const PARTS: &[(&str, Part)] = &[
    ("schemes", schemes::print),
    ("dram", dram::print),
    ("engines", engines::print),
    (LONG, engines::print_pairs),
    ("whole", whole::print),
    ("slots", slots::print),
    ("programs", programs::print),
    ("blocks", blocks::print),
    ("stash", stash::print),
];

fn main() -> Result<(), Box<dyn Error>> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = wanted.iter().find(|name| PARTS.iter().all(|(part, _)| part != name)) {
        let known = PARTS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        return Err(format!("there is no part {unknown}: choose of {known}").into());
    }
    let builder = DesignBuilder::new()?;
    for (name, print) in PARTS {
        let runs_unnamed = wanted.is_empty() && *name != LONG;
        if runs_unnamed || wanted.iter().any(|wanted| wanted == name) {
            print(&builder)?;
            println!();
        }
    }
    Ok(())
}
