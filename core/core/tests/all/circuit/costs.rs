//! The slots and round trips of Circuit ORAM.

use super::setup::*;
use ameles_core::oram::{Access, Oram};
use ameles_core::testing::{TraceEntry, TraceStore, finish_now, settle};
use ameles_core::types::BlockId;

#[test]
fn an_access_costs_the_slots_and_round_trips_that_it_says() {
    let parameters = parameters(6, 2);
    let store = TraceStore::new(parameters.layout());
    let oram = flat_circuit(&parameters, &store, 1);
    let k = parameters.path_buckets();
    let (mut on_line, mut read, mut written) = (0, 0, 0);
    for nth in 0..500 {
        finish_now(oram.access(&mut [Access::Write(BlockId(nth % 128), &[1; 5])])).unwrap();
        let [TraceEntry::Read(slots)] = &store.take_trace()[..] else { panic!("one round trip on line") };
        assert_eq!(slots.len(), k);
        on_line += slots.len();
        finish_now(settle(&oram));
        let trace = store.take_trace();
        let [TraceEntry::Read(slots), TraceEntry::Write(buckets)] = &trace[..] else { panic!("{trace:?}") };
        assert!(slots.len() <= 2 * k && buckets.len() == k + slots.len());
        (read, written) = (read + slots.len(), written + buckets.len());
    }
    assert!(on_line + read == written && written <= 3 * on_line);
}
