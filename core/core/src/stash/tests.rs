//! Tests of the stash: blocks are found, and payloads come back or are forgotten.

use super::*;

fn payload(stash: &Stash, block: BlockId) -> [u8; 2] {
    let mut payload = [0; 2];
    stash.read(stash.find(block).unwrap(), &mut payload);
    payload
}

/// Holds for each block its number, twice.
struct Numbers;

impl PayloadSource for Numbers {
    fn read(&self, block: BlockId, into: &mut [u8]) {
        into.fill(block.0 as u8);
    }
}

/// A stash that tracks changes and reads payloads from `Numbers`.
fn backed_by_numbers(block_bytes: usize) -> Stash {
    let mut stash = Stash::new(block_bytes, Level(0), Level(0));
    stash.set_payload_source(Box::new(Numbers));
    stash.track_changes();
    stash
}

#[test]
fn a_payload_that_its_source_has_is_read_from_there_and_one_that_was_changed_stays() {
    let mut stash = backed_by_numbers(2);
    for block in 1..4 {
        stash.insert_with(BlockId(block), Leaf(0), b"ab");
    }
    stash.release_payloads();
    assert_eq!(payload(&stash, BlockId(1)), *b"ab", "no source has it before its changes are taken");
    stash.take_changes();
    let second = stash.find(BlockId(2)).unwrap();
    stash.payload_mut(second).copy_from_slice(b"cd");
    stash.release_payloads();
    let all = [1, 2, 3].map(|block| payload(&stash, BlockId(block)));
    assert_eq!(all, [[1, 1], *b"cd", [3, 3]]);
    assert_eq!([1, 2, 3].map(|block| stash.is_payload_external(BlockId(block))), [true, false, true]);
    stash.load_payload(BlockId(3), b"ef");
    stash.load_payload(BlockId(2), b"no");
    assert_eq!((payload(&stash, BlockId(3)), payload(&stash, BlockId(2))), (*b"ef", *b"cd"));
    let first = stash.find(BlockId(1)).unwrap();
    assert_eq!(stash.payload_mut(first), [1, 1]);
}

#[test]
fn memory_follows_what_is_resident() {
    let mut stash = backed_by_numbers(4096);
    for block in 0..1000 {
        stash.insert(BlockId(block), Leaf(0));
        if block % 10 == 9 {
            stash.take_changes();
            stash.release_payloads();
        }
    }
    assert_eq!(stash.len(), 1000);
    assert!(stash.bytes() < 16 * 4096 + 1000 * 100, "{} bytes", stash.bytes());
}

#[test]
fn blocks_are_found_by_id_and_by_subtree() {
    let mut stash = Stash::new(2, Level(3), Level(1));
    let one = stash.insert_with(BlockId(10), Leaf(1), b"ab");
    stash.insert_with(BlockId(11), Leaf(6), b"cd");
    assert_eq!(stash.subtree(0).count(), 1);
    stash.remap(one, Leaf(7));
    let right: Vec<BlockId> = stash.subtree(1).map(|handle| stash.block(handle)).collect();
    assert_eq!(right, [BlockId(10), BlockId(11)]);
    assert_eq!(payload(&stash, BlockId(10)), *b"ab");
    stash.remove(one);
    assert!(stash.find(BlockId(10)).is_none());
    assert_eq!((stash.len(), stash.peak()), (1, 2));
}

#[test]
fn a_vacant_place_forgets_its_last_payload() {
    let mut stash = Stash::new(2, Level(0), Level(0));
    let first = stash.insert_with(BlockId(1), Leaf(0), b"xy");
    stash.remove(first);
    stash.insert(BlockId(2), Leaf(0));
    assert_eq!(payload(&stash, BlockId(2)), [0, 0]);
}

#[test]
fn a_snapshot_gives_back_the_same_lists() {
    let mut stash = Stash::new(1, Level(2), Level(1));
    for (block, leaf) in [(5, 0), (6, 3), (7, 1), (8, 2), (9, 0)] {
        stash.insert_with(BlockId(block), Leaf(leaf), &[block as u8]);
    }
    let mut again = Stash::new(1, Level(2), Level(1));
    assert!(again.restore(&stash.snapshot()));
    let order = |stash: &Stash| stash.iter().map(|at| (stash.block(at), stash.leaf(at))).collect::<Vec<_>>();
    assert_eq!(order(&stash), order(&again));
    assert!(!again.restore(&stash.snapshot()), "a stash in use takes no snapshot");
}
