//! Group remaps, step by step: Freecursive ORAM, section 5.2, with a straggler at a time instead of a group at once.

use super::{FreecursiveOram, PositionEntry, State};
use crate::oram::OramError;
use crate::permutation::sampling;
use crate::store::Store;
use crate::types::BlockId;
use rand_core::{RngCore, SeedableRng};

/// The level of PosMap blocks to which the remap turn of an access belongs. It is drawn, so that no sequence of
/// accesses can keep a group from its turns.
pub(super) struct RemapTurn(Option<u32>);

impl RemapTurn {
    /// Returns whether a group of this level may have the remap turn: its own level, or the lowest, which comes last.
    fn is_for(&self, level: u32) -> bool {
        self.0.is_some_and(|drawn| drawn == level || level == 1)
    }

    fn consume(&mut self) {
        self.0 = None;
    }
}

impl<S: Store, R: RngCore + SeedableRng> FreecursiveOram<S, R> {
    /// Moves one straggler of the group that holds the counter of `block`, which is the next to be fetched or
    /// accessed. Returns whether that took a path. There is nothing to do without counters, or without stragglers; a
    /// straggler that is in the buffer, or was taken out, moves without a path.
    ///
    /// A caller that runs the lines one by one calls this before each [`fetch`](Self::fetch),
    /// [`access_block`](Self::access_block) and [`put_block_in`](Self::put_block_in). The number of paths depends on
    /// secrets: paths at a fixed rate hide it.
    ///
    /// # Errors
    /// The errors of [`Oram::access`](crate::oram::Oram::access); [`OramError::Contradiction`] if the group is not
    /// available, or the straggler is not what was last written.
    pub async fn remap_straggler(&self, block: BlockId) -> Result<bool, OramError<S::Error>> {
        let Some(straggler) = self.straggler_of_group(block)? else { return Ok(false) };
        let new_position = self.assign_position(straggler)?;
        let is_trusted = {
            let State { look_aside, labels, .. } = &mut *self.state.borrow_mut();
            let place = look_aside.place(straggler);
            if let Some(place) = place {
                look_aside.set_position(place, new_position.update.new, new_position.new_counter);
            }
            place.is_some() || labels.counted().is_some_and(|counted| counted.taken_out.contains(&straggler))
        };
        if !is_trusted {
            self.access_remapped(straggler, &new_position, |_| ()).await?;
        }
        Ok(!is_trusted)
    }

    /// Draws the level to which the remap turn of an access belongs.
    pub(super) fn draw_turn(&self) -> RemapTurn {
        let State { random, labels, .. } = &mut *self.state.borrow_mut();
        let maps = self.space.maps();
        let has_turn = maps > 0 && labels.counted().is_some();
        RemapTurn(has_turn.then(|| 1 + sampling::below(random, maps as usize) as u32))
    }

    /// Gives the remap turn to the group that holds the counter of a block, if the turn belongs to this group. Returns
    /// whether the turn took a path.
    pub(super) async fn take_turn(
        &self,
        turn: &mut RemapTurn,
        block: BlockId,
    ) -> Result<bool, OramError<S::Error>> {
        if !turn.is_for(self.space.level(block) + 1) || !self.remap_straggler(block).await? {
            return Ok(false);
        }
        turn.consume();
        Ok(true)
    }

    /// Moves all stragglers of a group outside of the schedule, if the counter of a block cannot continue otherwise.
    pub(super) async fn remap_all_stragglers(&self, block: BlockId) -> Result<(), OramError<S::Error>> {
        while self.must_wait(block) {
            if self.remap_straggler(block).await? {
                self.emergencies.set(self.emergencies.get() + 1);
                while self.tree.pending_steps() > 0 {
                    self.tree.step().await?;
                }
            }
        }
        Ok(())
    }

    /// Returns whether the counter of a block cannot continue before a straggler of its group has moved.
    fn must_wait(&self, block: BlockId) -> bool {
        let State { look_aside, labels, .. } = &*self.state.borrow();
        match (labels.counted(), self.space.position_entry(block)) {
            (Some(counted), PositionEntry::Block(above, entry)) => look_aside
                .place(above)
                .is_some_and(|place| counted.groups.must_wait(look_aside.payload(place), entry)),
            _ => false,
        }
    }

    /// The first straggler of the group that holds the counter of a block.
    fn straggler_of_group(&self, block: BlockId) -> Result<Option<BlockId>, OramError<S::Error>> {
        let State { look_aside, labels, .. } = &*self.state.borrow();
        let Some(counted) = labels.counted() else { return Ok(None) };
        let capacity = self.space.blocks();
        if block.0 >= capacity {
            return Err(OramError::OutOfRange { block, capacity });
        }
        let PositionEntry::Block(above, _) = self.space.position_entry(block) else { return Ok(None) };
        let place = look_aside.place(above);
        let place = place.ok_or(OramError::Contradiction("the position of a block is not at hand"))?;
        let straggler = counted.groups.straggler(look_aside.payload(place));
        straggler
            .map(|entry| self.space.block_of_entry(above, entry))
            .map(|block_of_entry| {
                block_of_entry
                    .ok_or(OramError::Contradiction("a PosMap block counts for a block beyond the end"))
            })
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BackendParameters, FreecursiveParameters, NextPath, PositionStorage, TrustedHits};
    use super::*;
    use crate::oram::{Access, Oram};
    use crate::schemes::path::{BucketsByLevel, PathParameters, TreeTopParameters};
    use crate::testing::{ArrayStore, finish_now, settle};
    use crate::types::{Bucket, Level};
    use alloc::collections::BTreeMap;
    use rand_chacha::ChaCha8Rng;

