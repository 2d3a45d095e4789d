//! The slots that are read at once, and the places of headers and bodies in the answer.

use super::trees::Trees;
use crate::store::Store;
use crate::tree::bucket_buffer::BucketBuffer;
use crate::types::{Bucket, Leaf, Slot};
use alloc::vec::Vec;

/// The slots of some paths, bucket by bucket: its header, then its body. Used again and again.
#[derive(Default)]
pub(super) struct Reading {
    slots: Vec<Slot>,
    bytes: Vec<u8>,
    /// The size of a header in bytes.
    header_bytes: usize,
    /// The size of a payload in bytes.
    block_bytes: usize,
    /// The places in `bytes` of the headers that were not held.
    headers: Vec<usize>,
    /// The places in `bytes` of the bodies of each path, path after path, root side first.
    bodies: Vec<usize>,
    /// The number of buckets of a path.
    levels: usize,
    /// The buckets of a path that is read as a whole, to be written in the same order.
    buckets: Vec<Bucket>,
}

impl Reading {
    /// Plans to read these paths, each bucket once, and no header that is held. The others are held from now on.
    pub(super) fn plan(&mut self, paths: &[Leaf], trees: &Trees, held: &mut BucketBuffer) {
        self.clear(trees);
        let tree = &trees.headers;
        let mut end = 0;
        for (nth, path) in paths.iter().copied().enumerate() {
            // Paths share a beginning: the longest with the nearest of those before.
            let nearest = (0..nth).max_by_key(|other| tree.deepest_common(path, paths[*other]));
            for (depth, (level, bucket)) in tree.path(path).enumerate() {
                let twin = nearest.filter(|other| tree.deepest_common(path, paths[*other]) >= level);
                if let Some(other) = twin {
                    self.bodies.push(self.bodies[other * self.levels + depth]);
                    continue;
                }
                if held.add(bucket) {
                    self.slots.push(Slot::only(bucket));
                    self.headers.push(end);
                    end += self.header_bytes;
                }
                self.slots.extend(trees.body(level, path));
                self.bodies.push(end);
                end += trees.bytes().2;
            }
        }
        self.bytes.resize(end, 0);
    }

    /// Plans to read all of a path, and to write it.
    pub(super) fn plan_whole(&mut self, path: Leaf, trees: &Trees) {
        self.clear(trees);
        for (level, bucket) in trees.headers.path(path) {
            self.slots.push(Slot::only(bucket));
            self.slots.extend(trees.body(level, path));
            self.buckets.extend([bucket, trees.bodies.bucket(level, path)]);
        }
        self.bytes.resize(self.levels * (self.header_bytes + trees.bytes().2), 0);
    }

    fn clear(&mut self, trees: &Trees) {
        (self.header_bytes, self.block_bytes, _) = trees.bytes();
        self.levels = trees.headers.levels().count();
        self.slots.clear();
        self.headers.clear();
        self.bodies.clear();
        self.buckets.clear();
    }

    /// Reads what was planned, in one round trip.
    pub(super) async fn read<S: Store>(&mut self, store: &S) -> Result<(), S::Error> {
        store.read_buffer(&self.slots, &mut self.bytes).await
    }

    /// Writes the path that was planned as a whole, in one round trip.
    pub(super) async fn write<S: Store>(&mut self, store: &S) -> Result<(), S::Error> {
        store.write_buffer(&self.buckets, &mut self.bytes).await
    }

    /// The headers that were read, in the order of their slots.
    pub(super) fn headers(&self) -> impl Iterator<Item = &[u8]> {
        self.headers.iter().map(|start| &self.bytes[*start..][..self.header_bytes])
    }

    /// The payload in a place of a body, by the order of the planned paths and the level of the body on its path.
    pub(super) fn payload(&self, path: usize, depth: usize, place: usize) -> &[u8] {
        let body = self.bodies[path * self.levels + depth];
        &self.bytes[body + place * self.block_bytes..][..self.block_bytes]
    }

    /// All that was read.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// All that is to be written.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// The bytes that the buffers occupy.
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
            + self.slots.capacity() * size_of::<Slot>()
            + (self.headers.capacity() + self.bodies.capacity()) * size_of::<usize>()
            + self.buckets.capacity() * size_of::<Bucket>()
    }
}
