//! The compressed PosMap of Freecursive ORAM, section 5: a PosMap block that holds counters, from which leaves are
//! computed.
//!
//! A block holds a group counter GC of 64 bits, and an entry of β bits for each of its X' blocks. Entries are packed
//! from the lowest bit on. An entry is an individual counter IC of β - 1 bits. Above it is the lowest bit of the group
//! counter under which its block got its leaf. That is GC, or GC - 1 for a **straggler**: a block that a group remap
//! has not reached. An IC of 0 stands for a block that was never mapped.
//!
//! So the counter of a block is GC · 2^(β-1) + IC, or with GC - 1 instead of GC. It only grows: an access adds 1 to
//! IC, or lifts a straggler to IC = 1 under GC. The access for which IC has no room left adds 1 to GC, and all other
//! blocks of the group become stragglers.

/// The number of bytes of the group counter.
const GROUP_COUNTER_BYTES: usize = 8;

/// The maximum number of bits of an entry. An entry may begin within a byte, and must fit into 5 bytes.
pub(super) const MAX_BITS: u32 = 32;

/// The counter of a block that was never mapped.
pub(super) const NEVER: u64 = 0;

/// The shape of all PosMap blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Groups {
    labels: u32,
    bits: u32,
}

impl Groups {
    /// Blocks of X' = `labels` entries of β = `bits` bits: 2 to [`MAX_BITS`].
    pub(super) fn new(labels: u32, bits: u32) -> Self {
        Groups { labels, bits }
    }

    /// The maximum number of entries that a PosMap block of this many bytes can hold.
    pub(super) fn max_labels(block_bytes: u64, bits: u32) -> u64 {
        block_bytes.saturating_sub(GROUP_COUNTER_BYTES as u64) * 8 / u64::from(bits.max(1))
    }

    /// The counter of an entry's block.
    pub(super) fn counter(self, group: &[u8], entry: u32) -> u64 {
        let (all, word) = (group_counter(group), self.word(group, entry));
        match self.individual(word) {
            0 => NEVER,
            individual if self.is_current(all, word) => self.join(all, individual),
            individual => self.join(all.wrapping_sub(1), individual),
        }
    }

    /// Gives an entry's block its next counter, and returns it. `None` if a block of the group would be left two group
    /// counters behind; in this case nothing is changed.
    pub(super) fn advance(self, group: &mut [u8], entry: u32) -> Option<u64> {
        let (mut all, word) = (group_counter(group), self.word(group, entry));
        let mut individual = 1;
        if self.individual(word) > 0 && self.is_current(all, word) {
            individual = self.individual(word) + 1;
            if individual == self.span() {
                if self.straggler(group).is_some() {
                    return None;
                }
                (all, individual) = (all.wrapping_add(1), 1);
                group[..GROUP_COUNTER_BYTES].copy_from_slice(&all.to_le_bytes());
            }
        }
        self.set_word(group, entry, (all & 1) * self.span() + individual);
        Some(self.join(all, individual))
    }

    /// Returns whether [`advance`](Self::advance) would refuse.
    pub(super) fn must_wait(self, group: &[u8], entry: u32) -> bool {
        let (all, word) = (group_counter(group), self.word(group, entry));
        let is_last = self.individual(word) == self.span() - 1 && self.is_current(all, word);
        is_last && self.straggler(group).is_some()
    }

    /// The first entry whose block is a straggler.
    pub(super) fn straggler(self, group: &[u8]) -> Option<u32> {
        let all = group_counter(group);
        (0..self.labels).find(|entry| {
            let word = self.word(group, *entry);
            self.individual(word) > 0 && !self.is_current(all, word)
        })
    }

    /// Counters under one group counter.
    fn span(self) -> u64 {
        1 << (self.bits - 1)
    }

    fn individual(self, word: u64) -> u64 {
        word & (self.span() - 1)
    }

    fn is_current(self, all: u64, word: u64) -> bool {
        word >> (self.bits - 1) == all & 1
    }

    fn join(self, all: u64, individual: u64) -> u64 {
        all.wrapping_mul(self.span()).wrapping_add(individual)
    }

