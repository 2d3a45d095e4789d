//! Hierarchical ORAM: Goldreich and Ostrovsky, "Software Protection and Simulation on Oblivious RAMs", JACM 1996,
//! section 5. Levels of hash tables, each twice as large as the one above. A block that was read goes to the top, and
//! sinks.
//!
//! ```text
//! to access block v:
//!     read the whole buffer
//!     for each level i that holds something, from the top:
//!         if v was not found yet:  read bucket h_i(v);  else:  read a random bucket
//!     append v to the buffer, with what was written to it
//! after the n-th S accesses:
//!     bring the buffer and all levels above level j to level j, the newest copy of each block,
//!     where 2^(j-1) is the greatest power of two that divides n, and j the last level at most
//!     hash them by a new h_j
//! ```
//!
//! No bucket is read twice for the same block between two buildings of its table: after the first read, the block is in
//! a smaller level.
//!
//! Three things differ from the paper. A level also has its blocks in a list without the room of its hash table, so
//! that a rebuild sorts fewer records. A copy is appended to the buffer, whose slot is public, instead of a second pass
//! over all of it. And the accesses of a batch are served together, level by level.
//!
//! **What the trace shows** (adversary `Full`): how many accesses there were. The buffer is read from its beginning to
//! the last copy, and written behind this copy. The levels that hold something follow from the number of epochs. The
//! buckets that are read are uniform: for the requested blocks they follow from a pseudorandom function. A rebuild is
//! copies and four oblivious sorts (`oblivious_sort.rs`), five for the last level. A table that does not hold its
//! blocks is hashed again, which an adversary sees. The probability is below 2^-80 for each building
//! ([`overflow_log2`]), for any requests.
//!
//! **Costs**, S slots of buffer, m_i slots of a bucket of level i. A batch of n accesses, after t accesses of its
//! epoch, reads t + n Σ m_i slots, over the levels that hold something. It writes n slots. It takes a round trip for
//! the buffer, one for each of these levels, and one for the write. A rebuild follows each S accesses, by
//! [`step`](Oram::step).
//!
//! **Spread out**, a rebuild runs in parallel with the accesses of the next epoch. These append to a second buffer,
//! read both buffers, and use the old levels until the new one is in place. `step` is the rebuild, which may stay in
//! flight during accesses.
//!
//! **Errors**: those of [`OramError`]; [`Backlogged`](OramError::Backlogged) if the longest batch has no room before a
//! rebuild. After a failure of the store, and after a future that was dropped half-way, it answers
//! [`OramError::Poisoned`] only.

mod hash;
#[cfg(feature = "inspect")]
mod inspect;
mod load;
mod parameters;
mod rebuild;

pub use load::overflow_log2;
pub use parameters::{HierarchicalParameters, LevelShape};

use crate::concurrency::fifo_lock::FifoLock;
use crate::concurrency::poison::PoisonFlag;
use crate::oram::admission;
use crate::oram::{Access, Bounds, Oram, OramError};
use crate::permutation::ordered_record as record;
use crate::permutation::sampling;
use crate::range::OutOfRange;
use crate::store::Store;
use crate::types::{BlockId, Bucket, Slot};
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::mem;
use core::ops::Range;
use hash::HashFunction;
use rand_core::RngCore;
use rebuild::{Rebuild, RebuildBuffers};

/// A hierarchical ORAM over a store.
pub struct HierarchicalOram<S, R> {
    parameters: HierarchicalParameters,
    levels: Vec<LevelShape>,
    first_bucket: Bucket,
    store: S,
    /// The turns of batches, and of the moments in which an epoch begins and a level comes into place.
    lock: FifoLock,
    rebuild_lock: FifoLock,
    poison_flag: PoisonFlag,
    random: RefCell<R>,
    /// The accesses of the epoch, those that still wait for their turn among them.
    accesses: Cell<u64>,
    epoch: RefCell<Epoch>,
    /// The buffers of batches and of rebuilds, unless an operation has taken them.
    serving: RefCell<Option<Serving>>,
    buffers: RefCell<Option<RebuildBuffers>>,
}

/// The state between batches. All of it is public but the hash functions.
struct Epoch {
    /// The number of epochs so far, this one among them.
    number: u64,
    /// The number of copies in the buffer of this epoch.
    held: u64,
    /// The number of copies in the other buffer, which are on their way down.
    merging: u64,
    /// The hash function of each level that holds something.
    hashes: Vec<Option<HashFunction>>,
    /// The one of the last level's tables that is in use.
    last_table: usize,
}

struct Serving {
    record_bytes: usize,
    slots: Vec<Slot>,
    bytes: Vec<u8>,
    /// The records that the batch is about.
    records: Vec<u8>,
}

