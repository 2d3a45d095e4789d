//! The store of a tree whose blocks have no payload. It records the paths that were accessed.

use super::slots::Slots;
use crate::tree_scheme::TreeScheme;
use ameles_core::store::Store;
use ameles_core::tree::block_header::{self, HEADER_BYTES};
use ameles_core::types::{BlockId, Bucket, Leaf, Level, Slot};
use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::rc::Rc;

/// A store over [`Slots`], for a tree without payloads.
#[derive(Clone, Debug)]
pub struct TreeStore(Rc<StoreState>);

#[derive(Debug)]
struct StoreState {
    slots: RefCell<Slots>,
    numbers: BucketNumbers,
    /// The slots that a Ring ORAM moved since they were last taken.
    moved: RefCell<MovedSlots>,
    observed: Cell<Observed>,
    searched_block: Cell<Option<BlockId>>,
}

/// The operations since they were last taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// The path that was read last.
    pub path: Option<Leaf>,
    /// The number of paths that were read.
    pub read: u32,
    /// The level on which the requested block was found.
    pub found: Option<Level>,
}

/// The slots that were moved, one by one: those of Ring ORAM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MovedSlots {
    /// The slots that were read: the level, the place of the bucket from the left, and that of the slot.
    pub read: Vec<(Level, u64, u32)>,
    /// The buckets that were written: the level, and the place from the left.
    pub written: Vec<(Level, u64)>,
}

impl MovedSlots {
    /// The buckets without duplicates.
    pub(crate) fn buckets(&self) -> Vec<(Level, u64)> {
        if !self.written.is_empty() {
            return self.written.clone();
        }
        self.read.iter().map(|(level, index, _)| (*level, *index)).collect()
    }
}

impl TreeStore {
    /// A store for a tree of a scheme.
    pub fn of(scheme: TreeScheme, slots: Slots) -> Self {
        match scheme {
            TreeScheme::Path => Self::of_path(slots),
            TreeScheme::Raw { .. } => Self::of_raw(slots),
            TreeScheme::Ring { .. } => Self::of_ring(slots),
        }
    }

    /// A store for Path ORAM with buckets numbered from 0, level by level, from the root on. The levels above those
    /// of the slots are never accessed.
    pub fn of_path(slots: Slots) -> Self {
        Self::new(slots, BucketNumbers { above: 0, end: u64::MAX, by_slot: false })
    }

    /// A store for RAW ORAM. Its headers are numbered from 0, from the first level of the slots on. After them come
    /// the bodies, which are not stored.
    fn of_raw(slots: Slots) -> Self {
        let above = (1 << slots.top().0) - 1;
        let end = (2 << slots.leaf_level().0) - 1 - above;
        Self::new(slots, BucketNumbers { above, end, by_slot: false })
    }

    /// A store for Ring ORAM, whose buckets are numbered from 0, from the first level of the slots on. Slots are read
    /// one by one.
    fn of_ring(slots: Slots) -> Self {
        let above = (1 << slots.top().0) - 1;
        Self::new(slots, BucketNumbers { above, end: u64::MAX, by_slot: true })
    }

    fn new(slots: Slots, numbers: BucketNumbers) -> Self {
        let (observed, searched_block, moved) = (Cell::default(), Cell::new(None), RefCell::default());
        TreeStore(Rc::new(StoreState {
            slots: RefCell::new(slots),
            numbers,
            moved,
            observed,
            searched_block,
        }))
    }

    /// Gives the slots away.
    pub(crate) fn into_slots(self) -> Slots {
        match Rc::try_unwrap(self.0) {
            Ok(inner) => inner.slots.into_inner(),
            Err(shared) => shared.slots.borrow().clone(),
        }
    }

    /// Takes what was shown since the last time.
    pub fn take_observed(&self) -> Observed {
        self.0.observed.take()
    }

    /// Takes the slots that a Ring ORAM moved since the last time; `None` for another scheme.
    pub fn take_moved(&self) -> Option<MovedSlots> {
        self.0.numbers.by_slot.then(|| self.0.moved.take())
    }

    /// Returns what was visible since it was last taken.
    pub fn observed(&self) -> Observed {
        self.0.observed.get()
    }

    /// Looks for a block in what is read from now on.
    pub fn search_for(&self, block: Option<BlockId>) {
        self.0.searched_block.set(block);
    }

