//! Rebuilds: the blocks of the buffer and of smaller levels sink into a level.
//!
//! ```text
//! gather all records in the area
//! sort by block, the newest copy first;  older copies become dummies       [the last level: sort again, dummies last]
//! keep what is left as the list of the level
//! until all blocks have room:
//!     draw h;  add m dummies for each bucket
//!     sort by bucket, dummies behind blocks;  m records of each bucket stay
//!     sort what stays to the front;  it is the table
//! ```

use super::hash::HashFunction;
use super::parameters::{HierarchicalParameters, LevelShape};
use crate::permutation::oblivious_sort::{Records, Scratch};
use crate::permutation::ordered_record::{self as record, LAST, Order};
use crate::store::Store;
use crate::types::{BlockId, Bucket, Slot};
use alloc::vec::Vec;
use core::cell::RefCell;
use core::iter;
use core::ops::Range;
use rand_core::RngCore;

/// The buffers of a rebuild, kept to be used again.
#[derive(Default)]
pub(super) struct RebuildBuffers {
    scratch: Scratch,
    slots: Vec<Slot>,
    buckets: Vec<Bucket>,
    bytes: Vec<u8>,
}

/// A rebuild of a level. All of it is public.
pub(super) struct Rebuild<'a, S> {
    pub(super) parameters: &'a HierarchicalParameters,
    pub(super) levels: &'a [LevelShape],
    pub(super) first_bucket: Bucket,
    pub(super) store: &'a S,
    /// The epoch whose buffer sinks, and the copies in it.
    pub(super) epoch: u64,
    pub(super) held: u64,
    /// The levels that hold something.
    pub(super) full: Vec<bool>,
    /// The level that is rebuilt, and the one of its tables that is not in use.
    pub(super) level: usize,
    pub(super) table: usize,
}

