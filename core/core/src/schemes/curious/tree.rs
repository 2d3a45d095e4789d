//! The k-ary tree of a partition: a take reads a path, and the put after it writes the same path.

#[cfg(feature = "inspect")]
use crate::inspect::{self, Inspect, Inspection};
use crate::oram::OramError;
use crate::partitions::SubOram;
use crate::permutation::sampling;
use crate::range::{self, OutOfRange};
use crate::stash::{Handle, Stash};
use crate::store::Store;
use crate::tree::block_header::{self, HEADER_BYTES};
use crate::tree::layout::{Extent, Layout};
use crate::types::{BlockId, Bucket, Leaf, Level, Slot};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};
use core::cell::RefCell;
use core::cmp::Reverse;
use rand_core::RngCore;

/// The shape of a k-ary tree. Public.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct TreeShape {
    /// k, the number of children of a node: 2 to 16.
    pub arity: u32,
    /// The number of levels, the root and the leaves among them: 1 to 16. At most 2^31 leaves.
    pub levels: u32,
    /// Z, the number of blocks of a bucket, and the most blocks of a put: 1 to 255.
    pub blocks_per_bucket: u32,
    /// The maximum number of blocks in the tree: from 1 to the number that its buckets hold.
    pub capacity: u64,
    /// The size of a block in bytes: 0 to 2^24.
    pub block_bytes: u32,
}

impl TreeShape {
    /// Checks every range.
    ///
    /// # Errors
    /// [`OutOfRange`] names the parameter, its value and what it may be.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        range::check(&[("arity", self.arity.into(), 2, 16), ("levels", self.levels.into(), 1, 16)])?;
        range::check(&[
            ("leaves", self.leaves(), 1, 1 << 31),
            ("blocks_per_bucket", self.blocks_per_bucket.into(), 1, 255),
            ("block_bytes", self.block_bytes.into(), 0, 1 << 24),
        ])?;
        let slots = self.buckets() * u64::from(self.blocks_per_bucket);
        range::check(&[("capacity", self.capacity, 1, slots)])
    }

    /// Returns the number of leaves of the tree.
    pub fn leaves(&self) -> u64 {
        u64::from(self.arity).saturating_pow(self.levels - 1)
    }

    /// Returns the number of buckets of the tree.
    pub fn buckets(&self) -> u64 {
        self.above(self.levels)
    }

    /// The untrusted memory of the tree, in plaintext bytes: buckets of one slot.
    pub fn layout(&self) -> Layout {
        let slot_bytes = self.bucket_bytes() as u32;
        Layout::new(alloc::vec![Extent { buckets: self.buckets(), slots: 1, slot_bytes }])
    }

    /// The number of blocks of a path, including dummies.
    pub fn path_blocks(&self) -> u64 {
        u64::from(self.levels) * u64::from(self.blocks_per_bucket)
    }

    /// Returns the number of buckets above a level.
    fn above(&self, level: u32) -> u64 {
        let arity = u64::from(self.arity);
        (arity.pow(level) - 1) / (arity - 1)
    }

    /// The node at a level of the path to a leaf, counted within the level.
    fn node(&self, level: u32, leaf: Leaf) -> u64 {
        leaf.0 / u64::from(self.arity).pow(self.levels - 1 - level)
    }

    /// The deepest level that the paths to two leaves share.
    fn deepest_common(&self, one: Leaf, other: Leaf) -> u32 {
        let shares = |level: &u32| self.node(*level, one) == self.node(*level, other);
        (0..self.levels).rev().find(shares).unwrap_or(0)
    }

    fn entry_bytes(&self) -> usize {
        HEADER_BYTES + self.block_bytes as usize
    }

    fn bucket_bytes(&self) -> usize {
        self.blocks_per_bucket as usize * self.entry_bytes()
    }
}

/// A k-ary tree over a store.
pub struct Tree<S, R> {
    shape: TreeShape,
    first_bucket: Bucket,
    store: S,
    state: RefCell<State<R>>,
}

struct State<R> {
    random: R,
    leaves: BTreeMap<BlockId, Leaf>,
    /// The blocks of the path that was read, and blocks that found no room in their paths.
    stash: Stash,
    /// The path that was read and not yet written.
    held: Option<Leaf>,
}

impl<S: Store, R: RngCore> Tree<S, R> {
    /// A tree over a store that was never written. Its buckets are numbered from `first_bucket`.
    ///
    /// # Errors
    /// [`OutOfRange`] for a shape that is not valid.
    pub fn new(shape: TreeShape, first_bucket: Bucket, store: S, random: R) -> Result<Self, OutOfRange> {
        shape.validate()?;
        let level = Level(shape.leaves().next_power_of_two().ilog2());
        let stash = Stash::new(shape.block_bytes as usize, level, Level(0));
        let state = State { random, leaves: BTreeMap::new(), stash, held: None };
        Ok(Tree { shape, first_bucket, store, state: RefCell::new(state) })
    }

    fn draw_leaf(&self) -> Leaf {
        let random = &mut self.state.borrow_mut().random;
        Leaf(sampling::below(random, self.shape.leaves() as usize) as u64)
    }

