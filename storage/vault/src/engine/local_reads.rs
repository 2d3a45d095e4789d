//! The reads of the trusted disk that a step makes, in a vault whose tree top is there. Their number follows from what the
//! watcher of the store sees: the calls of a batch, and the buckets that are written.

use super::Engine;
use super::gate::{OperationId, Request};
use super::record::{Call, Input};
use crate::error::VaultError;
use ameles_core::store::Untrusted;

impl<U: Untrusted> Engine<U> {
    /// Makes one read for each call of a batch that begins: of its block, if the trusted disk alone has it, so that it is in
    /// memory from now on; else of another place.
    pub(super) fn read_for(&self, calls: &[Call]) {
        let Some(keeper) = &self.keeper else { return };
        for call in calls {
            let block = match call {
                Call::Read(block) | Call::Write(block, _) => Some(*block),
                Call::Dummy => None,
            };
            let needed = block.filter(|block| self.scheme.is_payload_external(*block));
            keeper.read_for(needed, |block, payload| self.scheme.load_payload(block, payload));
        }
    }

    /// Makes as many reads more as the step is to have: one for each call, and one for each block that the written buckets
    /// have room for, however many of those came from the disk. Then tells whether all reads of the step went well.
    pub(super) fn fill_up_reads(
        &self,
        input: &Input,
        submitted: &[(OperationId, Request)],
    ) -> Result<(), VaultError> {
        let Some(keeper) = &self.keeper else { return Ok(()) };
        let calls = if let Input::Batch(calls) = input { calls.len() } else { 0 };
        // Buckets that are written again as they are take nothing from the stash.
        let written = submitted.iter().filter(|_| !self.is_rewriting()).map(|(_, request)| match request {
            Request::Write(buckets, _) => self.scheme.max_blocks_in(buckets),
            Request::Read(..) => 0,
        });
        keeper.fill_up(calls + written.sum::<usize>());
        keeper.check()
    }

    /// Tells whether all reads that a checkpoint made of the trusted disk went well.
    pub(crate) fn check_keeper(&self) -> Result<(), VaultError> {
        let Some(keeper) = &self.keeper else { return Ok(()) };
        keeper.count_anew();
        keeper.check()
    }
}
