//! The stores and loads that tests of regions share.

use ameles_pager::region::Region;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::RngCore;

/// Stores at a random place in an even step, and loads from one in an odd step, as in a plain array.
pub(crate) fn store_or_load(
    region: &mut Region,
    expected: &mut [u8],
    step: u64,
    rng: &mut ChaCha12Rng,
    name: &str,
) {
    let at = rng.next_u64() as usize % expected.len();
    let len = (rng.next_u64() as usize % 300).min(expected.len() - at);
    let (memory, expected) = (&mut region.as_mut_slice()[at..at + len], &mut expected[at..at + len]);
    if step.is_multiple_of(2) {
        rng.fill_bytes(expected);
        memory.copy_from_slice(expected);
    } else {
        assert!(memory == expected, "{name}, step {step}");
    }
}
