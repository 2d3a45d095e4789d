//! Tests of Root ORAM beyond right answers and privacy.

use super::setup::*;
use ameles_core::oram::Oram;
use ameles_core::schemes::path::PathParameters;
use ameles_core::schemes::root::{RootParameters, RootParametersError};
use ameles_core::testing::{ArrayModel, Operation, TraceStore, finish_now};
use ameles_core::types::{BlockId, Level};

fn path() -> PathParameters {
    PathParameters::for_capacity(1 << 10, 1, 0, 1).unwrap()
}

#[test]
fn the_privacy_that_is_asked_for_is_kept_to_and_made_use_of() {
    for subtrees in [0, 1, 4, 7] {
        for epsilon in [0.0, 0.01, 0.5, 1.0, 3.0, 10.0] {
            let parameters = RootParameters::for_epsilon(path(), Level(subtrees), epsilon);
            parameters.validate().unwrap();
            let kept = parameters.epsilon();
            assert!(kept <= epsilon && kept > epsilon - 1e-4, "{kept} for {epsilon} at level {subtrees}");
        }
    }
    for absurd in [-1.0, f64::NAN] {
        assert_eq!(RootParameters::for_epsilon(path(), Level(2), absurd).epsilon(), 0.0);
    }
    let all = RootParameters::for_epsilon(path(), Level(2), f64::INFINITY);
    assert!(all.near == u32::MAX && all.epsilon().is_finite());
}

#[test]
fn without_nearness_it_is_path_oram_to_the_letter() {
    let parameters = RootParameters { path: path(), subtrees: Level(3), near: 0 };
    let traces = [true, false].map(|is_root| {
        let store = TraceStore::new(parameters.path.layout());
        let mut model = ArrayModel::new(1 << 10, 1);
        let batches = (0..300u64).map(|nth| [Operation::Write(BlockId(nth * nth % 1024), nth as u8)]);
        let (root, path) = (root(&parameters, &store, 5), flat_path(&parameters.path, &store, 5));
        for batch in batches {
            match is_root {
                true => finish_now(model.batch(&root, &batch)),
                false => finish_now(model.batch(&path, &batch)),
            }
            finish_now(async { if is_root { root.step().await } else { path.step().await } }).unwrap();
        }
        store.take_trace()
    });
    assert_eq!(traces[0], traces[1]);
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    let leaf_level = path().leaf_level.0;
    let deep = RootParameters { path: path(), subtrees: Level(leaf_level + 1), near: 0 };
    let refusal = RootParametersError::Subtrees { subtrees: leaf_level + 1, leaf_level };
    assert_eq!(deep.validate(), Err(refusal));
    let empty = PathParameters { capacity: 0, ..path() };
    let none = RootParameters { path: empty, subtrees: Level(0), near: 0 };
    assert!(matches!(none.validate(), Err(RootParametersError::Path(_))));
}
