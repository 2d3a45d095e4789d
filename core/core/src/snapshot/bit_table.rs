//! A table of bits over words, whose changes are recorded word by word.

use crate::snapshot::word_table::WordTable;
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize, io};

const WORD_BITS: usize = 32;

/// Bits, 32 to a word of the table.
#[derive(Clone)]
pub(crate) struct BitTable {
    bits: usize,
    pub(crate) words: WordTable,
}

impl BitTable {
    /// A table of `bits` zeros.
    pub(crate) fn zeros(bits: usize) -> Self {
        BitTable::of(bits, WordTable::zeros(BitTable::words_for(bits as u64) as usize))
    }

    /// The table of these words, `bits` long.
    pub(crate) fn of(bits: usize, words: WordTable) -> Self {
        BitTable { bits, words }
    }

    /// The number of words that this many bits take.
    pub(crate) fn words_for(bits: u64) -> u64 {
        bits.div_ceil(WORD_BITS as u64)
    }

    /// The number of bits.
    pub(crate) fn len(&self) -> usize {
        self.bits
    }

    /// A bit.
    pub(crate) fn get(&self, bit: usize) -> bool {
        self.words.words()[bit / WORD_BITS] >> (bit % WORD_BITS) & 1 == 1
    }

    /// Sets a bit.
    pub(crate) fn set(&mut self, bit: usize) {
        let word = self.words.words()[bit / WORD_BITS];
        self.words.set(bit / WORD_BITS, word | 1 << (bit % WORD_BITS));
    }
}

/// A list of booleans.
impl BorshSerialize for BitTable {
    fn serialize<W: io::Write>(&self, writer: &mut W) -> io::Result<()> {
        (0..self.bits).map(|bit| self.get(bit)).collect::<Vec<bool>>().serialize(writer)
    }
}

impl BorshDeserialize for BitTable {
    fn deserialize_reader<R: io::Read>(reader: &mut R) -> io::Result<Self> {
        let bits = Vec::<bool>::deserialize_reader(reader)?;
        let word = |bits: &[bool]| (0..).zip(bits).map(|(at, bit)| u32::from(*bit) << at).sum();
        Ok(BitTable::of(bits.len(), WordTable::of(bits.chunks(WORD_BITS).map(word).collect())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_are_written_down_as_booleans(bits in prop::collection::vec(any::<bool>(), 0..100)) {
            let mut table = BitTable::zeros(bits.len());
            for (at, _) in bits.iter().enumerate().filter(|(_, bit)| **bit) {
                table.set(at);
            }
            let written = borsh::to_vec(&table).unwrap();
            prop_assert_eq!(&written, &borsh::to_vec(&bits).unwrap());
            let again: BitTable = borsh::from_slice(&written).unwrap();
            prop_assert_eq!(again.words.words(), table.words.words());
        }
    }
}
