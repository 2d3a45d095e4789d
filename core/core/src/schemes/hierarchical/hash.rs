//! The hash function of a level: SipHash-2-4, a pseudorandom function, under a key that each rebuild draws.

use crate::types::BlockId;
use core::hash::Hasher;
use rand_core::RngCore;
use siphasher::sip::SipHasher24;

/// h: the bucket of each block in a table. The key is secret, and belongs to one building of the table.
#[derive(Clone, Copy)]
pub(super) struct HashFunction {
    key: [u64; 2],
    mask: u64,
}

impl HashFunction {
    /// Draws a function to this many buckets, a power of two.
    pub(super) fn draw(buckets: u64, random: &mut impl RngCore) -> Self {
        HashFunction { key: [random.next_u64(), random.next_u64()], mask: buckets - 1 }
    }

    /// h(v).
    pub(super) fn bucket(&self, block: BlockId) -> u64 {
        let mut hasher = SipHasher24::new_with_keys(self.key[0], self.key[1]);
        hasher.write_u64(block.0);
        hasher.finish() & self.mask
    }
}