impl<S: Store> Rebuild<'_, S> {
    /// Brings the buffer, and all levels above this one, to the level. Returns its hash function.
    pub(super) async fn run<R: RngCore>(
        &self,
        buffers: &mut RebuildBuffers,
        random: &RefCell<R>,
    ) -> Result<HashFunction, S::Error> {
        self.gather_copies(buffers).await?;
        self.list_newest(buffers).await?;
        loop {
            let hash = HashFunction::draw(self.shape().buckets, &mut *random.borrow_mut());
            if self.build_table(buffers, hash).await? {
                return Ok(hash);
            }
        }
    }

    fn shape(&self) -> LevelShape {
        self.levels[self.level]
    }

    /// Copies all copies of all blocks to the area, each with the order of its age: a newer one is less.
    async fn gather_copies(&self, buffers: &mut RebuildBuffers) -> Result<(), S::Error> {
        let buffer = u64::from(self.parameters.buffer);
        let first = self.parameters.buffer_of(self.epoch);
        let copies = (first..first + buffer).map(|nth| self.bucket(nth));
        // Behind the last copy lies what an earlier epoch wrote.
        let label = |nth: u64, record: &mut [u8]| match nth < self.held {
            true => relabel(record, buffer - nth),
            false => record::label(record, None, LAST),
        };
        let mut area = self.parameters.area();
        self.copy(buffers, copies, area, label).await?;
        area += buffer;
        for (nth, above) in self.levels[..self.sources()].iter().enumerate() {
            let label = |_: u64, record: &mut [u8]| match self.full[nth] {
                true => relabel(record, buffer + 1 + nth as u64),
                false => record::label(record, None, LAST),
            };
            self.copy(buffers, self.list(above), area, label).await?;
            area += above.blocks;
        }
        Ok(())
    }

    /// Returns the number of levels whose blocks this level gets: those above it, and for the last level its own too.
    fn sources(&self) -> usize {
        self.level + usize::from(self.level + 1 == self.levels.len())
    }

    fn bucket(&self, nth: u64) -> Bucket {
        Bucket(self.first_bucket.0 + nth)
    }

    /// Leaves the newest copy of each block, and keeps the list of them.
    async fn list_newest(&self, buffers: &mut RebuildBuffers) -> Result<(), S::Error> {
        let incoming = self.parameters.incoming(self.level);
        let is_beyond = move |place: u64| place >= incoming;
        let blank = |place: u64, record: &mut [u8]| {
            if is_beyond(place) {
                record::label(record, None, LAST);
            }
        };
        let by_block =
            |record: &[u8]| (record::block(record).map_or(u64::MAX, |block| block.0), record::order(record));
        let records = self.area(incoming);
        records.sort(self.store, &mut buffers.scratch, blank, by_block).await?;
        let LevelShape { blocks, list, .. } = self.shape();
        if incoming > blocks {
            let mut last = None;
            let newest = |_: u64, record: &mut [u8]| keep_newest(record, &mut last);
            records.sort(self.store, &mut buffers.scratch, newest, by_block).await?;
        }
        let mut last = None;
        let area = self.parameters.area();
        let from = (area..area + blocks).map(|nth| self.bucket(nth));
        let newest = |_: u64, record: &mut [u8]| keep_newest(record, &mut last);
        self.copy(buffers, from, list, newest).await
    }

    /// Hashes the list of a level into its table. Returns false if a bucket has no room for its blocks.
    async fn build_table(&self, buffers: &mut RebuildBuffers, hash: HashFunction) -> Result<bool, S::Error> {
        let shape = self.shape();
        let LevelShape { blocks, buckets, slots, .. } = shape;
        let slots = u64::from(slots);
        self.copy(buffers, self.list(&shape), self.parameters.area(), |_, _| ()).await?;

        let by_bucket = |place: u64, record: &mut [u8]| {
            let filler = place.checked_sub(blocks).map(|nth| nth / slots);
            match (filler, record::block(record)) {
                (None, Some(block)) => relabel(record, 2 * hash.bucket(block)),
                (Some(bucket), _) if bucket < buckets => record::label(record, None, 2 * bucket + 1),
                _ => record::label(record, None, LAST),
            }
        };
        let records = self.area(blocks + buckets * slots);
        records.sort(self.store, &mut buffers.scratch, by_bucket, record::order).await?;

        let (mut bucket, mut before, mut has_room) = (0, 0, true);
        let compact = |_: u64, record: &mut [u8]| {
            let order = record::order(record);
            if order / 2 != bucket {
                (bucket, before) = (order / 2, 0);
            }
            let stays = order != LAST && before < slots;
            has_room &= stays || record::block(record).is_none();
            relabel(record, if stays { bucket * slots + before } else { LAST });
            before += 1;
        };
        records.sort(self.store, &mut buffers.scratch, compact, record::order).await?;
        self.copy_to_table(buffers, &shape).await?;
        Ok(has_room)
    }

    /// Copies the begin of the area to a table, about as many buckets at once as there are blocks in a run.
    async fn copy_to_table(&self, buffers: &mut RebuildBuffers, shape: &LevelShape) -> Result<(), S::Error> {
        let slots = u64::from(shape.slots);
        let at_once = u64::from(self.parameters.run_blocks) / slots;
        let table = shape.tables[self.table];
        let area = self.parameters.area();
        for buckets in pieces(0..shape.buckets, at_once) {
            let from = area + buckets.start * slots..area + buckets.end * slots;
            self.read_piece(buffers, from.map(|nth| self.bucket(nth))).await?;
            buffers.buckets.clear();
            buffers.buckets.extend(buckets.map(|bucket| self.bucket(table + bucket)));
            self.store.write_buffer(&buffers.buckets, &mut buffers.bytes).await?;
        }
        Ok(())
    }

    /// Copies records to the buckets from this number on, a run at once, after something is done to each with its place
    /// among them.
    async fn copy(
        &self,
        buffers: &mut RebuildBuffers,
        mut from: impl Iterator<Item = Bucket>,
        to: u64,
        mut prepare: impl FnMut(u64, &mut [u8]),
    ) -> Result<(), S::Error> {
        let mut copied = 0;
        loop {
            self.read_piece(buffers, from.by_ref().take(self.parameters.run_blocks as usize)).await?;
            if buffers.slots.is_empty() {
                return Ok(());
            }
            let records = buffers.bytes.chunks_exact_mut(self.parameters.slot_bytes());
            (copied..).zip(records).for_each(|(nth, record)| prepare(nth, record));
            let end = copied + buffers.slots.len() as u64;
            buffers.buckets.clear();
            buffers.buckets.extend((to + copied..to + end).map(|nth| self.bucket(nth)));
            self.store.write_buffer(&buffers.buckets, &mut buffers.bytes).await?;
            copied = end;
        }
    }

    async fn read_piece(
        &self,
        buffers: &mut RebuildBuffers,
        from: impl Iterator<Item = Bucket>,
    ) -> Result<(), S::Error> {
        buffers.slots.clear();
        buffers.slots.extend(from.map(Slot::only));
        if buffers.slots.is_empty() {
            return Ok(());
        }
        buffers.bytes.resize(buffers.slots.len() * self.parameters.slot_bytes(), 0);
        self.store.read_buffer(&buffers.slots, &mut buffers.bytes).await
    }

    /// The buckets of a level's list.
    fn list(&self, level: &LevelShape) -> impl Iterator<Item = Bucket> + use<'_, S> {
        (level.list..level.list + level.blocks).map(|nth| self.bucket(nth))
    }

    /// The begin of the area, for this many records.
    fn area(&self, records: u64) -> Records {
        Records {
            first: self.bucket(self.parameters.area()),
            runs: records.div_ceil(self.parameters.run_blocks.into()),
            run_records: self.parameters.run_blocks,
            record_bytes: self.parameters.slot_bytes(),
        }
    }
}

/// Makes a record a dummy, unless it is the first of its block in the order of blocks.
fn keep_newest(record: &mut [u8], last: &mut Option<BlockId>) {
    let block = record::block(record);
    if block.is_none() || block == *last {
        record::label(record, None, LAST);
    }
    *last = block.or(*last);
}

/// Changes the order of a record.
fn relabel(record: &mut [u8], order: Order) {
    record::label(record, record::block(record), order);
}

/// The pieces of a range, each of this length except the last.
fn pieces(range: Range<u64>, length: u64) -> impl Iterator<Item = Range<u64>> {
    let next = move |from: u64| (from < range.end).then(|| from..range.end.min(from + length));
    iter::successors(next(range.start), move |piece| next(piece.end))
}
