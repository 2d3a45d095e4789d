//! The slots that have changed since the last comparison.

use super::memory::WatchedMemory;
use super::socket::Geometry;

/// The number of compared words of a slot. Each sealing has a new nonce, so a slot that was sealed again keeps them
/// only with a probability of 2^-512. A comparison of 64 MiB takes less than a millisecond.
const WORDS: usize = 8;

/// The watcher's copy of the compared words.
#[derive(Debug)]
pub struct Changes {
    memory: WatchedMemory,
    first: usize,
    stride: usize,
    last: Vec<[u64; WORDS]>,
}

impl Changes {
    /// A copy of the memory as it is now.
    ///
    /// # Panics
    /// If the memory is smaller than its slots. The memory that [`Watcher`](super::Watcher) passes is always large
    /// enough.
    pub fn new(memory: WatchedMemory, geometry: &Geometry) -> Self {
        Changes::from(memory, 0, geometry)
    }

    /// Does the same as [`new`](Self::new) for slots that begin at the byte `first`, which is a multiple of eight.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn from(memory: WatchedMemory, first: usize, geometry: &Geometry) -> Self {
        let (slots, stride) = (geometry.slots as usize, geometry.stride as usize);
        let mut changes = Changes { memory, first, stride, last: vec![[0; WORDS]; slots] };
        changes.take_changed();
        changes
    }

    /// The slots that have changed since the last call, numbered from 0, in their order in memory.
    pub fn take_changed(&mut self) -> Vec<u64> {
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
