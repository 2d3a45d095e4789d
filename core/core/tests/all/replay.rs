//! Every scheme makes the same requests as in earlier versions from the same randomness, and its snapshots keep their
//! bytes. A vault needs this: it runs its journal again with the present version of its scheme.
//!
//! A fingerprint that changes means that vaults of earlier versions no longer open. Change one only together with the
//! format.

use crate::circuit::setup::flat_circuit;
use crate::model::setup as model;
use crate::obliviousness::schemes::{
    circuit_parameters, compacted_buckets, path_parameters, raw_parameters, whole_buckets,
};
use crate::raw::setup::flat_raw;
use crate::ring::setup::{self as ring, Order};
use ameles_core::oram::Oram;
use ameles_core::position_map::recursive::{RecursiveParameters, RecursivePositionMap};
use ameles_core::schemes::circuit::CircuitParameters;
use ameles_core::schemes::detworam::{DetWoOram, DetWoParameters};
use ameles_core::schemes::eager::{EagerOram, EagerParameters};
use ameles_core::schemes::opam::{OpamOram, OpamParameters};
use ameles_core::schemes::path::PathParameters;
use ameles_core::schemes::plain::{Plain, PlainParameters};
use ameles_core::schemes::raw::RawParameters;
use ameles_core::schemes::ring::{RingBucket, RingOram, RingParameters};
use ameles_core::schemes::trivial::{TrivialOram, TrivialParameters};
use ameles_core::snapshot::full::FullSnapshot;
use ameles_core::testing::{ArrayModel, Event, Operation, TraceStore, Work};
use ameles_core::types::{BlockId, Bucket, Level};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// FNV-1a, 64 bits: it must not change with the toolchain.
struct Fingerprint(u64);