    /// The buckets of a path, the root first.
    fn path(&self, leaf: Leaf) -> impl Iterator<Item = Bucket> + '_ {
        let bucket =
            move |level| self.first_bucket.0 + self.shape.above(level) + self.shape.node(level, leaf);
        (0..self.shape.levels).map(move |level| Bucket(bucket(level)))
    }

    /// Reads a path into the stash, and holds it.
    async fn read_path(&self, path: Leaf) -> Result<(), OramError<S::Error>> {
        let slots: Vec<Slot> = self.path(path).map(Slot::only).collect();
        let mut bytes = alloc::vec![0; slots.len() * self.shape.bucket_bytes()];
        self.store.read_buffer(&slots, &mut bytes).await?;

        let State { leaves, stash, held, .. } = &mut *self.state.borrow_mut();
        *held = Some(path);
        let buckets = bytes.chunks_exact(self.shape.bucket_bytes());
        for (level, bucket) in (0..).zip(buckets) {
            for entry in bucket.chunks_exact(self.shape.entry_bytes()) {
                let (header, payload) = entry.split_at(HEADER_BYTES);
                let Some((block, leaf)) = block_header::read(header) else { continue };
                let is_known = leaves.get(&block) == Some(&leaf) && stash.find(block).is_none();
                if !is_known || self.shape.deepest_common(leaf, path) < level {
                    return Err(OramError::Contradiction("a block is where no block was put"));
                }
                stash.insert_with(block, leaf, payload);
            }
        }
        Ok(())
    }

    /// Places the blocks of the held path, each as deep as possible.
    fn fill_buckets(&self, path: Leaf) -> Vec<u8> {
        let stash = &mut self.state.borrow_mut().stash;
        let depth = |handle| self.shape.deepest_common(stash.leaf(handle), path);
        let mut deepest: Vec<(u32, Handle)> = stash.iter().map(|handle| (depth(handle), handle)).collect();
        deepest.sort_by_key(|(depth, _)| Reverse(*depth));
        let mut bytes = alloc::vec![0; self.shape.levels as usize * self.shape.bucket_bytes()];
        let mut waiting = deepest.into_iter().peekable();
        for (level, bucket) in
            (0..self.shape.levels).zip(bytes.chunks_exact_mut(self.shape.bucket_bytes())).rev()
        {
            for entry in bucket.chunks_exact_mut(self.shape.entry_bytes()) {
                let Some((_, handle)) = waiting.next_if(|(depth, _)| *depth >= level) else { break };
                stash.serialize_block(handle, entry);
                stash.remove(handle);
            }
        }
        bytes
    }
}

impl<S: Store, R: RngCore> SubOram for Tree<S, R> {
    type Error = S::Error;

    fn max_put_blocks(&self) -> usize {
        self.shape.blocks_per_bucket as usize
    }

    fn room(&self) -> usize {
        self.shape.capacity as usize - self.state.borrow().leaves.len()
    }

    fn waiting_blocks(&self) -> usize {
        self.state.borrow().stash.len()
    }

    async fn take(&self, block: Option<BlockId>, into: &mut [u8]) -> Result<(), OramError<S::Error>> {
        let missing = OramError::Contradiction("a block is not in its partition");
        let dummy = self.draw_leaf();
        let path = match block.map(|block| self.state.borrow().leaves.get(&block).copied()) {
            Some(Some(leaf)) => leaf,
            Some(None) => return Err(missing),
            None => dummy,
        };
        self.read_path(path).await?;
        if let Some(block) = block {
            let State { leaves, stash, .. } = &mut *self.state.borrow_mut();
            let handle = stash.find(block).ok_or(missing)?;
            stash.read(handle, into);
            stash.remove(handle);
            leaves.remove(&block);
        }
        Ok(())
    }

    async fn put(&self, blocks: &[BlockId], from: &[u8]) -> Result<(), OramError<S::Error>> {
        if self.state.borrow().held.is_none() {
            let path = self.draw_leaf();
            self.read_path(path).await?;
        }
        let block_bytes = self.shape.block_bytes as usize;
        for (nth, block) in blocks.iter().enumerate() {
            let leaf = self.draw_leaf();
            let State { leaves, stash, .. } = &mut *self.state.borrow_mut();
            leaves.insert(*block, leaf);
            stash.insert_with(*block, leaf, &from[nth * block_bytes..][..block_bytes]);
        }
        let Some(path) = self.state.borrow_mut().held.take() else { return Ok(()) };
        let mut bytes = self.fill_buckets(path);
        let buckets: Vec<Bucket> = self.path(path).collect();
        self.store.write_buffer(&buckets, &mut bytes).await?;
        Ok(())
    }

    /// A path, as it is read.
    fn take_buffer_blocks(&self) -> usize {
        self.shape.path_blocks() as usize
    }

    /// A path, as it is written.
    fn put_buffer_blocks(&self) -> usize {
        self.shape.path_blocks() as usize
    }

    fn trusted_bytes(&self) -> usize {
        let state = self.state.borrow();
        state.leaves.len() * size_of::<(BlockId, Leaf)>() + state.stash.bytes()
    }
}

#[cfg(feature = "inspect")]
impl<S: Store, R: RngCore> Inspect for Tree<S, R> {
    fn inspect(&self) -> Option<Inspection> {
        let state = self.state.borrow();
        Some(Inspection {
            stash: inspect::stash(&state.stash),
            stale: state.held.map(|path| self.path(path).collect()).unwrap_or_default(),
            ..Inspection::default()
        })
    }
}
