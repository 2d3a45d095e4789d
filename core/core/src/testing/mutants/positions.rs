//! Position maps that give a leaf twice, or the wrong one.

use super::super::oblivious::observer::draw_below;
use crate::oram::OramError;
use crate::position_map::{Lookup, PositionMap};
use crate::types::Leaf;
use core::cell::RefCell;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// A position map that leaves every block where it is: its leaf is used again.
pub struct NeverRemaps<P>(pub P);

impl<P: PositionMap> PositionMap for NeverRemaps<P> {
    type Error = P::Error;

    async fn remap(&self, lookups: &mut [Lookup]) -> Result<(), OramError<P::Error>> {
        self.0.remap(lookups).await?;
        for lookup in lookups.iter_mut() {
            lookup.new = lookup.old.unwrap_or(lookup.new);
        }
        let mut back = lookups.to_vec();
        self.0.remap(&mut back).await
    }

    fn trusted_bytes(&self) -> usize {
        self.0.trusted_bytes()
    }
}

/// A position map that now and then leaves a block where it is, so that its next access shows the same path again.
pub struct ReusesLeafSometimes<P> {
    map: P,
    per_mille: usize,
    random: RefCell<ChaCha8Rng>,
}

impl<P> ReusesLeafSometimes<P> {
    /// A map that does so in this many of a thousand accesses, drawn from a seed.
    pub fn new(map: P, per_mille: usize, seed: u64) -> Self {
        let random = RefCell::new(ChaCha8Rng::seed_from_u64(!seed));
        ReusesLeafSometimes { map, per_mille, random }
    }

    /// Continues as a map of another seed would begin.
    pub fn reseed(&self, seed: u64) {
        self.random.replace(ChaCha8Rng::seed_from_u64(!seed));
    }

    /// The map that this map spoils.
    pub fn map(&self) -> &P {
        &self.map
    }
}

impl<P: PositionMap> PositionMap for ReusesLeafSometimes<P> {
    type Error = P::Error;

    async fn remap(&self, lookups: &mut [Lookup]) -> Result<(), OramError<P::Error>> {
        self.map.remap(lookups).await?;
        for lookup in lookups.iter_mut() {
            if draw_below(&mut *self.random.borrow_mut(), 1000) < self.per_mille {
                lookup.new = lookup.old.unwrap_or(lookup.new);
            }
        }
        let mut back = lookups.to_vec();
        self.map.remap(&mut back).await
    }

    fn trusted_bytes(&self) -> usize {
        self.map.trusted_bytes()
    }
}

/// A position map under a parallel ORAM that gives a look-up without a block the leaf of the look-up before it. The
/// effect is that of a second request for a block that is not detected.
pub struct RepeatsPaths<P>(pub P);

impl<P: PositionMap> PositionMap for RepeatsPaths<P> {
    type Error = P::Error;

    async fn remap(&self, lookups: &mut [Lookup]) -> Result<(), OramError<P::Error>> {
        self.0.remap(lookups).await?;
        for nth in 1..lookups.len() {
            if lookups[nth].block.is_none() {
                lookups[nth].old = lookups[nth - 1].old;
            }
        }
        Ok(())
    }

    fn trusted_bytes(&self) -> usize {
        self.0.trusted_bytes()
    }
}

/// A position map under a parallel ORAM that gives a block a leaf of the processor that requested it. So its next
/// request reads that processor's own part.
pub struct KeepsToOwnPart<P> {
    map: P,
    /// The number of leaves of a part, as a power of two.
    leaf_bits: u32,
}

impl<P> KeepsToOwnPart<P> {
    /// A map over parts of 2^leaf_bits leaves.
    pub fn new(map: P, leaf_bits: u32) -> Self {
        KeepsToOwnPart { map, leaf_bits }
    }
}

impl<P: PositionMap> PositionMap for KeepsToOwnPart<P> {
    type Error = P::Error;

    async fn remap(&self, lookups: &mut [Lookup]) -> Result<(), OramError<P::Error>> {
        for (processor, lookup) in (0..).zip(lookups.iter_mut()) {
            let within = lookup.new.0 & ((1 << self.leaf_bits) - 1);
            lookup.new = Leaf(processor << self.leaf_bits | within);
        }
        self.map.remap(lookups).await
    }

    fn trusted_bytes(&self) -> usize {
        self.map.trusted_bytes()
    }
}
