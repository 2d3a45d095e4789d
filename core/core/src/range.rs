//! Ranges of parameters, and the refusal of a value outside of one.

use crate::oram::Bounds;
use crate::types::Level;

/// A parameter that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} is {value}; choose {min} to {max}")]
pub struct OutOfRange {
    /// The parameter's name.
    pub name: &'static str,
    /// The value that was given.
    pub value: u64,
    /// The minimum that is accepted.
    pub min: u64,
    /// The maximum that is accepted.
    pub max: u64,
}

/// √N, rounded up: the size of a part that the papers give for N blocks.
pub(crate) fn root(blocks: u64) -> u64 {
    let root = blocks.isqrt();
    root + u64::from(root * root < blocks)
}

/// Refuses the first value that lies outside of its range. A row is a name, a value, the least and the most.
///
/// # Errors
/// [`OutOfRange`].
pub(crate) fn check(rows: &[(&'static str, u64, u64, u64)]) -> Result<(), OutOfRange> {
    match rows.iter().find(|(_, value, min, max)| !(min..=max).contains(&value)) {
        Some(&(name, value, min, max)) => Err(OutOfRange { name, value, min, max }),
        None => Ok(()),
    }
}

/// Refuses a capacity or a batch that is zero or above its maximum, and blocks of more than 2^24 bytes.
///
/// # Errors
/// [`OutOfRange`].
pub(crate) fn check_bounds(bounds: Bounds, max_capacity: u64, max_batch: u32) -> Result<(), OutOfRange> {
    check(&[
        ("capacity", bounds.capacity, 1, max_capacity),
        ("block_bytes", bounds.block_bytes as u64, 0, 1 << 24),
        ("max_batch", bounds.max_batch as u64, 1, max_batch.into()),
    ])
}

/// Refuses the first parameter of a tree of whole buckets that lies outside of its range. `blocks_per_bucket` comes
/// with the least that works.
///
/// # Errors
/// [`OutOfRange`].
pub(crate) fn check_tree(
    (leaf_level, top): (Level, Level),
    (blocks_per_bucket, min_blocks): (u32, u32),
    bounds: Bounds,
) -> Result<(), OutOfRange> {
    check(&[
        ("leaf_level", leaf_level.0.into(), 0, 31),
        ("top", top.0.into(), 0, leaf_level.0.into()),
        ("blocks_per_bucket", blocks_per_bucket.into(), min_blocks.into(), 64),
    ])?;
    check_bounds(bounds, u32::MAX.into(), 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn the_first_value_out_of_its_range_is_named_with_what_works() {
        let refused = check(&[("a", 1, 1, 1), ("b", 5, 1, 4), ("c", 0, 1, 4)]).unwrap_err();
        assert_eq!(refused.to_string(), "b is 5; choose 1 to 4");
        assert_eq!(check(&[("a", 1, 1, 4), ("b", 4, 1, 4)]), Ok(()));
    }
}