    /// Asks the processor for the buckets of a path that is read soon, without waiting for them.
    pub(crate) fn prefetch(&self, leaf: Leaf) {
        let tree = self.0.slots.borrow();
        let (top, leaf_level) = (tree.top().0, tree.leaf_level().0);
        (top..=leaf_level).for_each(|level| tree.prefetch(level, leaf.0 >> (leaf_level - level)));
    }

    /// Passes the slots to the caller.
    pub fn with_slots<T>(&self, with_slots: impl FnOnce(&Slots) -> T) -> T {
        with_slots(&self.0.slots.borrow())
    }
}

/// The numbers of the buckets that have blocks.
#[derive(Clone, Copy, Debug)]
struct BucketNumbers {
    /// The number of buckets of the tree above the one with number 0.
    above: u64,
    /// The first number that has none.
    end: u64,
    /// True if slots are read one by one.
    by_slot: bool,
}

impl BucketNumbers {
    /// The level of a bucket, and its place on it, from the left; `None` for one without blocks.
    fn place(self, bucket: Bucket) -> Option<(u32, u64)> {
        let nth = bucket.0 + self.above + 1;
        let level = nth.ilog2();
        (bucket.0 < self.end).then_some((level, nth - (1 << level)))
    }
}

impl StoreState {
    /// Reads slots one by one.
    fn read_slots(&self, slots: &[Slot], into: &mut [u8]) {
        let tree = self.slots.borrow();
        let (mut observed, mut moved) = (self.observed.get(), self.moved.borrow_mut());
        for (slot, entry) in slots.iter().zip(into.chunks_exact_mut(HEADER_BYTES)) {
            entry.fill(0);
            let Some((level, index)) = self.numbers.place(slot.bucket) else { continue };
            if let Some((block, leaf)) = tree.bucket(level, index).nth(slot.index as usize).flatten() {
                block_header::write(entry, block, leaf);
                if self.searched_block.get() == Some(block) {
                    observed.found = Some(Level(level));
                }
            }
            observed.path = Some(Leaf(index << (tree.leaf_level().0 - level)));
            moved.read.push((Level(level), index, slot.index));
        }
        observed.read += u32::from(!slots.is_empty());
        self.observed.set(observed);
    }

    /// Notes which buckets are written.
    fn record_written(&self, buckets: &[Bucket]) {
        let mut moved = self.moved.borrow_mut();
        let places = buckets.iter().filter_map(|bucket| self.numbers.place(*bucket));
        moved.written.extend(places.map(|(level, index)| (Level(level), index)));
    }
}

impl Store for TreeStore {
    type Error = Infallible;

    async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), Infallible> {
        if self.0.numbers.by_slot {
            self.0.read_slots(slots, into);
            return Ok(());
        }
        let tree = self.0.slots.borrow();
        let mut observed = self.0.observed.get();
        let searched_block = self.0.searched_block.get();
        // The buckets of a path are far apart: requested all at once, they come from memory in parallel.
        let places = || slots.iter().filter_map(|slot| self.0.numbers.place(slot.bucket));
        places().for_each(|(level, index)| tree.prefetch(level, index));
        let mut rest = into;
        for (level, index) in places() {
            let (entries, behind) = rest.split_at_mut(tree.size(Level(level)) as usize * HEADER_BYTES);
            rest = behind;
            if tree.read_headers((level, index), entries, searched_block) {
                observed.found = Some(Level(level));
            }
            if level == tree.leaf_level().0 {
                (observed.path, observed.read) = (Some(Leaf(index)), observed.read + 1);
            }
        }
        self.0.observed.set(observed);
        Ok(())
    }

    async fn write(&self, buckets: &[Bucket], from: &[u8]) -> Result<(), Infallible> {
        if self.0.numbers.by_slot {
            self.0.record_written(buckets);
        }
        let mut tree = self.0.slots.borrow_mut();
        let mut rest = from;
        for (level, index) in buckets.iter().filter_map(|bucket| self.0.numbers.place(*bucket)) {
            let (entries, behind) = rest.split_at(tree.size(Level(level)) as usize * HEADER_BYTES);
            rest = behind;
            tree.write_headers((level, index), entries);
        }
        Ok(())
    }
}
