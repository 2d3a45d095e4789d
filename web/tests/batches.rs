//! More than one access at a time, and the rounds of the parallel RAM.

mod common;

use ameles_web::catalogue::{MAX_BATCH, MIN_BLOCKS, SCHEMES};
use ameles_web::instance::{PositionMapKind, Setting};
use ameles_web::phase::Phase;
use ameles_web::picture::Picture;
use ameles_web::simulation::{Simulation, StepResult, VisibleOperation, read, write};
use ameles_web::stepped_scheme::Batch;
use common::settle;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

fn simulation(scheme: &str, capacity: u64, batch: u32) -> Simulation {
    let map = PositionMapKind::Trusted;
    let instance = Simulation::new(scheme, Setting { capacity, seed: 7, batch, map }, false);
    instance.unwrap_or_else(|error| panic!("{scheme} of {capacity}, {batch} at a time: {error}"))
}

/// Runs a batch, and all work pending after it.
fn handle(simulation: &mut Simulation, batch: &Batch) -> Vec<StepResult> {
    simulation.request_batch(batch.clone()).expect("the blocks are there");
    settle(simulation)
}

/// A batch at random, a third of which reads, a third writes, and a third is empty.
fn at_random(random: &mut ChaCha8Rng, capacity: u64, length: u32) -> Batch {
    (0..length)
        .map(|_| {
            let block = random.next_u64() % capacity;
            [Some(read(block)), Some(write(block, random.next_u32())), None][random.next_u32() as usize % 3]
        })
        .collect()
}

#[test]
fn every_scheme_answers_a_batch_as_an_array_does_one_access_after_the_other() {
    for scheme in SCHEMES {
        for (capacity, length) in [(MIN_BLOCKS, 2), (MIN_BLOCKS, MAX_BATCH), (33, 4), (300, 8)] {
            let mut random = ChaCha8Rng::seed_from_u64(capacity);
            let mut array = vec![0; capacity as usize];
            let mut simulation = simulation(scheme.name, capacity, length);
            for _ in 0..30 {
                let batch = at_random(&mut random, capacity, length);
                let mut expected = Vec::new();
                for request in &batch {
                    let block = request.map(|request| request.block.0 as usize);
                    expected.push(match (block, request.and_then(|request| request.write)) {
                        (Some(block), Some(number)) => {
                            array[block] = number;
                            None
                        }
                        (block, _) => block.map(|block| array[block]),
                    });
                }
                let results = handle(&mut simulation, &batch);
                let answered: Vec<_> = results.iter().filter(|result| !result.answers.is_empty()).collect();
                assert_eq!(answered.len(), 1, "{} of {capacity}", scheme.name);
                assert_eq!(answered[0].answers, expected, "{} of {capacity}: {batch:?}", scheme.name);
            }
        }
    }
}

#[test]
fn a_batch_that_is_too_long_or_empty_is_refused_with_what_to_do() {
    let mut simulation = simulation("path", 16, 2);
    for batch in [vec![], vec![Some(read(0)); 3]] {
        let message = simulation.request_batch(batch).expect_err("it is refused");
        assert!(message.contains("choose from 1 to 2"), "{message}");
    }
    let setting = |batch| Setting { capacity: 16, seed: 1, batch, map: PositionMapKind::Trusted };
    let message = Simulation::new("path", setting(9), false).err();
    assert!(message.is_some_and(|message| message.contains("choose from 1 to 8")));
    let three = Simulation::new("parallel", setting(3), false).err();
    assert!(three.is_some_and(|message| message.contains("power of two")));
}

fn messages(results: &[StepResult]) -> Vec<&VisibleOperation> {
    results
        .iter()
        .filter_map(|result| result.operation.as_ref())
        .filter(|seen| seen.phase.is_some())
        .collect()
}

#[test]
fn a_round_of_the_parallel_ram_goes_through_its_parts_in_their_order() {
    for processors in [2u32, 4, 8] {
        let (bits, mut random) = (processors.ilog2() as usize, ChaCha8Rng::seed_from_u64(1));
        let sort = bits * (bits + 1) / 2;
        let mut simulation = simulation("parallel", 32, processors);
        for _ in 0..40 {
            let batch = at_random(&mut random, 32, processors);
            let results = handle(&mut simulation, &batch);
            let phases: Vec<Phase> = messages(&results).iter().filter_map(|seen| seen.phase).collect();
            let count = |phase| phases.iter().filter(|found| **found == phase).count();
            let counts =
                [Phase::Sort, Phase::Neighbours, Phase::Spread, Phase::PassOn, Phase::Route, Phase::Back]
                    .map(count);
            assert_eq!(counts, [sort, 1, bits, bits, bits, sort]);
            // If each processor has only paths of its own, neither step shows.
            assert!(count(Phase::Ask) <= 1 && count(Phase::Ask) == count(Phase::Answer));
            assert!(phases.is_sorted_by_key(|phase| *phase as u32), "{phases:?}");
        }
    }
}

#[test]
fn messages_are_as_many_and_as_long_whatever_is_asked_but_for_the_paths() {
    let mut simulation = simulation("parallel", 32, 4);
    let mut seen = Vec::new();
    for batch in [
        vec![Some(write(1, 5)), Some(write(2, 6)), Some(write(3, 7)), Some(write(4, 8))],
        vec![Some(read(3)); 4],
        vec![Some(write(3, 9)), None, Some(read(3)), None],
        vec![Some(read(30))],
    ] {
        let results = handle(&mut simulation, &batch);
        let fixed = |seen: &&&VisibleOperation| !matches!(seen.phase, Some(Phase::Ask | Phase::Answer));
        seen.push(
            messages(&results).iter().filter(fixed).map(|seen| seen.messages.clone()).collect::<Vec<_>>(),
        );
    }
    assert!(seen.iter().all(|messages| messages == &seen[0]));
}

#[test]
fn a_block_is_with_the_processor_of_its_leaf_or_in_its_subtree() {
    let mut simulation = simulation("parallel", 64, 8);
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut in_stashes = 0;
    for _ in 0..60 {
        handle(&mut simulation, &at_random(&mut random, 64, 8));
        let (picture, instance) = (Picture::of(&simulation), simulation.instance());
        let leaves = instance.processors.expect("there are many").leaves;
        for (block, leaf) in (0..).zip(&picture.positions).filter_map(|(block, leaf)| Some((block, (*leaf)?)))
        {
            let owner = leaf / leaves;
            let mut places = Vec::new();
            for held in picture.stash.iter().filter(|held| held.block == block) {
                assert_eq!(held.leaf, Some(leaf));
                places.push(held.processor);
                in_stashes += 1;
            }
            for (entry, _) in picture.blocks.iter().enumerate().filter(|(_, held)| **held == block as i64) {
                let slot = entry as u64 / u64::from(instance.areas[0].entries);
                let area = instance.areas.iter().rfind(|area| area.first_slot <= slot);
                places.push(area.and_then(|area| area.partition));
            }
            assert_eq!(places, [Some(owner)], "block {block}");
        }
    }
    assert!(in_stashes > 0);
}