impl<S: Store, R: RngCore> HierarchicalOram<S, R> {
    /// A hierarchical ORAM over a store that was never written. Its buckets are numbered from `first_bucket`.
    ///
    /// # Errors
    /// [`OutOfRange`] for parameters that are not valid.
    pub fn new(
        parameters: HierarchicalParameters,
        first_bucket: Bucket,
        store: S,
        random: R,
    ) -> Result<Self, OutOfRange> {
        parameters.validate()?;
        let levels = parameters.levels();
        let epoch =
            Epoch { number: 1, held: 0, merging: 0, hashes: alloc::vec![None; levels.len()], last_table: 0 };
        let (slots, bytes, records) = <_>::default();
        let serving = Serving { record_bytes: parameters.slot_bytes(), slots, bytes, records };
        Ok(HierarchicalOram {
            parameters,
            levels,
            first_bucket,
            store,
            lock: FifoLock::default(),
            rebuild_lock: FifoLock::default(),
            poison_flag: PoisonFlag::default(),
            random: RefCell::new(random),
            accesses: Cell::new(0),
            epoch: RefCell::new(epoch),
            serving: RefCell::new(Some(serving)),
            buffers: RefCell::new(Some(RebuildBuffers::default())),
        })
    }

    /// The parameters of the ORAM.
    pub fn parameters(&self) -> &HierarchicalParameters {
        &self.parameters
    }

    /// Returns the trusted memory that outlasts an operation, in bytes: the keys of the hash functions.
    pub fn trusted_bytes(&self) -> usize {
        self.levels.len() * size_of::<Option<HashFunction>>()
    }

    /// The bucket of this number.
    fn bucket(&self, nth: u64) -> Bucket {
        Bucket(self.first_bucket.0 + nth)
    }

    /// The slots of the buffer of an epoch, from the first on.
    fn buffer(&self, epoch: u64) -> impl Iterator<Item = Bucket> + '_ {
        (self.parameters.buffer_of(epoch)..).map(|nth| self.bucket(nth))
    }

    async fn serve(&self, serving: &mut Serving, batch: &mut [Access<'_>]) -> Result<(), S::Error> {
        // A second request for a block looks like one for a block that was found.
        let mut wanted: Vec<Option<BlockId>> = Vec::with_capacity(batch.len());
        for access in batch.iter() {
            wanted.push(access.block().filter(|block| !wanted.contains(&Some(*block))));
        }
        let mut missing = wanted.clone();
        serving.records.clear();
        serving.records.resize(batch.len() * serving.record_bytes, 0);

        let copies = self.read_buffers(serving).await?;
        serving.find(&mut missing, |_| 0..copies);
        for level in 0..self.levels.len() {
            let hash = self.epoch.borrow().hashes[level];
            let Some(hash) = hash else { continue };
            self.read_table(serving, level, (&missing, hash)).await?;
            let slots = self.levels[level].slots as usize;
            serving.find(&mut missing, |nth| nth * slots..(nth + 1) * slots);
        }

        for access in batch.iter_mut() {
            let place = wanted.iter().position(|block| block.is_some() && *block == access.block());
            if let Some(place) = place {
                access.serve(record::payload(serving.record(place)));
            }
        }
        self.append(serving, &wanted).await
    }

    /// Reads all copies that are in buffers, the newest last. Returns their number.
    async fn read_buffers(&self, serving: &mut Serving) -> Result<usize, S::Error> {
        let Epoch { number, held, merging, .. } = *self.epoch.borrow();
        let older = self.buffer(number + 1).take(merging as usize);
        let copies = older.chain(self.buffer(number).take(held as usize));
        serving.slots.clear();
        serving.slots.extend(copies.map(Slot::only));
        if !serving.slots.is_empty() {
            self.read(serving).await?;
        }
        Ok(serving.slots.len())
    }

    /// Reads a bucket for each access: that of the block if it is still missing, or a random one.
    async fn read_table(
        &self,
        serving: &mut Serving,
        level: usize,
        (missing, hash): (&[Option<BlockId>], HashFunction),
    ) -> Result<(), S::Error> {
        let LevelShape { buckets, slots, tables, .. } = self.levels[level];
        let table = tables[self.epoch.borrow().last_table];
        serving.slots.clear();
        for block in missing {
            let random = sampling::below_power_of_two(&mut *self.random.borrow_mut(), buckets);
            let bucket = self.bucket(table + block.map_or(random, |block| hash.bucket(block)));
            serving.slots.extend((0..slots).map(|index| Slot { bucket, index }));
        }
        self.read(serving).await
    }

    async fn read(&self, serving: &mut Serving) -> Result<(), S::Error> {
        serving.bytes.resize(serving.slots.len() * serving.record_bytes, 0);
        self.store.read_buffer(&serving.slots, &mut serving.bytes).await
    }

    /// Writes a copy of each block, or a dummy, behind the last copy in the buffer.
    async fn append(&self, serving: &mut Serving, wanted: &[Option<BlockId>]) -> Result<(), S::Error> {
        for (nth, block) in wanted.iter().enumerate() {
            record::label(serving.record(nth), *block, record::LAST);
        }
        let (number, held) = (self.epoch.borrow().number, self.epoch.borrow().held);
        let buckets: Vec<Bucket> = self.buffer(number).skip(held as usize).take(wanted.len()).collect();
        self.store.write(&buckets, &serving.records).await?;
        self.epoch.borrow_mut().held += wanted.len() as u64;
        Ok(())
    }

    /// Returns whether the buffer has no room for the longest batch.
    fn is_full(&self) -> bool {
        self.accesses.get() + u64::from(self.parameters.max_batch) > self.parameters.buffer.into()
    }

    /// Begins an epoch, if the last one is at its end. Returns the rebuild that this brings.
    fn begin_epoch(&self) -> Option<Rebuild<'_, S>> {
        if !self.is_full() {
            return None;
        }
        let epoch = &mut *self.epoch.borrow_mut();
        let level = self.parameters.level_of_epoch(epoch.number);
        epoch.merging = mem::take(&mut epoch.held);
        epoch.number += 1;
        self.accesses.update(|accesses| accesses - epoch.merging);
        Some(Rebuild {
            parameters: &self.parameters,
            levels: &self.levels,
            first_bucket: self.first_bucket,
            store: &self.store,
            epoch: epoch.number - 1,
            held: epoch.merging,
            full: epoch.hashes.iter().map(Option::is_some).collect(),
            level,
            table: epoch.last_table ^ 1,
        })
    }

    /// Puts a level in the place of the buffer and of the levels above it.
    fn put_in_place(&self, level: usize, hash: HashFunction) {
        let epoch = &mut *self.epoch.borrow_mut();
        epoch.merging = 0;
        epoch.hashes[..level].fill(None);
        epoch.hashes[level] = Some(hash);
        if level + 1 == self.levels.len() {
            epoch.last_table ^= 1;
        }
    }
}

