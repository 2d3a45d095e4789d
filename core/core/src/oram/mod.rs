//! The interface of every scheme: batches of accesses, and the pending work after them.

pub(crate) mod admission;

use crate::types::BlockId;

/// A logical access of a batch. Its kind never shows in the trace.
#[derive(Debug)]
pub enum Access<'a> {
    /// Copies the block into the buffer (exactly one block long). A block never written reads as zeros.
    Read(BlockId, &'a mut [u8]),
    /// Replaces the block (exactly one block long).
    Write(BlockId, &'a [u8]),
    /// Touches nothing and looks like the others.
    Dummy,
}

impl Access<'_> {
    /// The block that is requested; `None` for a dummy.
    pub fn block(&self) -> Option<BlockId> {
        match self {
            Access::Read(block, _) | Access::Write(block, _) => Some(*block),
            Access::Dummy => None,
        }
    }

    /// Serves the access from the block's payload: a read copies it, a write replaces it.
    pub(crate) fn serve(&mut self, payload: &mut [u8]) {
        match self {
            Access::Read(_, into) => into.copy_from_slice(payload),
            Access::Write(_, from) => payload.copy_from_slice(from),
            Access::Dummy => {}
        }
    }
}

/// The bounds of a batch: public parameters of every scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The number of blocks that the user can address: `0..capacity`.
    pub capacity: u64,
    /// The size of a block in bytes; may be 0 (simulators move no payload).
    pub block_bytes: usize,
    /// The maximum number of accesses in one batch.
    pub max_batch: usize,
}

impl Bounds {
    /// The bounds in the numbers of a scheme's parameters.
    pub(crate) fn new(capacity: u64, block_bytes: u32, max_batch: u32) -> Self {
        Bounds { capacity, block_bytes: block_bytes as usize, max_batch: max_batch as usize }
    }
}

/// The reason why a scheme refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum OramError<E: core::error::Error + 'static> {
    /// The block lies beyond the capacity. Nothing was changed and nothing was shown.
    #[error("{block} lies beyond the capacity of {capacity} blocks")]
    OutOfRange {
        /// The block that was requested.
        block: BlockId,
        /// The number of blocks.
        capacity: u64,
    },
    /// The batch is longer than the public maximum. Nothing was changed and nothing was shown.
    #[error("a batch of {len} accesses is larger than the public maximum of {max}")]
    BatchTooLarge {
        /// The number of requested accesses.
        len: usize,
        /// The maximum number of accesses in one batch.
        max: usize,
    },
    /// A buffer is not exactly one block long. Nothing was changed and nothing was shown.
    #[error("a buffer of {len} bytes was given for blocks of {block_bytes} bytes")]
    WrongLength {
        /// The buffer's length.
        len: usize,
        /// A block's length.
        block_bytes: usize,
    },
    /// The stash is at its hard bound. The access was refused before anything changed; run `step` and retry.
    #[error("the stash holds {held} of at most {max} blocks: the access was refused before anything changed")]
    StashFull {
        /// The number of blocks in the stash.
        held: usize,
        /// The maximum number of blocks in the stash.
        max: usize,
    },
    /// [`must_step`](Oram::must_step) was true. The access was refused before anything changed; run `step` until it is
    /// false and retry.
    #[error(
        "a pending step must run first: the access was refused before anything changed; run `step` and retry"
    )]
    Backlogged,
    /// The answer of the store contradicts the trusted state.
    #[error("the store's answer contradicts the trusted state: {0}")]
    Contradiction(&'static str),
    /// The store failed. The scheme's state is poisoned: it must be rebuilt from its last snapshot and journal.
    #[error(transparent)]
    Store(#[from] E),
    /// An earlier operation failed or was dropped half-way: the scheme refuses every operation.
    #[error(
        "an earlier operation failed or was dropped half-way: rebuild the scheme from its last snapshot and journal"
    )]
    Poisoned,
}

/// An oblivious RAM.
///
/// `access` is the on-line work of a batch, and `step` is a bounded step of the pending work after it. Both take
/// `&self`, so that a driver can keep an access in flight while an earlier eviction is still being written; one thread
/// polls both. If more of them are in flight, they run in the order in which they were first polled. Dropping a future
/// half-way poisons the state: the driver owns its futures and polls each of them to its end.
///
/// A scheme that does all its work on line needs no more than `bounds` and `access`. A scheme that evicts must answer
/// the rest itself.
///
/// A scheme is deterministic in its snapshot, its randomness, the batches, and the order in which its store
/// operations complete. A record of these runs again with the same trace.
#[allow(async_fn_in_trait, reason = "one thread drives a scheme; its futures need not be Send")]
pub trait Oram {
    /// The store's error.
    type Error: core::error::Error + 'static;

    /// The bounds of every batch.
    fn bounds(&self) -> Bounds;

    /// Returns the number of blocks that the user can address: `0..capacity`.
    fn capacity(&self) -> u64 {
        self.bounds().capacity
    }

    /// Returns the size of a block in bytes; may be 0 (simulators move no payload).
    fn block_bytes(&self) -> usize {
        self.bounds().block_bytes
    }

    /// The maximum number of accesses in one batch: a public parameter.
    fn max_batch(&self) -> usize {
        self.bounds().max_batch
    }

    /// Serves a batch, in order: a read sees the writes before it in the same batch.
    async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<Self::Error>>;

    /// Returns the number of steps that are pending now: none, in a scheme that does all its work on line. A function
    /// of the public count of accesses only.
    fn pending_steps(&self) -> u64 {
        0
    }

    /// Returns whether `step` must run before the next `access`. Public, like [`pending_steps`](Self::pending_steps).
    fn must_step(&self) -> bool {
        false
    }

    /// Does one bounded step of the pending work; returns at once if none is pending.
    async fn step(&self) -> Result<(), OramError<Self::Error>> {
        Ok(())
    }

    /// Returns the number of batches that gain from being in flight together. They are served in the order in which
    /// they began.
    fn max_concurrent_batches(&self) -> usize {
        1
    }

    /// Returns the number of steps that gain from being in flight together.
    fn max_concurrent_steps(&self) -> usize {
        1
    }

    /// Returns the number of emergency evictions so far: evictions outside of the public schedule, each a leak.
    /// Expected to stay 0.
    fn emergencies(&self) -> u64 {
        0
    }
}
