//! Ramulator 2.1, if it was built: a program that takes a stream of requests.

use crate::streams::Step;
use ameles_dram::{Block, Mapping, Place, Specification};
use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// The cycles that a step takes more than here: the next one begins in the cycle after the last read.
const PIPELINE: u64 = 1;

/// Channels of a controller, and Ramulator's ticks in a cycle.
fn shape(name: &str) -> (u32, u64) {
    match name {
        "hbm2" => (2, 1),
        "hbm3" => (2, 2),
        _ => (1, 1),
    }
}

/// A memory as in Ramulator: its HBM2 has no stack IDs.
pub(crate) fn without_missing_ranks(name: &str, mut memory: Specification) -> Specification {
    memory.refresh.stagger.0 = 0;
    memory.refresh.batch = 1;
    if name == "hbm2" {
        memory.geometry.rows *= std::mem::replace(&mut memory.geometry.ranks, 1);
    }
    memory
}

/// The cycles from the first request to the last read that is done. `folder` has the program `driver`, and the
/// description `NAME.yaml` of a controller.
pub(crate) fn ramulator(
    folder: &Path,
    name: &str,
    memory: &Specification,
    steps: &[Step],
) -> Result<u64, Box<dyn Error>> {
    let (channels, ticks) = shape(name);
    let geometry = &memory.geometry;
    let bytes = geometry.block_bytes.0 / u64::from(geometry.bursts);
    let mut child = Command::new(folder.join("driver"))
        .arg(folder.join(format!("{name}.yaml")))
        .args([u64::from(geometry.channels / channels), bytes, ticks].map(|number| number.to_string()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mapping = Mapping::new(geometry);
    let mut text = String::new();
    for step in steps {
        let bursts = geometry.bursts as usize;
        writeln!(text, "{} {} {}", step.pause, step.writes.len() * bursts, step.reads.len() * bursts)?;
        for block in step.writes.iter().chain(&step.reads) {
            add_block(&mut text, memory, mapping.place(Block(block.0)), channels)?;
        }
    }
    child.stdin.take().ok_or("no standard input")?.write_all(text.as_bytes())?;
    let output = child.wait_with_output()?;
    let now: u64 = String::from_utf8(output.stdout)?.trim().parse()?;
    Ok(now / ticks - PIPELINE * steps.len() as u64)
}

/// Writes the controller and the address of each burst of a block: pseudo channel, rank, bank group, bank, row and
/// column from the highest bit.
fn add_block(text: &mut String, memory: &Specification, place: Place, channels: u32) -> std::fmt::Result {
    let geometry = &memory.geometry;
    let Place { channel, rank, bank, row, column } = place;
    let groups = geometry.groups;
    let fields = [
        (channel % channels, channels),
        (rank, geometry.ranks),
        (bank % groups, groups),
        (bank / groups, geometry.banks / groups),
        (row, geometry.rows),
        (column, geometry.columns),
    ];
    let block = fields.iter().fold(0, |address, (value, of)| address * u64::from(*of) + u64::from(*value));
    let (bursts, bytes) = (u64::from(geometry.bursts), geometry.block_bytes.0 / u64::from(geometry.bursts));
    (0..bursts)
        .try_for_each(|nth| writeln!(text, "{} {}", channel / channels, (block * bursts + nth) * bytes))
}
