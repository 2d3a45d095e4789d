//! PracticalOS: Goodrich, Mitzenmacher, Ohrimenko, Tamassia, "Practical Oblivious Storage", CODASPY 2012, the
//! solution with a client memory of 2√N. Memory is permuted in secret, and the trusted side keeps each block that was
//! read.
//!
//! ```text
//! for the t-th access of an epoch, to block v:
//!     if v is in the cache:  read the place π(N + t) of a dummy;  else:  read the place π(v) into the cache
//!     serve the access from the cache
//! after S accesses:
//!     bring the blocks of the cache back to their places
//!     shuffle the N blocks and S dummies by a new π
//! ```
//!
//! It is [Square-Root ORAM](crate::schemes::square_root) with its shelter on the trusted side. An access reads one slot
//! and writes none. There is a single copy of each block, so the shuffle is one sort and not two.
//!
//! Three things differ from the paper. The shuffle is Batcher's network over runs (`oblivious_sort.rs`), which never
//! fails, instead of the paper's sort of a constant number of passes. The blocks of the cache come back within the
//! first pass of the shuffle. And π is a table in trusted memory, 4 bytes for each block and each dummy.
//!
//! **What the trace shows** (adversary `Full`): how many accesses there were. The places that are read are uniform
//! among those of the epoch that were not read, for any requests. The shuffle is an oblivious sort.
//!
//! **Costs**, N blocks, S slots of cache. A batch of n: n slots read, in one round trip, and none written.
//! [`step`](crate::oram::Oram::step) shuffles after each S accesses. It reads and writes about 1 + lg r (lg r + 1) / 2
//! times N + S slots, where r is the number of [runs](PracticalOsParameters::runs).
//!
//! **Errors**: those of [`OramError`](crate::oram::OramError); [`Backlogged`](crate::oram::OramError::Backlogged) if
//! the longest batch has no room before a shuffle. After a failure of the store, and after a future that was dropped
//! half-way, it answers [`Poisoned`](crate::oram::OramError::Poisoned) only.

#[cfg(feature = "inspect")]
mod inspect;
mod parameters;

pub use parameters::PracticalOsParameters;

use crate::concurrency::epoch::{EpochScheme, Epochs};
use crate::oram::Access;
use crate::permutation::Permutation;
use crate::permutation::oblivious_sort::{Records, Scratch};
use crate::permutation::ordered_record as record;
use crate::range::OutOfRange;
use crate::store::Store;
use crate::types::{BlockId, Bucket, Slot};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use rand_core::RngCore;

/// A PracticalOS over a store.
pub struct PracticalOs<S, R> {
    parameters: PracticalOsParameters,
    first_bucket: Bucket,
    store: S,
    epochs: Epochs<State<R>>,
}

/// The state of an epoch.
pub struct State<R> {
    random: R,
    permutation: Permutation,
    /// The number of accesses of the epoch so far.
    served: u64,
    /// The access of the epoch that has read each block.
    cached: BTreeMap<BlockId, usize>,
    /// The records that the accesses have read, one after the other.
    cache: Vec<u8>,
    slots: Vec<Slot>,
    bytes: Vec<u8>,
    scratch: Scratch,
}

impl<S: Store, R: RngCore> PracticalOs<S, R> {
    /// A PracticalOS over a store that was never written. Its buckets are numbered from `first_bucket`.
    ///
    /// # Errors
    /// [`OutOfRange`] for parameters that are not valid.
    pub fn new(
        parameters: PracticalOsParameters,
        first_bucket: Bucket,
        store: S,
        mut random: R,
    ) -> Result<Self, OutOfRange> {
        parameters.validate()?;
        let permutation = Permutation::draw(parameters.permuted(), &mut random);
        let (served, cached, cache, slots, bytes, scratch) = <_>::default();
        let state = State { random, permutation, served, cached, cache, slots, bytes, scratch };
        let epochs = Epochs::new(parameters.cache, parameters.bounds(), state);
        Ok(PracticalOs { parameters, first_bucket, store, epochs })
    }

    /// The parameters of the ORAM.
    pub fn parameters(&self) -> &PracticalOsParameters {
        &self.parameters
    }

    /// Returns the trusted memory that outlasts an operation, in bytes: π, and a full cache.
    pub fn trusted_bytes(&self) -> usize {
        let entry = size_of::<(BlockId, usize)>() + self.parameters.slot_bytes();
        let cache = self.parameters.cache as usize * entry;
        self.epochs.with_state(|state| state.permutation.trusted_bytes() + cache).unwrap_or(0)
    }
}

impl<S: Store, R: RngCore> EpochScheme for PracticalOs<S, R> {
    type State = State<R>;
    type StoreError = S::Error;

    fn epochs(&self) -> &Epochs<State<R>> {
        &self.epochs
    }

    async fn serve(&self, state: &mut State<R>, batch: &mut [Access<'_>]) -> Result<(), S::Error> {
        let capacity = self.parameters.capacity;
        let State { permutation, served, cached, cache, slots, bytes, .. } = state;

        slots.clear();
        for access in batch.iter() {
            let missing = access.block().filter(|block| !cached.contains_key(block));
            let address = missing.map_or(capacity + *served, |block| block.0);
            slots.push(Slot::only(Bucket(self.first_bucket.0 + permutation.place(address))));
            cached.extend(missing.map(|block| (block, *served as usize)));
            *served += 1;
        }
        let slot_bytes = self.parameters.slot_bytes();
        bytes.resize(slots.len() * slot_bytes, 0);
        self.store.read_buffer(slots, bytes).await?;
        cache.extend_from_slice(bytes);

        for access in batch {
            if let Some(at) = access.block().and_then(|block| cached.get(&block)) {
                access.serve(record::payload(&mut cache[at * slot_bytes..][..slot_bytes]));
            }
        }
        Ok(())
    }

    async fn rebuild(&self, state: &mut State<R>) -> Result<(), S::Error> {
        let PracticalOsParameters { capacity, run_blocks, .. } = self.parameters;
        let (permuted, slot_bytes) = (self.parameters.permuted(), self.parameters.slot_bytes());
        let records = Records {
            first: self.first_bucket,
            runs: self.parameters.runs(),
            run_records: run_blocks,
            record_bytes: slot_bytes,
        };
        let State { random, permutation, served, cached, cache, scratch, .. } = state;
        let addresses = permutation.inverse();
        *permutation = Permutation::draw(permuted, random);

        let by_new_place = |place: u64, record: &mut [u8]| {
            if place >= permuted {
                return record::label(record, None, record::LAST);
            }
            let address = addresses.place(place);
            let block = Some(BlockId(address)).filter(|block| block.0 < capacity);
            if let Some(at) = block.and_then(|block| cached.get(&block)) {
                record.copy_from_slice(&cache[at * slot_bytes..][..slot_bytes]);
            }
            record::label(record, block, permutation.place(address));
        };
        records.sort(&self.store, scratch, by_new_place, record::order).await?;
        *served = 0;
        cached.clear();
        cache.clear();
        Ok(())
    }
}
