//! The recursive position map of Path ORAM (Stefanov et al., CCS 2013), section 3.6. Its PosMap blocks are those of
//! Freecursive ORAM (Fletcher et al., ASPLOS 2015), section 3.
//!
//! One PosMap block of 4·X bytes contains the leaves of X successive blocks. The PosMap blocks are in a smaller Path
//! ORAM, whose own position map is packed in the same way. This repeats until at most `flat_limit` entries are left,
//! which are a flat map on the trusted side. A word is 0 for "never mapped", otherwise leaf + 1.
//!
//! ```text
//! to look up a in map i, and give it x':      map 1 is that of the scheme's blocks
//!     if map i is small:  the trusted side has position[a] and changes it
//!     b <- a div X;  look up b in map i + 1, and give it a random leaf
//!     access block b of the tree of map i:  x <- its word a mod X;  the word becomes x'
//!     later:  write the path of that tree back, as Path ORAM does
//! ```
//!
//! **What the trace shows** (adversary `Full`): n look-ups show a batch of n accesses of every inner ORAM, from the
//! smallest to the largest. Each batch begins when the one before it is answered. A look-up of a PosMap block that
//! another look-up of the batch needs too, and a dummy look-up, show a dummy access. An access reads and changes its
//! PosMap block at once: no access is shown twice.
//!
//! **Costs** of a batch: as many round trips as there are levels of recursion, one after the other. The write-backs of
//! the inner ORAMs are pending steps, like those of the outer ORAM. [`step`](PositionMap::step) runs them, and the
//! outer scheme's `step` should call it; if it does not, `remap` first runs the steps that an inner ORAM needs.
//!
//! **Errors**: those of the inner ORAMs. After any of them the outer scheme is poisoned.

use super::flat::{FlatPositionMap, Positions};
use super::{Lookup, PositionMap};
use crate::oram::{Oram, OramError};
use crate::schemes::path::{PathOram, PathParameters, PathParametersError, PathSnapshot, PathSnapshotError};
use crate::store::Store;
use crate::tree::layout::Layout;
use crate::types::{BlockId, Bucket, Leaf};
use alloc::boxed::Box;
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};
use core::cell::Cell;
use core::pin::Pin;
use rand_core::{RngCore, SeedableRng};

const WORD_BYTES: usize = size_of::<u32>();

/// The parameters of a recursive position map. All of them are public.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct RecursiveParameters {
    /// The number of blocks whose positions it keeps: 1 to 2^32 - 1.
    pub blocks: u64,
    /// X, the number of positions in a PosMap block: 2 to 2^20.
    pub entries_per_block: u32,
    /// The maximum number of entries of the flat map at the end: at least 1.
    pub flat_limit: u64,
    /// The maximum number of PosMap blocks on the trusted side for each inner ORAM, see
    /// [`PathParameters::for_capacity`].
    pub trusted_blocks: u64,
    /// The maximum number of look-ups of one batch: 1 to 1024; the outer scheme's largest batch.
    pub max_batch: u32,
}

/// The reason why a recursive position map is refused, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum RecursiveMapError {
    /// X out of range.
    #[error("entries_per_block is {0}; choose 2 to 2^20")]
    EntriesPerBlock(u32),
    /// No flat map can be so small.
    #[error("flat_limit is 0; choose at least 1")]
    FlatLimit,
    /// An inner ORAM refuses what follows from the parameters.
    #[error("invalid parameters of an inner ORAM of the position map: {0}")]
    Inner(#[from] PathParametersError),
    /// The snapshot has another number of levels, or of entries in its flat map.
    #[error(
        "the snapshot does not fit the parameters: restore it with the parameters under which it was taken"
    )]
    Mismatch,
    /// The snapshot of an inner ORAM is refused.
    #[error("invalid snapshot of an inner ORAM of the position map: {0}")]
    Snapshot(#[from] PathSnapshotError),
}

