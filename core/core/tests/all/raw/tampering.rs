//! An eviction of RAW ORAM finds out what its accesses need not find out.

use super::setup::*;
use crate::conformance::runs::write_all;
use crate::conformance::tampering::{DUPLICATE, tamper};
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::testing::{ArrayModel, TraceStore, finish_now};
use ameles_core::tree::block_header::HEADER_BYTES;

#[test]
fn an_eviction_finds_a_block_that_stands_in_two_places() {
    let parameters = parameters(6, 2);
    let store = TraceStore::new(parameters.layout());
    let oram = flat_raw(&parameters, &store, 1);
    write_all(&oram, &mut ArrayModel::new(oram.capacity(), oram.block_bytes()));
    let (expected, tampering) = DUPLICATE;
    tamper(&store, &headers(&parameters), |_, bytes| tampering(bytes, HEADER_BYTES));
    let dummy = |_| {
        finish_now(oram.access(&mut [Access::Dummy]))?;
        (0..oram.pending_steps()).try_for_each(|_| finish_now(oram.step()))
    };
    match (0..5).find_map(|nth| dummy(nth).err()) {
        Some(OramError::Contradiction(found)) => assert_eq!(found, expected),
        other => panic!("{expected}: {other:?}"),
    }
}
