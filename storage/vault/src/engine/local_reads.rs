//! The reads of the trusted disk in a step, in a vault with its tree top on the trusted disk. Their number follows from
//! what the watcher of the store sees: the calls of a batch, and the buckets that are written.

use super::Engine;
use super::deferred_store::{OperationId, Request};
use super::record::{Call, Input};
use crate::error::VaultError;
use ameles_core::store::Untrusted;

impl<U: Untrusted> Engine<U> {
    /// Makes one read for each call of a batch that starts. If only the trusted disk has the block, the read brings it
    /// into memory. Otherwise it reads a random slot.
    pub(super) fn read_for_calls(&self, calls: &[Call]) {
        let Some(payload_reader) = &self.payload_reader else { return };
        for call in calls {
            let block = match call {
                Call::Read(block) | Call::Write(block, _) => Some(*block),
                Call::Dummy => None,
            };
            let needed = block.filter(|block| self.scheme.is_payload_external(*block));
            payload_reader.read_for_call(needed, |block, payload| self.scheme.load_payload(block, payload));
        }
    }

    /// Adds reads up to the public number of the step: one for each call, and one for each block that the written
    /// buckets have room for. This number does not depend on how many of those blocks were read from the disk. Returns
    /// an error if a read of the step failed.
    pub(super) fn pad_reads(
        &self,
        input: &Input,
        submitted: &[(OperationId, Request)],
    ) -> Result<(), VaultError> {
        let Some(payload_reader) = &self.payload_reader else { return Ok(()) };
        let calls = if let Input::Batch(calls) = input { calls.len() } else { 0 };
        // Buckets that are rewritten take nothing from the stash.
        let written = submitted.iter().filter(|_| !self.is_rewriting()).map(|(_, request)| match request {
            Request::Write(buckets, _) => self.scheme.max_blocks_in(buckets),
            Request::Read(..) => 0,
        });
        payload_reader.pad_reads(calls + written.sum::<usize>());
        payload_reader.check()
    }

    /// Returns an error if a read that a checkpoint made of the trusted disk failed.
    pub(crate) fn check_payload_reads(&self) -> Result<(), VaultError> {
        let Some(payload_reader) = &self.payload_reader else { return Ok(()) };
        payload_reader.reset_counter();
        payload_reader.check()
    }
}
