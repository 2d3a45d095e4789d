//! Evictions of Ring ORAM that no access waits for. When they come, and which blocks they move, follows from the
//! schedule and the leaves alone.

use ameles_dram::{Batch, Block, Direction, DramError, Memory};
use std::collections::VecDeque;

/// The eviction that is under way behind the accesses: its blocks on chip are those of one path.
///
/// It reads the metadata, then the slots that they name, and writes the buckets. Its next part is submitted when the
/// part before is done and an access submits something.
#[derive(Debug, Default)]
pub(crate) struct EvictionBehind {
    reads: Option<Batch>,
    /// The parts that are not submitted yet, with their directions.
    rest: VecDeque<(Direction, Vec<Block>)>,
}

impl EvictionBehind {
    /// Begins an eviction, once the reads of the previous one are done: its metadata, its slots, and what it writes.
    pub(crate) fn begin(&mut self, memory: &mut Memory, parts: [&[Block]; 3]) -> Result<(), DramError> {
        while let Some(reads) = self.reads.take() {
            memory.wait(reads);
            self.submit(memory)?;
        }
        let [metadata, slots, changed] = parts.map(<[Block]>::to_vec);
        self.rest.extend([
            (Direction::Read, metadata),
            (Direction::Read, slots),
            (Direction::Write, changed),
        ]);
        self.submit(memory)
    }

    /// Submits each part whose previous part is done.
    pub(crate) fn go_on(&mut self, memory: &mut Memory) -> Result<(), DramError> {
        while let Some(reads) = self.reads.take_if(|reads| memory.done(reads).is_some()) {
            memory.wait(reads);
            self.submit(memory)?;
        }
        Ok(())
    }

    /// Submits the next part, and the ones behind it that need not wait.
    fn submit(&mut self, memory: &mut Memory) -> Result<(), DramError> {
        while self.reads.is_none()
            && let Some((direction, blocks)) = self.rest.pop_front()
        {
            match direction {
                Direction::Read if blocks.is_empty() => {}
                Direction::Read => self.reads = Some(memory.read(&blocks)?),
                Direction::Write => memory.post(Direction::Write, &blocks)?,
            }
        }
        Ok(())
    }
}
