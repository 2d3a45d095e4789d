//! Memory that is shared with a party that must not be trusted.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicU8, Ordering};

/// Raw shared memory. It may change at any moment, between any two bytes of a copy. An implementation promises only
/// that each requested byte is read or written once, and that it never interprets what it copies.
///
/// Several threads copy at once. Offsets are in bytes from 0; a copy beyond the end panics.
pub trait SharedMemory: Sync {
    /// Returns the length of the memory in bytes, which never changes.
    fn bytes(&self) -> usize;

    /// Copies from shared into private memory.
    fn load(&self, at: usize, into: &mut [u8]);

    /// Copies from private into shared memory.
    fn store(&self, at: usize, from: &[u8]);
}

macro_rules! forward_through {
    ($($pointer:ty),*) => {$(
        impl<M: SharedMemory + Send + ?Sized> SharedMemory for $pointer {
            fn bytes(&self) -> usize {
                (**self).bytes()
            }
            fn load(&self, at: usize, into: &mut [u8]) {
                (**self).load(at, into);
            }
            fn store(&self, at: usize, from: &[u8]) {
                (**self).store(at, from);
            }
        }
    )*};
}
forward_through!(&M, Box<M>, Arc<M>);

/// Shared memory within the process, for tests and simulations. A copy moves byte by byte, and any other holder may
/// tamper with it.
#[derive(Debug)]
pub struct AtomicMemory {
    bytes: Box<[AtomicU8]>,
}

impl AtomicMemory {
    /// Makes memory of zeros.
    pub fn new(bytes: usize) -> Self {
        AtomicMemory { bytes: (0..bytes).map(|_| AtomicU8::new(0)).collect() }
    }
}

impl SharedMemory for AtomicMemory {
    fn bytes(&self) -> usize {
        self.bytes.len()
    }

    fn load(&self, at: usize, into: &mut [u8]) {
        let shared = &self.bytes[at..at + into.len()];
        for (to, from) in into.iter_mut().zip(shared) {
            *to = from.load(Ordering::Relaxed);
        }
    }

    fn store(&self, at: usize, from: &[u8]) {
        for (to, from) in self.bytes[at..at + from.len()].iter().zip(from) {
            to.store(*from, Ordering::Relaxed);
        }
    }
}
