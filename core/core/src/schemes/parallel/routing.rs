//! The routing of blocks to the processors of their new leaves, which an adversary must not learn. The blocks go over a
//! butterfly, in messages whose length does not depend on their contents.

use super::load;
use super::steps::{exchange, place};
use crate::network::{Message, Network, Processor};
use crate::tree::block_header::{self, HEADER_BYTES};
use crate::types::{BlockId, Leaf};
use alloc::vec::Vec;

/// A block on its way: its header, with its new leaf, and its payload.
pub(super) type Entry = Vec<u8>;

/// The entry of a block.
pub(super) fn entry(block: BlockId, leaf: Leaf, payload: &[u8]) -> Entry {
    let mut entry = alloc::vec![0; HEADER_BYTES];
    block_header::write(&mut entry, block, leaf);
    entry.extend_from_slice(payload);
    entry
}

/// The block of an entry, its new leaf, and its payload; none if there is no block in it.
pub(super) fn contents(entry: &[u8]) -> Option<(BlockId, Leaf, &[u8])> {
    let (header, payload) = entry.split_at(HEADER_BYTES);
    block_header::read(header).map(|(block, leaf)| (block, leaf, payload))
}

/// The shape of the butterfly.
#[derive(Clone, Copy)]
pub(super) struct Butterfly {
    /// lg m.
    pub(super) bits: u32,
    /// The number of leaves of a processor's subtree, as a power of two.
    pub(super) leaf_bits: u32,
    /// The number of bytes of an entry.
    pub(super) entry_bytes: usize,
}

impl Butterfly {
    /// Brings every block from the processor of its index to the processor of its leaf. In step k two processors whose
    /// numbers differ in bit k exchange the blocks that belong with the other one. Returns how often a message was too
    /// short, and another one followed.
    pub(super) async fn route<N: Network>(self, network: &N, at: &mut [Vec<Entry>]) -> Result<u64, N::Error> {
        let mut too_short = 0;
        for step in 0..self.bits {
            let mut going: Vec<Vec<Entry>> = Vec::new();
            for (here, entries) in at.iter_mut().enumerate() {
                let leaves = |entry: &mut Entry| {
                    contents(entry)
                        .is_some_and(|(_, leaf, _)| (leaf.0 >> self.leaf_bits ^ here as u64) >> step & 1 == 1)
                };
                going.push(entries.extract_if(.., leaves).collect());
            }
            let mut sending: Vec<bool> = going.iter().map(|_| true).collect();
            while sending.contains(&true) {
                let messages = (0..at.len())
                    .filter(|from| sending[*from])
                    .map(|from| self.message(step, from, &mut going[from]))
                    .collect();
                sending.fill(false);
                for came in exchange(network, messages).await? {
                    let (entries, more) = came.contents.split_at(came.contents.len() - 1);
                    let blocks =
                        entries.chunks_exact(self.entry_bytes).filter(|entry| contents(entry).is_some());
                    at[place(came.to)].extend(blocks.map(<[u8]>::to_vec));
                    if more != [0] {
                        too_short += 1;
                        (sending[place(came.from)], sending[place(came.to)]) = (true, true);
                    }
                }
            }
        }
        Ok(too_short)
    }

    /// Takes the blocks that a message of a step has room for. The message also says whether more are left.
    fn message(self, step: u32, from: usize, going: &mut Vec<Entry>) -> Message {
        let room = load::message_blocks(self.bits, step) as usize;
        let mut contents = Vec::with_capacity(room * self.entry_bytes + 1);
        for entry in going.drain(..going.len().min(room)) {
            contents.extend_from_slice(&entry);
        }
        contents.resize(room * self.entry_bytes, 0);
        contents.push(u8::from(!going.is_empty()));
        let [from, to] = [from, from ^ 1 << step].map(|place| Processor(place as u32));
        Message { from, to, contents }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::SharedMemory;
    use crate::testing::finish_now;
    use core::convert::Infallible;

    fn route(bits: u32, destinations: &[u64]) -> (Vec<Vec<u64>>, u64) {
        let butterfly = Butterfly { bits, leaf_bits: 3, entry_bytes: HEADER_BYTES + 1 };
        let mut at: Vec<Vec<Entry>> = (0..1 << bits)
            .map(|from: usize| {
                let to = destinations.get(from).copied();
                to.map(|to| entry(BlockId(from as u64), Leaf(to << 3 | 5), &[from as u8]))
                    .into_iter()
                    .collect()
            })
            .collect();
        let network = SharedMemory::<Infallible>::new();
        let too_short = finish_now(butterfly.route(&network, &mut at)).unwrap();
        let blocks = |entries: &Vec<Entry>| {
            let mut blocks: Vec<u64> =
                entries.iter().filter_map(|entry| contents(entry)).map(|(block, _, _)| block.0).collect();
            blocks.sort_unstable();
            blocks
        };
        (at.iter().map(blocks).collect(), too_short)
    }

    #[test]
    fn every_block_comes_to_the_processor_of_its_leaf() {
        for bits in 0..4u32 {
            let processors = 1u64 << bits;
            for seed in 0..200u64 {
                let destinations: Vec<u64> = (0..processors)
                    .map(|from| (seed + 1).wrapping_mul(from.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1) >> 40)
                    .map(|draw| draw % processors)
                    .collect();
                let (at, too_short) = route(bits, &destinations);
                assert_eq!(too_short, 0);
                for (here, blocks) in (0..).zip(&at) {
                    let due = (0..processors).filter(|from| destinations[*from as usize] == here);
                    assert!(due.eq(blocks.iter().copied()), "{bits} bits, {destinations:?}: {at:?}");
                }
            }
        }
    }

    #[test]
    fn blocks_that_find_no_room_in_a_message_follow_in_another_one() {
        // What no draw of leaves brings about: all go to one processor.
        let (at, too_short) = route(7, &[0; 128]);
        assert!(too_short > 0);
        assert!(at[0].iter().copied().eq(0..128) && at[1..].iter().all(Vec::is_empty));
    }
}
