//! A scheme of your own: change this file, and the page draws what you wrote.
//!
//! As written here, it is a scheme that hides too little. Blocks lie in an order that was drawn once and stays secret:
//!
//! ```text
//! at the beginning:  draw a permutation p
//! access to block a:
//!     read slot p(a)
//!     serve what was asked
//!     write slot p(a), whatever was asked
//! ```
//!
//! The provider does not know which block a slot holds, and not whether it was read or written. It sees which accesses
//! are to the same block, and how often each block is wanted: that is enough to win the game of guessing.

use ameles_core::inspect::{Inspect, Inspection, Position};
use ameles_core::oram::{Access, Bounds, Oram, OramError};
use ameles_core::store::Store;
use ameles_core::tree::layout::{Extent, Layout};
use ameles_core::types::{BlockId, Bucket, Slot};
use rand_core::RngCore;

/// A scheme that permutes memory once. It does not hide which accesses are to the same block.
pub struct OwnScheme<S> {
    store: S,
    block_bytes: u32,
    places: Vec<u64>,
}

impl<S: Store> OwnScheme<S> {
    /// The untrusted memory that it needs: a bucket of one slot for each block.
    pub fn layout(capacity: u64, block_bytes: u32) -> Layout {
        Layout::new(vec![Extent { buckets: capacity, slots: 1, slot_bytes: block_bytes }])
    }

    /// The scheme over a store that was never written: every block reads as zeros.
    pub fn new(capacity: u64, block_bytes: u32, store: S, mut random: impl RngCore) -> Self {
        let mut places: Vec<u64> = (0..capacity).collect();
        for last in (1..places.len()).rev() {
            places.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
        }
        OwnScheme { store, block_bytes, places }
    }
}

impl<S: Store> Oram for OwnScheme<S> {
    type Error = S::Error;

    fn bounds(&self) -> Bounds {
        let capacity = self.places.len() as u64;
        Bounds { capacity, block_bytes: self.block_bytes as usize, max_batch: 8 }
    }

    async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<S::Error>> {
        for access in batch {
            let Some(block) = access.block() else { continue };
            let place = self.places.get(block.0 as usize);
            let capacity = self.capacity();
            let bucket = Bucket(*place.ok_or(OramError::OutOfRange { block, capacity })?);
            let mut bytes = vec![0; self.block_bytes()];
            self.store.read(&[Slot::only(bucket)], &mut bytes).await?;
            match access {
                Access::Read(_, into) => into.copy_from_slice(&bytes),
                Access::Write(_, from) => bytes.copy_from_slice(from),
                Access::Dummy => {}
            }
            self.store.write(&[bucket], &bytes).await?;
        }
        Ok(())
    }
}

/// The secrets of the scheme, for the owner's side of the page. All of it may be left empty: the provider's side needs
/// none.
impl<S> Inspect for OwnScheme<S> {
    fn inspect(&self) -> Option<Inspection> {
        let buckets = || self.places.iter().map(|place| Bucket(*place));
        Some(Inspection {
            positions: buckets().map(|bucket| Some(Position::Bucket(bucket))).collect(),
            placed: Some((0..).map(BlockId).zip(buckets()).map(|(b, at)| (Slot::only(at), b)).collect()),
            ..Inspection::default()
        })
    }
}
