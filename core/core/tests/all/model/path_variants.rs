//! Path ORAM with merged paths, and with siblings: its answers, and the buckets that it moves. The front end with
//! paths that are known before they are read.

use super::freecursive::{parameters, with_path};
use super::setup::*;
use ameles_core::oram::Oram;
use ameles_core::schemes::freecursive::{FreecursiveOram, NextPath, Reservation, TrustedHits};
use ameles_core::schemes::path::PathParameters;
use ameles_core::testing::{ArrayModel, Operation, TraceEntry, TraceStore, finish_now};
use ameles_core::types::{BlockId, Bucket, Leaf};
use std::collections::BTreeSet;

/// A tree of six levels that is half full, for batches of one.
fn half_full() -> PathParameters {
    PathParameters { stash_bound: 50, ..lone_path(128, 5, 5) }
}

/// The buckets that an access and its write-back read and write.
fn moved(trace: &[TraceEntry]) -> (BTreeSet<Bucket>, BTreeSet<Bucket>) {
    let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
    for entry in trace {
        match entry {
            TraceEntry::Read(slots) => read.extend(slots.iter().map(|slot| slot.bucket)),
            TraceEntry::Write(buckets) => written.extend(buckets.iter().copied()),
        }
    }
    (read, written)
}

#[test]
fn merged_paths_answer_as_an_array_and_move_no_bucket_that_they_share() {
    let mut model = ArrayModel::new(128, 5);
    let (store, oram) = recorded_path(&half_full());
    oram.merge_paths();
    let (mut held, mut shared) = (BTreeSet::new(), 0);
    for nth in 0..3000u64 {
        store.take_trace();
        finish_now(model.batch(&oram, &[operation(nth)]));
        let path = oram.held_path().expect("a path is held");
        let buckets: BTreeSet<Bucket> = (0..6).map(|level| bucket(level, path)).collect();
        let (read, none) = moved(&store.take_trace());
        assert!(none.is_empty());
        assert_eq!(read, buckets.difference(&held).copied().collect());
        finish_now(oram.step()).unwrap();
        let (_, written) = moved(&store.take_trace());
        if oram.emergencies() == 0 {
            assert_eq!(written, held.difference(&buckets).copied().collect());
        }
        while oram.pending_steps() > 0 {
            finish_now(oram.step()).unwrap();
        }
        shared += held.intersection(&buckets).count();
        let path = oram.held_path().expect("a path is held");
        held = (0..6).map(|level| bucket(level, path)).collect();
    }
    assert!((5000..7000).contains(&shared), "two levels on average: {shared}");
    finish_now(async {
        for block in 0..128 {
            model.batch(&oram, &[Operation::Read(BlockId(block))]).await;
            oram.step().await.unwrap();
        }
    });
}

/// The `nth` operation: every third one reads.
fn operation(nth: u64) -> Operation {
    let block = BlockId(nth * nth % 128);
    if nth.is_multiple_of(3) { Operation::Read(block) } else { Operation::Write(block, nth as u8) }
}

/// The bucket of a level on the path to a leaf.
fn bucket(level: u32, path: Leaf) -> Bucket {
    Bucket((1 << level) - 1 + (path.0 >> (5 - level)))
}

#[test]
fn siblings_answer_as_an_array_and_are_read_and_written_with_each_bucket() {
    let mut model = ArrayModel::new(128, 5);
    let (store, oram) = recorded_path(&half_full());
    oram.evict_to_siblings();
    for nth in 0..3000u64 {
        store.take_trace();
        finish_now(model.batch(&oram, &[operation(nth)]));
        let path = oram.held_path().expect("a path is held");
        finish_now(oram.step()).unwrap();
        let (read, written) = moved(&store.take_trace());
        let sibling = |level: u32| bucket(level, Leaf(path.0 ^ 1 << (5 - level)));
        let expected = (0..6).map(|level| bucket(level, path)).chain((1..6).map(sibling));
        let expected: BTreeSet<Bucket> = expected.collect();
        assert_eq!((&read, &written), (&expected, &expected), "{nth}");
    }
    assert_eq!(oram.emergencies(), 0);
    finish_now(async {
        for block in 0..128 {
            model.batch(&oram, &[Operation::Read(BlockId(block))]).await;
            oram.step().await.unwrap();
        }
    });
}

/// Reservations are accessed in another order than they were made in, and dummies in between.
#[test]
fn blocks_that_were_reserved_are_served_in_any_order() {
    let parameters = with_path(parameters(200, 2, TrustedHits::ReadThePath), |path| path.stash_bound = 300);
    let store = TraceStore::new(parameters.tree.layout());
    let oram = FreecursiveOram::new(parameters, Bucket(0), store, rng(1)).unwrap();
    oram.tree().merge_paths();
    let mut contents = [0u8; 200];
    let settle = || {
        while oram.tree().pending_steps() > 0 {
            finish_now(oram.tree().step()).unwrap();
        }
    };
    let access = |reservation: &Reservation, contents: &mut [u8; 200]| {
        let at = reservation.block().0 as usize;
        let leaf = reservation.leaf();
        finish_now(oram.access_reserved(reservation, |payload| {
            assert_eq!(payload[0], contents[at]);
            payload[0] = payload[0].wrapping_add(1);
        }))
        .unwrap();
        assert!(leaf.is_none_or(|leaf| oram.tree().held_path() == Some(leaf)));
        if let Some(content) = contents.get_mut(at) {
            *content = content.wrapping_add(1);
        }
        settle();
    };
    for nth in 0..600u64 {
        let mut reserved = Vec::new();
        for block in [nth * 7 % 200, (nth * 11 + 3) % 200, (nth * 13 + 5) % 200].map(BlockId) {
            if reserved.iter().any(|known: &Reservation| known.block() == block) {
                continue;
            }
            // The PosMap blocks of the reserved blocks may leave the buffer meanwhile.
            while let NextPath::PosMap(missing) = oram.next(block).unwrap() {
                assert!(oram.missing(block).unwrap().contains(&missing));
                access(&oram.reserve(missing).unwrap(), &mut contents);
            }
            reserved.push(oram.reserve(block).unwrap());
        }
        finish_now(oram.tree().dummy_at(Leaf(nth % 32))).unwrap();
        settle();
        for reservation in reserved.iter().rev() {
            access(reservation, &mut contents);
        }
    }
    assert!(contents.iter().all(|content| *content > 0), "every block was accessed");
}
