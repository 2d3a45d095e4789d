//! The slots that have changed from one look to the next.

use super::memory::WatchedMemory;
use super::socket::Geometry;

/// Words of a slot that are compared. Each sealing has a nonce of its own, so that a slot that was sealed anew keeps
/// them with a probability of 2^-512 only; and a look at 64 MiB takes less than a millisecond.
const WORDS: usize = 8;

/// A watcher's copy of the slots, as far as it compares them.
#[derive(Debug)]
pub struct Changes {
    memory: WatchedMemory,
    first: usize,
    stride: usize,
    last: Vec<[u64; WORDS]>,
}

impl Changes {
    /// As the memory is now.
    ///
    /// # Panics
    /// If the memory is smaller than its slots. [`Watcher`](super::Watcher) gives none that is.
    pub fn new(memory: WatchedMemory, geometry: &Geometry) -> Self {
        Changes::from(memory, 0, geometry)
    }

    /// The same of slots that begin at the byte `first`, which is a multiple of eight.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn from(memory: WatchedMemory, first: usize, geometry: &Geometry) -> Self {
        let (slots, stride) = (geometry.slots as usize, geometry.stride as usize);
        let mut changes = Changes { memory, first, stride, last: vec![[0; WORDS]; slots] };
        changes.look();
        changes
    }

    /// The slots that have changed since the last look, numbered from 0, in their order in memory.
    pub fn look(&mut self) -> Vec<u64> {
        let mut changed = Vec::new();
        for (slot, last) in self.last.iter_mut().enumerate() {
            let now =
                std::array::from_fn(|word| self.memory.word(self.first + slot * self.stride + word * 8));
            if now != *last {
                *last = now;
                changed.push(slot as u64);
            }
        }
        changed
    }
}
