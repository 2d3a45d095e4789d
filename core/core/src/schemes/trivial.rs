//! Trivial ORAM: Goldreich and Ostrovsky, "Software Protection and Simulation on Oblivious RAMs", JACM 1996, section
//! 1.2: to hide which block is requested, read and write them all.
//!
//! ```text
//! for each chunk of memory:  read it;  serve what was asked of it;  write it back
//! ```
//!
//! **What the trace shows** (adversary `Full`): one scan for each batch, always the same for any accesses. A batch of n
//! accesses shows **one** scan, not n. An empty batch shows nothing.
//!
//! **Costs** of a batch, with N blocks in chunks of C: N slots read and N written in ⌈N/C⌉ pairs of round trips. No
//! position map, no stash, no randomness, no work pending afterwards: the store is the only state. It is the best of
//! all schemes for a few dozen blocks, and the measure of the others.
//!
//! **Errors**: those of [`OramError`]; never `StashFull`. After a failure of the store, and after a future that was
//! dropped half-way, it answers [`OramError::Poisoned`] only.

use crate::concurrency::exclusive::Exclusive;
use crate::oram::{Access, Bounds, Oram, OramError};
use crate::range::{self, OutOfRange};
use crate::snapshot::full::{FullSnapshot, SnapshotError};
use crate::snapshot::incremental::{IncrementalSnapshot, Parts};
use crate::snapshot::word_table::WordTable;
use crate::store::Store;
use crate::tree::layout::{Extent, Layout};
use crate::types::{Bucket, Slot};
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};
use core::cell::RefCell;
use core::mem;

/// The parameters of a Trivial ORAM. All of them are public.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct TrivialParameters {
    /// N, the number of blocks that the user can address: at least 1.
    pub capacity: u64,
    /// The size of a block in bytes: 0 to 2^24 (simulators move no payload).
    pub block_bytes: u32,
    /// C, the number of blocks that are read, and written back, together: at least 1. The trusted side holds one chunk.
    pub chunk_blocks: u32,
    /// The maximum number of accesses in one batch: at least 1.
    pub max_batch: u32,
}

impl TrivialParameters {
    /// Checks every range.
    ///
    /// # Errors
    /// Each error names the parameter and the remedy.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        range::check_bounds(self.bounds(), u64::MAX, u32::MAX)?;
        range::check(&[("chunk_blocks", self.chunk_blocks.into(), 1, u32::MAX.into())])
    }

    /// The bounds of batches.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds::new(self.capacity, self.block_bytes, self.max_batch)
    }

    /// The untrusted memory that the scheme needs, in plaintext bytes: a bucket of one slot for each block.
    pub fn layout(&self) -> Layout {
        Layout::new(alloc::vec![Extent { buckets: self.capacity, slots: 1, slot_bytes: self.block_bytes }])
    }
}

/// A Trivial ORAM over a store.
pub struct TrivialOram<S> {
    parameters: TrivialParameters,
    first_bucket: Bucket,
    store: S,
    exclusive: Exclusive,
    chunk: RefCell<Chunk>,
}

/// A chunk of the scan. It is kept to reuse its buffers.
#[derive(Default)]
struct Chunk {
    slots: Vec<Slot>,
    buckets: Vec<Bucket>,
    bytes: Vec<u8>,
}

impl<S: Store> TrivialOram<S> {
    /// A Trivial ORAM over the present contents of the store; a store that was never written holds zeros. Its buckets
    /// are numbered from `first_bucket`.
    ///
    /// # Errors
    /// [`OutOfRange`].
    pub fn new(parameters: TrivialParameters, first_bucket: Bucket, store: S) -> Result<Self, OutOfRange> {
        parameters.validate()?;
        Ok(TrivialOram {
            parameters,
            first_bucket,
            store,
            exclusive: Exclusive::default(),
            chunk: RefCell::default(),
        })
    }

    /// The parameters of the ORAM.
    pub fn parameters(&self) -> &TrivialParameters {
        &self.parameters
    }

