//! The network between the processors of a parallel ORAM. Its adversary sees who sends to whom, when, and how much.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::error::Error;
use core::marker::PhantomData;

/// A processor, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Processor(pub u32);

/// A message from one processor to another. An adversary sees its ends and its length; its contents are sealed on the
/// way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The processor that sends the message.
    pub from: Processor,
    /// The processor that receives the message, which is another one.
    pub to: Processor,
    /// The contents, as they were sent and, after the step, as they came.
    pub contents: Vec<u8>,
}

/// A network between processors that work in steps. A message comes as it was sent, or the step fails.
#[allow(async_fn_in_trait, reason = "one thread drives a scheme; its futures need not be Send")]
pub trait Network {
    /// The error of the layers below.
    type Error: Error + 'static;

    /// Exchanges the messages of one step in parallel, and returns when all have arrived. There is at least one.
    async fn exchange(&self, messages: &mut [Message]) -> Result<(), Self::Error>;
}

impl<N: Network + ?Sized> Network for &N {
    type Error = N::Error;

    async fn exchange(&self, messages: &mut [Message]) -> Result<(), N::Error> {
        (**self).exchange(messages).await
    }
}

impl<N: Network + ?Sized> Network for Rc<N> {
    type Error = N::Error;

    async fn exchange(&self, messages: &mut [Message]) -> Result<(), N::Error> {
        (**self).exchange(messages).await
    }
}

/// A network within one trusted memory: a message arrives at once, and no step fails. The error type is
/// that of the store.
#[derive(Debug)]
pub struct SharedMemory<E>(PhantomData<E>);

impl<E> SharedMemory<E> {
    /// A network for any number of processors.
    pub fn new() -> Self {
        SharedMemory(PhantomData)
    }
}

impl<E> Default for SharedMemory<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Error + 'static> Network for SharedMemory<E> {
    type Error = E;

    async fn exchange(&self, _messages: &mut [Message]) -> Result<(), E> {
        Ok(())
    }
}
