//! Stores that serve a scheme's requests wrongly. Each behaves as if the scheme were broken and had made other
//! requests.

use super::super::driver::Work;
use super::super::trace_store::{TraceStore, TraceStoreError};
use crate::store::Store;
use crate::tree::block_header::{self, HEADER_BYTES};
use crate::types::{Bucket, Slot};
use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

/// A store that does not write its first buckets if they already have the right contents. It is a main area in which a
/// page that is in place is not refreshed, or a buffer whose clean pages are not unloaded.
pub struct SkipsUnchanged<'a> {
    store: &'a TraceStore,
    buckets: u64,
}

impl<'a> SkipsUnchanged<'a> {
    /// A store that skips writes of its first `buckets` buckets.
    pub fn new(store: &'a TraceStore, buckets: u64) -> Self {
        SkipsUnchanged { store, buckets }
    }

    /// The contents of a bucket of one slot.
    async fn contents(&self, bucket: Bucket) -> Result<Vec<u8>, TraceStoreError> {
        let mut contents = vec![0; self.store.layout().bucket_bytes(bucket)];
        self.store.record(false);
        self.store.read(&[Slot::only(bucket)], &mut contents).await?;
        self.store.record(true);
        Ok(contents)
    }
}

impl Store for SkipsUnchanged<'_> {
    type Error = TraceStoreError;

    async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), TraceStoreError> {
        self.store.read(slots, into).await
    }

    async fn write(&self, buckets: &[Bucket], from: &[u8]) -> Result<(), TraceStoreError> {
        let (mut kept, mut bytes, mut rest) = (Vec::new(), Vec::new(), from);
        for bucket in buckets {
            let (here, others) = rest.split_at(self.store.layout().bucket_bytes(*bucket));
            rest = others;
            if bucket.0 >= self.buckets || self.contents(*bucket).await? != here {
                kept.push(*bucket);
                bytes.extend_from_slice(here);
            }
        }
        self.store.write(&kept, &bytes).await
    }
}

/// A store between a scheme and its trace that edits what goes by. It sees plaintext, as the scheme does.
pub struct EditingStore<'a> {
    store: &'a TraceStore,
    edit: Edit,
    /// The work that is under way.
    current_work: Rc<Cell<Work>>,
    /// The size of a block with its header, in bytes.
    entry_bytes: usize,
    /// The real place of each slot of a bucket, for [`Edit::RealFirst`] and [`Edit::FirstUnread`].
    places: RefCell<BTreeMap<Bucket, Vec<u32>>>,
    /// The places of a bucket that were not read since it was written, for [`Edit::FirstUnread`].
    unread: RefCell<BTreeMap<Bucket, Vec<u32>>>,
}

/// The mistake of an editing store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// The store makes no mistake.
    Nothing,
    /// An eviction reads only the slots that hold blocks.
    EvictsOnlyReal,
    /// A bucket is not written if it was empty and stays empty.
    SkipsEmptyBuckets,
    /// Buckets are not permuted: real blocks are in the first slots.
    RealFirst,
    /// A bucket is rewritten as soon as a block was read from it.
    RewritesWhereReal,
    /// The first unread slot of a bucket is read, on some occasion.
    FirstUnread(FirstUnreadWhen),
    /// The paths of a batch are read in the order of their leaves.
    SortsPaths,
    /// An access reads slot after slot up to the first that holds a block.
    StopsAtReal,
}

/// The occasion on which [`Edit::FirstUnread`] reads the first unread slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstUnreadWhen {
    /// An access reads a bucket that has no unread dummy left.
    NoDummyIsLeft,
    /// An access reads a bucket of which this many unread slots hold blocks.
    Full(usize),
    /// An eviction reads.
    Evicts,
}

impl<'a> EditingStore<'a> {
    /// A store that makes this mistake, for blocks of this many bytes.
    pub fn new(store: &'a TraceStore, edit: Edit, block_bytes: usize, current_work: Rc<Cell<Work>>) -> Self {
        let entry_bytes = HEADER_BYTES + block_bytes;
        let (places, unread) = Default::default();
        EditingStore { store, edit, current_work, entry_bytes, places, unread }
    }

    fn holds_block(&self, bytes: &[u8]) -> bool {
        bytes.chunks_exact(self.entry_bytes).any(|entry| block_header::read(entry).is_some())
    }

    /// Reads without leaving a trace.
    async fn peek(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), TraceStoreError> {
        self.store.record(false);
        let outcome = self.store.read(slots, into).await;
        self.store.record(true);
        outcome
    }

