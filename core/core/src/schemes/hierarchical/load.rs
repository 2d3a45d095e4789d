//! The load of hash tables: how many blocks are in one bucket.

use core::f64::consts::LN_2;

/// The probability that a table cannot be built is below 2 to the power of minus this.
pub(super) const SAFETY_BITS: f64 = 80.0;

/// The log2 of a bound on the probability that any of these buckets gets more than `slots` of these blocks. The bound
/// is Chernoff's and Hoeffding's for a bucket, times the number of buckets. It is `e^(-n D(k/n, p))` for k or more of n
/// blocks with chance p each, where D is the relative entropy.
pub fn overflow_log2(blocks: u64, buckets: u64, slots: u32) -> f64 {
    if u64::from(slots) >= blocks {
        return f64::NEG_INFINITY;
    }
    let (n, k, p) = (blocks as f64, f64::from(slots) + 1.0, 1.0 / buckets as f64);
    if k <= n * p {
        return 0.0;
    }
    let outside = match k < n {
        true => (n - k) * (libm::log1p(-k / n) - libm::log1p(-p)),
        false => 0.0,
    };
    let entropy = k * libm::log(k / (n * p)) + outside;
    (libm::log(buckets as f64) - entropy) / LN_2
}

/// The fewest slots of a bucket that make the probability as small as it is to be.
pub(super) fn slots_for(blocks: u64, buckets: u64) -> u32 {
    let (mut too_few, mut enough) = (0, u32::try_from(blocks).unwrap_or(u32::MAX));
    while too_few + 1 < enough {
        let slots = too_few + (enough - too_few) / 2;
        match overflow_log2(blocks, buckets, slots) < -SAFETY_BITS {
            true => enough = slots,
            false => too_few = slots,
        }
    }
    enough
}
