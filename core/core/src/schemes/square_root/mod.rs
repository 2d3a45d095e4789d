//! Square-Root ORAM: Goldreich and Ostrovsky, "Software Protection and Simulation on Oblivious RAMs", JACM 1996,
//! section 4. Memory is permuted in secret, and a block that was read is kept in a shelter, so that no place is read
//! twice.
//!
//! ```text
//! for the t-th access of an epoch, to block v:
//!     read the whole shelter
//!     if v is in it:  read the place π(N + t) of a dummy;  else:  read the place π(v)
//!     put v into the shelter, with what was written to it
//! after S accesses:
//!     sort permuted memory and shelter by block, the newest copy first
//!     sort the newest copies and S dummies by a new π
//! ```
//!
//! Two things differ from the paper. A copy is appended to the shelter, at a public slot. The paper makes a second pass
//! over the whole shelter instead. π is a uniform table in trusted memory, 4 bytes for each block. The paper computes
//! it by a random oracle.
//!
//! **What the trace shows** (adversary `Full`): how many accesses there were. The shelter is read from its beginning to
//! the last copy, and written behind this copy; the rebuild is two oblivious sorts (`oblivious_sort.rs`). The places
//! that are read are uniform among those of the epoch that were not read, for any requests: each stands for another
//! address under π.
//!
//! **Costs**, N blocks, S slots of shelter. A batch of n accesses, after t accesses of its epoch, reads t + n slots and
//! writes n. These are two round trips, one after the other. A rebuild follows each S accesses, by
//! [`step`](crate::oram::Oram::step). It reads and writes about 2 + lg r (lg r + 1) times N + 2 S slots, where r is the
//! number of [runs](SquareRootParameters::runs).
//!
//! **Errors**: those of [`OramError`](crate::oram::OramError); [`Backlogged`](crate::oram::OramError::Backlogged) if
//! the longest batch has no room before a rebuild. After a failure of the store, and after a future that was dropped
//! half-way, it answers [`Poisoned`](crate::oram::OramError::Poisoned) only.

#[cfg(feature = "inspect")]
mod inspect;
mod parameters;

pub use parameters::SquareRootParameters;

use crate::concurrency::epoch::{EpochScheme, Epochs};
use crate::oram::Access;
use crate::permutation::Permutation;
use crate::permutation::oblivious_sort::{Records, Scratch};
use crate::permutation::ordered_record as record;
use crate::range::OutOfRange;
use crate::store::Store;
use crate::types::{BlockId, Bucket, Slot};
use alloc::vec::Vec;
use rand_core::RngCore;

/// A Square-Root ORAM over a store.
pub struct SquareRootOram<S, R> {
    parameters: SquareRootParameters,
    first_bucket: Bucket,
    store: S,
    epochs: Epochs<State<R>>,
}

/// The state of an epoch.
pub struct State<R> {
    random: R,
    permutation: Permutation,
    /// The block whose copy each slot of the shelter holds; none for a dummy.
    shelter: Vec<Option<BlockId>>,
    slots: Vec<Slot>,
    bytes: Vec<u8>,
    scratch: Scratch,
}

impl<S: Store, R: RngCore> SquareRootOram<S, R> {
    /// A Square-Root ORAM over a store that was never written. Its buckets are numbered from `first_bucket`.
    ///
    /// # Errors
    /// [`OutOfRange`].
    pub fn new(
        parameters: SquareRootParameters,
        first_bucket: Bucket,
        store: S,
        mut random: R,
    ) -> Result<Self, OutOfRange> {
        parameters.validate()?;
        let permutation = Permutation::draw(parameters.permuted(), &mut random);
        let (shelter, slots, bytes, scratch) = <_>::default();
        let state = State { random, permutation, shelter, slots, bytes, scratch };
        let epochs = Epochs::new(parameters.shelter, parameters.bounds(), state);
        Ok(SquareRootOram { parameters, first_bucket, store, epochs })
    }

    /// The parameters of the ORAM.
    pub fn parameters(&self) -> &SquareRootParameters {
        &self.parameters
    }

    /// Returns the trusted memory that outlasts an operation, in bytes: π and the shelter's table.
    pub fn trusted_bytes(&self) -> usize {
        let table = self.parameters.shelter as usize * size_of::<Option<BlockId>>();
        self.epochs.with_state(|state| state.permutation.trusted_bytes() + table).unwrap_or(0)
    }