impl RecursiveParameters {
    /// The inner ORAMs, the largest (whose PosMap blocks hold the outer scheme's positions) first. Empty if a flat map
    /// is enough.
    ///
    /// # Errors
    /// [`RecursiveMapError`].
    pub fn levels(&self) -> Result<Vec<PathParameters>, RecursiveMapError> {
        if !(2..=1 << 20).contains(&self.entries_per_block) {
            return Err(RecursiveMapError::EntriesPerBlock(self.entries_per_block));
        }
        if self.flat_limit == 0 {
            return Err(RecursiveMapError::FlatLimit);
        }
        let block_bytes = self.entries_per_block * WORD_BYTES as u32;
        let mut levels = Vec::new();
        let mut entries = self.blocks;
        while entries > self.flat_limit {
            entries = entries.div_ceil(self.entries_per_block.into());
            let level =
                PathParameters::for_capacity(entries, block_bytes, self.trusted_blocks, self.max_batch)?;
            levels.push(level);
        }
        Ok(levels)
    }

    /// The untrusted memory that the inner ORAMs need together, in plaintext bytes: the largest first.
    ///
    /// # Errors
    /// [`RecursiveMapError`].
    pub fn layout(&self) -> Result<Layout, RecursiveMapError> {
        let mut layout = Layout::default();
        for level in self.levels()? {
            layout.append(&level.layout());
        }
        Ok(layout)
    }
}

/// A position map in smaller ORAMs, down to a flat one.
pub struct RecursivePositionMap<S: Store, R>(pub(super) Map<S, R>);

pub(super) enum Map<S: Store, R> {
    Flat(FlatPositionMap<S::Error>),
    Inner(Box<Inner<S, R>>),
}

pub(super) struct Inner<S: Store, R> {
    entries_per_block: u64,
    pub(super) oram: PathOram<S, RecursivePositionMap<S, R>, R>,
}

/// The state that a recursive position map must remember: that of every inner ORAM, the largest first, and the flat
/// map.
#[derive(BorshSerialize, BorshDeserialize)]
pub struct RecursiveSnapshot {
    levels: Vec<PathSnapshot>,
    flat: Positions,
}

impl<S, R> RecursivePositionMap<S, R>
where
    S: Store + Clone,
    R: RngCore + SeedableRng,
{
    /// A map in which nothing is mapped, over a store that was never written. The buckets of its inner ORAMs are
    /// numbered from `first_bucket`; each has randomness of its own, seeded from `random` as by
    /// [`reseed`](Self::reseed).
    ///
    /// # Errors
    /// The refusals of [`RecursiveParameters::levels`].
    pub fn new(
        parameters: &RecursiveParameters,
        first_bucket: Bucket,
        store: S,
        random: &mut R,
    ) -> Result<Self, RecursiveMapError> {
        Self::build(parameters, first_bucket, store, random, None)
    }

    /// Restores a map from a snapshot, over the store as it was when the snapshot was taken.
    ///
    /// # Errors
    /// The refusals of [`RecursiveParameters::levels`], [`RecursiveMapError::Mismatch`],
    /// [`RecursiveMapError::Snapshot`].
    pub fn restore(
        parameters: &RecursiveParameters,
        first_bucket: Bucket,
        store: S,
        random: &mut R,
        snapshot: &RecursiveSnapshot,
    ) -> Result<Self, RecursiveMapError> {
        Self::build(parameters, first_bucket, store, random, Some(snapshot))
    }

    /// Builds from the flat map outwards: each inner ORAM has the map before it as its own position map.
    fn build(
        parameters: &RecursiveParameters,
        first_bucket: Bucket,
        store: S,
        random: &mut R,
        snapshot: Option<&RecursiveSnapshot>,
    ) -> Result<Self, RecursiveMapError> {
        let levels = parameters.levels()?;
        let entries = levels.last().map_or(parameters.blocks, |level| level.capacity);
        let positions = match snapshot {
            None => Positions::new(entries),
            Some(snapshot) if snapshot.levels.len() == levels.len() && snapshot.flat.blocks() == entries => {
                snapshot.flat.clone()
            }
            Some(_) => return Err(RecursiveMapError::Mismatch),
        };
        let mut map = RecursivePositionMap(Map::Flat(FlatPositionMap::new(positions)));
        let randoms: Vec<R> = levels.iter().map(|_| R::from_rng(random)).collect();
        let mut first = Bucket(first_bucket.0 + parameters.layout()?.buckets());
        for ((nth, level), random) in levels.into_iter().enumerate().zip(randoms).rev() {
            first = Bucket(first.0 - level.layout().buckets());
            let store = store.clone();
            let oram = match snapshot {
                None => PathOram::new(level, first, store, map, random)?,
                Some(snapshot) => PathOram::restore(level, first, store, map, random, &snapshot.levels[nth])?,
            };
            let entries_per_block = parameters.entries_per_block.into();
            map = RecursivePositionMap(Map::Inner(Box::new(Inner { entries_per_block, oram })));
        }
        Ok(map)
    }

    /// The state of the inner ORAMs and the flat map.
    ///
    /// # Errors
    /// [`PathSnapshotError::InFlight`], [`PathSnapshotError::Poisoned`].
    pub fn snapshot(&self) -> Result<RecursiveSnapshot, PathSnapshotError> {
        let (mut map, mut levels) = (self, Vec::new());
        loop {
            match &map.0 {
                Map::Flat(flat) => return Ok(RecursiveSnapshot { levels, flat: flat.snapshot() }),
                Map::Inner(inner) => {
                    levels.push(inner.oram.snapshot()?);
                    map = inner.oram.positions();
                }
            }
        }
    }

    /// Replaces the randomness of every inner ORAM, each seeded from `random`, the largest first.
    pub fn reseed(&self, random: &mut R) {
        let mut map = self;
        while let Map::Inner(inner) = &map.0 {
            inner.oram.reseed(R::from_rng(random));
            map = inner.oram.positions();
        }
    }
}

