//! Streams of requests, and the time that our model and DRAMsim3 take for one.

use crate::ini::{addresses, ini};
use crate::random::Random;
use ameles_dram::scheduler::Scheduler;
use ameles_dram::{Block, Cycle, Direction, DramError, Layout, Mapping, Memory, Specification};
use dramsim3::MemorySystem;
use std::io::Write;

/// The requests of a step: writes are submitted, after a pause the reads, and the next step begins when these are done.
pub(crate) struct Step {
    pub(crate) writes: Vec<Block>,
    /// The number of cycles between the two.
    pub(crate) pause: u64,
    pub(crate) reads: Vec<Block>,
}

/// The cycles that a read spends in DRAMsim3 before and after its commands, when nothing else is there.
const PIPELINE: u64 = 2;

/// The cycles from the first request to the last read that is done, in our model with a scheduler.
pub(crate) fn ours<S: Scheduler>(specification: &Specification, steps: &[Step]) -> Result<u64, DramError> {
    let mut memory = Memory::<S, ()>::with_observer(specification, ())?;
    let mut last = Cycle(0);
    for step in steps {
        memory.post(Direction::Write, &step.writes)?;
        memory.advance(memory.now() + Cycle(step.pause));
        let batch = memory.read(&step.reads)?;
        last = memory.wait(batch);
    }
    Ok(last.0)
}

/// The cycles from the first request to the last read in DRAMsim3, without its pipeline.
pub(crate) fn theirs(specification: &Specification, steps: &[Step]) -> std::io::Result<u64> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("memory.ini");
    std::fs::File::create(&path)?.write_all(ini(specification).as_bytes())?;
    let mut memory = MemorySystem::new(&path, folder.path()).expect("paths without a zero byte");
    let mapping = Mapping::new(&specification.geometry);
    let requests = |blocks: &[Block], is_write: bool| -> Vec<(u64, bool)> {
        let bursts = blocks.iter().flat_map(|block| addresses(specification, mapping.place(*block)));
        bursts.map(|address| (address, is_write)).collect()
    };
    let mut now = 0;
    for step in steps {
        let (mut left, reads) = (requests(&step.writes, true), requests(&step.reads, false));
        let mut pending = reads.len();
        let begin = now + step.pause;
        while now < begin || pending > 0 {
            if now == begin {
                left.extend(&reads);
            }
            left.retain(|(address, is_write)| {
                !(memory.can_add(*address, *is_write) && memory.add(*address, *is_write))
            });
            memory.tick(|_, is_write| pending -= usize::from(!is_write));
            now += 1;
        }
    }
    Ok(now - PIPELINE * steps.len() as u64)
}

/// Random paths. Each is read, and either written with a pause before the next one, or not written.
pub(crate) fn paths(layout: &impl Layout, count: u64, pause: Option<u64>) -> Vec<Step> {
    let mut random = Random(7);
    let (mut written, mut reads) = (Vec::new(), Vec::new());
    let mut step = |_| {
        layout.path(random.below(1 << (layout.slots().len() - 1)), &mut reads);
        let writes =
            if pause.is_some() { std::mem::replace(&mut written, reads.clone()) } else { Vec::new() };
        Step { writes, pause: pause.unwrap_or(0), reads: reads.clone() }
    };
    (0..count).map(&mut step).collect()
}

/// Random blocks, this many reads and writes at once.
pub(crate) fn random(count: u64, reads: u64, writes: u64, specification: &Specification) -> Vec<Step> {
    let mut random = Random(reads);
    let mut blocks =
        |count| (0..count).map(|_| Block(random.below(specification.geometry.blocks()))).collect();
    (0..count).map(|_| Step { writes: blocks(writes), pause: 0, reads: blocks(reads) }).collect()
}

/// Consecutive blocks, this many at once.
pub(crate) fn run(count: u64, blocks: u64) -> Vec<Step> {
    let step = |nth| {
        let reads = (nth * blocks..(nth + 1) * blocks).map(Block).collect();
        Step { writes: Vec::new(), pause: 0, reads }
    };
    (0..count).map(step).collect()
}
