//! The contents of the journal: the inputs of the scheme, in order, and the requests that each input caused.
//!
//! A scheme is deterministic in these inputs, so the journal need not hold its state. Recovery runs the scheme again
//! from the last checkpoint, and gets exactly the requests that were announced.

use crate::engine::deferred_store::OperationId;
use crate::engine::scheme::Seed;
use ameles_core::types::{BlockId, Bucket, Slot, Version};
use ameles_seal::epoch::Epoch;
use borsh::{BorshDeserialize, BorshSerialize};
use bytes::Bytes;

/// The version of the engine. It is raised when the same inputs may cause other requests than before. Records of another
/// version cannot be repeated.
pub(crate) const ENGINE_VERSION: u32 = 1;

/// A logical access, as a caller requested it.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Call {
    /// Reads a block.
    Read(BlockId),
    /// Replaces a block.
    Write(BlockId, Bytes),
    /// Fills a batch up.
    Dummy,
}

/// An input of the scheme.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) enum Input {
    /// A batch has started.
    Batch(Vec<Call>),
    /// An off-line step has started.
    Step,
    /// The store has finished an operation.
    Complete(OperationId),
    /// The vault was opened again, with a new key and new randomness from here on. Unfinished writes get new versions.
    Epoch(Epoch, Seed),
    /// A checkpoint: nothing is in flight, randomness is drawn from this seed from here on, and operations are numbered
    /// from 0 again.
    Checkpoint(Seed),
    /// Buckets are read whole and rewritten with the same contents, under the newest key. Nothing else is in flight
    /// meanwhile.
    Rewrite(Vec<Bucket>),
}

/// A request that an input causes.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Announcement {
    pub(crate) operation: OperationId,
    pub(crate) effect: Effect,
}

/// The part of a request that the watcher sees.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) enum Effect {
    Read(Vec<(Slot, Version)>),
    Write(Vec<(Bucket, Version)>),
}

/// A record of the journal. It is durable before any of its requests is sent.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Record {
    pub(crate) input: Input,
    pub(crate) announced: Vec<Announcement>,
}

impl Record {
    /// Decodes an authenticated record.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Record> {
        borsh::from_slice(bytes).ok()
    }

    /// Turns the writes of a batch into reads of the same blocks. The same requests follow from them.
    pub(crate) fn turn_writes_into_reads(&mut self) {
        let Input::Batch(calls) = &mut self.input else { return };
        for call in calls {
            if let Call::Write(block, _) = call {
                *call = Call::Read(*block);
            }
        }
    }
}