impl Serving {
    /// The record that the n-th access is about.
    fn record(&mut self, nth: usize) -> &mut [u8] {
        &mut self.records[nth * self.record_bytes..][..self.record_bytes]
    }

    /// Takes the blocks that are still missing from what was read: each from its part, the last copy of it.
    fn find(&mut self, missing: &mut [Option<BlockId>], part: impl Fn(usize) -> Range<usize>) {
        for (nth, block) in missing.iter_mut().enumerate().filter(|(_, block)| block.is_some()) {
            let read = |at: usize| &self.bytes[at * self.record_bytes..][..self.record_bytes];
            if let Some(at) = part(nth).rev().find(|at| record::block(read(*at)) == *block) {
                let found = at * self.record_bytes..(at + 1) * self.record_bytes;
                self.records[nth * self.record_bytes..][..self.record_bytes]
                    .copy_from_slice(&self.bytes[found]);
                *block = None;
            }
        }
    }
}

impl<S: Store, R: RngCore> Oram for HierarchicalOram<S, R> {
    type Error = S::Error;

    fn bounds(&self) -> Bounds {
        self.parameters.bounds()
    }

    async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<S::Error>> {
        if !admission::check_batch(batch, self.bounds())? {
            return Ok(());
        }
        self.poison_flag.check()?;
        if self.must_step() {
            return Err(OramError::Backlogged);
        }
        self.accesses.update(|accesses| accesses + batch.len() as u64);
        let operation = self.poison_flag.begin();
        let _guard = self.lock.acquire().await;
        self.poison_flag.check()?;
        let mut serving = self.serving.take().ok_or(OramError::Poisoned)?;
        self.serve(&mut serving, batch).await?;
        self.serving.replace(Some(serving));
        operation.complete();
        Ok(())
    }

    fn pending_steps(&self) -> u64 {
        u64::from(self.is_full() || self.epoch.borrow().merging > 0)
    }

    fn must_step(&self) -> bool {
        self.is_full() || !self.parameters.spread && self.epoch.borrow().merging > 0
    }

    /// Carries out the whole pending rebuild.
    async fn step(&self) -> Result<(), OramError<S::Error>> {
        let _rebuild_guard = self.rebuild_lock.acquire().await;
        self.poison_flag.check()?;
        let guard = self.lock.acquire().await;
        self.poison_flag.check()?;
        let Some(rebuild) = self.begin_epoch() else { return Ok(()) };
        let operation = self.poison_flag.begin();
        let mut buffers = self.buffers.take().ok_or(OramError::Poisoned)?;
        // Without a second buffer the lock is held until the rebuild is in place.
        let guard = (!self.parameters.spread).then_some(guard);
        let hash = rebuild.run(&mut buffers, &self.random).await?;
        let _guard = match guard {
            Some(guard) => guard,
            None => self.lock.acquire().await,
        };
        self.poison_flag.check()?;
        self.put_in_place(rebuild.level, hash);
        self.buffers.replace(Some(buffers));
        operation.complete();
        Ok(())
    }
}
