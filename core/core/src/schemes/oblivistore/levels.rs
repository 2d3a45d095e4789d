//! A partition of the SSS ORAM: levels of permuted slots, each twice as large as the one above.

#[cfg(feature = "inspect")]
use crate::inspect::{Inspect, Inspection};
use crate::oram::OramError;
use crate::partitions::SubOram;
use crate::permutation::sampling;
use crate::range::{self, OutOfRange};
use crate::store::Store;
use crate::tree::block_header::{self, HEADER_BYTES};
use crate::tree::layout::{Extent, Layout};
use crate::types::{BlockId, Bucket, Leaf, Slot};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};
use core::cell::RefCell;
use core::mem;
use rand_core::RngCore;

/// The shape of a partition. Public.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct PartitionShape {
    /// The number of levels: 1 to 24. Level j has room for 2^j blocks, except the last level.
    pub levels: u32,
    /// The number of blocks of the last level, and of the partition: 2^(levels - 1) to 2^30.
    pub capacity: u64,
    /// The size of a block in bytes: 0 to 2^24.
    pub block_bytes: u32,
}

impl PartitionShape {
    /// Checks every range.
    ///
    /// # Errors
    /// [`OutOfRange`] names the parameter, its value and what it may be.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        range::check(&[("levels", self.levels.into(), 1, 24)])?;
        range::check(&[
            ("capacity", self.capacity, 1 << (self.levels - 1), 1 << 30),
            ("block_bytes", self.block_bytes.into(), 0, 1 << 24),
        ])
    }

    /// Returns the number of slots of all levels.
    pub fn slots(&self) -> u64 {
        self.above(self.levels)
    }

    /// The untrusted memory of the partition, in plaintext bytes: buckets of one slot.
    pub fn layout(&self) -> Layout {
        Layout::new(alloc::vec![Extent {
            buckets: self.slots(),
            slots: 1,
            slot_bytes: self.slot_bytes() as u32
        }])
    }

    /// Returns the number of blocks that a level has room for. The level has the same number of slots for dummies.
    pub fn blocks(&self, level: u32) -> u64 {
        if level + 1 == self.levels { self.capacity } else { 1 << level }
    }

    /// The maximum number of blocks in buffers while a level is rebuilt: those that it gets, and its slots, which are
    /// twice as many.
    pub fn buffer_blocks(&self, level: u32) -> u64 {
        3 * self.blocks(level)
    }

    /// Returns the number of slots of the levels above one.
    fn above(&self, level: u32) -> u64 {
        (0..level).map(|level| 2 * self.blocks(level)).sum()
    }

    fn slot_bytes(&self) -> usize {
        HEADER_BYTES + self.block_bytes as usize
    }
}

/// A partition over a store.
pub struct Levels<S, R> {
    shape: PartitionShape,
    first_bucket: Bucket,
    store: S,
    state: RefCell<State<R>>,
}

struct State<R> {
    random: R,
    /// The levels, unless they hold nothing.
    levels: Vec<Option<Level>>,
}

/// A level that holds something: the slots that were not read.
struct Level {
    /// The slot of each block.
    blocks: BTreeMap<BlockId, u64>,
    /// The slots of dummies, in an order that tells nothing.
    dummies: Vec<u64>,
}

impl Level {
    /// Takes as many unread slots as the level has room for blocks: all of its blocks, and dummies. Their number and
    /// their places tell nothing of how many blocks there are.
    fn drain(self, room: u64) -> Vec<(u64, Option<BlockId>)> {
        let blocks = self.blocks.into_iter().map(|(block, slot)| (slot, Some(block)));
        let dummies = self.dummies.into_iter().map(|slot| (slot, None));
        let mut slots: Vec<_> = blocks.chain(dummies).take(room as usize).collect();
        slots.sort_unstable_by_key(|(slot, _)| *slot);
        slots
    }
}