    /// The slot of permuted memory at a place, or behind it of the shelter.
    fn slot(&self, place: u64) -> Slot {
        Slot::only(Bucket(self.first_bucket.0 + place))
    }

    /// The order of a copy in the shelter among all copies of its block: the newest is the first.
    fn age(&self, nth: usize) -> record::Order {
        u64::from(self.parameters.shelter) - nth as u64
    }
}

impl<S: Store, R: RngCore> EpochScheme for SquareRootOram<S, R> {
    type State = State<R>;
    type StoreError = S::Error;

    fn epochs(&self) -> &Epochs<State<R>> {
        &self.epochs
    }

    async fn serve(&self, state: &mut State<R>, batch: &mut [Access<'_>]) -> Result<(), S::Error> {
        let (capacity, shelter) = (self.parameters.capacity, self.parameters.permuted());
        let State { permutation, shelter: sheltered, slots, bytes, .. } = state;
        let before = sheltered.len();

        slots.clear();
        slots.extend((shelter..).take(before).map(|place| self.slot(place)));
        for (t, access) in (before..).zip(batch.iter()) {
            // A second request for a block looks like one for a block of the shelter.
            let block = access.block().filter(|block| !sheltered[before..].contains(&Some(*block)));
            let is_sheltered = block.is_none() || sheltered[..before].contains(&block);
            let address = block.filter(|_| !is_sheltered).map_or(capacity + t as u64, |block| block.0);
            slots.push(self.slot(permutation.place(address)));
            sheltered.push(block);
        }
        let slot_bytes = self.parameters.slot_bytes();
        bytes.resize(slots.len() * slot_bytes, 0);
        self.store.read_buffer(slots, bytes).await?;

        // The n-th slot that was read holds the n-th copy of the shelter, or what the n-th of its accesses is about.
        let newest = |block| {
            let earlier = sheltered[..before].iter().rposition(|held| *held == Some(block));
            earlier.or_else(|| sheltered.iter().position(|held| *held == Some(block)))
        };
        for access in batch {
            if let Some(at) = access.block().and_then(newest) {
                access.serve(record::payload(&mut bytes[at * slot_bytes..][..slot_bytes]));
            }
        }
        for (nth, block) in sheltered.iter().enumerate().skip(before) {
            let at = block.and_then(newest).unwrap_or(nth);
            bytes.copy_within(at * slot_bytes..(at + 1) * slot_bytes, nth * slot_bytes);
            record::label(&mut bytes[nth * slot_bytes..][..slot_bytes], *block, self.age(nth));
        }
        let buckets: Vec<Bucket> = (shelter + before as u64..)
            .take(slots.len() - before)
            .map(|place| self.slot(place).bucket)
            .collect();
        self.store.write(&buckets, &bytes[before * slot_bytes..]).await
    }

    async fn rebuild(&self, state: &mut State<R>) -> Result<(), S::Error> {
        let SquareRootParameters { capacity, shelter, run_blocks, .. } = self.parameters;
        let records = Records {
            first: self.first_bucket,
            runs: self.parameters.runs(),
            run_records: run_blocks,
            record_bytes: self.parameters.slot_bytes(),
        };
        let State { random, permutation, shelter: sheltered, scratch, .. } = state;

        // All copies of a block come together, the newest first, and dummies come last. Behind the last copy of the
        // shelter there are dummies, or what was never written.
        let addresses = permutation.inverse();
        let permuted = self.parameters.permuted();
        let by_place = |place: u64, record: &mut [u8]| {
            if place < permuted {
                let block = Some(addresses.place(place)).filter(|address| *address < capacity).map(BlockId);
                record::label(record, block, u64::from(shelter) + 1);
            }
        };
        let by_block =
            |record: &[u8]| (record::block(record).map_or(u64::MAX, |block| block.0), record::order(record));
        records.sort(&self.store, scratch, by_place, by_block).await?;

        // What is older than another copy becomes a dummy, like the dummies: S of them get places.
        *permutation = Permutation::draw(permuted, random);
        let (mut last, mut dummies) = (None, capacity..permuted);
        let by_age = |_: u64, record: &mut [u8]| {
            let block = record::block(record).filter(|block| last != Some(*block));
            last = block.or(last);
            let address = block.map(|block| block.0).or_else(|| dummies.next());
            record::label(record, block, address.map_or(record::LAST, |address| permutation.place(address)));
        };
        records.sort(&self.store, scratch, by_age, record::order).await?;
        sheltered.clear();
        Ok(())
    }
}
