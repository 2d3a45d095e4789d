//! Helpers for tests of parameters.

use alloc::string::ToString;
use core::fmt::{Debug, Display};

/// The beginning of the message that refuses parameters, and the change that makes them refused.
pub type Refusal<P> = (&'static str, fn(&mut P));

/// Checks that parameters are valid, and that each change of them is refused. The message must begin with the name and
/// the value that are out of range.
///
/// # Panics
/// If they are not valid, valid after a change, or refused otherwise.
pub fn check_refusals<P: Clone, E: Display>(
    valid: &P,
    validate: impl Fn(&P) -> Result<(), E>,
    refusals: &[Refusal<P>],
) {
    assert!(validate(valid).is_ok(), "the parameters are refused before a change");
    for (expected, change) in refusals {
        let message = refusal(valid, &validate, change).to_string();
        let rest = message.strip_prefix(expected);
        assert!(rest.is_some_and(|rest| !rest.starts_with(char::is_numeric)), "{expected}: {message}");
    }
}

/// Checks refusals as [`check_refusals`](crate::testing::parameters::check_refusals) does: those of the bounds of
/// batches, which the parameters of every scheme have, and others.
#[macro_export]
macro_rules! check_refusals {
    ($valid:expr $(, $refusal:expr)* $(,)?) => {
        $crate::testing::parameters::check_refusals(&$valid, |parameters| parameters.validate(), &[
            ("capacity is 0", |parameters| parameters.capacity = 0),
            ("block_bytes is 16777217", |parameters| parameters.block_bytes = (1 << 24) + 1),
            ("max_batch is 0", |parameters| parameters.max_batch = 0),
            $($refusal),*
        ])
    };
}

/// Makes the test that parameters out of range are refused by name, by the macro `check_refusals`.
#[macro_export]
macro_rules! test_refusals {
    ($valid:expr $(, $refusal:expr)* $(,)?) => {
        #[test]
        fn parameters_out_of_range_are_refused_by_name() {
            $crate::check_refusals!($valid $(, $refusal)*);
        }
    };
}

/// Makes the tests of a tree's parameters: [`check_plans`] with these lengths of paths, and [`check_refusals!`] with
/// those of the levels of a tree.
#[cfg(test)]
macro_rules! test_tree_parameters {
    ($parameters:ident, $paths:expr $(, $refusal:expr)* $(,)?) => {
        mod tests {
            use super::$parameters;
            use crate::testing::parameters::check_plans;
            use crate::types::Level;

            #[test]
            fn planned_parameters_are_valid_at_every_size_and_more_trust_never_makes_a_path_longer() {
                let validate = $parameters::validate;
                check_plans($parameters::for_capacity, validate, $parameters::path_buckets, $paths);
            }

            #[test]
            fn each_parameter_out_of_range_is_refused_by_name() {
                crate::check_refusals!(
                    $parameters::for_capacity(4096, 64, 512, 16).unwrap(),
                    ("leaf_level is 32", |parameters| parameters.leaf_level = Level(32)),
                    ("top is", |parameters| parameters.top = Level(parameters.leaf_level.0 + 1)),
                    $($refusal),*
                );
            }
        }
    };
}
#[cfg(test)]
pub(crate) use test_tree_parameters;

/// Returns the reason why parameters are refused after a change.
///
/// # Panics
/// If they are valid.
pub fn refusal<P: Clone, E>(
    valid: &P,
    validate: impl FnOnce(&P) -> Result<(), E>,
    change: impl FnOnce(&mut P),
) -> E {
    let mut changed = valid.clone();
    change(&mut changed);
    match validate(&changed) {
        Err(refusal) => refusal,
        Ok(()) => panic!("the changed parameters are valid"),
    }
}

/// Plans parameters for a capacity, a block size, a number of trusted blocks and a largest batch.
type Plan<P, E> = fn(u64, u32, u64, u32) -> Result<P, E>;

/// Checks planned parameters. They are valid for capacities, numbers of trusted blocks and largest batches from the
/// least to the greatest, and nothing is planned beyond these. More trusted blocks never make the paths of 2^20 blocks
/// longer: they have these lengths.
///
/// # Panics
/// If a check fails.
pub fn check_plans<P: Debug, E: Debug>(
    plan: Plan<P, E>,
    validate: fn(&P) -> Result<(), E>,
    path_buckets: fn(&P) -> usize,
    paths: [usize; 5],
) {
    let capacities = (1..70).chain([1000, 4096, 16_384, 100_000, 1 << 20, 1 << 28, u64::from(u32::MAX)]);
    for capacity in capacities {
        for (share, max_batch) in
            [4, 8, 32, 1000].into_iter().flat_map(|share| [1, 16, 1024].map(|max| (share, max)))
        {
            let planned = plan(capacity, 64, capacity / share, max_batch).expect("there are such parameters");
            validate(&planned).unwrap_or_else(|refusal| panic!("{planned:?}: {refusal:?}"));
        }
    }
    for (capacity, block_bytes, max_batch) in
        [(0, 64, 1), (u64::MAX, 64, 1), (1, u32::MAX, 1), (1, 64, 0), (1, 64, u32::MAX)]
    {
        assert!(plan(capacity, block_bytes, 0, max_batch).is_err(), "{capacity} {block_bytes} {max_batch}");
    }
    let planned = [0, 100, 1000, 1 << 15, 1 << 30]
        .map(|trusted| path_buckets(&plan(1 << 20, 64, trusted, 1).expect("there are such parameters")));
    assert_eq!(planned, paths);
}
