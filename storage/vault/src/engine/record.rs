//! The contents of the journal: the inputs of the scheme, in order, and the requests that each of them caused.
//!
//! A scheme is deterministic in these inputs, so the journal needs to say nothing of its state: recovery runs the
//! scheme again from the last checkpoint, and gets the very requests that were announced.

use crate::engine::deferred_store::OperationId;
use ameles_core::types::{BlockId, Bucket, Slot, Version};
use ameles_seal::epoch::Epoch;
use borsh::{BorshDeserialize, BorshSerialize};
use bytes::Bytes;

/// A logical access, as it was asked for.
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
    /// A batch was started.
    Batch(Vec<Call>),
    /// A step of off-line work was started.
    Step,
    /// The store finished an operation.
    Complete(OperationId),
    /// The vault was opened again: from here on, another key. Writes that were not finished get new versions.
    Epoch(Epoch),
    /// Buckets are read whole and written again as they are, under the newest key. Nothing else is in flight meanwhile.
    Rewrite(Vec<Bucket>),
}

/// A request that goes out because of an input.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Announcement {
    pub(crate) operation: OperationId,
    pub(crate) effect: Effect,
}

/// The part of a request that the watcher will see.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) enum Effect {
    Read(Vec<(Slot, Version)>),
    Write(Vec<(Bucket, Version)>),
}

/// An entry of the journal. It is durable before any of its requests goes out.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Record {
    pub(crate) input: Input,
    pub(crate) announced: Vec<Announcement>,
}

impl Record {
    /// Decodes a record that was authenticated.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Record> {
        borsh::from_slice(bytes).ok()
    }
}
