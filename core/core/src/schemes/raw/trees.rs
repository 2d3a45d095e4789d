//! The two trees of a RAW ORAM in untrusted memory: headers, which an access replaces, and bodies, which only an
//! eviction does.

use crate::tree::geometry::{BucketShape, Geometry};
use crate::tree::layout::Layout;
use crate::types::{Bucket, Leaf, Level, Slot};
use alloc::vec;

/// Headers and bodies. Both trees have the same leaves and the same levels.
pub(super) struct Trees {
    /// A bucket is one slot: Z headers, sealed together.
    pub(super) headers: Geometry,
    /// A bucket is Z slots: a payload each, so that one can be decrypted without the others.
    pub(super) bodies: Geometry,
}

impl Trees {
    /// Trees of buckets of Z blocks of this many bytes, numbered from `first_bucket`: all headers, then all bodies.
    pub(super) fn new(
        leaf_level: Level,
        top: Level,
        (blocks_per_bucket, block_bytes): (u32, u32),
        first_bucket: Bucket,
    ) -> Self {
        let headers = Geometry::of_whole_buckets(leaf_level, top, (blocks_per_bucket, 0), first_bucket);
        let shape =
            BucketShape { blocks: blocks_per_bucket, slots: blocks_per_bucket, slot_bytes: block_bytes };
        let first_body = Bucket(first_bucket.0 + headers.buckets());
        let bodies = Geometry::new(leaf_level, top, vec![shape; headers.levels().count()], first_body);
        Trees { headers, bodies }
    }

    /// The untrusted memory of both.
    pub(super) fn layout(&self) -> Layout {
        let mut layout = self.headers.layout();
        layout.append(&self.bodies.layout());
        layout
    }

    /// The slots of the body of a level on the path to `leaf`.
    pub(super) fn body(&self, level: Level, leaf: Leaf) -> impl Iterator<Item = Slot> + use<> {
        let (bucket, slots) = (self.bodies.bucket(level, leaf), self.bodies.shape(level).slots);
        (0..slots).map(move |index| Slot { bucket, index })
    }

    /// Bytes of a header, of a payload, and of a whole body.
    pub(super) fn bytes(&self) -> (usize, usize, usize) {
        let top = self.headers.top();
        let (header, body) = (self.headers.shape(top), self.bodies.shape(top));
        (header.slot_bytes as usize, body.slot_bytes as usize, (body.slots * body.slot_bytes) as usize)
    }
}