    async fn peek_slot(&self, slot: Slot) -> Result<Vec<u8>, TraceStoreError> {
        let mut bytes = vec![0; self.store.layout().slot_bytes(slot)];
        self.peek(&[slot], &mut bytes).await?;
        Ok(bytes)
    }

    async fn peek_bucket(&self, bucket: Bucket) -> Result<Vec<u8>, TraceStoreError> {
        let slots = 0..self.store.layout().extent(bucket).slots;
        let slots: Vec<Slot> = slots.map(|index| Slot { bucket, index }).collect();
        let mut bytes = vec![0; self.store.layout().bucket_bytes(bucket)];
        self.peek(&slots, &mut bytes).await?;
        Ok(bytes)
    }

    fn place(&self, slot: Slot) -> Slot {
        let places = self.places.borrow();
        let index = places.get(&slot.bucket).map_or(slot.index, |places| places[slot.index as usize]);
        Slot { index, ..slot }
    }

    /// Reads slots where they really are; off-line in the order of their places, so that the order is sound.
    async fn read_in_place(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), TraceStoreError> {
        let slot_bytes = into.len() / slots.len().max(1);
        let mut order: Vec<(Slot, usize)> =
            slots.iter().enumerate().map(|(nth, slot)| (self.place(*slot), nth)).collect();
        if matches!(self.current_work.get(), Work::Step(_)) {
            order.sort_unstable();
        }
        let order: Vec<(usize, Slot)> = order.into_iter().map(|(place, nth)| (nth, place)).collect();
        read_in_order(&self.store, &order, slot_bytes, into).await
    }

    /// Puts a bucket's blocks first, and remembers where everything went.
    fn put_real_first(&self, bucket: Bucket, from: &[u8]) -> Vec<u8> {
        let slot_bytes = self.store.layout().slot_bytes(Slot { bucket, index: 0 });
        let slots: Vec<&[u8]> = from.chunks_exact(slot_bytes).collect();
        let mut order: Vec<usize> = (0..slots.len()).collect();
        order.sort_by_key(|nth| !self.holds_block(slots[*nth]));
        let mut places = vec![0; slots.len()];
        for (place, nth) in order.iter().enumerate() {
            places[*nth] = place as u32;
        }
        self.places.borrow_mut().insert(bucket, places);
        order.iter().flat_map(|nth| slots[*nth].iter().copied()).collect()
    }

    /// Moves what a slot holds to the first unread place of its bucket if the occasion is there; no trace shows it.
    async fn move_first(&self, slot: Slot, when: FirstUnreadWhen) -> Result<(), TraceStoreError> {
        let place = self.place(slot).index;
        let Some(unread) = self.unread.borrow().get(&slot.bucket).cloned() else { return Ok(()) };
        let mut bytes = self.peek_bucket(slot.bucket).await?;
        let slot_bytes = self.store.layout().slot_bytes(slot);
        let of = |place: u32| place as usize * slot_bytes..(place as usize + 1) * slot_bytes;
        let real = unread.iter().filter(|place| self.holds_block(&bytes[of(**place)])).count();
        let is_now = match when {
            FirstUnreadWhen::NoDummyIsLeft => real == unread.len(),
            FirstUnreadWhen::Full(blocks) => real >= blocks,
            FirstUnreadWhen::Evicts => true,
        };
        let shown = if is_now { unread[0] } else { place };
        if shown != place {
            let (here, there) = (bytes[of(place)].to_vec(), bytes[of(shown)].to_vec());
            bytes[of(place)].copy_from_slice(&there);
            bytes[of(shown)].copy_from_slice(&here);
            self.store.record(false);
            self.store.write(&[slot.bucket], &bytes).await?;
            self.store.record(true);
            let mut places = self.places.borrow_mut();
            let of_bucket = places.get_mut(&slot.bucket).expect("it was written");
            let other = of_bucket.iter().position(|other| *other == shown).expect("a place of the bucket");
            of_bucket.swap(slot.index as usize, other);
        }
        let mut unread = self.unread.borrow_mut();
        unread.entry(slot.bucket).or_default().retain(|place| *place != shown);
        Ok(())
    }

    /// Moves what these slots hold, and reads them.
    async fn read_first(
        &self,
        slots: &[Slot],
        when: FirstUnreadWhen,
        into: &mut [u8],
    ) -> Result<(), TraceStoreError> {
        let on_line = self.current_work.get() == Work::Access;
        for slot in slots {
            let when = if on_line == (when == FirstUnreadWhen::Evicts) {
                FirstUnreadWhen::Full(usize::MAX)
            } else {
                when
            };
            self.move_first(*slot, when).await?;
        }
        self.read_in_place(slots, into).await
    }

