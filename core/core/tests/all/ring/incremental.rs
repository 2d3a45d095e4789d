//! A Ring ORAM whose state is written down bit by bit is, taken up again, the one that went on.

use super::setup::*;
use crate::delta_copy::DeltaCopy;
use crate::snapshots::read_whatever_comes;
use ameles_core::snapshot::full::FullSnapshot;
use ameles_core::testing::ArrayModel;
use proptest::prelude::*;
use proptest::sample::Index;

fn bytes(ring: &FlatRing<'_>) -> Vec<u8> {
    borsh::to_vec(&ring.snapshot().expect("nothing is in flight")).expect("bytes")
}

proptest! {
    #[test]
    fn a_ring_oram_that_was_written_down_bit_by_bit_is_the_one_that_went_on(
        (parameters, batches) in with_batches(small()), order in order(), seed: u64, every in 1usize..8,
    ) {
        let store = store_for(&parameters);
        let ring = flat_ring(&parameters, &store, seed);
        let mut model = ArrayModel::new(parameters.capacity, parameters.block_bytes as usize);
        let mut delta_copy = DeltaCopy::begin(&ring, &parameters);
        for batches in batches.chunks(every) {
            interleave(&ring, &store, &mut model, batches, &order);
            delta_copy.write(&ring);
        }
        let copy = store_for(&parameters);
        copy.set_contents(&store.contents());
        let other: FlatRing<'_> =
            delta_copy.resume(parameters, (&copy, rng(!seed)), |_| {}).expect("a sound state");
        prop_assert_eq!(bytes(&other), bytes(&ring));
        assert_nothing_lost(&other, &mut model);
    }

    #[test]
    fn no_word_of_a_written_state_makes_ring_oram_panic(
        (parameters, batches) in with_batches(small()), order in order(), seed: u64, at: Index, change in 1u32..,
    ) {
        let store = store_for(&parameters);
        let ring = flat_ring(&parameters, &store, seed);
        let mut model = ArrayModel::new(parameters.capacity, parameters.block_bytes as usize);
        let mut delta_copy = DeltaCopy::begin(&ring, &parameters);
        interleave(&ring, &store, &mut model, &batches, &order);
        delta_copy.write(&ring);
        let corrupt = |words: &mut Vec<u32>| {
            let at = at.index(words.len());
            words[at] ^= change;
        };
        let resumed: Result<FlatRing<'_>, _> = delta_copy.resume(parameters, (&store, rng(seed)), corrupt);
        if let Ok(ring) = resumed {
            read_whatever_comes(&ring);
        }
    }
}
