//! The payloads of a stash: in memory, or in a source from which they are read when they are needed.

use crate::types::BlockId;
use alloc::boxed::Box;
use alloc::vec::Vec;

const NONE: u32 = u32::MAX;
/// The least number of payloads to allocate memory for at a time, if most payloads are in the source.
const STEP: usize = 8;

/// The payloads of a stash, one after the other, in any order.
pub trait Payloads {
    /// The next block; `None` after the last one.
    fn next_block(&mut self) -> Option<BlockId>;

    /// Fills the buffer with its payload. Returns `false` if it cannot be read.
    #[must_use]
    fn fill(&mut self, payload: &mut [u8]) -> bool;
}

/// A source of payloads that are not in memory, such as a trusted disk.
pub trait PayloadSource: Send {
    /// Fills the buffer with the payload of a block that was released from memory. A source that cannot read it fills
    /// in zeros, and keeps the reason for its owner.
    fn read(&self, block: BlockId, into: &mut [u8]);
}

/// Payloads by the places of their entries.
pub(crate) struct StashPayloads {
    block_bytes: usize,
    bytes: Vec<u8>,
    /// `None`: each entry has the slot of its own number, and all are in memory.
    external: Option<External>,
}

struct External {
    source: Box<dyn PayloadSource>,
    /// The slot in `bytes` of each entry; `NONE` while its payload is not in memory.
    slots: Vec<u32>,
    vacant: Vec<u32>,
}

impl StashPayloads {
    pub(crate) fn new(block_bytes: usize) -> Self {
        StashPayloads { block_bytes, bytes: Vec::new(), external: None }
    }

    /// Sets the source of released payloads. No entry may exist yet.
    pub(crate) fn set_payload_source(&mut self, source: Box<dyn PayloadSource>) {
        assert!(self.bytes.is_empty(), "the source of payloads is set before the first entry");
        self.external = Some(External { source, slots: Vec::new(), vacant: Vec::new() });
    }

    /// Returns whether there is a source of payloads.
    pub(crate) fn has_source(&self) -> bool {
        self.external.is_some()
    }

    /// Adds an entry. If there is a source, its payload is not in memory.
    pub(crate) fn push(&mut self) {
        match &mut self.external {
            Some(external) => external.slots.push(NONE),
            None => self.bytes.resize(self.bytes.len() + self.block_bytes, 0),
        }
    }

    /// Reserves memory for `more` entries.
    pub(crate) fn reserve(&mut self, more: usize) {
        match &mut self.external {
            Some(external) => external.slots.reserve_exact(more),
            None => self.bytes.reserve_exact(more * self.block_bytes),
        }
    }

    /// Returns whether the payload of an entry is in memory.
    #[inline]
    pub(crate) fn is_resident(&self, at: u32) -> bool {
        self.external.as_ref().is_none_or(|external| external.slots[at as usize] != NONE)
    }

    /// The payload of an entry, if it is in memory.
    #[inline]
    pub(crate) fn get(&self, at: u32) -> Option<&[u8]> {
        let slot = match &self.external {
            None => at,
            Some(external) => external.slots[at as usize],
        };
        (slot != NONE).then(|| &self.bytes[slot as usize * self.block_bytes..][..self.block_bytes])
    }

    /// The slot of an entry's payload, which it has from now on. Its contents are unspecified.
    #[inline]
    pub(crate) fn slot_mut(&mut self, at: u32) -> &mut [u8] {
        let slot = match &mut self.external {
            None => at,
            Some(external) => {
                let slot = &mut external.slots[at as usize];
                if *slot == NONE {
                    *slot = external.vacant.pop().unwrap_or_else(|| {
                        let slots = self.bytes.len().checked_div(self.block_bytes).unwrap_or(0);
                        if self.bytes.len() == self.bytes.capacity() {
                            self.bytes.reserve_exact((slots / 8).max(STEP) * self.block_bytes);
                        }
                        self.bytes.resize(self.bytes.len() + self.block_bytes, 0);
                        slots as u32
                    });
                }
                *slot
            }
        };
        &mut self.bytes[slot as usize * self.block_bytes..][..self.block_bytes]
    }

    /// The payload of an entry, to be changed. It is loaded from the source if it is not in memory.
    pub(crate) fn get_mut(&mut self, at: u32, block: BlockId) -> &mut [u8] {
        if !self.is_resident(at) {
            self.slot_mut(at);
            if let Some(external) = &self.external {
                let slot = external.slots[at as usize] as usize;
                external.source.read(block, &mut self.bytes[slot * self.block_bytes..][..self.block_bytes]);
            }
        }
        self.slot_mut(at)
    }

    /// Copies the payload of an entry, from memory or from the source, without moving it.
    #[inline]
    pub(crate) fn read(&self, at: u32, block: BlockId, into: &mut [u8]) {
        match (self.get(at), &self.external) {
            (Some(payload), _) => into.copy_from_slice(payload),
            (None, Some(external)) => external.source.read(block, into),
            (None, None) => unreachable!("without a payload source all payloads are in memory"),
        }
    }

    /// Drops the payload of an entry from memory, if there is a source.
    #[inline]
    pub(crate) fn release(&mut self, at: u32) {
        if let Some(external) = &mut self.external {
            let slot = core::mem::replace(&mut external.slots[at as usize], NONE);
            if slot != NONE {
                external.vacant.push(slot);
            }
            if external.vacant.len() * self.block_bytes == self.bytes.len() {
                external.vacant.clear();
                self.bytes.clear();
            }
        }
    }

    /// The bytes that the payloads occupy now.
    pub(crate) fn allocated(&self) -> usize {
        let slots = self.external.as_ref().map_or(0, |external| {
            (external.slots.capacity() + external.vacant.capacity()) * size_of::<u32>()
        });
        self.bytes.capacity() + slots
    }
}
