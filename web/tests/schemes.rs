//! Every scheme of the page, one store operation at a time.

mod common;

use ameles_web::area::Area;
use ameles_web::catalogue::{MIN_BLOCKS, SCHEMES};
use ameles_web::host::Host;
use ameles_web::instance::{PositionMapKind, Setting};
use ameles_web::picture::Picture;
use ameles_web::simulation::{Simulation, read, write};
use ameles_web::stepped_scheme::RequestedAccess;
use common::settle;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

fn simulation(scheme: &str, capacity: u64, lazy: bool) -> Simulation {
    let setting = Setting { capacity, seed: 7, batch: 1, map: PositionMapKind::Trusted };
    Simulation::new(scheme, setting, lazy).expect("the scheme can be made")
}

/// Accesses at random, with what an array answers to them.
fn accesses(capacity: u64, count: u32) -> (Vec<(RequestedAccess, Option<u32>)>, Vec<u32>) {
    let mut random = ChaCha8Rng::seed_from_u64(capacity);
    let mut array = vec![0; capacity as usize];
    let mut request = Vec::new();
    for _ in 0..count {
        let block = random.next_u64() % capacity;
        if random.next_u32().is_multiple_of(2) {
            array[block as usize] = random.next_u32();
            request.push((write(block, array[block as usize]), None));
        } else {
            request.push((read(block), Some(array[block as usize])));
        }
    }
    (request, array)
}

#[test]
fn every_scheme_answers_as_an_array_does() {
    for scheme in SCHEMES {
        for (capacity, lazy) in [(MIN_BLOCKS, false), (33, false), (33, true)] {
            let mut simulation = simulation(scheme.name, capacity, lazy);
            for (request, expected) in accesses(capacity, 150).0 {
                simulation.request_access(request).expect("the block is there");
                let answers: Vec<u32> = settle(&mut simulation)
                    .iter()
                    .flat_map(|result| result.answers.iter().flatten().copied())
                    .collect();
                assert_eq!(answers.first().copied(), expected, "{} of {capacity}: {request:?}", scheme.name);
            }
        }
    }
}

#[test]
fn the_same_seed_and_the_same_requests_give_the_same_steps() {
    for scheme in SCHEMES {
        let run = || {
            let mut simulation = simulation(scheme.name, 20, false);
            let mut results = Vec::new();
            for (request, _) in accesses(20, 40).0 {
                simulation.request_access(request).expect("the block is there");
                results.extend(settle(&mut simulation));
            }
            (results, Picture::of(&simulation))
        };
        assert_eq!(run(), run(), "{}", scheme.name);
    }
}

#[test]
fn the_picture_shows_each_number_where_its_newest_copy_is() {
    for scheme in SCHEMES {
        let mut simulation = simulation(scheme.name, 24, false);
        // As many accesses as leave copies in the shelter, and older ones elsewhere.
        let (request, array) = accesses(24, 123);
        for (request, _) in request {
            simulation.request_access(request).expect("the block is there");
            settle(&mut simulation);
        }
        let picture = Picture::of(&simulation);
        let entries = picture.blocks.len() / simulation.instance().memory.contents().slots.len();
        for (block, number) in (0u64..).zip(&array).filter(|(_, number)| **number != 0) {
            let trusted = picture.stash.iter().filter(|held| held.block == block).map(|held| held.number);
            let in_memory = picture.blocks.iter().enumerate().filter(|(entry, held)| {
                **held == block as i64
                    && !picture.old.contains(entry)
                    && !picture.stale.contains(&((entry / entries) as u64))
            });
            let mut shown: Vec<u32> =
                trusted.chain(in_memory.map(|(entry, _)| picture.numbers[entry])).collect();
            // Levels of a hierarchy keep older copies, and each its blocks in a list as well.
            if scheme.name == "hierarchical" {
                shown.retain(|shown| shown == number);
            }
            assert!(
                !shown.is_empty() && shown.iter().all(|shown| shown == number),
                "{}: block {block}",
                scheme.name
            );
        }
    }
}

#[test]
fn a_buffer_that_has_sunk_is_drawn_as_holding_nothing() {
    let mut simulation = simulation("hierarchical", 16, false);
    let mut stale = Vec::new();
    for block in 0..6 {
        simulation.request_access(write(block, 1)).expect("the block is there");
        settle(&mut simulation);
        stale.push(Picture::of(&simulation).stale.len());
    }
    assert_eq!(stale, [3, 2, 1, 4, 3, 2]);
}

#[test]
fn a_block_lies_in_the_partition_that_the_position_map_names_or_in_the_cache() {
    for scheme in ["curious", "oblivistore"] {
        let mut simulation = simulation(scheme, 64, false);
        for (request, _) in accesses(64, 200).0 {
            simulation.request_access(request).expect("the block is there");
            settle(&mut simulation);
            let picture = Picture::of(&simulation);
            let instance = simulation.instance();
            for (block, partition) in (0..).zip(&picture.positions) {
                let holds = |area: &&Area| {
                    let entries = area.entries as usize;
                    let range = area.first_slot as usize * entries
                        ..(area.first_slot + area.all_slots()) as usize * entries;
                    range.into_iter().any(|entry| {
                        let is_stale = picture.stale.contains(&((entry / entries) as u64));
                        picture.blocks[entry] == block && !picture.old.contains(&entry) && !is_stale
                    })
                };
                let held: Vec<Option<u64>> =
                    instance.areas.iter().filter(holds).map(|area| area.partition).collect();
                let cached = picture.stash.iter().find(|held| held.block == block as u64);
                match (partition, cached) {
                    (None, cached) => assert!(held.is_empty() && cached.is_none(), "{scheme}: {block}"),
                    (place, Some(cached)) => {
                        assert_eq!((&held[..], cached.leaf), (&[][..], *place), "{scheme}: {block}")
                    }
                    (place, None) => assert_eq!(held, [*place], "{scheme}: {block}"),
                }
            }
        }
    }
}