impl Fingerprint {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn script(capacity: u64, max: usize, batches: usize, random: &mut ChaCha8Rng) -> Vec<Vec<Operation>> {
    let mut operation = |among: u64| {
        let draw = random.next_u64();
        let block = BlockId((draw >> 16) % among);
        match draw % 7 {
            0..3 => Operation::Read(block),
            3..6 => Operation::Write(block, (draw >> 8) as u8),
            _ => Operation::Dummy,
        }
    };
    let batch = |nth: usize| {
        let among = if nth.is_multiple_of(5) { capacity.min(3) } else { capacity };
        (0..nth % (max + 1)).map(|_| operation(among)).collect()
    };
    (0..batches).map(batch).collect()
}

/// Runs thousands of accesses with off-line work in parallel. Hashes the trace, the store at the end, and the
/// snapshots.
fn fingerprint<O: Oram>(
    oram: &O,
    store: &TraceStore,
    max_concurrent_steps: usize,
    snapshot: impl Fn(&O) -> Vec<u8>,
) -> String {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut model = ArrayModel::new(oram.capacity(), oram.block_bytes());
    let mut print = Fingerprint(0xcbf2_9ce4_8422_2325);
    for _ in 0..12 {
        let batches = script(oram.capacity(), oram.max_batch(), 100, &mut random);
        let mut choices = vec![0; 200];
        random.fill_bytes(&mut choices);
        let order = Order { choices, held: None, max_concurrent_batches: 1, max_concurrent_steps };
        let events = ring::interleave(oram, store, &mut model, &batches, &order);
        let lines: Vec<String> = events.iter().map(line).collect();
        print.add(format!("[{}]", lines.join(", ")).as_bytes());
        print.add(&snapshot(oram));
    }
    print.add(&store.contents());
    format!("{:016x}", print.0)
}

/// The text of an event in a fingerprint, which does not change with the names in the code. These schemes ask for one
/// thing at a time, so that an answer needs no number.
fn line(event: &Event) -> String {
    let name = |work: &Work| match work {
        Work::Access => String::from("Access"),
        Work::Step(nth) => format!("Step({nth})"),
    };
    match event {
        Event::Pending { pending_steps, must_step } => {
            format!("Pending {{ pending_steps: {pending_steps}, must_step: {must_step} }}")
        }
        Event::StepBegins(nth) => format!("StepBegins({nth})"),
        Event::StoreRequest(work, entry) => format!("StoreRequest({}, {entry:?})", name(work)),
        Event::StoreAnswer(work, 0) => format!("StoreAnswer({})", name(work)),
        Event::Ends(work) => format!("Ends({})", name(work)),
        Event::Yields(work) => format!("Yields({})", name(work)),
        Event::Quiescent => String::from("Quiescent"),
        event => format!("{event:?}"),
    }
}

fn nothing<O>(_: &O) -> Vec<u8> {
    Vec::new()
}

fn bytes(of: &impl borsh::BorshSerialize) -> Vec<u8> {
    borsh::to_vec(of).expect("bytes")
}

/// The bytes of a scheme's whole snapshot.
fn snapshot<O: FullSnapshot<ChaCha8Rng>>(oram: &O) -> Vec<u8> {
    bytes(&oram.snapshot().expect("nothing is in flight"))
}

#[test]
fn ring_oram_makes_the_same_requests_as_ever() {
    // As an earlier planner made them of 300 blocks of 9 bytes, 60 of them trusted, in batches of 5.
    let planned_before = RingParameters {
        capacity: 300,
        block_bytes: 9,
        leaf_level: Level(4),
        top: Level(0),
        eviction_rate: 4,
        reads: 12,
        inner: RingBucket { blocks: 9, slots: 12 },
        leaf: RingBucket { blocks: 32, slots: 32 },
        max_batch: 5,
        stash_bound: 60,
        slice_slots: u32::MAX,
    };
    let planned = RingParameters::for_capacity(300, 9, 60, 5);
    let prints = [whole_buckets(), compacted_buckets(), planned_before, planned].map(|parameters| {
        let store = ring::store_for(&parameters);
        let oram = ring::flat_ring(&parameters, &store, 1);
        fingerprint(&oram, &store, 2, snapshot)
    });
    assert_eq!(prints, ["7b3d3686fdce6877", "bd57700343473123", "84baaf8a6ab2d6d3", "693b672c9c564623"]);
}

#[test]
fn path_oram_makes_the_same_requests_as_ever() {
    let planned = PathParameters::for_capacity(300, 9, 100, 5).expect("valid parameters");
    for (parameters, expected) in [(path_parameters(), "006cc0c3ab220ae6"), (planned, "425383d695dda483")] {
        let store = TraceStore::new(parameters.layout());
        let oram = model::flat_path(&parameters, &store, 1);
        let print = fingerprint(&oram, &store, 1, |oram| {
            bytes(&(oram.snapshot().expect("nothing is in flight"), oram.positions().snapshot()))
        });
        assert_eq!(print, expected, "{parameters:?}");
    }
}

#[test]
fn circuit_oram_makes_the_same_requests_as_ever() {
    let planned = CircuitParameters::for_capacity(300, 9, 100, 5).expect("valid parameters");
    for (parameters, expected) in [(circuit_parameters(), "583bbefce4a27042"), (planned, "e1b8b635c0a1102b")]
    {
        let store = TraceStore::new(parameters.layout());
        let oram = flat_circuit(&parameters, &store, 1);
        assert_eq!(fingerprint(&oram, &store, 1, snapshot), expected, "{parameters:?}");
    }
}

#[test]
fn raw_oram_makes_the_same_requests_as_ever() {
    let planned = RawParameters::for_capacity(300, 9, 100, 5).expect("valid parameters");
    let prints = [raw_parameters(), planned].map(|parameters| {
        let store = TraceStore::new(parameters.layout());
        let oram = flat_raw(&parameters, &store, 1);
        fingerprint(&oram, &store, 1, snapshot)
    });
    assert_eq!(prints, ["e4806085ddac6ad0", "8309925f6b6f4aed"]);
}

#[test]
fn a_recursive_map_makes_the_same_requests_as_ever() {
    let map = |blocks, max_batch| RecursiveParameters {
        blocks,
        entries_per_block: 4,
        flat_limit: 8,
        trusted_blocks: 10,
        max_batch,
    };
    let parameters = path_parameters();
    let below = map(parameters.capacity, parameters.max_batch);
    let store = TraceStore::new(model::with_map_layout(parameters.layout(), &below));
    let oram = model::recursive_path((&parameters, &below), &store, 1);
    let print = fingerprint(&oram, &store, 1, |oram| {
        bytes(&(
            oram.snapshot().expect("nothing is in flight"),
            oram.positions().snapshot().expect("nor there"),
        ))
    });
    assert_eq!(print, "c7d802c0204dceed");

    let parameters = whole_buckets();
    let below = map(parameters.capacity, parameters.max_batch);
    let mut layout = parameters.geometry().layout();
    let first = layout.append(&below.layout().expect("valid parameters"));
    let store = TraceStore::new(layout);
    let mut random = model::rng(1);
    let positions = RecursivePositionMap::new(&below, first, &store, &mut random).expect("valid parameters");
    let oram = RingOram::new(parameters, &store, positions, random).expect("valid parameters");
    assert_eq!(fingerprint(&oram, &store, 1, nothing), "ab8a9b03600ddef2");
}

#[test]
fn the_schemes_of_the_pager_make_the_same_requests_as_ever() {
    let parameters = OpamParameters::for_capacity(100, 9).expect("valid parameters");
    let store = TraceStore::new(parameters.layout());
    let oram = OpamOram::new(parameters, &store, model::rng(1)).expect("valid parameters");
    assert_eq!(fingerprint(&oram, &store, 1, nothing), "145590982ac5b355");

    let areas = DetWoParameters { max_batch: 5, ..DetWoParameters::for_ratio(100, 3, 9) };
    let store = TraceStore::new(areas.layout());
    let oram = DetWoOram::new(areas.clone(), &store).expect("valid parameters");
    assert_eq!(fingerprint(&oram, &store, 1, nothing), "4ec9e0af9bec3c7b");

    let store = TraceStore::new(areas.layout());
    let oram = EagerOram::new(EagerParameters { areas, step_pages: 2 }, &store).expect("valid parameters");
    assert_eq!(fingerprint(&oram, &store, 1, nothing), "e1dd39fa8f119a83");

    let parameters = PlainParameters { capacity: 100, block_bytes: 9, max_batch: 5 };
    let store = TraceStore::new(parameters.layout());
    let oram = Plain::new(parameters, &store).expect("valid parameters");
    assert_eq!(fingerprint(&oram, &store, 1, nothing), "3d1465bab29e1a55");
}

#[test]
fn trivial_oram_makes_the_same_requests_as_ever() {
    let parameters = TrivialParameters { capacity: 50, block_bytes: 9, chunk_blocks: 7, max_batch: 5 };
    let store = TraceStore::new(parameters.layout());
    let oram = TrivialOram::new(parameters, Bucket(0), &store).expect("valid parameters");
    assert_eq!(fingerprint(&oram, &store, 1, nothing), "a4614ef3462cfae2");
}
