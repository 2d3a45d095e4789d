//! The lies of a store to a tree whose buckets are read as a whole: blocks that lie, and junk.

use ameles_core::testing::TraceStore;
use ameles_core::tree::layout::Layout;
use ameles_core::types::{Bucket, Slot};

/// Bytes of an entry of a bucket, header and payload, in the trees of these tests.
pub const ENTRY: usize = 16 + 5;

/// A change of a bucket's bytes, with entries of so many bytes.
pub type Tampering = fn(&mut [u8], usize);

fn real(entry: &&mut [u8]) -> bool {
    entry[..8] != [0; 8]
}

/// Lies that every such tree finds out, with its answer to each.
pub const TAMPERINGS: [(&str, Tampering); 4] = [
    ("a block lies beyond the capacity or the tree", |bucket, entry| {
        bucket.chunks_exact_mut(entry).filter(real).for_each(|entry| entry[7] = 1);
    }),
    ("a block lies beyond the capacity or the tree", |bucket, entry| {
        bucket.chunks_exact_mut(entry).filter(real).for_each(|entry| entry[8] += 64);
    }),
    ("a block stands off its path", |bucket, entry| {
        bucket.chunks_exact_mut(entry).filter(real).for_each(|entry| entry[8] ^= 63);
    }),
    ("a block is not where the position map has it", |bucket, _| bucket.fill(0)),
];

/// A lie that a tree finds out which takes in a path's blocks at once.
pub const DUPLICATE: (&str, Tampering) = ("a block exists twice", |bucket, entry| {
    let first = bucket[..entry].to_vec();
    bucket.chunks_exact_mut(entry).filter(real).for_each(|entry| entry.copy_from_slice(&first));
});

/// Changes every bucket of a store.
pub fn tamper(store: &TraceStore, layout: &Layout, mut tampering: impl FnMut(u64, &mut [u8])) {
    for bucket in 0..layout.buckets() {
        store.tamper(Slot { bucket: Bucket(bucket), index: 0 }, |bytes| tampering(bucket, bytes));
    }
}

/// Puts junk into every bucket of a store, with entries of so many bytes. Numbers that are in range get past the first
/// checks: `small_headers`.
pub fn fill_with_junk(
    store: &TraceStore,
    layout: &Layout,
    (junk, entry): (&[Vec<u8>], usize),
    small_headers: bool,
) {
    tamper(store, layout, |bucket, bytes| {
        let junk = &junk[bucket as usize % junk.len()];
        bytes.iter_mut().zip(junk.iter().cycle()).for_each(|(byte, junk)| *byte = *junk);
        if small_headers {
            bytes.chunks_exact_mut(entry).for_each(|entry| (entry[1..8].fill(0), entry[9..16].fill(0)).0);
        }
    });
}