    /// The bytes in which an entry lies, and its first bit there.
    fn place(self, entry: u32) -> (core::ops::RangeInclusive<usize>, usize) {
        let (bits, first) = (self.bits as usize, entry as usize * self.bits as usize);
        let byte = |bit: usize| GROUP_COUNTER_BYTES + bit / 8;
        (byte(first)..=byte(first + bits - 1), first % 8)
    }

    fn word(self, group: &[u8], entry: u32) -> u64 {
        let (bytes, first) = self.place(entry);
        window(&group[bytes]) >> first & (2 * self.span() - 1)
    }

    fn set_word(self, group: &mut [u8], entry: u32, word: u64) {
        let (bytes, first) = self.place(entry);
        let bytes = &mut group[bytes];
        let all = window(bytes) & !((2 * self.span() - 1) << first) | word << first;
        bytes.iter_mut().zip(all.to_le_bytes()).for_each(|(byte, new)| *byte = new);
    }
}

fn group_counter(group: &[u8]) -> u64 {
    window(&group[..GROUP_COUNTER_BYTES])
}

fn window(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[test]
    fn a_block_of_64_bytes_holds_32_entries_of_14_bits() {
        assert_eq!((Groups::max_labels(64, 14), Groups::max_labels(63, 14)), (32, 31));
        let (groups, mut group) = (Groups::new(32, 14), vec![0; 64]);
        for entry in 0..32 {
            assert_eq!(groups.counter(&group, entry), NEVER);
            for _ in 0..=entry {
                groups.advance(&mut group, entry).unwrap();
            }
        }
        assert!((0..32).all(|entry| groups.counter(&group, entry) == u64::from(entry) + 1));
    }

    #[test]
    fn a_group_remap_begins_when_a_counter_is_used_up_and_ends_when_no_straggler_is_left() {
        let (groups, mut group) = (Groups::new(3, 3), vec![0; 10]);
        let advance = |group: &mut Vec<u8>, entry| groups.advance(group, entry);
        assert_eq!([0, 1, 1, 1].map(|entry| advance(&mut group, entry)), [1, 1, 2, 3].map(Some));
        assert_eq!(groups.straggler(&group), None);
        // Under GC = 1, counters begin at 5. Block 0 is left behind, and block 2 was never mapped.
        assert_eq!(advance(&mut group, 1), Some(5));
        assert_eq!((groups.straggler(&group), groups.counter(&group, 0)), (Some(0), 1));
        assert_eq!([2, 1, 1].map(|entry| advance(&mut group, entry)), [5, 6, 7].map(Some));
        assert!(groups.must_wait(&group, 1) && !groups.must_wait(&group, 0));
        assert_eq!([1, 0, 1].map(|entry| advance(&mut group, entry)), [None, Some(5), Some(9)]);
        assert_eq!([0, 1, 2].map(|entry| groups.counter(&group, entry)), [5, 9, 5]);
    }

    proptest! {
        /// Counters only grow, and no other entry changes, for any accessed blocks and any turns of stragglers.
        #[test]
        fn no_counter_is_given_twice_and_none_runs_over(
            labels in 2u32..9,
            bits in 2u32..6,
            steps in prop::collection::vec((any::<u32>(), any::<bool>()), 0..400),
        ) {
            let (groups, mut group) = (Groups::new(labels, bits), vec![0; 8 + 9 * 6]);
            let mut counters = vec![NEVER; labels as usize];
            for (entry, turns) in steps {
                let straggler = groups.straggler(&group).filter(|_| turns);
                let entry = straggler.unwrap_or(entry % labels);
                let waits = groups.must_wait(&group, entry);
                let assigned = groups.advance(&mut group, entry);
                prop_assert_eq!(assigned.is_none(), waits);
                if let Some(assigned) = assigned {
                    prop_assert!(assigned > counters[entry as usize]);
                    counters[entry as usize] = assigned;
                }
                let block_of_entry: Vec<u64> = (0..labels).map(|entry| groups.counter(&group, entry)).collect();
                prop_assert_eq!(&block_of_entry, &counters);
            }
        }
    }
}
