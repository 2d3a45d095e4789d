//! Prints how long a random path of a tree takes that is read and written back, when paths come back to back: in
//! cycles of a processor of 3.2 GHz, beside what the data bus alone would take.
//!
//! The authors of IR-ORAM measured 622 to 655 cycles a path of 24 levels in their own simulator, in subtrees. Rows in
//! which blocks are spread over the banks first ("banks first") cannot hold a subtree: its paths open many.
//!
//!     cargo run --release -p lethe-dram --example cycles_a_path -- [paths]

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use lethe_dram::{
    Counts, Cycle, Direction, DramError, Layout, Memory, PlainLayout, Specification, SubtreeLayout,
};

/// The processor's cycles in a cycle of the DRAM.
const MULTIPLIER: f64 = 4.0;
/// The levels that are kept on chip.
const TOP: usize = 10;
/// The slots of a bucket of the others.
const SLOTS: u32 = 4;

/// Reads and writes random paths; returns the time of all, in which the next path is read once the one before is
/// written, or as soon as its writes are submitted.
fn paths(
    specification: &Specification,
    layout: &dyn Layout,
    count: u64,
    waits_for_writes: bool,
) -> Result<(Cycle, Counts), DramError> {
    let mut memory = Memory::new(specification)?;
    let leaves = 1 << (layout.slots().len() - 1);
    let mut path = Vec::new();
    let mut random = 1u64;
    for _ in 0..count {
        // The upper bits of a linear congruential generator, with Knuth's constants.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        layout.path((random >> 32) % leaves, &mut path);
        let read = memory.read(&path)?;
        memory.wait(read);
        if waits_for_writes {
            let write = memory.write(&path)?;
            memory.wait(write);
        } else {
            memory.post(Direction::Write, &path)?;
        }
    }
    Ok((memory.finish(), memory.counts()))
}

fn main() -> Result<(), DramError> {
    let count = std::env::args().nth(1).map_or(20_000, |text| text.parse().expect("a number of paths"));
    let spread = Specification::usimm();
    let rows = spread.clone().with_super_rows();
    println!("{:<53} {:>8} {:>9} {:>13} {:>7}", "", "in turn", "overlaid", "activates", "uJ");
    for levels in [24, 25] {
        let slots: Vec<u32> = (0..levels).map(|level| if level < TOP { 0 } else { SLOTS }).collect();
        let blocks = (levels - TOP) as f64 * f64::from(SLOTS);
        let floor = 2.0 * blocks / 4.0 * spread.timing.burst.0 as f64 * MULTIPLIER;
        println!("{levels} levels: {blocks} blocks a path; the bus alone takes {floor} cycles");
        let geometry = &spread.geometry;
        let root: Box<dyn Layout> = Box::new(SubtreeLayout::new(&slots, 0, 7, geometry)?);
        let below: Box<dyn Layout> = Box::new(SubtreeLayout::new(&slots, TOP, 7, geometry)?);
        let plain: Box<dyn Layout> = Box::new(PlainLayout::new(&slots, geometry)?);
        for (layout, name) in
            [(root, "subtrees of 7 from the root"), (below, "subtrees of 7 below the top"), (plain, "plain")]
        {
            for (specification, mapping) in [(&rows, "super-rows"), (&spread, "banks first")] {
                let (turn, _) = paths(specification, &*layout, count, true)?;
                let (overlaid, counts) = paths(specification, &*layout, count, false)?;
                let a_path = |cycle: Cycle| cycle.0 as f64 * MULTIPLIER / count as f64;
                println!(
                    "  {name:<30} {mapping:<20} {:>8.0} {:>9.0} {:>13.1} {:>7.2}",
                    a_path(turn),
                    a_path(overlaid),
                    counts.activates as f64 / count as f64,
                    counts.energy(specification).total().0 / 1e6 / count as f64
                );
            }
        }
    }
    Ok(())
}
