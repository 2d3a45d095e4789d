//! The blocks on the trusted side: Path ORAM's stash, and the top of the tree with it.
//!
//! The levels that the trusted side keeps are not kept as buckets. A block above the first untrusted level waits for an
//! eviction that passes through its subtree. So the stash has one list for each subtree, and an eviction reads only one
//! list. With one subtree (no trusted level) it is the stash of the paper.

pub mod changes;
pub mod payloads;

use crate::position_map::flat::Positions;
use crate::stash::changes::{StashChanges, StashLog};
use crate::stash::payloads::{PayloadSource, Payloads, StashPayloads};
use crate::tree::block_header::{self, HEADER_BYTES};
use crate::types::{BlockId, Leaf, Level};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};
use hashbrown::HashTable;

const NONE: u32 = u32::MAX;

/// A block's place in the stash, valid until the block is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(u32);

#[derive(Clone, Copy, Debug)]
struct Entry {
    block: u32,
    leaf: u32,
    previous: u32,
    next: u32,
}

/// Mixes block numbers; they come from the trusted side, so no outsider can aim at collisions.
fn hash(block: BlockId) -> u64 {
    let mixed = block.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 32)
}

/// Blocks on the trusted side, by block and by subtree. Block numbers must fit 32 bits. Iteration order depends on the
/// history only, so that a replay sees the same order.
pub struct Stash {
    block_bytes: usize,
    leaf_level: Level,
    /// The level of the subtrees' roots.
    top: Level,
    entries: Vec<Entry>,
    payloads: StashPayloads,
    vacant: Vec<u32>,
    heads: Vec<u32>,
    /// The places in `entries`, by the hash of their block.
    index: HashTable<u32>,
    peak: usize,
    log: StashLog,
}

/// The stash as it is written into a snapshot: blocks with their payloads, in the order of the lists.
#[derive(BorshSerialize, BorshDeserialize)]
pub struct StashSnapshot {
    blocks: Vec<(BlockId, Leaf)>,
    payloads: Vec<u8>,
}

impl StashSnapshot {
    /// The blocks in the snapshot.
    pub fn blocks(&self) -> impl Iterator<Item = (BlockId, Leaf)> + '_ {
        self.blocks.iter().copied()
    }
}

impl Stash {
    /// An empty stash for blocks of `block_bytes`, over a tree with `2^leaf_level` leaves and `2^top` subtrees.
    pub fn new(block_bytes: usize, leaf_level: Level, top: Level) -> Self {
        assert!(top <= leaf_level, "more subtrees than leaves");
        Stash {
            block_bytes,
            leaf_level,
            top,
            entries: Vec::new(),
            payloads: StashPayloads::new(block_bytes),
            vacant: Vec::new(),
            heads: vec![NONE; 1 << top.0],
            index: HashTable::new(),
            peak: 0,
            log: StashLog::default(),
        }
    }

    /// The number of blocks in the stash.
    #[inline]
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Returns whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// The maximum number of blocks that the stash ever contained at once.
    pub fn peak(&self) -> usize {
        self.peak
    }

    /// The bytes that the stash occupies now: payloads, lists and index.
    pub fn bytes(&self) -> usize {
        self.payloads.allocated()
            + self.entries.capacity() * size_of::<Entry>()
            + (self.heads.len() + self.vacant.capacity()) * size_of::<u32>()
            + self.index.allocation_size()
    }

    /// Finds the place of a block, if it is here.
    #[inline]
    pub fn find(&self, block: BlockId) -> Option<Handle> {
        self.index
            .find(hash(block), |at| BlockId(self.entries[*at as usize].block.into()) == block)
            .map(|at| Handle(*at))
    }

    /// Adds a block that is not here yet, with a payload of zeros to be filled by the caller.
    pub fn insert(&mut self, block: BlockId, leaf: Leaf) -> Handle {
        let handle = self.place(block, leaf);
        self.payloads.slot_mut(handle.0).fill(0);
        handle
    }

    /// Adds a block that is not here yet, with this payload.
    #[inline]
    pub fn insert_with(&mut self, block: BlockId, leaf: Leaf, payload: &[u8]) -> Handle {
        let handle = self.place(block, leaf);
        // Blocks of a simulation have none.
        if !payload.is_empty() {
            self.payloads.slot_mut(handle.0).copy_from_slice(payload);
        }
        handle
    }

    /// Sets the source of the payloads that are released from memory. The stash must be empty and unused.
    pub fn set_payload_source(&mut self, source: Box<dyn PayloadSource>) {
        self.payloads.set_payload_source(source);
    }

