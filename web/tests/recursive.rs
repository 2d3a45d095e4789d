//! Position maps in memory: separate trees, one path of each for an access.

mod common;

use ameles_web::area::Area;
use ameles_web::catalogue::{MIN_BLOCKS, SCHEMES};
use ameles_web::code::Work;
use ameles_web::instance::{PositionMapKind, Setting};
use ameles_web::picture::Picture;
use ameles_web::simulation::{Simulation, StepResult, read, write};
use common::settle;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

fn simulation(scheme: &str, capacity: u64, lazy: bool) -> Simulation {
    let setting = Setting { capacity, seed: 7, batch: 1, map: PositionMapKind::Recursive };
    Simulation::new(scheme, setting, lazy).expect("the scheme can be made")
}

/// The schemes whose position map can be recursive.
fn schemes() -> impl Iterator<Item = &'static str> {
    SCHEMES.iter().filter(|scheme| scheme.recursive).map(|scheme| scheme.name)
}

/// Writes into a block at random, and reads one at random. Returns the steps of both.
fn access(simulation: &mut Simulation, random: &mut ChaCha8Rng, array: &mut [u32]) -> Vec<StepResult> {
    let capacity = array.len() as u64;
    let block = random.next_u64() % capacity;
    array[block as usize] = random.next_u32();
    simulation.request_access(write(block, array[block as usize])).expect("the block is there");
    let mut results = settle(simulation);
    let block = random.next_u64() % capacity;
    simulation.request_access(read(block)).expect("the block is there");
    let reads = settle(simulation);
    let answer = reads.iter().flat_map(|result| result.answers.iter().flatten()).next();
    assert_eq!(answer, Some(&array[block as usize]), "block {block}");
    results.extend(reads);
    results
}

#[test]
fn a_scheme_over_a_recursive_map_answers_as_an_array_does() {
    assert_eq!(schemes().collect::<Vec<_>>(), ["path", "ring", "circuit"]);
    for scheme in schemes() {
        for (capacity, lazy, maps) in [(MIN_BLOCKS, false, 1), (32, true, 3), (33, false, 2), (64, false, 2)]
        {
            let mut simulation = simulation(scheme, capacity, lazy);
            assert_eq!(simulation.instance().maps.len(), maps, "{scheme} of {capacity}");
            let (mut random, mut array) = (ChaCha8Rng::seed_from_u64(capacity), vec![0; capacity as usize]);
            for _ in 0..80 {
                access(&mut simulation, &mut random, &mut array);
            }
        }
    }
}

#[test]
fn an_access_reads_a_path_of_each_map_the_smallest_first_and_then_of_the_tree_of_blocks() {
    for scheme in schemes() {
        let mut simulation = simulation(scheme, 32, false);
        let (mut random, mut array) = (ChaCha8Rng::seed_from_u64(1), vec![0; 32]);
        // Ring ORAM reads nothing of a bucket that was never written: by then all were.
        for _ in 0..30 {
            access(&mut simulation, &mut random, &mut array);
        }
        for _ in 0..40 {
            let results = access(&mut simulation, &mut random, &mut array);
            let instance = simulation.instance();
            let mut read = Vec::new();
            // The work after the answers is pending: paths are written back.
            for result in results.iter().filter(|result| result.work != Some(Work::Idle)) {
                assert!(!result.lines.is_empty(), "{scheme}: {result:?}");
                let Some(operation) = &result.operation else { continue };
                let touched: Vec<&Area> =
                    operation.slots.iter().map(|slot| area_of(&instance.areas, *slot)).collect();
                let map = touched[0].map;
                let levels = instance.areas.iter().filter(|area| area.map == map).count();
                assert!(touched.iter().all(|area| area.map == map) && !operation.writes);
                assert_eq!(touched.len(), levels, "{scheme}, map {map:?}: a slot of each level");
                if let Some(slots) = map.map(|_| &operation.slots) {
                    let bucket = |(area, slot): (&&Area, &u64)| slot - area.first_slot;
                    let buckets: Vec<u64> = touched.iter().zip(slots).map(bucket).collect();
                    assert!(buckets.windows(2).all(|pair| pair[0] == pair[1] / 2), "{scheme}: {buckets:?}");
                }
                read.push(map);
            }
            assert_eq!(read, [Some(3), Some(2), Some(1), None].repeat(2), "{scheme}");
        }
    }
}

