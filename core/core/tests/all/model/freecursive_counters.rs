//! The compressed PosMap of Freecursive ORAM: answers across group remaps, and what its counters are worth.

use super::freecursive::{Processor, counted, parameters, with_path};
use super::setup::*;
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::schemes::freecursive::{
    AddressSpace, FreecursiveOram, FreecursiveParameters, NextPath, PositionStorage, TrustedHits,
};
use ameles_core::testing::{ArrayModel, Operation, TraceStore, exercise, finish_now, settle};
use ameles_core::types::{BlockId, Bucket};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;

/// A single level of PosMap blocks, whose counters of 3 bits are used up after 3 accesses.
fn one_level(capacity: u64, tags: bool) -> FreecursiveParameters {
    let base = parameters(capacity, 1, TrustedHits::ReadThePath);
    let (labels, trusted_positions) = (base.labels, capacity.div_ceil(u64::from(base.labels)));
    let blocks = FreecursiveParameters::tree_capacity(capacity, labels, trusted_positions);
    let base = with_path(base, |path| path.capacity = blocks);
    counted(FreecursiveParameters { trusted_positions, look_aside: 2, ..base }, 0, tags)
}

/// Up to two levels of PosMap blocks, and counters that are used up long before they should.
fn few_bits() -> impl Strategy<Value = FreecursiveParameters> {
    let hits = prop_oneof![
        Just(TrustedHits::ReadThePath),
        Just(TrustedHits::StashAnswers),
        Just(TrustedHits::SaveThePath),
        Just(TrustedHits::AnswerAtOnce),
    ];
    (3u64..60, hits, 0usize..3, any::<bool>(), 3u32..7).prop_map(|(capacity, hits, ways, tags, bits)| {
        let (look_aside, look_aside_ways) = [(1, 1), (4, 1), (6, 3)][ways];
        let hits = if tags { TrustedHits::ReadThePath } else { hits };
        let base = counted(parameters(capacity, 2, hits), 0, tags);
        let positions = PositionStorage::Counters { bits, tags };
        FreecursiveParameters { look_aside, look_aside_ways, positions, ..base }
    })
}

fn with_any_bits<'a>(
    parameters: &FreecursiveParameters,
    store: &'a TraceStore,
    seed: u64,
) -> FreecursiveOram<&'a TraceStore, ChaCha8Rng> {
    FreecursiveOram::with_any_bits(parameters.clone(), Bucket(0), store, rng(seed)).unwrap()
}

proptest! {
    #[test]
    fn groups_that_are_remapped_all_the_time_answer_like_an_array_without_a_path_out_of_turn(
        (parameters, batches) in (3u64..40, any::<bool>()).prop_flat_map(|(capacity, tags)| {
            (Just(one_level(capacity, tags)), batches(capacity))
        }),
        seed: u64,
        eager: bool,
    ) {
        let PositionStorage::Counters { bits, .. } = parameters.positions else { panic!() };
        assert_eq!(bits, 3);
        let store = TraceStore::new(parameters.tree.layout());
        let oram = FreecursiveOram::new(parameters.clone(), Bucket(0), &store, rng(seed)).unwrap();
        exercise(&oram, &batches, eager);
    }

    /// Counters with too few bits force some group remaps out of turn. The answers are still right.
    #[test]
    fn counters_of_too_few_bits_answer_like_an_array(
        (parameters, batches) in few_bits().prop_flat_map(|p| (Just(p.clone()), batches(p.capacity))),
        seed: u64,
    ) {
        let store = TraceStore::new(parameters.tree.layout());
        let oram = with_any_bits(&parameters, &store, seed);
        let mut model = ArrayModel::new(oram.capacity(), oram.block_bytes());
        finish_now(async {
            for batch in &batches {
                model.batch(&oram, batch).await;
                settle(&oram).await;
            }
            model.read_all(&oram).await;
        });
        assert_eq!(oram.tree().emergencies(), 0, "the stash has room");
    }

    /// A driver that gives each group its turn needs no bits more than a group needs alone: nothing is ever refused.
    #[test]
    fn blocks_that_are_out_while_their_groups_are_remapped_come_back(
        (parameters, steps) in few_bits().prop_flat_map(|p| {
            let capacity = p.capacity;
            (Just(p), prop::collection::vec((0..capacity.min(7), any::<u8>()), 1..250))
        }),
        seed: u64,
    ) {
        let store = TraceStore::new(parameters.tree.layout());
        let mut processor = Processor::new(with_any_bits(&parameters, &store, seed), parameters.capacity);
        steps.into_iter().for_each(|(block, value)| processor.step(block, value));
    }
}

