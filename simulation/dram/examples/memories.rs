//! Prints the time in which a random path of the tree of 25 levels is read and then written back, before the next path
//! begins. It is in cycles of a processor of 3.2 GHz, for each named memory and several numbers of channels. A path has
//! 60 blocks, or 36 with the bucket sizes of IR-Alloc. If only the data bus took time, the second would take 0.60 of
//! the first. Super-rows lie in all bank groups; the last columns are those of super-rows in one group.
//!
//!     cargo run --release -p ameles-dram --example memories -- [paths]

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use ameles_dram::{DramError, Field, Layout, Memory, Specification, SubtreeLayout};

/// The clock of the processor, in megahertz.
const PROCESSOR_MHZ: f64 = 3200.0;
/// The levels that are kept on chip.
const TOP: usize = 10;
/// The bytes that a memory has room for, at least: the tree takes a little more than 8 GiB.
const ROOM: u64 = 16 << 30;

/// The slots of a bucket by level, of Path ORAM.
fn path_oram(level: usize) -> u32 {
    if level < TOP { 0 } else { 4 }
}

/// The slots of a bucket by level, of IR-Alloc.
fn ir_alloc(level: usize) -> u32 {
    match level {
        ..TOP => 0,
        10..=15 => 1,
        16..=18 => 2,
        _ => 4,
    }
}

/// The cycles and the microjoules of a path, over random paths.
fn path(specification: &Specification, slots: fn(usize) -> u32, count: u64) -> Result<(f64, f64), DramError> {
    let slots: Vec<u32> = (0..25).map(slots).collect();
    // As many levels of a subtree as fit a super-row, at most seven.
    let fits = |levels: &usize| 4 * ((1 << levels) - 1) <= specification.geometry.super_row_blocks();
    let height = (1..=7).rev().find(fits).unwrap_or(1);
    let layout = SubtreeLayout::new(&slots, TOP, height, &specification.geometry)?;
    let mut memory = Memory::new(specification)?;
    let (mut blocks, mut random) = (Vec::new(), 1u64);
    for _ in 0..count {
        // The upper bits of a linear congruential generator, with Knuth's constants.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        layout.path((random >> 32) % (1 << 24), &mut blocks);
        let read = memory.read(&blocks)?;
        memory.wait(read);
        let write = memory.write(&blocks)?;
        memory.wait(write);
    }
    let cycles = memory.now().0 as f64 * PROCESSOR_MHZ / f64::from(specification.clock.mhz);
    Ok((cycles / count as f64, memory.energy().total().0 / 1e6 / count as f64))
}

/// A memory that has room for the tree, with super-rows in all bank groups.
fn memory(name: &str, channels: u32) -> Specification {
    let mut memory = Specification::preset(name).expect("a name of the table").with_super_rows();
    memory.geometry.channels = channels;
    while memory.geometry.bytes().0 < ROOM {
        memory.geometry.rows *= 2;
    }
    memory
}

/// Gigabytes per second.
fn bandwidth(memory: &Specification) -> f64 {
    let cycles = u64::from(memory.geometry.bursts) * memory.timing.burst.0;
    let bytes = memory.geometry.block_bytes.0 * u64::from(memory.geometry.channels);
    bytes as f64 / cycles as f64 * f64::from(memory.clock.mhz) / 1000.0
}

fn main() -> Result<(), DramError> {
    let count = std::env::args().nth(1).map_or(5000, |text| text.parse().expect("a number of paths"));
    println!(
        "{:<8} {:>8} {:>6} {:>10} {:>10} {:>6} {:>6} {:>6} {:>12} {:>6}",
        "memory",
        "channels",
        "GB/s",
        "60 blocks",
        "36 blocks",
        "36/60",
        "uJ 60",
        "uJ 36",
        "60, 1 group",
        "36/60"
    );
    for name in Specification::PRESETS {
        for channels in [1, 2, 4, 8, 16, 32] {
            let spread = memory(name, channels);
            let mut one_group = spread.clone();
            one_group.geometry.order.retain(|field| *field != Field::Group);
            let ((all, energy), (fewer, less)) =
                (path(&spread, path_oram, count)?, path(&spread, ir_alloc, count)?);
            let ((all_in_one, _), (fewer_in_one, _)) =
                (path(&one_group, path_oram, count)?, path(&one_group, ir_alloc, count)?);
            println!(
                "{name:<8} {channels:>8} {:>6.1} {all:>10.0} {fewer:>10.0} {:>6.2} {energy:>6.2} {less:>6.2} \
                 {all_in_one:>12.0} {:>6.2}",
                bandwidth(&spread),
                fewer / all,
                fewer_in_one / all_in_one
            );
        }
    }
    Ok(())
}