    type Subject = FreecursiveOram<ArrayStore, ChaCha8Rng>;

    /// 27 blocks, 9 and 3 PosMap blocks above them, and a buffer of one.
    fn oram(bits: u32) -> Subject {
        let (capacity, labels, trusted_positions) = (27, 3, 3);
        let buckets = BucketsByLevel::uniform(PathParameters {
            capacity: FreecursiveParameters::tree_capacity(capacity, labels, trusted_positions),
            block_bytes: 13,
            leaf_level: Level(4),
            top: Level(0),
            blocks_per_bucket: 4,
            max_batch: 1,
            stash_bound: 1000,
        });
        let buckets = buckets.unwrap();
        let store = ArrayStore::new(&buckets.layout());
        let parameters = FreecursiveParameters {
            capacity,
            labels,
            trusted_positions,
            look_aside: 1,
            look_aside_ways: 1,
            positions: PositionStorage::Counters { bits, tags: false },
            hits: TrustedHits::ReadThePath,
            max_batch: 1,
            tree: BackendParameters::Path { buckets, top: TreeTopParameters { levels: 0, ways: None } },
        };
        FreecursiveOram::with_any_bits(parameters, Bucket(0), store, ChaCha8Rng::seed_from_u64(1)).unwrap()
    }

    fn access(oram: &Subject, block: u64) {
        finish_now(async {
            oram.access(&mut [Access::Read(BlockId(block), &mut [0; 13])]).await.unwrap();
            settle(oram).await;
        });
    }

    /// Asserts that no counter was given twice to the same block: counters only grow.
    fn assert_each_given_once(oram: &Subject) {
        let state = oram.state.borrow();
        let mut last = BTreeMap::new();
        for (block, counter) in &state.labels.counted().unwrap().assigned {
            assert!(last.insert(*block, *counter) < Some(*counter), "{block} got {counter} again");
        }
    }

    #[test]
    fn a_block_that_is_accessed_forever_never_gets_a_counter_twice() {
        for bits in [2, 3, 6, 9] {
            let oram = oram(bits);
            (0..27).chain(core::iter::repeat_n(0, 3000)).for_each(|block| access(&oram, block));
            assert_each_given_once(&oram);
            assert!(oram.emergencies() == 0 || bits < 9, "{bits} bits");
        }
    }

    /// The counters of all groups are nearly used up. Then one block of each group after the other uses them up.
    #[test]
    fn groups_that_are_remapped_all_at_the_same_time_get_their_turns() {
        let oram = oram(9);
        (0..27).for_each(|block| access(&oram, block));
        for _ in 0..254 {
            (0..27).step_by(3).for_each(|block| access(&oram, block));
        }
        assert!((0..27).step_by(3).all(|block| {
            access(&oram, block);
            oram.straggler_of_group(BlockId(block)).unwrap().is_some()
        }));
        for nth in 0..2000 {
            access(&oram, 3 * (nth % 3));
        }
        (0..27).for_each(|block| access(&oram, block));
        assert_each_given_once(&oram);
        assert_eq!(oram.emergencies(), 0);
    }

    /// An adversary who sees the counters. When block 3 has used its counter up, it is accessed only while the group
    /// above its own has a straggler. If the highest level came first, that straggler would have the turn each time.
    #[test]
    fn no_choice_of_the_moment_keeps_a_group_from_its_turns() {
        let oram = oram(6);
        (0..27).chain(core::iter::repeat_n(3, 30)).for_each(|block| access(&oram, block));
        assert_eq!(oram.state.borrow().labels.counted().unwrap().assigned.last(), Some(&(BlockId(3), 31)));
        let upper = BlockId(oram.space.blocks_of(2).start);
        let is_contested = || {
            let state = oram.state.borrow();
            let groups = state.labels.counted().unwrap().groups;
            let place = state.look_aside.place(upper).expect("it was fetched");
            groups.straggler(state.look_aside.payload(place)).is_some()
        };
        let (mut contested, mut elsewhere) = (0, 0);
        while contested < 100 {
            finish_now(async {
                if oram.next(BlockId(3)).unwrap() != NextPath::PosMap(upper) {
                    access(&oram, 20);
                }
                oram.fetch(upper).await.unwrap();
                settle(&oram).await;
            });
            let block = if is_contested() { 3 } else { 0 };
            if block == 3 {
                contested += 1
            } else {
                elsewhere += 1
            }
            access(&oram, block);
        }
        assert!(elsewhere > 1000, "{elsewhere} accesses brought the upper group to the verge");
        assert_each_given_once(&oram);
        assert_eq!(oram.emergencies(), 0);
    }
}
