//! Benches, keys and histories that the tests share.

use ameles_core::types::BlockId;
use ameles_hardware_bench::{
    Bench, Configuration, DesignBuilder, Faults, FrontEnd, Golden, Mutant, Operation, Pace, Scheme, Session,
};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// The key of all tests.
pub(crate) const KEY: [u8; 16] = *b"a key of tests..";

/// A small tree of a scheme.
pub(crate) fn small(scheme: Scheme) -> Configuration {
    Configuration { leaf_level: 5, blocks: 60, stash_blocks: 20, ..Configuration::paper(scheme) }
}

/// A small tree with a front end. Counters of few bits are used up soon, so that stragglers move; with a small table
/// and a small PLB, blocks are evicted often.
pub(crate) fn small_front_end(scheme: Scheme) -> Configuration {
    let front_end =
        FrontEnd { labels: 4, label_bits: 4, trusted: 8, look_aside: 4, tag_bits: 0, slot_cycles: 0 };
    Configuration { leaf_level: 6, blocks: 150, front_end: Some(front_end), ..Configuration::paper(scheme) }
}

/// The small front end with tags.
pub(crate) fn small_with_tags(scheme: Scheme) -> Configuration {
    let tag_bits = if scheme == Scheme::Raw { 96 } else { 128 };
    small_front_end(scheme).with_tags(tag_bits)
}

/// Requests of the front end: reads, and writes with their contents, half of them of a few blocks again and again.
pub(crate) fn requests(
    configuration: &Configuration,
    count: usize,
    seed: u64,
) -> Vec<(BlockId, Option<Vec<u8>>)> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut requests = Vec::new();
    for _ in 0..count {
        let among = if random.next_u32().is_multiple_of(2) { configuration.blocks } else { 3 };
        let block = BlockId(u64::from(random.next_u32() % among));
        let data = random.next_u32().is_multiple_of(2).then(|| {
            let mut data = vec![0; configuration.block_bytes as usize];
            random.fill_bytes(&mut data);
            data
        });
        requests.push((block, data));
    }
    requests
}

/// A small tree with all that the processor papers add: a top on chip, sizes by level (of Path ORAM), and subtrees. The
/// scan of Path ORAM takes two blocks per cycle.
pub(crate) fn with_options(scheme: Scheme) -> Configuration {
    let mut options = Configuration { top_levels: 2, subtree_levels: 2, ..small(scheme) };
    if scheme == Scheme::Path {
        (options.level_blocks[1], options.level_blocks[3]) = (3, 2);
        options.scan_lanes = 2;
    }
    options
}

/// A bench with its key, whose RTL may be a mutant.
pub(crate) fn bench(
    configuration: &Configuration,
    mutant: Option<&Mutant>,
    pace: Pace,
    faults: Faults,
) -> Bench {
    bench_with_keys(configuration, mutant, pace, faults, &[KEY])
}

/// Makes the bench with other keys.
pub(crate) fn bench_with_keys(
    configuration: &Configuration,
    mutant: Option<&Mutant>,
    pace: Pace,
    faults: Faults,
    keys: &[[u8; 16]],
) -> Bench {
    let design = DesignBuilder::new().and_then(|mut builder| {
        builder.for_long_runs = requested_operations().is_some();
        builder.design(configuration, mutant)
    });
    let design = design.unwrap_or_else(|error| panic!("{error}"));
    let mut bench = Bench::new(&design, *configuration, pace, faults, 1).unwrap();
    keys.iter().for_each(|key| bench.load_key(key));
    bench
}

/// The operations for each configuration that `AMELES_HARDWARE_OPERATIONS` requests, instead of the few of a usual
/// run.
fn requested_operations() -> Option<usize> {
    let given = std::env::var("AMELES_HARDWARE_OPERATIONS").ok()?;
    Some(given.parse().expect("AMELES_HARDWARE_OPERATIONS is a number"))
}

/// The operations of a run, in portions that fit into this machine's memory. The controller continues from one to the
/// next.
pub(crate) fn portions(usual: usize) -> impl Iterator<Item = usize> {
    const PORTION: usize = 1000;
    let all = requested_operations().unwrap_or(usual);
    (0..all).step_by(PORTION).map(move |done| PORTION.min(all - done))
}

/// A small controller, and a session of a mix of operations.
pub(crate) fn small_session(scheme: Scheme, operations: usize, seed: u64) -> (Configuration, Session) {
    let configuration = small(scheme);
    (configuration, mixed_operations(&configuration, operations, seed).session())
}

/// A golden model after operations of a mix.
pub(crate) fn mixed_operations(configuration: &Configuration, operations: usize, seed: u64) -> Golden {
    let mut golden = Golden::new(*configuration, &KEY, seed);
    add_mixed_operations(configuration, operations, &mut golden, &mut ChaCha8Rng::seed_from_u64(seed));
    golden
}

/// Operations of all kinds on random blocks. A stored block is read, written or taken; a missing one is put in, or
/// created by an access.
pub(crate) fn add_mixed_operations(
    configuration: &Configuration,
    operations: usize,
    golden: &mut Golden,
    random: &mut ChaCha8Rng,
) {
    for _ in 0..operations {
        let block = BlockId(u64::from(random.next_u32() % configuration.blocks));
        let mut data = vec![0; configuration.block_bytes as usize];
        random.fill_bytes(&mut data);
        let is_in = golden.is_in(block);
        let operation = match random.next_u32() % 8 {
            0..3 => Operation::Read(block),
            3..5 => Operation::Write(block, data),
            5 => Operation::Take(block),
            6 if !is_in => Operation::Put(block, data),
            _ => Operation::Dummy,
        };
        golden.run(operation);
    }
}