fn area_of(areas: &[Area], slot: u64) -> &Area {
    areas.iter().find(|area| area.numbers().contains(&slot)).expect("the slot is drawn")
}

/// Finds a block of the scheme's tree (map 0) or of a map: its part of memory, bucket and entry. Stale slots do not
/// count.
fn find<'a>(
    simulation: &'a Simulation,
    picture: &Picture,
    map: usize,
    block: u64,
) -> Vec<(&'a Area, u64, usize)> {
    let areas = simulation.instance().areas.iter().filter(|area| area.map == (map > 0).then_some(map as u32));
    let mut found = Vec::new();
    for (area, slot) in areas.flat_map(|area| area.numbers().map(move |slot| (area, slot))) {
        let within = slot - area.first_slot;
        let first = (area.first_entry + within * u64::from(area.entries)) as usize;
        for entry in (first..first + area.entries as usize).filter(|_| !picture.stale.contains(&slot)) {
            if picture.blocks[entry] == block as i64 && !picture.old.contains(&entry) {
                found.push((area, within / u64::from(area.slots), entry));
            }
        }
    }
    found
}

/// Looks for a block where its leaf points to: on the path to that leaf, or in the stash under it. Returns the leaves
/// in it, if it is a PosMap block, and whether it is in memory.
fn look_up(simulation: &Simulation, map: usize, block: u64, leaf: u64) -> (Vec<Option<u64>>, bool) {
    let picture = Picture::of(simulation);
    match find(simulation, &picture, map, block)[..] {
        [] if map == 0 => {
            let held = picture.stash.iter().find(|held| held.block == block);
            assert_eq!(held.map(|held| held.leaf), Some(Some(leaf)), "block {block}");
            (Vec::new(), false)
        }
        [] => {
            let held = picture.maps.stashes[map - 1].iter().find(|held| held.block == block);
            assert_eq!(held.map(|held| held.leaf), Some(Some(leaf)), "map {map}: {block}");
            (held.map(|held| held.leaves.clone()).unwrap_or_default(), false)
        }
        [(area, bucket, entry)] => {
            let levels = simulation.instance().areas.iter().filter(|other| other.map == area.map);
            let leaves = levels.map(|level| level.buckets).max().unwrap_or(1);
            assert_eq!(bucket, leaf * area.buckets / leaves, "map {map}: {block}");
            (picture.maps.leaves.get(&entry).cloned().unwrap_or_default(), true)
        }
        ref several => panic!("map {map}: {block} is in {} places", several.len()),
    }
}

#[test]
fn the_leaves_in_the_maps_lead_from_the_trusted_side_to_each_block() {
    for scheme in schemes() {
        // Work that is put off leaves blocks on the trusted side.
        let mut simulation = simulation(scheme, 32, true);
        let (mut random, mut array) = (ChaCha8Rng::seed_from_u64(2), vec![0; 32]);
        let mut seen = [0, 0];
        for _ in 0..30 {
            access(&mut simulation, &mut random, &mut array);
            let maps = &simulation.instance().maps;
            let trusted = Picture::of(&simulation).positions;
            assert_eq!(trusted.len() as u64, maps[maps.len() - 1].blocks, "{scheme}");
            for block in 0..32 {
                let mut mapped = trusted[(block / maps[maps.len() - 1].covers) as usize];
                for map in (0..=maps.len()).rev() {
                    let Some(leaf) = mapped else { break };
                    let here = if map == 0 { block } else { block / maps[map - 1].covers };
                    let (leaves, is_in_memory) = look_up(&simulation, map, here, leaf);
                    seen[usize::from(is_in_memory)] += usize::from(map > 0);
                    if map > 0 {
                        let within = block / (maps[map - 1].covers / u64::from(maps[map - 1].leaves));
                        mapped = leaves[within as usize % leaves.len()];
                    }
                }
            }
        }
        assert!(seen.iter().all(|seen| *seen > 300), "{scheme}: {seen:?}");
    }
}

#[test]
fn a_scheme_without_a_recursive_map_refuses_it_and_names_those_that_have_one() {
    let setting = Setting { capacity: 16, seed: 1, batch: 1, map: PositionMapKind::Recursive };
    let message = Simulation::new("plain", setting, false).err().unwrap_or_default();
    assert!(message.contains("choose one of path, ring, circuit"), "{message}");
}
