//! The store that a scheme sees inside a vault. It performs no input or output.
//!
//! Each request becomes a numbered operation. It waits until the driver has journalled it and delivers the answer. So
//! the order of the answers is an input, which can be recorded and repeated.

use ameles_core::store::Store;
use ameles_core::types::{Bucket, Slot};
use bytes::Bytes;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::poll_fn;
use std::mem;
use std::task::Poll;

/// The number of an operation, unique since the last checkpoint.
pub(crate) type OperationId = u64;

/// A scheme's request to the store.
#[derive(Debug)]
pub(crate) enum Request {
    /// The buffer is for the answer; its contents are ignored.
    Read(Vec<Slot>, Vec<u8>),
    Write(Vec<Bucket>, Bytes),
}

#[derive(Default)]
struct State {
    next: OperationId,
    submitted: Vec<(OperationId, Request)>,
    answers: BTreeMap<OperationId, Vec<u8>>,
}

/// The operations and answers of a store.
#[derive(Default)]
pub(crate) struct DeferredStore(RefCell<State>);

impl DeferredStore {
    /// Takes the requests since the last call, in order.
    pub(crate) fn take_submitted(&self) -> Vec<(OperationId, Request)> {
        mem::take(&mut self.0.borrow_mut().submitted)
    }

    /// Answers an operation. A write is answered with a buffer that the scheme may use, or with nothing.
    pub(crate) fn deliver(&self, operation: OperationId, answer: Vec<u8>) {
        self.0.borrow_mut().answers.insert(operation, answer);
    }

    /// Numbers operations from 0 again, at a checkpoint, when nothing is in flight.
    pub(crate) fn restart(&self) {
        let mut state = self.0.borrow_mut();
        debug_assert!(
            state.submitted.is_empty() && state.answers.is_empty(),
            "a checkpoint waits until nothing is in flight"
        );
        state.next = 0;
    }

    fn submit(&self, request: Request) -> OperationId {
        let mut state = self.0.borrow_mut();
        let operation = state.next;
        state.next += 1;
        state.submitted.push((operation, request));
        operation
    }

    /// Keeps no waker: the driver polls every future after each delivery.
    async fn answer(&self, operation: OperationId) -> Vec<u8> {
        poll_fn(|_| match self.0.borrow_mut().answers.remove(&operation) {
            Some(answer) => Poll::Ready(answer),
            None => Poll::Pending,
        })
        .await
    }
}

impl Store for DeferredStore {
    type Error = Infallible;

    async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), Infallible> {
        let mut answer = vec![0; into.len()];
        self.read_buffer(slots, &mut answer).await?;
        into.copy_from_slice(&answer);
        Ok(())
    }

    async fn write(&self, buckets: &[Bucket], from: &[u8]) -> Result<(), Infallible> {
        self.write_buffer(buckets, &mut from.to_vec()).await
    }

    async fn read_buffer(&self, slots: &[Slot], into: &mut Vec<u8>) -> Result<(), Infallible> {
        let bytes = into.len();
        let operation = self.submit(Request::Read(slots.to_vec(), mem::take(into)));
        *into = self.answer(operation).await;
        assert_eq!(into.len(), bytes, "an answer has the length of its slots");
        Ok(())
    }

    async fn write_buffer(&self, buckets: &[Bucket], from: &mut Vec<u8>) -> Result<(), Infallible> {
        let operation = self.submit(Request::Write(buckets.to_vec(), Bytes::from(mem::take(from))));
        *from = self.answer(operation).await;
        Ok(())
    }
}