impl<S: Store, R: RngCore> Levels<S, R> {
    /// A partition over a store that was never written. Its buckets are numbered from `first_bucket`. It begins as
    /// if it had taken this many puts, of dummies: less than `2^(levels - 1)`.
    ///
    /// # Errors
    /// [`OutOfRange`] for a shape that is not valid.
    pub fn new(
        shape: PartitionShape,
        first_bucket: Bucket,
        store: S,
        random: R,
        puts: u64,
    ) -> Result<Self, OutOfRange> {
        shape.validate()?;
        let last = shape.levels - 1;
        let levels = (0..shape.levels).map(|_| None).collect();
        let levels = Levels { shape, first_bucket, store, state: RefCell::new(State { random, levels }) };
        // Slots that were never written are dummies.
        for level in (0..last).filter(|level| puts & (1 << level) != 0).chain([last]) {
            levels.permute(level, &[]);
        }
        Ok(levels)
    }

    /// A slot of a level.
    fn bucket(&self, level: u32, slot: u64) -> Bucket {
        Bucket(self.first_bucket.0 + self.shape.above(level) + slot)
    }

    fn blocks(&self) -> usize {
        self.state.borrow().levels.iter().flatten().map(|level| level.blocks.len()).sum()
    }

    /// Checks that a slot holds what it should.
    fn check(&self, bytes: &[u8], due: Option<BlockId>) -> Result<(), OramError<S::Error>> {
        let found = block_header::read(&bytes[..HEADER_BYTES]).map(|(block, _)| block);
        if found == due { Ok(()) } else { Err(OramError::Contradiction("a block is where no block was put")) }
    }

    /// The level that the next put fills: the first that holds nothing, or the last one.
    fn fills(&self) -> usize {
        let levels = &self.state.borrow().levels;
        levels.iter().position(Option::is_none).unwrap_or(levels.len() - 1)
    }

    /// The level that a put fills, and the levels that it empties: all above it, and the level itself if it holds
    /// something.
    fn merged(&self) -> (u32, Vec<(u32, Level)>) {
        let into = self.fills();
        let levels = &mut self.state.borrow_mut().levels;
        let merged = levels.iter_mut().take(into + 1).filter_map(mem::take);
        (into as u32, (0..).zip(merged).collect())
    }

    /// Places blocks in a level at random, and fills it with dummies. Returns the blocks in the order of their slots.
    fn permute(&self, into: u32, blocks: &[BlockId]) -> Vec<Option<usize>> {
        let State { random, levels } = &mut *self.state.borrow_mut();
        let slots = 2 * self.shape.blocks(into) as usize;
        let mut order: Vec<Option<usize>> =
            (0..slots).map(|nth| (nth < blocks.len()).then_some(nth)).collect();
        for last in (1..slots).rev() {
            order.swap(last, sampling::below(random, last + 1));
        }
        let mut level = Level { blocks: BTreeMap::new(), dummies: Vec::new() };
        for (slot, nth) in (0..).zip(&order) {
            match nth {
                Some(nth) => _ = level.blocks.insert(blocks[*nth], slot),
                None => level.dummies.push(slot),
            }
        }
        for last in (1..level.dummies.len()).rev() {
            level.dummies.swap(last, sampling::below(random, last + 1));
        }
        levels[into as usize] = Some(level);
        order
    }
}

impl<S: Store, R: RngCore> SubOram for Levels<S, R> {
    type Error = S::Error;

    fn max_put_blocks(&self) -> usize {
        1
    }

    fn room(&self) -> usize {
        self.shape.capacity as usize - self.blocks()
    }

    fn waiting_blocks(&self) -> usize {
        0
    }

    /// Reads a slot of each level that holds something: that of the block, and dummies.
    async fn take(&self, block: Option<BlockId>, into: &mut [u8]) -> Result<(), OramError<S::Error>> {
        let (mut slots, mut found) = (Vec::new(), None);
        for (nth, level) in (0..).zip(&mut self.state.borrow_mut().levels) {
            let Some(level) = level else { continue };
            let slot = match block.and_then(|block| level.blocks.remove(&block)) {
                Some(slot) => {
                    found = Some(slots.len());
                    slot
                }
                None => level.dummies.pop().ok_or(OramError::Contradiction("a level was read too often"))?,
            };
            slots.push(Slot::only(self.bucket(nth, slot)));
        }
        if block.is_some() && found.is_none() {
            return Err(OramError::Contradiction("a block is not in its partition"));
        }
        let mut bytes = alloc::vec![0; slots.len() * self.shape.slot_bytes()];
        self.store.read_buffer(&slots, &mut bytes).await?;
        for (nth, bytes) in bytes.chunks_exact(self.shape.slot_bytes()).enumerate() {
            let is_found = found == Some(nth);
            self.check(bytes, block.filter(|_| is_found))?;
            if is_found {
                into.copy_from_slice(&bytes[HEADER_BYTES..]);
            }
        }
        Ok(())
    }

