//! PMMAC: a store that changes, exchanges, replays or drops blocks makes no answer wrong.

use super::freecursive::{counted, parameters};
use super::setup::*;
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::schemes::freecursive::{FreecursiveOram, FreecursiveParameters, NextPath, TrustedHits};
use ameles_core::testing::{ArrayModel, Operation, TraceStore, finish_now, settle};
use ameles_core::types::{BlockId, Bucket, Slot};
use proptest::prelude::*;
use proptest::sample::Index;
use rand_chacha::ChaCha8Rng;

/// Header, payload and tag.
const ENTRY: usize = 16 + 13 + 16;
const FORGED: &str = "a block is not what was last written: its tag does not match its counter";
const MISSING: &str = "a block is not where the position map has it";

type Subject<'a> = FreecursiveOram<&'a TraceStore, ChaCha8Rng>;

/// Two levels of PosMap blocks, a buffer of this many, and tags.
fn tagged(look_aside: u32) -> FreecursiveParameters {
    let base = parameters(50, 1, TrustedHits::ReadThePath);
    counted(FreecursiveParameters { look_aside, look_aside_ways: 1, ..base }, 0, true)
}

fn subject<'a>(parameters: &FreecursiveParameters, store: &'a TraceStore, seed: u64) -> Subject<'a> {
    FreecursiveOram::new(parameters.clone(), Bucket(0), store, rng(seed)).unwrap()
}

fn slot(bucket: u64) -> Slot {
    Slot { bucket: Bucket(bucket), index: 0 }
}

#[derive(Clone, Debug)]
enum Tampering {
    /// A bit of a bucket.
    Flip(Index, Index),
    /// A bucket as it was after an earlier step.
    Replay(Index, Index),
    /// The whole store as it was after an earlier step.
    RollBack(Index),
    /// Two entries of two buckets.
    Swap([Index; 2], [usize; 2]),
    /// The payloads of two entries of two buckets.
    SwapPayloads([Index; 2], [usize; 2]),
    /// An entry of a bucket, that a dummy replaces.
    Drop(Index, usize),
}

fn tampering() -> impl Strategy<Value = Tampering> {
    let entries = || (any::<[Index; 2]>(), [0usize..4, 0..4]);
    prop_oneof![
        any::<(Index, Index)>().prop_map(|(bucket, bit)| Tampering::Flip(bucket, bit)),
        any::<(Index, Index)>().prop_map(|(bucket, earlier)| Tampering::Replay(bucket, earlier)),
        any::<Index>().prop_map(Tampering::RollBack),
        entries().prop_map(|(buckets, entries)| Tampering::Swap(buckets, entries)),
        entries().prop_map(|(buckets, entries)| Tampering::SwapPayloads(buckets, entries)),
        (any::<Index>(), 0usize..4).prop_map(|(bucket, entry)| Tampering::Drop(bucket, entry)),
    ]
}

impl Tampering {
    fn apply(&self, store: &TraceStore, earlier: &[Vec<u8>]) {
        let buckets = store.layout().buckets();
        let bucket = |index: &Index| index.index(buckets as usize) as u64;
        let swap = |at: &[Index; 2], entries: &[usize; 2], from: usize| {
            let places = [0, 1].map(|nth| (bucket(&at[nth]), entries[nth] * ENTRY + from));
            let contents = places.map(|(bucket, first)| {
                let mut found = Vec::new();
                store.tamper(slot(bucket), |bytes| {
                    found = bytes[first..first + ENTRY - from].to_vec();
                });
                found
            });
            for ((bucket, first), new) in places.into_iter().zip(contents.iter().rev()) {
                store.tamper(slot(bucket), |bytes| bytes[first..first + new.len()].copy_from_slice(new));
            }
        };
        match self {
            Tampering::Flip(at, bit) => store.tamper(slot(bucket(at)), |bytes| {
                let bit = bit.index(8 * bytes.len());
                bytes[bit / 8] ^= 1 << (bit % 8);
            }),
            Tampering::Replay(at, then) => {
                let old = &earlier[then.index(earlier.len())];
                let first = bucket(at) as usize * 4 * ENTRY;
                store.tamper(slot(bucket(at)), |bytes| {
                    bytes.copy_from_slice(&old[first..first + bytes.len()]);
                });
            }
            Tampering::RollBack(then) => store.set_contents(&earlier[then.index(earlier.len())]),
            Tampering::Swap(at, entries) => swap(at, entries, 0),
            Tampering::SwapPayloads(at, entries) => swap(at, entries, 16),
            Tampering::Drop(at, entry) => {
                store.tamper(slot(bucket(at)), |bytes| bytes[entry * ENTRY..][..ENTRY].fill(0));
            }
        }
    }
}

