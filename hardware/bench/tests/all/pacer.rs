//! The front end under its pacer: the bus depends neither on the requests nor on the number of their paths.

use super::setup::*;
use ameles_core::types::{BlockId, Leaf};
use ameles_hardware_bench::{
    Bench, Configuration, Faults, GoldenFrontEnd, Mutant, Pace, Run, Scheme, Session,
};

/// The number of cycles from path to path in which a small tree completes all work of a path.
const SLACK: u32 = 450;

type Requests = [(BlockId, Option<Vec<u8>>)];

/// The golden model for these slots; each is for no block, or for the request that is next.
fn golden(configuration: &Configuration, requests: &Requests, slots: &[(u64, bool)]) -> GoldenFrontEnd {
    let mut golden = GoldenFrontEnd::new(*configuration, 1);
    requests.iter().for_each(|(block, data)| golden.queue_request(*block, data.clone()));
    for (_, is_dummy) in slots {
        if *is_dummy {
            golden.dummy();
        } else {
            assert!(golden.run_slot(), "{configuration:?}: no slot is for a request that was not made");
        }
    }
    golden
}

/// Drives requests, with random words as the golden model draws them: for no block, and for blocks that were never
/// mapped.
fn drive(
    configuration: &Configuration,
    mutant: Option<&Mutant>,
    requests: &Requests,
    words: &Session,
) -> (Bench, Run) {
    let golden = golden(configuration, requests, &[]);
    let mut paced = golden.session();
    paced.drawn.extend(&words.drawn);
    paced.spare.extend(&words.spare);
    (paced.wait, paced.beat_wait) = (words.wait, words.beat_wait);
    let mut bench = bench_with_keys(configuration, mutant, Pace::IDEAL, Faults::default(), golden.keys());
    let run = bench.drive(&paced).unwrap_or_else(|error| panic!("{configuration:?}: {error}"));
    (bench, run)
}

/// Words for runs whose slots are not known.
fn words(configuration: &Configuration, count: usize) -> Session {
    let mut golden = GoldenFrontEnd::new(*configuration, 1);
    (0..count).for_each(|_| golden.dummy());
    let spare = golden.session().spare;
    Session { drawn: spare.iter().rev().copied().collect(), spare, ..Session::default() }
}

/// The core draws words in the order of slots, and the front end draws its words earlier. So the words follow from the
/// slots of an earlier run.
#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn a_paced_front_end_shows_what_the_core_shows_for_the_same_slots() {
    let small = [Scheme::Raw, Scheme::Path].map(small_front_end);
    let configurations = [
        small[0].with_tags(96).with_slots(130),
        small[0].with_slots(90),
        small[1].with_tags(96).with_slots(200),
    ];
    for configuration in configurations {
        let requests = requests(&configuration, 200, 5);
        let mut words = words(&configuration, 2000);
        let mut slots = Vec::new();
        let (bench, run) = loop {
            let (bench, run) = drive(&configuration, None, &requests, &words);
            let is_settled = run.slots == slots;
            if is_settled {
                break (bench, run);
            }
            slots = run.slots;
            words = golden(&configuration, &requests, &slots).session();
            // A run that is longer than the one before needs more.
            words.spare.extend(vec![Leaf(0); 100]);
        };
        let dummies = run.slots.iter().filter(|(_, is_dummy)| *is_dummy).count();
        assert!(
            dummies > 20 && run.slots.len() - dummies > 200,
            "both kinds of slots came: {dummies} of {}",
            run.slots.len()
        );
        let golden = golden(&configuration, &requests, &run.slots).session();
        bench.check(&golden, &run).unwrap_or_else(|error| panic!("{configuration:?}: {error}"));
    }
}

/// A small tree with one lane of AES, so that every delay of a mask shows on the bus.
fn short_of_masks(scheme: Scheme) -> Configuration {
    Configuration { aes_lanes: 1, ..small_front_end(scheme) }
}

/// The cycles of slots and of all beats, before a given cycle, and the depths of the buckets that are read in this
/// time.
fn shown(configuration: &Configuration, run: &Run, until: u64) -> (Vec<u64>, Vec<u64>, Vec<u64>, Vec<u32>) {
    let before = |cycles: &[u64]| cycles.iter().copied().filter(|cycle| *cycle < until).collect::<Vec<_>>();
    let bucket_bytes = (configuration.max_bucket_beats() * configuration.beat_bytes()) as u64;
    let reads = run.traffic.reads.iter().filter(|burst| burst.cycle < until);
    // A bucket may be two bursts, at a boundary known from its address: each counts once.
    let whole = reads.filter(|burst| burst.address.is_multiple_of(bucket_bytes));
    let depths = whole.map(|burst| (burst.address / bucket_bytes + 1).ilog2()).collect();
    let slots: Vec<u64> = run.slots.iter().map(|(cycle, _)| *cycle).collect();
    (before(&slots), before(&run.traffic.read_beats), before(&run.traffic.write_beats), depths)
}

/// Returns whether two very different users show the same. One never has anything in the PLB, and writes blocks whose
/// data come late. The other has everything in the PLB, and is mostly idle.
fn shows_the_same(configuration: Configuration, mutant: Option<&Mutant>) -> bool {
    let mut far = requests(&configuration, 150, 7);
    for (nth, (block, data)) in far.iter_mut().enumerate() {
        *block = BlockId(61 * nth as u64 % u64::from(configuration.blocks));
        *data = Some(vec![nth as u8; configuration.block_bytes as usize]);
    }
    // In between it is idle for longer than some slots, so that its requests fall at other times of a slot each time.
    let near = vec![(BlockId(0), None); 120];
    let slot_cycles = u64::from(configuration.front_end.expect("it is paced").slot_cycles);
    let words = words(&configuration, 4000);
    let beat_wait = 5 * slot_cycles / configuration.block_beats() as u64;
    let (_, far) = drive(&configuration, mutant, &far, &Session { beat_wait, ..words.clone() });
    let words = Session { wait: 2 * slot_cycles + 37, ..words };
    let (_, near) = drive(&configuration, mutant, &near, &words);
    let until = far.cycles.min(near.cycles) - 10 * slot_cycles;
    let (far, near) = (shown(&configuration, &far, until), shown(&configuration, &near, until));
    assert!(far.0.len() > 250 && far.1.len() > 10_000, "the runs are long enough: {} slots", far.0.len());
    far == near
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn the_bus_shows_the_same_cycles_for_users_that_differ_in_all() {
    for scheme in [Scheme::Raw, Scheme::Path] {
        for tag_bits in [0, 96] {
            let configuration = short_of_masks(scheme).with_tags(tag_bits).with_slots(SLACK);
            assert!(shows_the_same(configuration, None), "{configuration:?}");
        }
    }
    // Blocks of four beats.
    let narrow = Configuration { bus_bits: 128, ..short_of_masks(Scheme::Raw) };
    let narrow = narrow.with_tags(96).with_slots(3 * SLACK);
    assert!(shows_the_same(narrow, None), "{narrow:?}");
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn each_leaking_pacer_is_found_by_the_bus_test() {
    for mutant in &Mutant::LEAKING_PACER {
        let configuration = short_of_masks(Scheme::Path).with_slots(SLACK);
        assert!(!shows_the_same(configuration, Some(mutant)), "{} was not found", mutant.fault);
    }
}
