//! Plain: each page in its own slot, written in place. It is not an ORAM. It is demand paging with encryption and
//! authentication only, and the baseline of every ratio.
//!
//! **What the trace shows** (adversary `Full` and adversary `Snapshot`): **which page is read, and which is written.**
//! Nothing is hidden. A dummy access shows nothing and does nothing.
//!
//! **Costs** of an access: one slot, one round trip, copied straight between the caller's buffer and the store. No
//! position map, no buffer, no pending work; no access allocates.
//!
//! **Errors**: those of [`OramError`]; never `StashFull`, `Backlogged` or `Poisoned`. A failed write has replaced the
//! page or not, and changes nothing else.

use crate::oram::admission;
use crate::oram::{Access, Bounds, Oram, OramError};
use crate::range::{self, OutOfRange};
use crate::store::Store;
use crate::tree::layout::{Extent, Layout};
use crate::types::{Bucket, Slot};
use alloc::vec;
use borsh::{BorshDeserialize, BorshSerialize};

/// The parameters of plain paging. All of them are public.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct PlainParameters {
    /// N, pages that the user can address, and slots: at least 1.
    pub capacity: u64,
    /// The size of a page in bytes: 0 to 2^24 (simulators move no payload).
    pub block_bytes: u32,
    /// The maximum number of accesses in one batch: at least 1. Nothing grows with it.
    pub max_batch: u32,
}

impl PlainParameters {
    /// Checks every range.
    ///
    /// # Errors
    /// Each error names the parameter and the remedy.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        range::check_bounds(self.bounds(), u64::MAX, u32::MAX)
    }

    /// The bounds of batches.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds::new(self.capacity, self.block_bytes, self.max_batch)
    }

    /// The untrusted memory that it needs, in plaintext bytes: a bucket of one slot for each page.
    pub fn layout(&self) -> Layout {
        Layout::new(vec![Extent { buckets: self.capacity, slots: 1, slot_bytes: self.block_bytes }])
    }
}

/// Plain paging over a store.
pub struct Plain<S> {
    parameters: PlainParameters,
    store: S,
}

impl<S: Store> Plain<S> {
    /// Plain paging over the present contents of the store; a store that was never written holds zeros.
    ///
    /// # Errors
    /// [`OutOfRange`].
    pub fn new(parameters: PlainParameters, store: S) -> Result<Self, OutOfRange> {
        parameters.validate()?;
        Ok(Plain { parameters, store })
    }

    /// The parameters of the ORAM.
    pub fn parameters(&self) -> &PlainParameters {
        &self.parameters
    }

    /// Returns the number of bytes on the trusted side: the parameters.
    pub fn trusted_bytes(&self) -> usize {
        size_of::<Self>() - size_of::<S>()
    }
}

impl<S: Store> Oram for Plain<S> {
    type Error = S::Error;

    fn bounds(&self) -> Bounds {
        self.parameters.bounds()
    }

    async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<S::Error>> {
        admission::check_batch(batch, self.bounds())?;
        for access in batch {
            match access {
                Access::Read(page, into) => self.store.read(&[Slot::only(Bucket(page.0))], into).await?,
                Access::Write(page, from) => self.store.write(&[Bucket(page.0)], from).await?,
                Access::Dummy => {}
            }
        }
        Ok(())
    }
}

#[cfg(feature = "inspect")]
impl<S> crate::inspect::Inspect for Plain<S> {
    fn inspect(&self) -> Option<crate::inspect::Inspection> {
        let slot = |block| Slot::only(Bucket(block));
        let placed = (0..self.parameters.capacity).map(|block| (slot(block), crate::types::BlockId(block)));
        Some(crate::inspect::Inspection { placed: Some(placed.collect()), ..Default::default() })
    }
}
