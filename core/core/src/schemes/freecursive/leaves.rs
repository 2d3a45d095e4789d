//! Leaves that are computed, not drawn: a pseudo-random function of a block and its counter.

use crate::types::{BlockId, Leaf};
use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};

/// The function PRF_K(a || c) mod 2^L of Freecursive ORAM, section 5: AES-128 of the block's number and its counter, 8
/// bytes each, the lowest first. The first 8 bytes of the result count, the lowest first.
///
/// The key is overwritten when it is dropped.
pub struct LeafFunction {
    cipher: Aes128,
    leaves: u64,
}

impl LeafFunction {
    /// The function under a key, for a tree of this many leaves: a power of two.
    ///
    /// # Panics
    /// If the leaves are not a power of two.
    pub fn new(key: &[u8; 16], leaves: u64) -> Self {
        assert!(leaves.is_power_of_two(), "{leaves} leaves");
        LeafFunction { cipher: Aes128::new(key.into()), leaves }
    }

    /// The leaf of a block in the unified address space, under a counter.
    pub fn leaf(&self, block: BlockId, counter: u64) -> Leaf {
        let mut words = aes::Block::default();
        words[..8].copy_from_slice(&block.0.to_le_bytes());
        words[8..].copy_from_slice(&counter.to_le_bytes());
        self.cipher.encrypt_block(&mut words);
        let word = words[..8].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        Leaf(word & (self.leaves - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 197, appendix C.1: AES-128 of 00112233445566778899aabbccddeeff under 000102..0f is 69c4e0d86a7b0430...
    #[test]
    fn a_leaf_is_aes_128_of_block_and_counter() {
        let key = core::array::from_fn(|at| at as u8);
        let (block, counter) = (BlockId(0x7766_5544_3322_1100), 0xffee_ddcc_bbaa_9988);
        let leaf = |leaves| LeafFunction::new(&key, leaves).leaf(block, counter);
        assert_eq!(leaf(1 << 32), Leaf(0xd8e0_c469));
        assert_eq!((leaf(1 << 5), leaf(1)), (Leaf(9), Leaf(0)));
    }
}
