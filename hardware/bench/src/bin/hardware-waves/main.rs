//! Draws an access and an eviction of RAW ORAM as waveforms from a real simulation. It prints the cycles of all events
//! in them. With a folder as its argument it writes the pictures there.
//!
//! `cargo xtask hardware waves` runs it.

#![allow(clippy::print_stdout, reason = "it is what it is for")]

mod front_end;
mod lanes;
mod svg;

use ameles_core::types::BlockId;
use ameles_hardware_bench::{
    BackendSample, Bench, Configuration, DesignBuilder, Faults, Golden, Operation, Pace, PortSample, Scheme,
};
use lanes::Names;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::error::Error;
use std::path::PathBuf;

/// The number of accesses after which the tree is warm: a multiple of A, so that no eviction is due soon.
const WARM: usize = 200;

/// Five levels, so that a path fits into a picture. The rest is as in the paper.
const CONFIGURATION: Configuration =
    Configuration { leaf_level: 4, blocks: 20, stash_blocks: 20, ..Configuration::paper(Scheme::Raw) };

/// The lanes of a long path that show what its scan is hidden behind.
const LONG_LANES: [&str; 4] = ["R", "stash", "list scanned", "W"];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let mut builder = DesignBuilder::new()?;
    builder.samples_backend = true;
    let names = Names::read()?;
    let waves = Waves { builder: &builder, configuration: CONFIGURATION };
    let last = CONFIGURATION.eviction_rate as usize;
    for (name, title, nth, pixels) in [
        ("hardware-access", "An access of RAW ORAM", 1, 7.0),
        ("hardware-eviction", "The last access before an eviction, and the eviction", last, 6.0),
    ] {
        let samples = waves.after(nth)?;
        let lanes = lanes::lanes_of(&samples, &CONFIGURATION, &names);
        println!("{title}: cycles from its request on");
        lanes.iter().for_each(|lane| println!("{lane}"));
        if let Some(folder) = &folder {
            let title = format!(
                "{title}: L = 4, Z = A = 5, blocks of 64 bytes, two lanes of AES, 30 cycles to the first beat"
            );
            let path = folder.join(name).with_extension("svg");
            std::fs::write(&path, svg::draw(&title, &lanes, pixels))?;
            println!("{}", path.display());
        }
    }
    print_long(&builder, &names)?;
    front_end::print(&builder)
}

/// Prints when the list is scanned in the paper's tree: its path fits into no picture.
fn print_long(builder: &DesignBuilder, names: &Names) -> Result<(), Box<dyn Error>> {
    let configuration = Configuration::paper(Scheme::Raw);
    let samples = Waves { builder, configuration }.after(configuration.eviction_rate as usize)?;
    println!("At L = {}: the last access before an eviction, and the eviction", configuration.leaf_level);
    let lanes = lanes::lanes_of(&samples, &configuration, names);
    lanes.iter().filter(|lane| LONG_LANES.contains(&lane.name)).for_each(|lane| println!("{lane}"));
    Ok(())
}

/// A warm tree, and accesses in sequence, each when the controller is idle.
struct Waves<'a> {
    builder: &'a DesignBuilder,
    configuration: Configuration,
}

impl Waves<'_> {
    /// The cycles of the nth access to the warm tree, and of all that it brings about.
    fn after(&self, nth: usize) -> Result<Vec<PortSample>, Box<dyn Error>> {
        let design = self.builder.design(&self.configuration, None)?;
        let mut bench = Bench::new(&design, self.configuration, Pace::IDEAL, Faults::default(), 1)?;
        bench.load_key(KEY);
        let mut golden = Golden::new(self.configuration, KEY, 1);
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut reads = |count: usize| {
            for _ in 0..count {
                golden
                    .run(Operation::Read(BlockId(u64::from(random.next_u32() % self.configuration.blocks))));
            }
            golden.take_session()
        };
        // Checks that the core does what is drawn, too.
        bench.run(&reads(WARM + nth - 1))?;
        bench.record();
        bench.run(&reads(1))?;
        let samples = bench.record();
        let still = samples.iter().rposition(|sample| !is_quiet(sample)).unwrap_or_default();
        Ok(samples[..(still + 2).min(samples.len())].to_vec())
    }
}

/// The key of all pictures.
const KEY: &[u8; 16] = b"a key of reports";

/// True if nothing moves: neither on the bus nor inside.
fn is_quiet(sample: &PortSample) -> bool {
    let watch = BackendSample::of(sample);
    watch.stream.is_none() && watch.state == 1 && sample.inputs.b_valid == 0 && sample.outputs.w_valid == 0
}
