//! The blocks of a stash that were added, removed or written since its owner last took the changes.

use crate::types::BlockId;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// The changes of a stash since they were last taken. Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StashChanges {
    /// The blocks in it that were put into a list, in the order of their last insertion.
    pub linked: Vec<BlockId>,
    /// The blocks in it whose payload may have been changed, in ascending order.
    pub written: Vec<BlockId>,
    /// The blocks that were removed, in ascending order. Some may have been added since the last call, too.
    pub removed: Vec<BlockId>,
}

/// The events of a stash, with repetitions. It records nothing before [`track_changes`](Self::track_changes).
#[derive(Clone, Debug, Default)]
pub(crate) struct StashLog(Option<StashChanges>);

impl StashLog {
    /// Begins to record events; earlier ones are forgotten.
    pub(crate) fn track_changes(&mut self) {
        self.0 = Some(StashChanges::default());
    }

    /// Records that a block became the first of its list.
    #[inline]
    pub(crate) fn on_link(&mut self, block: BlockId) {
        if let Some(changes) = &mut self.0 {
            changes.linked.push(block);
        }
    }

    /// Records that a block's payload may be changed.
    #[inline]
    pub(crate) fn on_write(&mut self, block: BlockId) {
        if let Some(changes) = &mut self.0 {
            changes.written.push(block);
        }
    }

    /// The blocks whose payload may have changed since the changes were last taken.
    pub(crate) fn written_since(&self) -> BTreeSet<BlockId> {
        self.0.iter().flat_map(|changes| changes.written.iter().copied()).collect()
    }

    /// Records that a block was removed.
    #[inline]
    pub(crate) fn on_remove(&mut self, block: BlockId) {
        if let Some(changes) = &mut self.0 {
            changes.removed.push(block);
        }
    }

    /// Takes the changes since the last call, each block once; `is_here` returns which blocks the stash holds now.
    pub(crate) fn take(&mut self, is_here: impl Fn(BlockId) -> bool) -> StashChanges {
        let Some(changes) = &mut self.0 else { return StashChanges::default() };
        let StashChanges { mut linked, mut written, mut removed } = core::mem::take(changes);
        let mut met = BTreeSet::new();
        // The last time counts.
        linked.reverse();
        linked.retain(|block| met.insert(*block) && is_here(*block));
        linked.reverse();
        written.retain(|block| is_here(*block));
        removed.retain(|block| !is_here(*block));
        for blocks in [&mut written, &mut removed] {
            blocks.sort_unstable();
            blocks.dedup();
        }
        StashChanges { linked, written, removed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_is_told_once_and_as_it_is_now() {
        let mut log = StashLog::default();
        log.on_link(BlockId(9));
        log.track_changes();
        for block in [3, 1, 2, 3] {
            log.on_link(BlockId(block));
            log.on_write(BlockId(block));
        }
        log.on_remove(BlockId(2));
        log.on_remove(BlockId(1));
        log.on_link(BlockId(1));
        let changes = log.take(|block| block != BlockId(2));
        assert_eq!(changes.linked, [BlockId(3), BlockId(1)]);
        assert_eq!(changes.written, [BlockId(1), BlockId(3)]);
        assert_eq!(changes.removed, [BlockId(2)]);
        assert_eq!(log.take(|_| true), StashChanges::default());
    }
}
