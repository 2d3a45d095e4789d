//! Buckets that are on the trusted side between their reading and their writing. They have the format of untrusted
//! memory: Z entries, each a header and a payload, all zeros if there is no block.

use crate::oram::OramError;
use crate::store::Store;
use crate::tree::block_header::{self, HEADER_BYTES};
use crate::tree::geometry::Geometry;
use crate::types::{BlockId, Bucket, Leaf, Slot};
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};
use core::convert::Infallible;
use core::error::Error;
use hashbrown::HashTable;

/// The buckets of some paths. Their numbers, and the order in which they were read, are public; their contents are
/// secret.
#[derive(Default)]
pub(crate) struct BucketBuffer {
    /// The size of an entry in bytes.
    entry_bytes: usize,
    /// The size of a bucket in bytes.
    bucket_bytes: usize,
    buckets: Vec<Bucket>,
    bytes: Vec<u8>,
    /// The places in `buckets`, by the hash of the bucket.
    index: HashTable<u32>,
    slots: Vec<Slot>,
}

/// Held buckets as they are written into a snapshot.
#[derive(BorshSerialize, BorshDeserialize)]
pub(crate) struct HeldSnapshot {
    buckets: Vec<Bucket>,
    bytes: Vec<u8>,
}

/// The place where an entry of a held bucket begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry(usize);

fn hash(bucket: Bucket) -> u64 {
    let mixed = bucket.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 32)
}

impl BucketBuffer {
    /// An empty set of held buckets, for buckets of Z blocks of this many bytes.
    pub(crate) fn new(blocks_per_bucket: u32, block_bytes: u32) -> Self {
        let entry_bytes = HEADER_BYTES + block_bytes as usize;
        let bucket_bytes = blocks_per_bucket as usize * entry_bytes;
        BucketBuffer { entry_bytes, bucket_bytes, ..BucketBuffer::default() }
    }

    /// Reads the buckets of these paths that are not held, in one round trip; from then on they are held. Every block
    /// must be below the capacity and on its path.
    pub(crate) async fn read<S: Store>(
        &mut self,
        paths: &[Leaf],
        store: &S,
        tree: &Geometry,
        capacity: u64,
    ) -> Result<(), OramError<S::Error>> {
        if paths.iter().any(|path| path.0 >= tree.leaves()) {
            return Err(OramError::Contradiction("a position lies beyond the tree"));
        }
        self.slots.clear();
        for (_, bucket) in paths.iter().flat_map(|path| tree.path(*path)) {
            if self.add(bucket) {
                self.slots.push(Slot::only(bucket));
            }
        }
        let before = self.bytes.len();
        self.bytes.resize(self.buckets.len() * self.bucket_bytes, 0);
        store.read(&self.slots, &mut self.bytes[before..]).await?;
        self.check(before, tree, capacity)
    }

    /// Writes every held bucket in one round trip; from then on no bucket is held.
    pub(crate) async fn write_back<S: Store>(&mut self, store: &S) -> Result<(), S::Error> {
        store.write(&self.buckets, &self.bytes).await?;
        self.buckets.clear();
        self.bytes.clear();
        self.index.clear();
        Ok(())
    }

    /// Returns whether no bucket is held.
    pub(crate) fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// Adds a bucket, whose contents are [added](Self::add_contents) next. Returns `false` if it is held already.
    pub(crate) fn add(&mut self, bucket: Bucket) -> bool {
        let (buckets, place) = (&self.buckets, self.buckets.len() as u32);
        if self.index.find(hash(bucket), |place| buckets[*place as usize] == bucket).is_some() {
            return false;
        }
        self.index.insert_unique(hash(bucket), place, |place| hash(buckets[*place as usize]));
        self.buckets.push(bucket);
        true
    }

