//! A RAW ORAM continues from its snapshot as if nothing had happened, and from no other bytes.

use super::setup::*;
use crate::conformance::snapshots::assert_contradicting_parts_refused;
use ameles_core::schemes::raw::RawParameters;
use ameles_core::testing::TraceStore;

#[test]
fn a_snapshot_whose_parts_contradict_one_another_is_refused() {
    let parameters = RawParameters { block_bytes: 0, capacity: 4, ..parameters(1, 0) };
    let store = TraceStore::new(parameters.layout());
    let oram = flat_raw(&parameters, &store, 1);
    // The accesses whose headers are not written come before the schedule.
    let unwritten = |bytes: &mut [u8]| bytes[bytes.len() - 32] = 0;
    let more = ("held headers, and no access that left them", &unwritten as &dyn Fn(&mut [u8]));
    assert_contradicting_parts_refused((&oram, &store, &parameters), &[more]);
}
