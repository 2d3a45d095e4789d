//! The parameters of a Square-Root ORAM.

use crate::oram::Bounds;
use crate::range::{self, OutOfRange};
use crate::tree::block_header::HEADER_BYTES;
use crate::tree::layout::{Extent, Layout};
use borsh::{BorshDeserialize, BorshSerialize};

/// The parameters of a Square-Root ORAM. All of them are public.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct SquareRootParameters {
    /// N, the number of blocks that the user can address: at least 1.
    pub capacity: u64,
    /// The size of a block in bytes: 0 to 2^24 (simulators move no payload).
    pub block_bytes: u32,
    /// S, the number of slots of the shelter, which are the accesses of an epoch: `max_batch` or more; √N in the paper.
    /// N + S is at most 2^32.
    pub shelter: u32,
    /// c, the number of blocks of a run that is sorted at once: at least 1, as in the paper. The trusted side holds two
    /// runs.
    pub run_blocks: u32,
    /// The maximum number of accesses in one batch: at least 1.
    pub max_batch: u32,
}

impl SquareRootParameters {
    /// The paper's parameters for this many blocks: a shelter of √N slots, or of one batch if that is more.
    pub fn for_capacity(capacity: u64, block_bytes: u32, run_blocks: u32, max_batch: u32) -> Self {
        let shelter = u32::try_from(range::root(capacity)).unwrap_or(u32::MAX).max(max_batch);
        SquareRootParameters { capacity, block_bytes, shelter, run_blocks, max_batch }
    }

    /// Checks every range.
    ///
    /// # Errors
    /// Each error names the parameter and the remedy.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        range::check_bounds(self.bounds(), (1 << 32) - u64::from(self.shelter), u32::MAX)?;
        range::check(&[
            ("shelter", self.shelter.into(), self.max_batch.into(), u32::MAX.into()),
            ("run_blocks", self.run_blocks.into(), 1, u32::MAX.into()),
        ])
    }

    /// The bounds of batches.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds::new(self.capacity, self.block_bytes, self.max_batch)
    }

    /// N + S, slots of the permuted memory: one for each block, and a dummy for each access of an epoch.
    pub fn permuted(&self) -> u64 {
        self.capacity + u64::from(self.shelter)
    }

    /// Returns the number of runs that are sorted: the permuted memory, the shelter, and what fills the last run.
    pub fn runs(&self) -> u64 {
        (self.permuted() + u64::from(self.shelter)).div_ceil(self.run_blocks.into())
    }

    /// Returns the number of bytes of a slot: a block and its header.
    pub(super) fn slot_bytes(&self) -> usize {
        HEADER_BYTES + self.block_bytes as usize
    }

    /// The untrusted memory that the scheme needs, in plaintext bytes. It has the permuted memory, then the shelter and
    /// the padding of the last run, in buckets of one slot.
    pub fn layout(&self) -> Layout {
        let slot_bytes = self.slot_bytes() as u32;
        let rest = self.runs() * u64::from(self.run_blocks) - self.permuted();
        let extent = |buckets| Extent { buckets, slots: 1, slot_bytes };
        Layout::new(alloc::vec![extent(self.permuted()), extent(rest)])
    }
}