impl<S, R> PositionMap for RecursivePositionMap<S, R>
where
    S: Store,
    R: RngCore,
{
    type Error = S::Error;

    async fn remap(&self, lookups: &mut [Lookup]) -> Result<(), OramError<S::Error>> {
        let inner = match &self.0 {
            Map::Flat(flat) => return flat.remap(lookups).await,
            Map::Inner(inner) => inner,
        };
        while inner.oram.must_step() {
            boxed(inner.oram.step()).await?;
        }
        let lookups = Cell::from_mut(lookups).as_slice_of_cells();
        let x = inner.entries_per_block;
        let posmap_block = |nth: usize| lookups[nth].get().block.map(|block| BlockId(block.0 / x));
        let exchange = |nth: usize, payload: &mut [u8]| {
            let mut lookup = lookups[nth].get();
            let Some(block) = lookup.block else { return };
            let (word, _) =
                payload[(block.0 % x) as usize * WORD_BYTES..].split_first_chunk_mut().expect("a word");
            lookup.old = u32::from_le_bytes(*word).checked_sub(1).map(|leaf| Leaf(leaf.into()));
            *word = (lookup.new.0 as u32 + 1).to_le_bytes();
            lookups[nth].set(lookup);
        };
        boxed(inner.oram.update(lookups.len(), posmap_block, exchange)).await
    }

    fn trusted_bytes(&self) -> usize {
        match &self.0 {
            Map::Flat(flat) => flat.trusted_bytes(),
            Map::Inner(inner) => inner.oram.trusted_bytes(),
        }
    }

    fn pending_steps(&self) -> u64 {
        match &self.0 {
            Map::Flat(_) => 0,
            Map::Inner(inner) => inner.oram.pending_steps(),
        }
    }

    fn must_step(&self) -> bool {
        match &self.0 {
            Map::Flat(_) => false,
            Map::Inner(inner) => inner.oram.must_step(),
        }
    }

    fn emergencies(&self) -> u64 {
        match &self.0 {
            Map::Flat(_) => 0,
            Map::Inner(inner) => inner.oram.emergencies(),
        }
    }

    async fn step(&self) -> Result<(), OramError<S::Error>> {
        match &self.0 {
            Map::Flat(_) => Ok(()),
            Map::Inner(inner) => boxed(inner.oram.step()).await,
        }
    }
}

/// A future of a known size, however deep the recursion.
fn boxed<'a, T>(future: impl Future<Output = T> + 'a) -> Pin<Box<dyn Future<Output = T> + 'a>> {
    Box::pin(future)
}