    /// Takes a free entry; the contents of its payload are unspecified.
    #[inline]
    fn place(&mut self, block: BlockId, leaf: Leaf) -> Handle {
        let at = match self.vacant.pop() {
            Some(at) => at,
            None => {
                self.grow();
                self.entries.push(Entry { block: 0, leaf: 0, previous: NONE, next: NONE });
                self.payloads.push();
                (self.entries.len() - 1) as u32
            }
        };
        debug_assert!(self.find(block).is_none(), "{block} stood in the stash twice");
        self.entries[at as usize].block = u32::try_from(block.0).expect("schemes number blocks in 32 bits");
        let entries = &self.entries;
        self.index.insert_unique(hash(block), at, |at| hash(BlockId(entries[*at as usize].block.into())));
        self.log.on_write(block);
        self.link(at, leaf);
        self.peak = self.peak.max(self.index.len());
        Handle(at)
    }

    /// Takes a block out.
    #[inline]
    pub fn remove(&mut self, handle: Handle) {
        self.log.on_remove(self.block(handle));
        self.unlink(handle.0);
        let found = self.index.find_entry(hash(self.block(handle)), |at| *at == handle.0);
        found.expect("a handle is valid until its block is removed").remove();
        self.payloads.release(handle.0);
        self.vacant.push(handle.0);
    }

    /// Gives a block a new leaf.
    pub fn remap(&mut self, handle: Handle, leaf: Leaf) {
        self.unlink(handle.0);
        self.link(handle.0, leaf);
    }

    /// The block at a handle.
    #[inline]
    pub fn block(&self, handle: Handle) -> BlockId {
        BlockId(self.entries[handle.0 as usize].block.into())
    }

    /// The leaf of the block at a handle.
    #[inline]
    pub fn leaf(&self, handle: Handle) -> Leaf {
        Leaf(self.entries[handle.0 as usize].leaf.into())
    }

    /// Copies the payload of the block at a handle, which may be in the source only.
    #[inline]
    pub fn read(&self, handle: Handle, into: &mut [u8]) {
        if !into.is_empty() {
            self.payloads.read(handle.0, self.block(handle), into);
        }
    }

    /// Lends the payload of the block at a handle to the caller. It may be in the source only.
    pub fn with_payload(&self, handle: Handle, visit: &mut dyn FnMut(&[u8])) {
        match self.payloads.get(handle.0) {
            Some(payload) => visit(payload),
            None => {
                let mut payload = vec![0; self.block_bytes];
                self.read(handle, &mut payload);
                visit(&payload);
            }
        }
    }

    /// The payload of the block at a handle, to be changed: it is in memory from now on.
    #[inline]
    pub fn payload_mut(&mut self, handle: Handle) -> &mut [u8] {
        let block = self.block(handle);
        self.log.on_write(block);
        self.payloads.get_mut(handle.0, block)
    }

    /// Returns whether the payload of a block is in the source, and not in memory.
    pub fn is_payload_external(&self, block: BlockId) -> bool {
        self.find(block).is_some_and(|handle| !self.payloads.is_resident(handle.0))
    }

    /// Loads the payload of a block into memory, from its source.
    pub fn load_payload(&mut self, block: BlockId, payload: &[u8]) {
        if let Some(handle) = self.find(block).filter(|handle| !self.payloads.is_resident(handle.0)) {
            self.payloads.slot_mut(handle.0).copy_from_slice(payload);
        }
    }

    /// Releases from memory the payloads that the source has: all but those that may have changed since the changes
    /// were last taken. Does nothing without a source.
    pub fn release_payloads(&mut self) {
        if !self.payloads.has_source() {
            return;
        }
        let changed = self.log.written_since();
        let all: Vec<Handle> = self.iter().collect();
        for handle in all {
            if !changed.contains(&self.block(handle)) {
                self.payloads.release(handle.0);
            }
        }
    }

    /// Serializes a block as it is in untrusted memory: its header, then its payload.
    #[inline]
    pub fn serialize_block(&self, handle: Handle, into: &mut [u8]) {
        let (header, payload) = into.split_at_mut(HEADER_BYTES);
        self.serialize_split(handle, header, payload);
    }

    /// Serializes a block whose header and payload are in different buffers.
    #[inline]
    pub fn serialize_split(&self, handle: Handle, header: &mut [u8], payload: &mut [u8]) {
        block_header::write(header, self.block(handle), self.leaf(handle));
        self.read(handle, payload);
    }

