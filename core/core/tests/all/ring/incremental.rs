//! A Ring ORAM whose state is written as changes is, taken up again, the one that continued.

use super::setup::*;
use crate::conformance::delta_copy::DeltaCopy;
use crate::conformance::snapshots::bytes;
use ameles_core::testing::ArrayModel;
use proptest::prelude::*;

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
        let other: FlatRing<_> =
            delta_copy.resume(parameters, (&copy, rng(!seed)), |_| {}).expect("a sound state");
        prop_assert_eq!(bytes(&other), bytes(&ring));
        assert_nothing_lost(&other, &mut model);
    }
}