#[test]
fn a_block_is_drawn_in_its_level_until_it_was_read() {
    let mut simulation = simulation("oblivistore", 32, false);
    let mut seen = 0;
    for (request, _) in accesses(32, 120).0 {
        let before = Picture::of(&simulation);
        let block = request.block.0;
        let is_in_memory =
            before.positions[block as usize].is_some() && before.stash.iter().all(|held| held.block != block);
        simulation.request_access(request).expect("the block is there");
        let result = simulation.step().expect("the scheme goes on");
        let slots = result.operation.expect("an access reads").slots;
        let picture = Picture::of(&simulation);
        let drawn = |slot: &&u64| {
            picture.blocks[**slot as usize] == block as i64 && !picture.old.contains(&(**slot as usize))
        };
        assert_eq!(slots.iter().filter(drawn).count(), usize::from(is_in_memory), "block {block}: {slots:?}");
        seen += usize::from(is_in_memory);
        settle(&mut simulation);
    }
    assert!(seen > 20);
}

#[test]
fn partitions_that_are_rebuilt_side_by_side_take_their_turns_at_the_store() {
    let mut simulation = simulation("oblivistore", 64, true);
    for (request, _) in accesses(64, 200).0 {
        simulation.request_access(request).expect("the block is there");
        settle(&mut simulation);
    }
    // Fifty evictions of the sweep at once, and the pending work of the partitions.
    simulation.request_idle_step();
    let writes = settle(&mut simulation)
        .iter()
        .filter_map(|result| result.operation.as_ref())
        .filter(|seen| seen.writes)
        .count();
    assert!((50..=58).contains(&writes), "{writes}");
}

#[test]
fn each_operation_is_of_slots_that_are_drawn_and_lights_a_line() {
    for scheme in SCHEMES {
        let mut simulation = simulation(scheme.name, 16, false);
        let slots: u64 =
            simulation.instance().areas.iter().map(|area| area.buckets * u64::from(area.slots)).sum();
        assert_eq!(slots, simulation.instance().memory.contents().slots.len() as u64, "{}", scheme.name);
        for (request, _) in accesses(16, 40).0 {
            simulation.request_access(request).expect("the block is there");
            for result in settle(&mut simulation) {
                let Some(operation) = &result.operation else { continue };
                assert!(operation.slots.iter().all(|slot| *slot < slots), "{}", scheme.name);
                // The eager form begins a write with the work that was left over.
                assert!(!result.lines.is_empty() || scheme.name == "eager", "{}: {result:?}", scheme.name);
            }
        }
    }
}

#[test]
fn a_lazy_simulation_leaves_work_until_it_must_be_done() {
    let operations = |lazy| {
        let mut simulation = simulation("path", 16, lazy);
        simulation.request_access(read(3)).expect("the block is there");
        let results = settle(&mut simulation);
        results
            .iter()
            .filter_map(|result| result.operation.as_ref())
            .filter(|operation| operation.writes)
            .count()
    };
    assert_eq!((operations(false), operations(true)), (1, 0));
    let mut simulation = simulation("path", 16, true);
    simulation.request_access(read(3)).expect("the block is there");
    settle(&mut simulation);
    simulation.request_idle_step();
    let written =
        settle(&mut simulation).iter().filter_map(|result| result.operation.as_ref()).any(|seen| seen.writes);
    assert!(written, "the work is done when it is asked for");
}

#[test]
fn a_wrong_request_is_refused_with_what_to_do() {
    let mut stepped = Host::default();
    for (request, named) in [
        ("{", "not one"),
        (r#"{"do":"jump"}"#, "jump"),
        (r#"{"do":"make","scheme":"paths","capacity":16,"seed":1}"#, "choose one of path, ring"),
        (r#"{"do":"make","scheme":"path","capacity":4,"seed":1}"#, "choose from 8 to 1024"),
        (r#"{"do":"step","simulation":9}"#, "make one first"),
    ] {
        let answer = stepped.answer(request);
        assert!(answer.starts_with(r#"{"error":"#) && answer.contains(named), "{request}: {answer}");
    }
    let instance = stepped.answer(r#"{"do":"make","scheme":"path","capacity":16,"seed":1}"#);
    assert!(instance.starts_with(r#"{"ok":{"simulation":0,"#), "{instance}");
    let beyond = stepped.answer(r#"{"do":"access","simulation":0,"batch":[{"block":16}]}"#);
    assert!(beyond.contains("choose from 0 to 15"), "{beyond}");
}

#[test]
fn a_page_asks_in_text_and_is_answered_in_text() {
    let mut stepped = Host::default();
    stepped.answer(r#"{"do":"make","scheme":"plain","capacity":8,"seed":1}"#);
    assert_eq!(
        stepped.answer(r#"{"do":"access","simulation":0,"batch":[{"block":5,"write":9}]}"#),
        r#"{"ok":{}}"#
    );
    let results = stepped.answer(r#"{"do":"step","simulation":0,"times":9}"#);
    assert!(results.contains(r#""operation":{"writes":true,"slots":[5]}"#), "{results}");
    let state = stepped.answer(r#"{"do":"state","simulation":0}"#);
    assert!(state.contains(r#""numbers":[0,0,0,0,0,9,0,0]"#), "{state}");
    assert_eq!(stepped.answer(r#"{"do":"drop","simulation":0}"#), r#"{"ok":{}}"#);
}