    /// Adds the contents of the buckets that were added since the last call, in that order. Every block must be below
    /// the capacity and on its path.
    pub(crate) fn add_contents<E: Error + 'static>(
        &mut self,
        contents: &[u8],
        tree: &Geometry,
        capacity: u64,
    ) -> Result<(), OramError<E>> {
        let before = self.bytes.len();
        self.bytes.extend_from_slice(contents);
        self.check(before, tree, capacity)
    }

    fn check<E: Error + 'static>(
        &self,
        from: usize,
        tree: &Geometry,
        capacity: u64,
    ) -> Result<(), OramError<E>> {
        let new = self.buckets.iter().skip(from / self.bucket_bytes);
        for (bucket, bytes) in new.zip(self.bytes[from..].chunks_exact(self.bucket_bytes)) {
            let level = tree.level_of(*bucket);
            for header in bytes.chunks_exact(self.entry_bytes).filter_map(block_header::read) {
                tree.check_block(header, capacity, (level, *bucket))?;
            }
        }
        Ok(())
    }

    /// The entries of a bucket that is held.
    ///
    /// # Panics
    /// If the bucket is not held.
    pub(crate) fn entries(&self, bucket: Bucket) -> impl Iterator<Item = Entry> + use<> {
        let found = self.index.find(hash(bucket), |place| self.buckets[*place as usize] == bucket);
        let start =
            *found.expect("the buckets of a path that was read are held") as usize * self.bucket_bytes;
        (start..start + self.bucket_bytes).step_by(self.entry_bytes).map(Entry)
    }

    /// Finds the entry of a block of this leaf in these buckets, which are held. Returns as well which of the buckets
    /// it is in, counted from 0.
    pub(crate) fn find(
        &self,
        buckets: impl Iterator<Item = Bucket>,
        block: (BlockId, Leaf),
    ) -> Option<(usize, Entry)> {
        let of_bucket = |(nth, bucket)| self.entries(bucket).map(move |entry| (nth, entry));
        buckets.enumerate().flat_map(of_bucket).find(|(_, entry)| self.header(*entry) == Some(block))
    }

    /// The index of an entry in its bucket, from 0.
    pub(crate) fn place(&self, Entry(start): Entry) -> usize {
        start % self.bucket_bytes / self.entry_bytes
    }

    /// The block in an entry, and its leaf.
    pub(crate) fn header(&self, entry: Entry) -> Option<(BlockId, Leaf)> {
        block_header::read(&self.bytes[entry.0..])
    }

    /// An entry, header and payload.
    pub(crate) fn entry_mut(&mut self, Entry(start): Entry) -> &mut [u8] {
        &mut self.bytes[start..start + self.entry_bytes]
    }

    /// Returns the number of bytes of an entry.
    pub(crate) fn entry_bytes(&self) -> usize {
        self.entry_bytes
    }

    /// The buckets that are held, in the order in which they were read.
    #[cfg(feature = "inspect")]
    pub(crate) fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// The blocks in them, each with its leaf and its payload.
    #[cfg(feature = "inspect")]
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (BlockId, Leaf, &[u8])> {
        self.bytes.chunks_exact(self.entry_bytes).filter_map(|entry| {
            let (block, leaf) = block_header::read(entry)?;
            Some((block, leaf, &entry[HEADER_BYTES..]))
        })
    }

    /// The bytes that the buckets occupy.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.capacity() + self.buckets.capacity() * size_of::<Bucket>() + self.index.allocation_size()
    }

    /// Returns the held buckets as a snapshot holds them.
    pub(crate) fn snapshot(&self) -> HeldSnapshot {
        HeldSnapshot { buckets: self.buckets.clone(), bytes: self.bytes.clone() }
    }

    /// Restores the buckets of a snapshot. Returns `false` if they cannot be of this tree: each bucket once, with
    /// blocks that belong there and satisfy `is_sound`.
    #[must_use]
    pub(crate) fn restore(
        &mut self,
        snapshot: HeldSnapshot,
        tree: &Geometry,
        capacity: u64,
        is_sound: impl FnMut((BlockId, Leaf)) -> bool,
    ) -> bool {
        let of_tree = tree.first_bucket().0..tree.first_bucket().0 + tree.buckets();
        let sound = snapshot.buckets.iter().all(|bucket| of_tree.contains(&bucket.0) && self.add(*bucket));
        if !sound || snapshot.bytes.len() != self.buckets.len() * self.bucket_bytes {
            return false;
        }
        self.bytes = snapshot.bytes;
        self.check::<Infallible>(0, tree, capacity).is_ok()
            && self.bytes.chunks_exact(self.entry_bytes).filter_map(block_header::read).all(is_sound)
    }
}
