//! The trace of Path ORAM that the store's adversary (`Full`: each read and write) sees, for any requests.
//!
//! The tests draw from fixed seeds, so they do not fail by chance from run to run. The bounds are six standard
//! deviations: over all seeds, a sound scheme would fail one of them with a probability below 2^-25.

use super::setup::*;
use ameles_core::oram::Oram;
use ameles_core::position_map::recursive::RecursiveParameters;
use ameles_core::schemes::path::PathParameters;
use ameles_core::testing::{ArrayModel, Operation, TraceEntry, TraceStore, finish_now, settle};
use ameles_core::types::{BlockId, Bucket, Leaf, Level};

const LEAVES: u64 = 64;

fn parameters() -> PathParameters {
    PathParameters {
        capacity: 4 * LEAVES,
        block_bytes: 1,
        leaf_level: Level(6),
        top: Level(2),
        blocks_per_bucket: 4,
        max_batch: MAX_BATCH,
        stash_bound: 1000,
    }
}

/// The `nth` batch of a sequence.
type Sequence = Box<dyn Fn(u64) -> Vec<Operation>>;

/// Very different sequences of requests.
fn sequences() -> Vec<(&'static str, Sequence)> {
    let read = |block| Operation::Read(BlockId(block));
    vec![
        ("one block again and again", Box::new(move |_| vec![read(3)])),
        ("two blocks in turn", Box::new(move |nth| vec![read(nth % 2)])),
        ("a scan", Box::new(move |nth| vec![read(nth % 256)])),
        ("the same block six times in a batch", Box::new(move |_| vec![read(9); 6])),
        ("six neighbours in a batch", Box::new(move |_| (0..6).map(read).collect())),
        ("writes of one block", Box::new(|nth| vec![Operation::Write(BlockId(5), nth as u8)])),
        ("dummies", Box::new(|_| vec![Operation::Dummy; 6])),
        ("a block and dummies", Box::new(move |_| vec![read(1), Operation::Dummy, Operation::Dummy])),
    ]
}

/// The leaves of the paths that a read shows, given the number of the first leaf bucket.
fn leaves(entry: &TraceEntry, first: u64, leaves: u64) -> Vec<u64> {
    let TraceEntry::Read(slots) = entry else { panic!("{entry:?} is not a read") };
    let buckets = slots.iter().map(|slot| slot.bucket.0);
    buckets.filter(|bucket| (first..first + leaves).contains(bucket)).map(|bucket| bucket - first).collect()
}

