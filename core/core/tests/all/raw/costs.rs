//! RAW ORAM costs what the paper says.

use super::setup::*;
use crate::conformance::runs::write_all;
use ameles_core::oram::{Access, Oram};
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::raw::{RawOram, RawParameters};
use ameles_core::testing::{ArrayModel, TraceEntry, TraceStore, finish_now};
use ameles_core::tree::layout::{Extent, Layout};
use ameles_core::types::{BlockId, Bucket, Slot};

/// The slots of the path to a leaf, bucket by bucket, and its buckets in the same order. There are 2^L leaves, and Z =
/// 5. Headers are numbered level by level, and bodies after them.
fn path(parameters: &RawParameters, leaf: u64) -> (Vec<Slot>, Vec<Bucket>) {
    let (leaf_level, top) = (parameters.leaf_level.0, parameters.top.0);
    let headers = (2 << leaf_level) - (1 << top);
    let (mut slots, mut buckets) = (Vec::new(), Vec::new());
    for level in top..=leaf_level {
        let header = Bucket((1 << level) - (1 << top) + (leaf >> (leaf_level - level)));
        let body = Bucket(headers + header.0);
        slots.push(Slot::only(header));
        slots.extend((0..5).map(|index| Slot { bucket: body, index }));
        buckets.extend([header, body]);
    }
    (slots, buckets)
}

#[test]
fn buckets_numbered_from_another_first_one_leave_those_before_alone() {
    let parameters = parameters(4, 1);
    let mut layout = Layout::new(vec![Extent { buckets: 9, slots: 1, slot_bytes: 3 }]);
    let first = layout.append(&parameters.layout());
    let store = TraceStore::new(layout);
    let positions = FlatPositionMap::new(Positions::new(parameters.capacity));
    let oram = RawOram::new(parameters, first, &store, positions, rng(1)).unwrap();
    let mut model = ArrayModel::new(oram.capacity(), oram.block_bytes());
    write_all(&oram, &mut model);
    let is_behind = |entry: TraceEntry| match entry {
        TraceEntry::Read(slots) => slots.iter().all(|slot| slot.bucket >= first),
        TraceEntry::Write(buckets) => buckets.iter().all(|bucket| *bucket >= first),
    };
    finish_now(model.read_all(&oram));
    assert!(store.take_trace().into_iter().all(is_behind));
}

#[test]
fn an_access_reads_a_path_and_writes_its_headers_and_every_a_th_is_followed_by_the_next_path_in_order() {
    let parameters = RawParameters { max_batch: 1, ..parameters(4, 1) };
    let store = TraceStore::new(parameters.layout());
    let oram = flat_raw(&parameters, &store, 1);
    let mut slots_moved = 0;
    for nth in 0..500u64 {
        finish_now(oram.access(&mut [Access::Write(BlockId(nth % 7 * 3), &[1; 5])])).unwrap();
        assert_eq!(oram.pending_steps(), if nth % 5 == 4 { 2 } else { 1 });
        finish_now(oram.step()).unwrap();
        let [TraceEntry::Read(read), TraceEntry::Write(written)] = &store.take_trace()[..] else {
            panic!("one round trip each way")
        };
        let body = read.last().unwrap().bucket.0;
        let leaf = body - (parameters.layout().buckets() - 16);
        let (slots, buckets) = path(&parameters, leaf);
        let headers: Vec<Bucket> = buckets.into_iter().step_by(2).collect();
        assert_eq!((read, written), (&slots, &headers));
        slots_moved += read.len() + written.len();
        if nth % 5 < 4 {
            continue;
        }
        finish_now(oram.step()).unwrap();
        let eviction = nth / 5;
        let reverse_bits = (0..4).fold(0, |leaf, bit| leaf << 1 | (eviction >> bit & 1));
        let (slots, buckets) = path(&parameters, reverse_bits);
        slots_moved += 2 * slots.len();
        assert_eq!(store.take_trace(), [TraceEntry::Read(slots), TraceEntry::Write(buckets)]);
        assert_eq!((oram.pending_steps(), oram.evictions()), (0, eviction + 1));
    }
    // Section IV-B: Z + 2 + 2 (Z + 1) / A for each bucket of a path, 9.4 with Z = A = 5; Path ORAM's are 10.
    let a_bucket = slots_moved as f64 / (500 * parameters.path_buckets()) as f64;
    assert!((a_bucket - 9.4).abs() < 1e-9, "{a_bucket}");
}

#[test]
fn a_batch_reads_each_bucket_once_and_no_header_that_is_held() {
    let parameters = parameters(4, 1);
    let store = TraceStore::new(parameters.layout());
    let oram = flat_raw(&parameters, &store, 1);
    let bodies = parameters.layout().buckets() / 2;
    let mut held = std::collections::BTreeSet::new();
    for length in [3, 2, 1] {
        let mut batch: Vec<Access<'_>> = (0..length).map(|_| Access::Dummy).collect();
        finish_now(oram.access(&mut batch)).unwrap();
        let [TraceEntry::Read(slots)] = &store.take_trace()[..] else { panic!("one round trip") };
        let mut once = slots.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), slots.len());
        let (headers, payloads): (Vec<&Slot>, Vec<&Slot>) =
            slots.iter().partition(|slot| slot.bucket.0 < bodies);
        assert!(headers.iter().all(|header| held.insert(header.bucket)), "read again while held");
        let read: std::collections::BTreeSet<_> =
            payloads.iter().map(|slot| Bucket(slot.bucket.0 - bodies)).collect();
        assert!(payloads.len() == 5 * read.len() && read.is_subset(&held));
    }
    finish_now(oram.step()).unwrap();
    let [TraceEntry::Write(written)] = &store.take_trace()[..] else { panic!("one round trip") };
    assert!(written.iter().copied().eq(written.iter().copied().filter(|bucket| held.remove(bucket))));
    assert!(held.is_empty());
}