    /// Rebuilds a level from those above it and the block.
    async fn put(&self, blocks: &[BlockId], from: &[u8]) -> Result<(), OramError<S::Error>> {
        let (into, merged) = self.merged();
        let slot_bytes = self.shape.slot_bytes();
        let drained: Vec<(Slot, Option<BlockId>)> = merged
            .into_iter()
            .flat_map(|(nth, level)| {
                let slots = level.drain(self.shape.blocks(nth)).into_iter();
                slots.map(move |(slot, block)| (Slot::only(self.bucket(nth, slot)), block))
            })
            .collect();
        let slots: Vec<Slot> = drained.iter().map(|(slot, _)| *slot).collect();
        let mut bytes = alloc::vec![0; slots.len() * slot_bytes];
        if !slots.is_empty() {
            self.store.read_buffer(&slots, &mut bytes).await?;
        }

        let (mut placed, mut records) = (Vec::new(), Vec::new());
        for ((_, block), bytes) in drained.iter().zip(bytes.chunks_exact(slot_bytes)) {
            self.check(bytes, *block)?;
            if let Some(block) = block {
                placed.push(*block);
                records.extend_from_slice(bytes);
            }
        }
        for (nth, block) in blocks.iter().enumerate() {
            let begin = records.len();
            records.resize(begin + slot_bytes, 0);
            block_header::write(&mut records[begin..], *block, Leaf(0));
            let payload = nth * self.shape.block_bytes as usize..(nth + 1) * self.shape.block_bytes as usize;
            records[begin + HEADER_BYTES..].copy_from_slice(&from[payload]);
            placed.push(*block);
        }
        // The next buffer is the largest: the blocks that were read are not held at the same time.
        drop(bytes);
        let order = self.permute(into, &placed);
        let mut level = alloc::vec![0; order.len() * slot_bytes];
        for (nth, slot) in order.iter().zip(level.chunks_exact_mut(slot_bytes)) {
            if let Some(nth) = nth {
                slot.copy_from_slice(&records[nth * slot_bytes..][..slot_bytes]);
            }
        }
        let buckets: Vec<Bucket> = (0..order.len() as u64).map(|slot| self.bucket(into, slot)).collect();
        self.store.write_buffer(&buckets, &mut level).await?;
        Ok(())
    }

    /// A slot of each level that holds something.
    fn take_buffer_blocks(&self) -> usize {
        self.state.borrow().levels.iter().flatten().count()
    }

    fn put_buffer_blocks(&self) -> usize {
        self.shape.buffer_blocks(self.fills() as u32) as usize
    }

    fn trusted_bytes(&self) -> usize {
        let state = self.state.borrow();
        let bytes = |level: &Level| {
            level.blocks.len() * size_of::<(BlockId, u64)>() + level.dummies.len() * size_of::<u64>()
        };
        state.levels.iter().flatten().map(bytes).sum()
    }
}

#[cfg(feature = "inspect")]
impl<S: Store, R: RngCore> Inspect for Levels<S, R> {
    /// Has as used the slots that were read, of the levels that hold something.
    fn inspect(&self) -> Option<Inspection> {
        let levels = &self.state.borrow().levels;
        let mut used = Vec::new();
        for (nth, level) in (0..).zip(levels) {
            let Some(Level { blocks, dummies }) = level else { continue };
            let mut is_read = alloc::vec![true; 2 * self.shape.blocks(nth) as usize];
            blocks.values().chain(dummies).for_each(|slot| is_read[*slot as usize] = false);
            let read = (0..).zip(is_read).filter(|(_, is_read)| *is_read);
            used.extend(read.map(|(slot, _)| Slot::only(self.bucket(nth, slot))));
        }
        let levels = levels.iter().map(Option::is_some).collect();
        Some(Inspection { used, levels, ..Inspection::default() })
    }
}