    /// Reads the paths of a batch in the order of the buckets at their ends.
    async fn read_sorted(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), TraceStoreError> {
        let slot_bytes = into.len() / slots.len().max(1);
        let numbered: Vec<(usize, Slot)> = slots.iter().copied().enumerate().collect();
        let mut paths: Vec<&[(usize, Slot)]> =
            numbered.chunk_by(|(_, one), (_, other)| one.bucket < other.bucket).collect();
        // A path ends at a bucket in the last half of the buckets. Before every bucket was written, the end of a path
        // does not show.
        let first_leaf = self.store.layout().buckets() / 2 - 1;
        let ends = |path: &&[(usize, Slot)]| path.last().is_some_and(|(_, slot)| slot.bucket.0 >= first_leaf);
        if paths.iter().all(ends) {
            paths.sort_by_key(|path| path.last().map(|(_, slot)| slot.bucket));
        }
        let order: Vec<(usize, Slot)> = paths.concat();
        read_in_order(&self.store, &order, slot_bytes, into).await
    }

    /// Writes the buckets of these slots again as they are, if the slot holds a block.
    async fn rewrite_where_real(&self, slots: &[Slot]) -> Result<(), TraceStoreError> {
        for slot in slots {
            if self.holds_block(&self.peek_slot(*slot).await?) {
                let bytes = self.peek_bucket(slot.bucket).await?;
                self.store.write(&[slot.bucket], &bytes).await?;
            }
        }
        Ok(())
    }
}

impl Store for EditingStore<'_> {
    type Error = TraceStoreError;

    async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), TraceStoreError> {
        let on_line = self.current_work.get() == Work::Access;
        match self.edit {
            Edit::EvictsOnlyReal if !on_line => {
                self.peek(slots, into).await?;
                let slot_bytes = into.len() / slots.len();
                let real = slots.iter().zip(into.chunks_exact(slot_bytes));
                let real: Vec<Slot> =
                    real.filter(|(_, bytes)| self.holds_block(bytes)).map(|(slot, _)| *slot).collect();
                self.store.read(&real, &mut vec![0; real.len() * slot_bytes]).await
            }
            Edit::StopsAtReal if on_line => {
                self.peek(slots, into).await?;
                let slot_bytes = into.len() / slots.len();
                let real = into.chunks_exact(slot_bytes).position(|bytes| self.holds_block(bytes));
                let read = &slots[..real.map_or(slots.len(), |real| real + 1)];
                self.store.read(read, &mut vec![0; read.len() * slot_bytes]).await
            }
            Edit::RealFirst => self.read_in_place(slots, into).await,
            Edit::FirstUnread(when) => self.read_first(slots, when, into).await,
            Edit::SortsPaths if on_line => self.read_sorted(slots, into).await,
            Edit::RewritesWhereReal if on_line => {
                self.store.read(slots, into).await?;
                self.rewrite_where_real(slots).await
            }
            _ => self.store.read(slots, into).await,
        }
    }

    async fn write(&self, buckets: &[Bucket], from: &[u8]) -> Result<(), TraceStoreError> {
        let (mut kept, mut bytes, mut rest) = (Vec::new(), Vec::new(), from);
        for bucket in buckets {
            let (here, others) = rest.split_at(self.store.layout().bucket_bytes(*bucket));
            rest = others;
            match self.edit {
                Edit::SkipsEmptyBuckets
                    if !self.holds_block(here) && !self.holds_block(&self.peek_bucket(*bucket).await?) =>
                {
                    continue;
                }
                Edit::FirstUnread(_) => {
                    let slots = self.store.layout().extent(*bucket).slots;
                    self.places.borrow_mut().insert(*bucket, (0..slots).collect());
                    self.unread.borrow_mut().insert(*bucket, (0..slots).collect());
                    bytes.extend_from_slice(here);
                }
                Edit::RealFirst => bytes.extend(self.put_real_first(*bucket, here)),
                _ => bytes.extend_from_slice(here),
            }
            kept.push(*bucket);
        }
        self.store.write(&kept, &bytes).await
    }
}

/// Reads slots in this order, and lays each down where the caller requested it.
async fn read_in_order<S: Store>(
    store: &S,
    order: &[(usize, Slot)],
    slot_bytes: usize,
    into: &mut [u8],
) -> Result<(), S::Error> {
    let slots: Vec<Slot> = order.iter().map(|(_, slot)| *slot).collect();
    let mut bytes = vec![0; into.len()];
    store.read(&slots, &mut bytes).await?;
    for ((nth, _), bytes) in order.iter().zip(bytes.chunks_exact(slot_bytes)) {
        into[nth * slot_bytes..][..slot_bytes].copy_from_slice(bytes);
    }
    Ok(())
}
