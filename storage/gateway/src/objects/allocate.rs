//! The allocator of blocks.
//!
//! The device hides where an object's blocks are, so only the number of an object's runs matters. The allocator prefers
//! one run that is long enough. If there is none, it takes the longest runs first.

use minicbor::{Decode, Encode};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Adjacent blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Run {
    #[n(0)]
    pub(crate) start: u64,
    #[n(1)]
    pub(crate) blocks: u64,
}

/// The free blocks of a device.
#[derive(Debug)]
pub(crate) struct Allocator {
    free: Mutex<Free>,
}

#[derive(Debug)]
struct Free {
    /// The runs by their start; no two are adjacent.
    runs: BTreeMap<u64, u64>,
    blocks: u64,
}

/// Blocks of an object, a part, or a write in progress. They are free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Allocation {
    allocator: Arc<Allocator>,
    runs: Vec<Run>,
}

/// There are not enough free blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooFew {
    pub(crate) needed: u64,
    pub(crate) free: u64,
}

impl Allocator {
    pub(crate) fn new(blocks: u64) -> Arc<Self> {
        let runs = if blocks == 0 { BTreeMap::new() } else { BTreeMap::from([(0, blocks)]) };
        Arc::new(Allocator { free: Mutex::new(Free { runs, blocks }) })
    }

    pub(crate) fn free_blocks(&self) -> u64 {
        self.free.lock().blocks
    }

    pub(crate) fn allocate(self: &Arc<Self>, needed: u64) -> Result<Allocation, TooFew> {
        let mut free = self.free.lock();
        if free.blocks < needed {
            return Err(TooFew { needed, free: free.blocks });
        }
        let mut runs = Vec::new();
        let mut missing = needed;
        while missing > 0 {
            let fits = free
                .runs
                .iter()
                .find(|&(_, &blocks)| blocks >= missing)
                .or_else(|| free.runs.iter().max_by_key(|&(_, &blocks)| blocks));
            let Some((&start, &available)) = fits else {
                break;
            };
            let taken = available.min(missing);
            free.take(start, start, taken);
            runs.push(Run { start, blocks: taken });
            missing -= taken;
        }
        debug_assert_eq!(missing, 0, "the count of free blocks agrees with the runs");
        Ok(Allocation { allocator: Arc::clone(self), runs })
    }

    /// Takes exactly these runs; `None` if any of their blocks is not free. Used to load a catalogue.
    pub(crate) fn claim(self: &Arc<Self>, runs: Vec<Run>) -> Option<Allocation> {
        let mut allocation = Allocation { allocator: Arc::clone(self), runs: Vec::with_capacity(runs.len()) };
        for run in runs {
            if run.blocks == 0 {
                return None;
            }
            let mut free = self.free.lock();
            let (&start, &blocks) = free.runs.range(..=run.start).next_back()?;
            let end = run.start.checked_add(run.blocks)?;
            if end > start + blocks {
                return None;
            }
            free.take(start, run.start, run.blocks);
            drop(free);
            allocation.runs.push(run);
        }
        Some(allocation)
    }
}

impl Free {
    /// Takes `blocks` blocks from `start` out of the free run that starts at `run_start`.
    fn take(&mut self, run_start: u64, start: u64, blocks: u64) {
        let Some(length) = self.runs.remove(&run_start) else {
            return;
        };
        if start > run_start {
            self.runs.insert(run_start, start - run_start);
        }
        let (end, taken_end) = (run_start + length, start + blocks);
        if end > taken_end {
            self.runs.insert(taken_end, end - taken_end);
        }
        self.blocks -= blocks;
    }

    fn give(&mut self, run: Run) {
        let Run { mut start, mut blocks } = run;
        self.blocks += blocks;
        if let Some((&before, &length)) = self.runs.range(..start).next_back()
            && before + length == start
        {
            self.runs.remove(&before);
            start = before;
            blocks += length;
        }
        if let Some(length) = self.runs.remove(&(run.start + run.blocks)) {
            blocks += length;
        }
        self.runs.insert(start, blocks);
    }
}

impl Allocation {
    pub(crate) fn runs(&self) -> &[Run] {
        &self.runs
    }

    pub(crate) fn len(&self) -> u64 {
        self.runs.iter().map(|run| run.blocks).sum()
    }

    pub(crate) fn blocks(&self) -> impl Iterator<Item = u64> + '_ {
        self.runs.iter().flat_map(|run| run.start..run.start + run.blocks)
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let mut free = self.allocator.free.lock();
        for &run in &self.runs {
            free.give(run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn no_block_has_two_holders_and_none_is_lost(steps in prop::collection::vec((any::<bool>(), 0u64..12), 1..80)) {
            let allocator = Allocator::new(40);
            let mut allocations: Vec<Allocation> = Vec::new();
            for (take, size) in steps {
                if take {
                    let held: u64 = allocations.iter().map(Allocation::len).sum();
                    match allocator.allocate(size) {
                        Ok(allocation) => {
                            prop_assert_eq!(allocation.len(), size);
                            allocations.push(allocation);
                        }
                        Err(few) => prop_assert_eq!(few, TooFew { needed: size, free: 40 - held }),
                    }
                } else if !allocations.is_empty() {
                    allocations.swap_remove(size as usize % allocations.len());
                }
                let held: Vec<u64> = allocations.iter().flat_map(Allocation::blocks).collect();
                let distinct: BTreeSet<u64> = held.iter().copied().collect();
                prop_assert_eq!(distinct.len(), held.len());
                prop_assert!(distinct.iter().all(|&block| block < 40));
                prop_assert_eq!(allocator.free_blocks(), 40 - held.len() as u64);
            }
            allocations.clear();
            prop_assert_eq!(&allocator.free.lock().runs, &BTreeMap::from([(0, 40)]));
        }
    }

    #[test]
    fn what_is_claimed_twice_is_refused_and_nothing_is_kept() {
        let allocator = Allocator::new(10);
        let run = |start, blocks| Run { start, blocks };
        let held = allocator.claim(vec![run(2, 3)]).expect("free");
        assert!(allocator.claim(vec![run(8, 1), run(4, 2)]).is_none());
        assert!(allocator.claim(vec![run(9, 2)]).is_none());
        assert!(allocator.claim(vec![run(9, 0)]).is_none());
        assert!(allocator.claim(vec![run(u64::MAX, 2)]).is_none());
        assert_eq!(allocator.free_blocks(), 7);
        drop(held);
        assert_eq!(allocator.free_blocks(), 10);
    }
}