proptest! {
    #[test]
    fn whatever_befalls_the_store_each_answer_is_right_or_the_oram_refuses_from_then_on(
        steps in prop::collection::vec(
            prop_oneof![4 => operation(50).prop_map(Ok), 1 => tampering().prop_map(Err)],
            0..150,
        ),
        look_aside in 1u32..5,
        seed: u64,
    ) {
        let parameters = tagged(look_aside);
        let store = TraceStore::new(parameters.tree.layout());
        let oram = subject(&parameters, &store, seed);
        let mut model = ArrayModel::new(50, 13);
        let mut earlier = vec![store.contents()];
        let rest = (0..50).map(|block| Ok(Operation::Read(BlockId(block))));
        for step in steps.into_iter().chain(rest) {
            match step {
                Err(tampering) => tampering.apply(&store, &earlier),
                Ok(operation) => {
                    match finish_now(model.prepare(&[operation]).try_run(&oram)) {
                        Ok(()) => finish_now(settle(&oram)),
                        Err(OramError::Contradiction(_)) => {
                            assert_refuses(&oram);
                            break;
                        }
                        Err(other) => panic!("{other}"),
                    }
                    earlier.push(store.contents());
                }
            }
        }
    }
}

/// All ways in are shut.
fn assert_refuses(oram: &Subject<'_>) {
    let poisoned = |outcome: Result<(), OramError<_>>| matches!(outcome, Err(OramError::Poisoned));
    assert!(poisoned(finish_now(oram.access(&mut [Access::Dummy]))));
    assert!(poisoned(finish_now(oram.step())));
    assert!(poisoned(finish_now(oram.tree().dummy())));
    assert!(poisoned(match oram.next(BlockId(0)).unwrap() {
        NextPath::PosMap(lacking) => finish_now(oram.fetch(lacking)),
        NextPath::Block => finish_now(oram.access_block(BlockId(0), |_| panic!("it is served"))),
    }));
}

/// The bucket and the entry of a block in the store.
fn find(store: &TraceStore, block: u64) -> Option<(u64, usize)> {
    let contents = store.contents();
    let nth = contents.chunks_exact(ENTRY).position(|entry| entry[..8] == (block + 1).to_le_bytes())?;
    Some((nth as u64 / 4, nth % 4))
}

/// An ORAM that was used, and the contents of its store after each access.
fn used<'a>(parameters: &FreecursiveParameters, store: &'a TraceStore) -> (Subject<'a>, Vec<Vec<u8>>) {
    let oram = subject(parameters, store, 5);
    let mut model = ArrayModel::new(50, 13);
    let mut earlier = Vec::new();
    for nth in 0..150u64 {
        let operation = Operation::Write(BlockId(nth * 7 % 50), (nth % 50) as u8);
        finish_now(async {
            model.batch(&oram, &[operation]).await;
            settle(&oram).await;
        });
        earlier.push(store.contents());
    }
    (oram, earlier)
}