    /// The blocks of one subtree, the last one added first.
    #[inline]
    pub fn subtree(&self, subtree: usize) -> impl Iterator<Item = Handle> + '_ {
        let mut at = self.heads[subtree];
        core::iter::from_fn(move || {
            (at != NONE).then(|| {
                let this = Handle(at);
                at = self.entries[at as usize].next;
                this
            })
        })
    }

    /// All blocks, subtree by subtree.
    pub fn iter(&self) -> impl Iterator<Item = Handle> + '_ {
        (0..self.heads.len()).flat_map(|subtree| self.subtree(subtree))
    }

    /// Begins to record which blocks are added, removed or written.
    pub fn track_changes(&mut self) {
        self.log.track_changes();
    }

    /// Takes the changes since the last call.
    pub fn take_changes(&mut self) -> StashChanges {
        let mut log = core::mem::take(&mut self.log);
        let changes = log.take(|block| self.find(block).is_some());
        self.log = log;
        changes
    }

    /// All blocks; within a list the first block comes last. Inserted in this order, they give the same lists.
    pub fn order(&self) -> Vec<BlockId> {
        let mut blocks: Vec<BlockId> = self.iter().map(|handle| self.block(handle)).collect();
        blocks.reverse();
        blocks
    }

    /// Returns the stash as a snapshot holds it.
    pub fn snapshot(&self) -> StashSnapshot {
        let mut snapshot = StashSnapshot { blocks: Vec::new(), payloads: Vec::new() };
        snapshot.payloads.reserve_exact(self.len() * self.block_bytes);
        for handle in self.iter() {
            snapshot.blocks.push((self.block(handle), self.leaf(handle)));
            self.with_payload(handle, &mut |payload| snapshot.payloads.extend_from_slice(payload));
        }
        snapshot
    }

    /// Fills an empty stash from a snapshot. Returns `false` if the snapshot cannot be a snapshot of a stash with these
    /// parameters.
    #[must_use]
    pub fn restore(&mut self, snapshot: &StashSnapshot) -> bool {
        let fits = self.is_empty() && snapshot.payloads.len() == snapshot.blocks.len() * self.block_bytes;
        if !fits {
            return false;
        }
        // Lists grow at the front: going backwards gives back their order.
        for (nth, (block, leaf)) in snapshot.blocks.iter().enumerate().rev() {
            let known = block.0 <= u64::from(u32::MAX) && leaf.0 >> self.leaf_level.0 == 0;
            if !known || self.find(*block).is_some() {
                return false;
            }
            let start = nth * self.block_bytes;
            self.insert_with(*block, *leaf, &snapshot.payloads[start..start + self.block_bytes]);
        }
        true
    }

    /// Fills an empty stash with blocks, the first of a list last, each with the leaf that it is mapped to. Then it
    /// adds their payloads, unless a source has them. Returns `false` if a stash with these parameters cannot hold
    /// them.
    #[must_use]
    pub fn refill(&mut self, order: &[BlockId], payloads: &mut dyn Payloads, positions: &Positions) -> bool {
        if !self.is_empty() {
            return false;
        }
        for block in order.iter().copied() {
            let known = block.0 < positions.blocks().min(u64::from(u32::MAX));
            let leaf = if known { positions.get(block) } else { None };
            match leaf.filter(|leaf| leaf.0 >> self.leaf_level.0 == 0) {
                Some(leaf) if self.find(block).is_none() => self.place(block, leaf),
                _ => return false,
            };
        }
        if self.payloads.has_source() {
            return true;
        }
        let mut left = order.len();
        while let Some(block) = payloads.next_block() {
            let Some(handle) = self.find(block).filter(|_| left > 0) else { return false };
            if !payloads.fill(self.payload_mut(handle)) {
                return false;
            }
            left -= 1;
        }
        left == 0
    }

    /// Makes room in steps of an eighth: a doubling could leave half of the trusted memory unused.
    fn grow(&mut self) {
        if self.entries.len() == self.entries.capacity() {
            let more = (self.entries.len() / 8).max(32);
            self.entries.reserve_exact(more);
            self.payloads.reserve(more);
        }
    }

    #[inline]
    fn list_of(&self, leaf: Leaf) -> usize {
        (leaf.0 >> (self.leaf_level.0 - self.top.0)) as usize
    }

    #[inline]
    fn link(&mut self, at: u32, leaf: Leaf) {
        let list = self.list_of(leaf);
        let next = self.heads[list];
        if next != NONE {
            self.entries[next as usize].previous = at;
        }
        let entry = &mut self.entries[at as usize];
        (entry.leaf, entry.previous, entry.next) = (leaf.0 as u32, NONE, next);
        self.heads[list] = at;
        self.log.on_link(BlockId(self.entries[at as usize].block.into()));
    }

    #[inline]
    fn unlink(&mut self, at: u32) {
        let Entry { leaf, previous, next, .. } = self.entries[at as usize];
        if previous == NONE {
            let list = self.list_of(Leaf(leaf.into()));
            self.heads[list] = next;
        } else {
            self.entries[previous as usize].next = next;
        }
        if next != NONE {
            self.entries[next as usize].previous = previous;
        }
    }
}

#[cfg(test)]
mod tests;