    /// Reads a chunk, serves the accesses to its blocks in order, and writes it back.
    async fn pass(&self, first: u64, batch: &mut [Access<'_>]) -> Result<(), S::Error> {
        let last = (first + u64::from(self.parameters.chunk_blocks)).min(self.parameters.capacity);
        let block_bytes = self.block_bytes();
        let mut chunk = mem::take(&mut *self.chunk.borrow_mut());
        chunk.buckets.clear();
        chunk.buckets.extend((first..last).map(|block| Bucket(self.first_bucket.0 + block)));
        chunk.slots.clear();
        chunk.slots.extend(chunk.buckets.iter().copied().map(Slot::only));
        chunk.bytes.resize(chunk.slots.len() * block_bytes, 0);

        self.store.read_buffer(&chunk.slots, &mut chunk.bytes).await?;
        for access in batch {
            let Some(block) = access.block().filter(|block| (first..last).contains(&block.0)) else {
                continue;
            };
            let start = (block.0 - first) as usize * block_bytes;
            access.serve(&mut chunk.bytes[start..start + block_bytes]);
        }
        self.store.write(&chunk.buckets, &chunk.bytes).await?;
        *self.chunk.borrow_mut() = chunk;
        Ok(())
    }
}

impl<S: Store> Oram for TrivialOram<S> {
    type Error = S::Error;

    fn bounds(&self) -> Bounds {
        self.parameters.bounds()
    }

    async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<S::Error>> {
        let serve = async |batch: &mut [Access<'_>]| {
            for first in (0..self.parameters.capacity).step_by(self.parameters.chunk_blocks as usize) {
                self.pass(first, batch).await?;
            }
            Ok(())
        };
        self.exclusive.access(self, batch, serve).await
    }
}

/// The store is its only state. Its buckets are numbered from 0.
impl<S: Store, R> FullSnapshot<R> for TrivialOram<S> {
    type Store = S;
    type Snapshot = TrivialParameters;
    type ParametersError = OutOfRange;

    fn snapshot(&self) -> Result<TrivialParameters, SnapshotError<OutOfRange>> {
        debug_assert_eq!(self.first_bucket, Bucket(0), "its buckets are numbered from 0");
        self.exclusive.check_at_rest()?;
        Ok(self.parameters.clone())
    }

    fn restore(
        parameters: TrivialParameters,
        store: S,
        _random: R,
    ) -> Result<Self, SnapshotError<OutOfRange>> {
        Ok(TrivialOram::new(parameters, Bucket(0), store)?)
    }

    /// Does nothing: the scheme draws no randomness.
    fn reseed(&self, _random: R) {}

    /// Always 0.
    fn stash_blocks(&self) -> usize {
        0
    }

    /// The bytes of one chunk.
    fn trusted_bytes(&self) -> usize {
        self.parameters.chunk_blocks as usize * self.parameters.block_bytes as usize
    }
}

/// The store is its only state: it has no words, no stash, and no rest.
impl<S: Store, R> IncrementalSnapshot<R> for TrivialOram<S> {
    type Parameters = TrivialParameters;

    fn tables(_parameters: &TrivialParameters) -> Vec<u64> {
        Vec::new()
    }

    fn visit_tables(&self, _visit: &mut dyn FnMut(&mut WordTable)) {}

    fn check_at_rest(&self) -> Result<(), SnapshotError<OutOfRange>> {
        self.exclusive.check_at_rest()
    }

    fn rest(&self) -> Vec<u8> {
        Vec::new()
    }

    fn resume(
        parameters: TrivialParameters,
        parts: Parts<'_>,
        store: S,
        _random: R,
    ) -> Result<Self, SnapshotError<OutOfRange>> {
        let Parts { tables, rest, order, .. } = parts;
        if !tables.is_empty() || !rest.is_empty() || !order.is_empty() {
            return Err(SnapshotError::Mismatch);
        }
        Ok(TrivialOram::new(parameters, Bucket(0), store)?)
    }
}

#[cfg(feature = "inspect")]
impl<S> crate::inspect::Inspect for TrivialOram<S> {
    fn inspect(&self) -> Option<crate::inspect::Inspection> {
        let slot = |block| Slot::only(Bucket(self.first_bucket.0 + block));
        let placed = (0..self.parameters.capacity).map(|block| (slot(block), crate::types::BlockId(block)));
        Some(crate::inspect::Inspection { placed: Some(placed.collect()), ..Default::default() })
    }
}
