//! The small tree of ρ, before a plain array.

use super::setup::*;
use ameles_core::oram::{Oram, OramError};
use ameles_core::schemes::path::{BucketsByLevel, TreeTopParameters};
use ameles_core::schemes::rho::{EvictedBlock, SmallTree, SmallTreeParameters, SmallTreeParametersError};
use ameles_core::testing::{TraceEntry, TraceStore, TraceStoreError, finish_now, settle};
use ameles_core::types::{BlockId, Bucket, Level};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

type Small<'a> = SmallTree<&'a TraceStore, ChaCha8Rng>;

/// Six tags in sets of two, buckets of two, and two blocks on their way out.
fn parameters(top: u32) -> SmallTreeParameters {
    let tree = BucketsByLevel::uniform(lone_path(8, 2, 3)).unwrap().with(&[(Level(0), Level(3), 2)]).unwrap();
    SmallTreeParameters { sets: 3, ways: 2, tree, tree_top: TreeTopParameters { levels: top, ways: None } }
}

fn small(parameters: &SmallTreeParameters, store: &TraceStore) -> Result<(), OramError<TraceStoreError>> {
    let small = SmallTree::new(parameters, Bucket(0), store, rng(1)).unwrap();
    for block in 0..100 {
        finish_now(settle(small.tree()));
        let leaving = small.put_in(BlockId(block), &[0; 2])?;
        assert_eq!(leaving.map(|leaving| leaving.block().0), block.checked_sub(6));
    }
    Ok(())
}

/// A block in the small tree or in the array, and an answer from the trusted side if that is allowed.
fn step(
    small: &Small<'_>,
    array: &mut BTreeMap<u64, [u8; 2]>,
    block: u64,
    seed: u8,
    at_once: bool,
) -> Vec<u8> {
    finish_now(settle(small.tree()));
    let (id, mut found) = (BlockId(block), Vec::new());
    let serve = |payload: &mut [u8], found: &mut Vec<u8>| {
        found.extend_from_slice(payload);
        payload.copy_from_slice(&[seed, block as u8]);
    };
    if !small.holds(id) {
        let mut payload = array.remove(&block).unwrap_or_default();
        serve(&mut payload, &mut found);
        let leaving: Option<EvictedBlock> = small.put_in(id, &payload).unwrap();
        if let Some(leaving) = leaving {
            let mut taken = [0; 2];
            let take = |payload: &mut [u8]| taken.copy_from_slice(payload);
            if !(at_once && small.take_trusted_out(leaving, take).unwrap()) {
                finish_now(small.take_out(leaving, |payload| taken.copy_from_slice(payload))).unwrap();
            }
            array.insert(leaving.block().0, taken);
        }
    } else if !at_once || small.answer(id, |payload| serve(payload, &mut found)).unwrap().is_none() {
        finish_now(small.access(id, |payload| serve(payload, &mut found))).unwrap();
    }
    found
}

proptest! {
    #[test]
    fn a_small_tree_before_an_array_answers_like_the_array(
        steps in prop::collection::vec((0u64..20, any::<u8>(), any::<bool>()), 1..200),
        top in 0u32..3,
    ) {
        let parameters = parameters(top);
        let store = TraceStore::new(parameters.tree.layout());
        let small = SmallTree::new(&parameters, Bucket(0), &store, rng(1)).unwrap();
        let (mut array, mut model) = (BTreeMap::new(), BTreeMap::new());
        for (block, seed, at_once) in steps {
            let found = step(&small, &mut array, block, seed, at_once);
            let expected = model.insert(block, vec![seed, block as u8]);
            prop_assert_eq!(found, expected.unwrap_or(vec![0; 2]));
            prop_assert!(array.len() + 6 >= model.len() && !array.contains_key(&block), "it is exclusive");
        }
    }
}

#[test]
fn a_hit_a_block_that_leaves_and_a_dummy_show_a_path_and_a_block_that_comes_shows_nothing() {
    let parameters = parameters(0);
    let store = TraceStore::new(parameters.tree.layout());
    let small = SmallTree::new(&parameters, Bucket(0), &store, rng(1)).unwrap();
    let shown = |operation: &dyn Fn()| {
        finish_now(settle(small.tree()));
        store.take_trace();
        operation();
        let trace = store.take_trace();
        trace
            .iter()
            .map(|entry| matches!(entry, TraceEntry::Read(slots) if slots.len() == 4))
            .collect::<Vec<_>>()
    };
    assert_eq!(shown(&|| assert_eq!(small.put_in(BlockId(1), &[1; 2]).unwrap(), None)), []);
    assert_eq!(shown(&|| finish_now(small.access(BlockId(1), |_| ())).unwrap()), [true]);
    assert_eq!(shown(&|| finish_now(small.dummy()).unwrap()), [true]);
    small.put_in(BlockId(4), &[4; 2]).unwrap();
    let leaving = small.put_in(BlockId(7), &[7; 2]).unwrap().expect("its set is full");
    assert_eq!(leaving.block(), BlockId(1));
    assert_eq!(shown(&|| finish_now(small.take_out(leaving, |_| ())).unwrap()), [true]);
    assert!(!small.holds(BlockId(1)) && small.holds(BlockId(4)));
}

#[test]
fn what_makes_no_small_tree_or_does_not_fit_it_is_refused() {
    let good = parameters(0);
    let store = TraceStore::new(good.tree.layout());
    let refused = |change: fn(&mut SmallTreeParameters)| {
        let mut bad = good.clone();
        change(&mut bad);
        SmallTree::new(&bad, Bucket(0), &store, rng(1)).err().expect("it is refused").to_string()
    };
    assert!(refused(|p| p.sets = 0).contains("sets of the tags"));
    assert!(refused(|p| p.ways = 3).contains("too small for 9 tags"));
    assert!(refused(|p| p.tree_top.levels = 9).contains("levels of the tree top"));
    let held = [0, 3, 6].map(|block| (BlockId(block), ameles_core::types::Leaf(0)));
    let filled = SmallTree::over_filled_store(&good, &held, Bucket(0), &store, rng(1)).err();
    assert_eq!(filled, Some(SmallTreeParametersError::Held { block: 6 }));
    // Two blocks may be on their way out, and no third.
    assert!(matches!(small(&good, &store), Err(OramError::Contradiction(_))));
    let small = SmallTree::new(&good, Bucket(0), &store, rng(1)).unwrap();
    assert!(matches!(finish_now(small.access(BlockId(0), |_| ())), Err(OramError::Contradiction(_))));
    assert!(small.has_room() && small.tree().pending_steps() == 0);
}
