//! The secret permutation of permuted memory, for an epoch.

pub(crate) mod oblivious_sort;
pub(crate) mod ordered_record;
pub(crate) mod sampling;

use alloc::vec::Vec;
use rand_core::RngCore;

/// π: the place of each block and of each dummy in the permuted memory.
pub(crate) struct Permutation(Vec<u32>);

impl Permutation {
    /// A uniform permutation of this many places, at most 2^32 (Fisher and Yates): one draw of 64 bits for each.
    pub(crate) fn draw(places: u64, random: &mut impl RngCore) -> Self {
        let mut permutation: Vec<u32> = (0..places).map(|place| place as u32).collect();
        for last in (1..permutation.len()).rev() {
            permutation.swap(last, sampling::below(random, last + 1));
        }
        Permutation(permutation)
    }

    /// π(v).
    pub(crate) fn place(&self, virtual_address: u64) -> u64 {
        self.0[virtual_address as usize].into()
    }

    /// π^-1.
    pub(crate) fn inverse(&self) -> Permutation {
        let mut inverse = alloc::vec![0; self.0.len()];
        for (address, place) in self.0.iter().enumerate() {
            inverse[*place as usize] = address as u32;
        }
        Permutation(inverse)
    }

    /// Returns the trusted memory, in bytes.
    pub(crate) fn trusted_bytes(&self) -> usize {
        self.0.len() * size_of::<u32>()
    }
}
