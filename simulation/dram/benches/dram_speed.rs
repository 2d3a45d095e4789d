//! Measures how fast the model runs: whole paths of a tree that come back to back, and random single requests, with
//! both schedulers.
//!
//!     cargo bench -p ameles-dram --bench dram_speed -- [paths] [name]

#![allow(clippy::print_stdout, reason = "this is what a bench is for")]

mod processor_time;
mod random;

use ameles_dram::scheduler::Scheduler;
use ameles_dram::{
    Block, Cycle, Direction, DramError, Fast, Layout, Memory, PlainLayout, Specification, Stepped,
    SubtreeLayout,
};
use processor_time::processor_seconds;
use random::Random;

/// The blocks of a path: 25 levels, ten of them on chip, four blocks per bucket.
const PATH: u64 = 60;

/// Reads a path, writes it, and reads the next when that is done, or at once.
fn paths<S: Scheduler>(
    specification: &Specification,
    layout: &impl Layout,
    count: u64,
    in_turn: bool,
) -> Result<(), DramError> {
    let mut memory = Memory::<S, ()>::with_observer(specification, ())?;
    let mut random = Random(1);
    let mut path = Vec::new();
    for _ in 0..count {
        layout.path(random.below(1 << (layout.slots().len() - 1)), &mut path);
        let batch = memory.read(&path)?;
        memory.wait(batch);
        if in_turn {
            let batch = memory.write(&path)?;
            memory.wait(batch);
        } else {
            memory.post(Direction::Write, &path)?;
        }
    }
    memory.finish();
    Ok(())
}

/// Submits single blocks of the whole memory, half of them writes, about as fast as the memory can take them.
fn singles<S: Scheduler>(specification: &Specification, count: u64) -> Result<(), DramError> {
    let mut memory = Memory::<S, ()>::with_observer(specification, ())?;
    let mut random = Random(2);
    let blocks = specification.geometry.blocks();
    for nth in 0..count * PATH * 2 {
        let direction = if random.below(2) == 0 { Direction::Read } else { Direction::Write };
        memory.post(direction, &[Block(random.below(blocks))])?;
        memory.advance(memory.now() + Cycle(3));
        if nth % 1000 == 0 {
            memory.finish();
        }
    }
    memory.finish();
    Ok(())
}

fn print(name: &str, count: u64, run: &dyn Fn(u64) -> Result<(), DramError>) -> Result<(), DramError> {
    let start = processor_seconds();
    run(count)?;
    let seconds = processor_seconds() - start;
    let (requests, micros) = ((count * PATH * 2) as f64 / seconds, seconds * 1e6 / count as f64);
    println!("{name:<40} {requests:>12.0} requests/s {micros:>8.2} us for 60 reads and 60 writes");
    Ok(())
}

fn main() -> Result<(), DramError> {
    // Cargo adds a flag of its own.
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let many: u64 = arguments.next().map_or(200_000, |text| text.parse().expect("a number of paths"));
    let only = arguments.next().unwrap_or_default();
    let print = |name: &str, count: u64, run: &dyn Fn(u64) -> Result<(), DramError>| {
        if name.contains(&only) { print(name, count, run) } else { Ok(()) }
    };
    println!("processor time of one core:");
    let few = many.div_ceil(20);
    let usimm = Specification::usimm();
    let rows = usimm.clone().with_super_rows();
    let slots: Vec<u32> = (0..25).map(|level| if level < 10 { 0 } else { 4 }).collect();
    let subtrees = SubtreeLayout::new(&slots, 10, 7, &rows.geometry)?;
    let plain = PlainLayout::new(&slots, &usimm.geometry)?;
    print("fast: paths in turn, subtrees", many, &|n| paths::<Fast>(&rows, &subtrees, n, true))?;
    print("stepped: the same", few, &|n| paths::<Stepped>(&rows, &subtrees, n, true))?;
    print("fast: paths overlaid, subtrees", many, &|n| paths::<Fast>(&rows, &subtrees, n, false))?;
    print("stepped: the same", few, &|n| paths::<Stepped>(&rows, &subtrees, n, false))?;
    print("fast: paths overlaid, plain layout", many, &|n| paths::<Fast>(&usimm, &plain, n, false))?;
    print("stepped: the same", few, &|n| paths::<Stepped>(&usimm, &plain, n, false))?;
    print("fast: random single blocks", many, &|n| singles::<Fast>(&usimm, n))?;
    print("stepped: the same", few, &|n| singles::<Stepped>(&usimm, n))
}
