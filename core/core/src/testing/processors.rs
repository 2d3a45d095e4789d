//! Several processors over one recorded memory: the requests of each are recorded separately, and so are their
//! messages.

use super::trace_store::{TraceStore, TraceStoreError};
use crate::network::{Message, Network, Processor};
use crate::store::Store;
use crate::types::{Bucket, Slot};
use alloc::vec::Vec;
use core::ops::Deref;

/// A processor's way to the memory.
#[derive(Clone, Copy)]
pub struct ProcessorStore<S> {
    store: S,
    processor: Processor,
}

/// Returns the stores of this many processors over one memory.
pub fn processor_stores<S: Clone>(store: S, processors: u32) -> Vec<ProcessorStore<S>> {
    (0..processors).map(|nth| ProcessorStore { store: store.clone(), processor: Processor(nth) }).collect()
}

impl<S: Deref<Target = TraceStore>> Store for ProcessorStore<S> {
    type Error = TraceStoreError;

    async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), TraceStoreError> {
        self.store.read_for(Some(self.processor), slots, into).await
    }

    async fn write(&self, buckets: &[Bucket], from: &[u8]) -> Result<(), TraceStoreError> {
        self.store.write_for(Some(self.processor), buckets, from).await
    }
}

impl Network for TraceStore {
    type Error = TraceStoreError;

    async fn exchange(&self, messages: &mut [Message]) -> Result<(), TraceStoreError> {
        self.send(messages).await
    }
}
