//! The costs of a round, as they are documented.

use super::setup::*;
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::testing::{ProcessorAction, SentMessage, TraceEntry, TraceStore, finish_now};
use ameles_core::types::BlockId;

/// The numbers of message steps, of messages, of slots that are read, and of slots that are written.
#[derive(Debug, Default, PartialEq, Eq)]
struct Traffic {
    steps: usize,
    messages: usize,
    read: usize,
    written: usize,
}

fn traffic(acts: &[ProcessorAction]) -> Traffic {
    let mut traffic = Traffic::default();
    for act in acts {
        match act {
            ProcessorAction::Messages(sent) => {
                traffic.steps += 1;
                traffic.messages += sent.len();
            }
            ProcessorAction::StoreRequest(_, TraceEntry::Read(slots)) => traffic.read += slots.len(),
            ProcessorAction::StoreRequest(_, TraceEntry::Write(buckets)) => traffic.written += buckets.len(),
        }
    }
    traffic
}

#[test]
fn a_round_costs_the_slots_and_messages_that_it_says() {
    for bits in 1..5usize {
        let m = 1 << bits;
        let parameters = parameters(m as u32, 4, 1);
        let store = TraceStore::new(parameters.layout());
        let oram = flat_parallel(&parameters, &store, 1);
        let k = parameters.path_buckets();
        assert_eq!(k, 4);
        for nth in 0..40u64 {
            let mut access = [Access::Write(BlockId(nth % parameters.capacity), &[7; 5])];
            finish_now(oram.access(&mut access)).unwrap();
            let on_line = traffic(&store.take_actions());
            assert!(on_line.steps <= bits * (bits + 1) + 1 + 3 * bits + 2, "{m} processors: {on_line:?}");
            assert!(on_line.steps >= bits * (bits + 1) + 1 + 3 * bits, "{m} processors: {on_line:?}");
            assert!(on_line.read <= m * k && on_line.written == 0, "{m} processors: {on_line:?}");
            let refused = finish_now(oram.access(&mut [Access::Dummy]));
            assert!(matches!(refused, Err(OramError::Backlogged)) && oram.pending_steps() == 1);
            assert_eq!(store.take_actions(), []);
            finish_now(oram.step()).unwrap();
            let off_line = traffic(&store.take_actions());
            assert_eq!((off_line.steps, oram.pending_steps()), (0, 0));
            assert!(off_line.read <= 2 * m * k && off_line.written == on_line.read + off_line.read);
        }
    }
}

#[test]
fn messages_are_as_long_as_is_documented() {
    let parameters = parameters(8, 2, 0);
    let lengths = parameters.message_bytes();
    assert_eq!((lengths.record, lengths.neighbour, lengths.position), (37, 8, 16));
    assert_eq!((lengths.request, lengths.answer), (16, 5));
    assert_eq!(lengths.routed, [21 + 1, 2 * 21 + 1, 4 * 21 + 1]);
    let store = TraceStore::new(parameters.layout());
    let oram = flat_parallel(&parameters, &store, 1);
    finish_now(oram.access(&mut [Access::Write(BlockId(3), &[7; 5])])).unwrap();
    let of_steps: Vec<Vec<usize>> = store
        .take_actions()
        .into_iter()
        .filter_map(|act| match act {
            ProcessorAction::Messages(sent) => {
                Some(sent.iter().map(|SentMessage { bytes, .. }| *bytes).collect())
            }
            ProcessorAction::StoreRequest(..) => None,
        })
        .collect();
    let mut due = vec![lengths.record; 6];
    due.extend([8, 16, 32, 64, lengths.request, lengths.answer]);
    due.extend([lengths.record; 3]);
    due.extend(lengths.routed);
    due.extend([lengths.record; 6]);
    assert!(of_steps.iter().zip(&due).all(|(step, due)| step.iter().all(|bytes| bytes == due)));
    assert_eq!(of_steps.len(), due.len(), "with this seed a processor asks another one");
}

#[test]
fn a_processor_alone_sends_no_message() {
    let parameters = parameters(1, 3, 0);
    let store = TraceStore::new(parameters.layout());
    let oram = flat_parallel(&parameters, &store, 1);
    finish_now(oram.access(&mut [Access::Write(BlockId(3), &[7; 5])])).unwrap();
    finish_now(oram.step()).unwrap();
    assert_eq!(traffic(&store.take_actions()).steps, 0);
    // Each table of positions has 4 bytes per block; the stash has room for one that came.
    assert!(oram.trusted_bytes() >= 4 * parameters.capacity as usize);
}
