//! Prints the time in which a random path of a tree is read and written back, if paths follow each other without a gap.
//! It is in cycles of a processor of 3.2 GHz, and compared with the time on the data bus alone.
//!
//! The authors of IR-ORAM measured 622 to 655 cycles for a path of 24 levels in their own simulator. Its files say:
//! subtrees of 7 from the root, blocks spread over the banks first. Whether a path waits for the reads of the previous
//! one is a switch there, on in one version and off in another. So more than one row below comes near their figure, and
//! it does not tell which is theirs. The last two columns are those of paths in turn.
//!
//!     cargo run --release -p ameles-dram --example cycles_a_path -- [paths]

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use ameles_dram::{
    Counts, Cycle, Direction, DramError, Layout, Memory, PlainLayout, Specification, SubtreeLayout,
};
use std::collections::VecDeque;

/// The processor's cycles in a cycle of the DRAM.
const MULTIPLIER: f64 = 4.0;
/// The levels that are kept on chip.
const TOP: usize = 10;
/// The slots of a bucket of the others.
const SLOTS: u32 = 4;

/// The order in which a controller submits reads and writes.
#[derive(Clone, Copy)]
enum Order {
    /// The writes of a path start when its reads are done. The next path starts when the writes are done.
    InTurn,
    /// The writes of a path start when its reads are done, together with the reads of the next path.
    Overlaid,
    /// The reads and writes of a path start together, when the reads of the path this number before it are done.
    Streamed(usize),
}

/// Reads and writes random paths; returns the total time and the work.
fn paths(
    specification: &Specification,
    layout: &dyn Layout,
    count: u64,
    order: Order,
) -> Result<(Cycle, Counts), DramError> {
    let mut memory = Memory::new(specification)?;
    let leaves = 1 << (layout.slots().len() - 1);
    let mut path = Vec::new();
    let mut random = 1u64;
    let mut ahead = VecDeque::new();
    for _ in 0..count {
        // The upper bits of a linear congruential generator, with Knuth's constants.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        layout.path((random >> 32) % leaves, &mut path);
        let read = memory.read(&path)?;
        match order {
            Order::InTurn => {
                memory.wait(read);
                let write = memory.write(&path)?;
                memory.wait(write);
            }
            Order::Overlaid => {
                memory.wait(read);
                memory.post(Direction::Write, &path)?;
            }
            Order::Streamed(paths) => {
                memory.post(Direction::Write, &path)?;
                ahead.push_back(read);
                if ahead.len() == paths
                    && let Some(oldest) = ahead.pop_front()
                {
                    memory.wait(oldest);
                }
            }
        }
    }
    for read in ahead {
        memory.wait(read);
    }
    Ok((memory.finish(), memory.counts()))
}

fn main() -> Result<(), DramError> {
    let count = std::env::args().nth(1).map_or(20_000, |text| text.parse().expect("a number of paths"));
    let spread = Specification::usimm();
    let rows = spread.clone().with_super_rows();
    println!(
        "{:<44} {:>8} {:>9} {:>11} {:>11} {:>10} {:>6}",
        "", "in turn", "overlaid", "streamed 2", "streamed 4", "activates", "uJ"
    );
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
                let run = |order| paths(specification, &*layout, count, order);
                let a_path = |cycle: Cycle| cycle.0 as f64 * MULTIPLIER / count as f64;
                let (turn, counts) = run(Order::InTurn)?;
                println!(
                    "  {name:<28} {mapping:<13} {:>8.0} {:>9.0} {:>11.0} {:>11.0} {:>10.1} {:>6.2}",
                    a_path(turn),
                    a_path(run(Order::Overlaid)?.0),
                    a_path(run(Order::Streamed(2))?.0),
                    a_path(run(Order::Streamed(4))?.0),
                    counts.activates as f64 / count as f64,
                    counts.energy(specification).total().0 / 1e6 / count as f64
                );
            }
        }
    }
    Ok(())
}