#[test]
fn a_block_is_refused_without_a_change_until_the_stragglers_of_its_group_have_had_their_turns() {
    let parameters = one_level(6, true);
    let store = TraceStore::new(parameters.tree.layout());
    let oram = FreecursiveOram::new(parameters, Bucket(0), &store, rng(1)).unwrap();
    let settle = || finish_now(settle(&oram));
    let access = |block| {
        settle();
        while let NextPath::PosMap(lacking) = oram.next(BlockId(block)).unwrap() {
            finish_now(oram.fetch(lacking)).unwrap();
            settle();
        }
        finish_now(oram.access_block(BlockId(block), |payload| payload[0] += 1))
    };
    // The first three accesses use the counter of block 0 up. The fourth leaves blocks 1 and 2 behind.
    for block in [1, 2, 0, 0, 0, 0, 0, 0] {
        access(block).unwrap();
    }
    store.take_trace();
    assert!(matches!(access(0), Err(OramError::Backlogged)));
    // A position that is computed may change before the block comes in.
    assert!(matches!(oram.remap_ahead(BlockId(0)), Err(OramError::Contradiction(_))));
    let turn = || {
        settle();
        finish_now(oram.remap_straggler(BlockId(0))).unwrap()
    };
    assert_eq!([turn(), turn(), turn()], [true, true, false]);
    access(0).unwrap();
    settle();
    let mut read = [0; 13];
    finish_now(oram.access(&mut [Access::Read(BlockId(0), &mut read)])).unwrap();
    assert_eq!(read[0], 7, "what was refused was not served");
    assert_eq!(oram.emergencies(), 0);
}

#[test]
fn a_group_remap_out_of_turn_is_counted() {
    let base = counted(parameters(50, 0, TrustedHits::ReadThePath), 0, false);
    let positions = PositionStorage::Counters { bits: 2, tags: false };
    let few = FreecursiveParameters { positions, ..base };
    let store = TraceStore::new(few.tree.layout());
    let oram = with_any_bits(&few, &store, 1);
    let mut model = ArrayModel::new(50, 13);
    finish_now(async {
        for nth in 0..200 {
            model.batch(&oram, &[Operation::Write(BlockId(nth % 7), nth as u8)]).await;
            settle(&oram).await;
        }
    });
    assert!(oram.emergencies() > 0);
}

/// Half of the tree's buckets of four blocks of 64 bytes full. A PosMap block has 16 positions of 4 bytes, or 32
/// counters of 14 bits.
#[test]
fn a_compressed_posmap_has_a_level_less_or_a_smaller_table() {
    let space = |level: u32, has_counters: bool, kilobytes: u64| {
        let (labels, entry_bytes) = if has_counters { (32, 8) } else { (16, 4) };
        let space = AddressSpace::new(4 << level, labels, kilobytes * 1024 / entry_bytes);
        let map_blocks = space.blocks_of(space.maps()).end - (4 << level);
        let bytes = 64.0 * map_blocks as f64 / f64::from(4 << level);
        (space.maps(), space.trusted() * entry_bytes, (10.0 * bytes).round())
    };
    let levels = |has_counters, kilobytes| [20, 25].map(|level| space(level, has_counters, kilobytes).0);
    assert_eq!((levels(false, 32), levels(true, 32)), ([3, 4], [2, 3]));
    assert_eq!((levels(false, 8), levels(true, 8)), ([3, 4], [3, 4]));
    assert_eq!([20, 25].map(|level| space(level, false, 32).1), [4 << 10, 8 << 10]);
    assert_eq!([20, 25].map(|level| space(level, true, 8).1), [1 << 10; 2]);
    assert_eq!(
        [20, 25].map(|level| (space(level, false, 32).2, space(level, true, 32).2)),
        [(43.0, 21.0); 2]
    );
    assert_eq!([1, 2, 3, 4].map(|maps| FreecursiveParameters::min_bits(maps, 32)), [6, 10, 11, 11]);
}