/// Reads all blocks until one is refused, and tells why. A block that is refused is not given.
fn refusal(oram: &Subject<'_>) -> Option<&'static str> {
    for block in 0..50 {
        let mut read = [0xa5; 13];
        match finish_now(oram.access(&mut [Access::Read(BlockId(block), &mut read)])) {
            Ok(()) => finish_now(settle(oram)),
            Err(OramError::Contradiction(why)) => {
                assert_eq!(read, [0xa5; 13]);
                assert_refuses(oram);
                return Some(why);
            }
            Err(other) => panic!("{other}"),
        }
    }
    None
}

/// A change of a store that has a block in this bucket and entry. The third is what the store held earlier.
type Attack<'a> = &'a dyn Fn(&TraceStore, (u64, usize), &[Vec<u8>]);

/// User's blocks and PosMap blocks of both levels: all of them are of interest when all blocks are read.
#[test]
fn a_block_of_interest_that_is_changed_exchanged_replayed_or_dropped_is_found_out() {
    let parameters = tagged(1);
    let space = parameters.address_space();
    let attack = |block: u64, attack: Attack<'_>| {
        let store = TraceStore::new(parameters.tree.layout());
        let (oram, earlier) = used(&parameters, &store);
        let place = find(&store, block)?;
        attack(&store, place, &earlier);
        Some(refusal(&oram).expect("it is found out"))
    };
    let mut seen = 0;
    for block in (0..space.blocks()).step_by(3) {
        for at in [0, 12, 13, 28] {
            let flip = |store: &TraceStore, (bucket, entry): (u64, usize), _: &[Vec<u8>]| {
                store.tamper(slot(bucket), |bytes| bytes[entry * ENTRY + 16 + at] ^= 0x10);
            };
            let Some(why) = attack(block, &flip) else { continue };
            assert_eq!(why, FORGED, "block {block}, byte {at}");
            seen += 1;
        }
        let dropped = attack(block, &|store, (bucket, entry), _| {
            store.tamper(slot(bucket), |bytes| bytes[entry * ENTRY..][..ENTRY].fill(0));
        });
        assert!(dropped.is_none_or(|why| why == MISSING), "{dropped:?}");
        // Its payload and tag of the last time when they were others, under the header of today.
        let replayed = attack(block, &|store, (bucket, entry), earlier| {
            let header = |contents: &[u8]| {
                let mut entries = contents.chunks_exact(ENTRY);
                entries
                    .find(|entry| entry[..8] == (block + 1).to_le_bytes())
                    .map(|entry| entry[16..].to_vec())
            };
            let now = header(&store.contents());
            let old =
                earlier.iter().rev().find_map(|then| header(then).filter(|old| Some(old) != now.as_ref()));
            let old = old.expect("it was written before");
            store
                .tamper(slot(bucket), |bytes| bytes[entry * ENTRY + 16..][..old.len()].copy_from_slice(&old));
        });
        assert!(replayed.is_none_or(|why| why == FORGED), "{replayed:?}");
    }
    assert!(seen > 60, "{seen} attacks found their block in the store");
    let store = TraceStore::new(parameters.tree.layout());
    assert_eq!(refusal(&used(&parameters, &store).0), None, "an honest store is believed");
}

#[test]
fn blocks_that_are_taken_out_and_put_in_have_tags_that_fit() {
    let parameters = tagged(4);
    let store = TraceStore::new(parameters.tree.layout());
    let (oram, _) = used(&parameters, &store);
    let bring_in = |block| {
        while let NextPath::PosMap(lacking) = oram.next(block).unwrap() {
            finish_now(oram.fetch(lacking)).unwrap();
            finish_now(settle(&oram));
        }
    };
    let block = (0..50).map(BlockId).find(|block| find(&store, block.0).is_some()).unwrap();
    for forges in [false, true] {
        bring_in(block);
        if forges {
            let (bucket, entry) = find(&store, block.0).expect("it stands in the store");
            store.tamper(slot(bucket), |bytes| bytes[entry * ENTRY + 16] ^= 1);
        }
        let mut taken = Vec::new();
        let outcome = finish_now(oram.take_block_out(block, |payload| taken = payload.to_vec()));
        if forges {
            assert!(matches!(outcome, Err(OramError::Contradiction(FORGED))));
            assert_eq!(taken, [], "nothing was given");
            return assert_refuses(&oram);
        }
        outcome.unwrap();
        finish_now(settle(&oram));
        bring_in(block);
        oram.put_block_in(block, &taken).unwrap();
        for other in (0..50).cycle().take(200) {
            if find(&store, block.0).is_some() {
                break;
            }
            finish_now(oram.access(&mut [Access::Read(BlockId(other), &mut [0; 13])])).unwrap();
            finish_now(settle(&oram));
        }
    }
}