#[test]
fn a_batch_of_n_reads_n_whole_fresh_uniform_paths_and_writes_the_same_buckets_back() {
    for (filled, (name, batch)) in
        [false, true].into_iter().flat_map(|f| sequences().into_iter().map(move |s| (f, s)))
    {
        let parameters = parameters();
        let store = TraceStore::new(parameters.layout());
        let oram = flat_path(&parameters, &store, 1);
        let mut model = ArrayModel::new(oram.capacity(), oram.block_bytes());
        if filled {
            finish_now(model.read_all(&oram));
        }
        store.take_trace();
        let tree = parameters.geometry(Bucket(0));
        let mut counts = vec![0f64; LEAVES as usize];
        let (mut repeats, mut distinct, mut before) = (0f64, 0f64, None);
        let rounds = 2000;
        let n = batch(0).len() as f64;
        for nth in 0..rounds {
            finish_now(model.batch(&oram, &batch(nth)));
            finish_now(settle(&oram));
            let trace = store.take_trace();
            let [read @ TraceEntry::Read(slots), TraceEntry::Write(written)] = &trace[..] else {
                panic!("{trace:?}")
            };
            let paths = leaves(read, tree.bucket(Level(6), Leaf(0)).0, LEAVES);
            // All buckets of the paths, each once, and all of them are written back.
            let mut expected: Vec<Bucket> =
                paths.iter().flat_map(|leaf| tree.path(Leaf(*leaf)).map(|(_, bucket)| bucket)).collect();
            let mut buckets: Vec<Bucket> = slots.iter().map(|slot| slot.bucket).collect();
            let mut written = written.clone();
            expected.sort();
            expected.dedup();
            buckets.sort();
            written.sort();
            assert_eq!(buckets, expected, "{name}");
            assert_eq!(written, expected, "{name}");
            paths.iter().for_each(|leaf| counts[*leaf as usize] += 1.0);
            distinct += paths.len() as f64;
            repeats += f64::from(before == Some(paths[0]));
            before = Some(paths[0]);
        }
        let (rounds, leaves) = (rounds as f64, LEAVES as f64);
        // Chance of a leaf to be on one of n uniform paths.
        let share = 1.0 - (1.0 - 1.0 / leaves).powf(n);
        let chi: f64 = counts.iter().map(|count| (count - rounds * share).powi(2) / (rounds * share)).sum();
        let free = leaves - 1.0;
        assert!(
            chi < free + 6.0 * (2.0 * free).sqrt(),
            "{name}: leaves are not uniform, chi-square {chi:.0}"
        );
        let spread = (rounds * leaves * share * (1.0 - share)).sqrt();
        assert!(
            (distinct - rounds * leaves * share).abs() < 6.0 * spread,
            "{name}: {distinct} paths are too few"
        );
        let by_chance = rounds / leaves;
        assert!(
            (repeats - by_chance).abs() < 6.0 * by_chance.sqrt(),
            "{name}: {repeats} paths came twice in a row"
        );
    }
}

#[test]
fn every_level_of_a_recursive_map_shows_as_many_paths_as_there_are_accesses() {
    for (name, batch) in sequences() {
        let parameters = parameters();
        let map = RecursiveParameters {
            blocks: parameters.capacity,
            entries_per_block: 2,
            flat_limit: 32,
            trusted_blocks: 0,
            max_batch: MAX_BATCH,
        };
        let store = TraceStore::new(with_map_layout(parameters.layout(), &map));
        let oram = recursive_path((&parameters, &map), &store, 1);
        let mut model = ArrayModel::new(oram.capacity(), oram.block_bytes());
        finish_now(model.read_all(&oram));
        store.take_trace();
        // The inner trees, the smallest first as they are read, then the tree of the data: number of the first leaf
        // bucket, leaves.
        let levels = map.levels().unwrap();
        let mut trees = vec![(parameters.layout().buckets() - LEAVES, LEAVES)];
        let mut end = parameters.layout().buckets();
        for level in &levels {
            end += level.layout().buckets();
            trees.insert(0, (end - (1 << level.leaf_level.0), 1 << level.leaf_level.0));
        }
        let rounds = 500;
        let mut distinct = vec![0f64; trees.len()];
        for nth in 0..rounds {
            finish_now(model.batch(&oram, &batch(nth)));
            let reads: Vec<TraceEntry> = store.take_trace();
            assert_eq!(reads.len(), trees.len(), "{name}: one round trip a level");
            for ((read, (first, count)), distinct) in reads.iter().zip(&trees).zip(&mut distinct) {
                *distinct += leaves(read, *first, *count).len() as f64;
            }
            finish_now(settle(&oram));
            let writes = store.take_trace();
            assert_eq!(writes.len(), trees.len(), "{name}: one write-back a level");
        }
        for ((_, leaves), distinct) in trees.iter().zip(distinct) {
            let share = 1.0 - (1.0 - 1.0 / *leaves as f64).powf(batch(0).len() as f64);
            let expected = f64::from(rounds as u32) * *leaves as f64 * share;
            let spread = (expected * (1.0 - share)).sqrt();
            assert!(
                (distinct - expected).abs() <= 6.0 * spread,
                "{name}: {distinct} paths, {expected:.0} expected"
            );
        }
    }
}
