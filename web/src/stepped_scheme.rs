//! A scheme of any type, driven one store operation at a time.

use ameles_core::inspect::{Inspect, Inspection};
use ameles_core::oram::{Access, Oram};
use ameles_core::types::BlockId;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

/// An access requested by the owner. A block holds one number of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestedAccess {
    /// The block.
    pub block: BlockId,
    /// The number that is written; `None` for a read.
    pub write: Option<u32>,
}

/// The bytes of a block.
pub const BLOCK_BYTES: u32 = 4;

/// The accesses of a batch. A processor, or a place of the batch, may request nothing.
pub type Batch = Vec<Option<RequestedAccess>>;

/// The work of a scheme, to be polled to completion. Its output is the result of each access of a batch, if it is a
/// read, or the error.
pub type Task = Pin<Box<dyn Future<Output = Result<Vec<Option<u32>>, String>>>>;

/// A scheme, independent of its type.
pub trait SteppedScheme {
    /// Begins a batch of accesses.
    fn access(&self, batch: Batch) -> Task;

    /// The maximum number of accesses in a batch.
    fn max_batch(&self) -> usize;

    /// Begins a step of the pending work.
    fn step(&self) -> Task;

    /// Returns the number of pending steps of that work.
    fn pending_steps(&self) -> u64;

    /// Returns whether they must come before the next access.
    fn must_step(&self) -> bool;

    /// The trusted state; `None` while an operation owns it.
    fn inspect(&self) -> Option<Inspection>;
}

/// A scheme of one type.
struct SharedOram<O>(Rc<O>);

/// Hosts a scheme whose blocks are of [`BLOCK_BYTES`].
pub fn stepped<O: Oram + Inspect + 'static>(scheme: O) -> Box<dyn SteppedScheme> {
    Box::new(SharedOram(Rc::new(scheme)))
}

/// The number in the bytes of a block; 0 if there are too few of them.
pub fn number(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

impl<O: Oram + Inspect + 'static> SteppedScheme for SharedOram<O> {
    fn access(&self, batch: Batch) -> Task {
        let scheme = Rc::clone(&self.0);
        Box::pin(async move {
            let written = |request: &Option<RequestedAccess>| {
                request.and_then(|request| request.write).unwrap_or_default()
            };
            let mut bytes: Vec<_> = batch.iter().map(|request| written(request).to_le_bytes()).collect();
            let mut accesses = Vec::new();
            for (request, bytes) in batch.iter().zip(&mut bytes) {
                accesses.push(match *request {
                    None => Access::Dummy,
                    Some(RequestedAccess { block, write: Some(_) }) => Access::Write(block, bytes),
                    Some(RequestedAccess { block, write: None }) => Access::Read(block, bytes),
                });
            }
            scheme.access(&mut accesses).await.map_err(|error| error.to_string())?;
            let is_read =
                |request: &Option<RequestedAccess>| request.is_some_and(|request| request.write.is_none());
            Ok(batch
                .iter()
                .zip(&bytes)
                .map(|(request, bytes)| is_read(request).then(|| number(bytes)))
                .collect())
        })
    }

    fn max_batch(&self) -> usize {
        self.0.bounds().max_batch
    }

    fn step(&self) -> Task {
        let scheme = Rc::clone(&self.0);
        Box::pin(async move { scheme.step().await.map(|()| Vec::new()).map_err(|error| error.to_string()) })
    }

    fn pending_steps(&self) -> u64 {
        self.0.pending_steps()
    }

    fn must_step(&self) -> bool {
        self.0.must_step()
    }

    fn inspect(&self) -> Option<Inspection> {
        self.0.inspect()
    }
}
