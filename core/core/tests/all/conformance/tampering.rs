//! A store that tampers with a tree whose buckets are read as a whole: headers that contradict the tree, and junk.

use super::parameters::SchemeParameters;
use super::runs::write_all;
use super::{Scheme, check};
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::testing::{ArrayModel, TraceStore, TraceStoreError, finish_now};
use ameles_core::tree::layout::Layout;
use ameles_core::types::{BlockId, Bucket, Slot};
use proptest::prelude::*;

/// The number of bytes of an entry of a bucket, header and payload, in the trees of these tests.
pub const ENTRY: usize = 16 + 5;

/// A change of a bucket's bytes, with entries of this many bytes.
pub type Tampering = fn(&mut [u8], usize);

fn real(entry: &&mut [u8]) -> bool {
    entry[..8] != [0; 8]
}

/// The kinds of tampering that every scheme over a tree detects, with the answer to each.
pub const TAMPERINGS: [(&str, Tampering); 4] = [
    ("a block lies beyond the capacity or the tree", |bucket, entry| {
        bucket.chunks_exact_mut(entry).filter(real).for_each(|entry| entry[7] = 1);
    }),
    ("a block lies beyond the capacity or the tree", |bucket, entry| {
        bucket.chunks_exact_mut(entry).filter(real).for_each(|entry| entry[8] += 64);
    }),
    ("a block is not on its path", |bucket, entry| {
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

/// Puts junk into every bucket of a store, with entries of this many bytes. Numbers that are in range get past the
/// first checks: `small_headers`.
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

/// A tree whose store tampers with it.
pub struct Tree<P> {
    /// The parameters with blocks of 5 bytes.
    pub parameters: P,
    /// The buckets that are changed: those with headers.
    pub headers: Layout,
    /// The bytes of an entry of these buckets.
    pub entry: usize,
}

impl<P: SchemeParameters, O: Oram<Error = TraceStoreError>> Scheme<P, O> {
    /// Each of these changes of the store is found out with its reason, and nothing is answered from then on.
    pub fn finds_tampering(&self, tree: &Tree<P>, tamperings: &[(&str, Tampering)]) {
        for (expected, tampering) in tamperings {
            let (oram, store) = self.new_oram(&tree.parameters, 1);
            write_all(&oram, &mut ArrayModel::new(oram.capacity(), oram.block_bytes()));
            tamper(&store, &tree.headers, |_, bytes| tampering(bytes, tree.entry));
            match (0..oram.capacity()).find_map(|block| read(&oram, block).err()) {
                Some(OramError::Contradiction(found)) => assert_eq!(found, *expected),
                other => panic!("{expected}: {other:?}"),
            }
            assert!(matches!(read(&oram, 0), Err(OramError::Poisoned)));
        }
    }

    /// No bytes in the store make the scheme panic.
    pub fn survives_any_bytes_in_the_store(&self, tree: &Tree<P>) {
        let junk = prop::collection::vec(prop::collection::vec(any::<u8>(), 84), 1..8);
        check((junk, any::<bool>(), any::<u64>()), |(junk, small_headers, seed)| {
            let (oram, store) = self.new_oram(&tree.parameters, seed);
            write_all(&oram, &mut ArrayModel::new(oram.capacity(), oram.block_bytes()));
            fill_with_junk(&store, &tree.headers, (&junk, tree.entry), small_headers);
            for block in 0..oram.capacity() {
                match read(&oram, block) {
                    Ok(()) | Err(OramError::Contradiction(_) | OramError::Poisoned) => {}
                    Err(other) => panic!("{other}"),
                }
            }
        });
    }
}

/// Reads a block, and runs what is pending afterwards.
fn read<O: Oram>(oram: &O, block: u64) -> Result<(), OramError<O::Error>> {
    let mut into = vec![0; oram.block_bytes()];
    finish_now(oram.access(&mut [Access::Read(BlockId(block), &mut into)]))?;
    (0..oram.pending_steps()).try_for_each(|_| finish_now(oram.step()))
}
