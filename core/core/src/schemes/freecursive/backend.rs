//! The tree below the front end: a scheme whose positions [come from outside](crate::position_map::external).
//!
//! In Freecursive ORAM it is Path ORAM. Tiny ORAM puts [RAW ORAM](crate::schemes::raw) there (FCCM 2015, section
//! V-E). With [Ring ORAM](crate::schemes::ring) a path is a slot of each bucket.

use super::parameters::{BackendParameters, FreecursiveParametersError};
use crate::oram::{Oram, OramError};
use crate::position_map::external::{ExternalPositions, PositionUpdate};
use crate::position_map::external_access::ExternalPositionOram;
use crate::schemes::path::{PathOram, TrustedPlace};
use crate::schemes::raw::RawOram;
use crate::schemes::ring::{FilledRing, RingOram};
use crate::store::Store;
use crate::tree::geometry::Geometry;
use crate::tree::placement::FillOrder;
use crate::types::{BlockId, Bucket, Leaf};
use alloc::vec::Vec;
use rand_core::RngCore;

/// A tree of one of the schemes.
pub enum Backend<S: Store, R> {
    /// Path ORAM, with its tree top.
    Path(PathOram<S, ExternalPositions<S::Error>, R>),
    /// RAW ORAM, whose stash has the top levels in it.
    Raw(RawOram<S, ExternalPositions<S::Error>, R>),
    /// Ring ORAM, whose stash has the top levels in it.
    Ring(RingOram<S, ExternalPositions<S::Error>, R>),
}

/// Evaluates the same expression for each of the schemes.
macro_rules! with_tree {
    ($backend:expr, $tree:ident => $work:expr) => {
        match $backend {
            Backend::Path($tree) => $work,
            Backend::Raw($tree) => $work,
            Backend::Ring($tree) => $work,
        }
    };
}

impl<S: Store, R: RngCore> Backend<S, R> {
    /// An empty tree over a store that was never written, or, except for Ring ORAM, one that a simulation has filled.
    /// Its buckets are numbered from `first_bucket`, which is 0 for Ring ORAM.
    ///
    /// # Errors
    /// [`FreecursiveParametersError`].
    pub fn new(
        parameters: &BackendParameters,
        first_bucket: Bucket,
        store: S,
        random: R,
    ) -> Result<Self, FreecursiveParametersError> {
        Ok(match parameters {
            BackendParameters::Path { buckets, top } => {
                Backend::Path(PathOram::with_tree_top(buckets, *top, first_bucket, store, random)?)
            }
            BackendParameters::Raw(raw) => {
                let positions = ExternalPositions::default();
                Backend::Raw(RawOram::new(raw.clone(), first_bucket, store, positions, random)?)
            }
            BackendParameters::Ring(_) if first_bucket != Bucket(0) => {
                return Err(FreecursiveParametersError::FirstBucket { given: first_bucket.0 });
            }
            BackendParameters::Ring(ring) => {
                Backend::Ring(RingOram::new(ring.clone(), store, ExternalPositions::default(), random)?)
            }
        })
    }

    /// A Ring ORAM over a store that a simulation has filled for it.
    ///
    /// # Errors
    /// [`FreecursiveParametersError::Ring`]; [`FreecursiveParametersError::Filled`], if the parameters are for another
    /// tree.
    pub(super) fn over_filled_ring(
        parameters: &BackendParameters,
        filled: FilledRing,
        store: S,
        random: R,
    ) -> Result<Self, FreecursiveParametersError> {
        match parameters {
            BackendParameters::Ring(ring) => {
                Ok(Backend::Ring(RingOram::over_filled_store(ring.clone(), filled, store, random)?))
            }
            BackendParameters::Path { .. } | BackendParameters::Raw(_) => {
                Err(FreecursiveParametersError::Filled)
            }
        }
    }

    /// The Path ORAM, if it is one.
    pub fn as_path(&self) -> Option<&PathOram<S, ExternalPositions<S::Error>, R>> {
        match self {
            Backend::Path(tree) => Some(tree),
            Backend::Raw(_) | Backend::Ring(_) => None,
        }
    }

    /// Fills paths in another order from now on. Ring ORAM has only one.
    pub fn set_fill_order(&self, order: FillOrder) {
        match self {
            Backend::Path(tree) => tree.set_fill_order(order),
            Backend::Raw(tree) => tree.set_fill_order(order),
            Backend::Ring(_) => {}
        }
    }

    /// Accesses a block at a position, and lets `serve` read and change its payload: one path.
    ///
    /// # Errors
    /// The errors of [`Oram::access`]; [`OramError::Contradiction`] if the tree does not have the block, or the new
    /// leaf is none of the tree's.
    pub async fn access_at(
        &self,
        block: BlockId,
        update: PositionUpdate,
        serve: impl FnOnce(&mut [u8]),
    ) -> Result<(), OramError<S::Error>> {
        with_tree!(self, tree => tree.access_at(block, update, serve).await)
    }

    /// Reads the path of a block, and takes the block out. A block that was never mapped is zeros.
    ///
    /// # Errors
    /// The errors of [`access_at`](Self::access_at).
    pub async fn take_out(
        &self,
        block: BlockId,
        old: Option<Leaf>,
        take: impl FnOnce(&mut [u8]),
    ) -> Result<(), OramError<S::Error>> {
        with_tree!(self, tree => tree.take_out(block, old, take).await)
    }

    /// Puts in a block that the tree does not have: it waits in the stash.
    ///
    /// # Errors
    /// [`OramError::StashFull`] at the hard bound; [`OramError::Contradiction`] if the block waits already, or the leaf
    /// is none of the tree's.
    pub fn put_in(&self, block: BlockId, leaf: Leaf, payload: &[u8]) -> Result<(), OramError<S::Error>> {
        with_tree!(self, tree => tree.put_in(block, leaf, payload))
    }

    /// Puts a block of zeros into the tree top, if there is one and it has room. Simulations that begin with a filled
    /// tree need this.
    ///
    /// # Errors
    /// The errors of [`put_in`](Self::put_in).
    pub fn put_in_tree_top(&self, block: BlockId, leaf: Leaf) -> Result<bool, OramError<S::Error>> {
        self.as_path().map_or(Ok(false), |tree| tree.put_in_tree_top(block, leaf))
    }

    /// Reads a path that was drawn only for this.
    ///
    /// # Errors
    /// The errors of [`Oram::access`].
    pub async fn dummy(&self) -> Result<(), OramError<S::Error>> {
        with_tree!(self, tree => tree.dummy().await)
    }

    /// Merges consecutive paths from now on. Only Path ORAM does this.
    pub fn merge_paths(&self) {
        self.as_path().into_iter().for_each(PathOram::merge_paths);
    }

    /// Reads and writes the siblings of a path's buckets from now on. Only Path ORAM does this.
    pub fn evict_to_siblings(&self) {
        self.as_path().into_iter().for_each(PathOram::evict_to_siblings);
    }

    /// The path that was read last, if it is held. Only Path ORAM holds one.
    pub fn held_path(&self) -> Option<Leaf> {
        self.as_path().and_then(PathOram::held_path)
    }

    /// Reads the path to a leaf for no block. Only Path ORAM reads the given path; the other schemes read a drawn one.
    ///
    /// # Errors
    /// The errors of [`Oram::access`]; [`OramError::Contradiction`] if it is not a leaf.
    pub async fn dummy_at(&self, leaf: Leaf) -> Result<(), OramError<S::Error>> {
        match self.as_path() {
            Some(tree) => tree.dummy_at(leaf).await,
            None => self.dummy().await,
        }
    }

    /// Does a step of the pending work.
    ///
    /// # Errors
    /// The errors of [`Oram::step`].
    pub async fn step(&self) -> Result<(), OramError<S::Error>> {
        with_tree!(self, tree => tree.step().await)
    }

    /// Returns the number of pending steps of [`step`](Self::step).
    pub fn pending_steps(&self) -> u64 {
        with_tree!(self, tree => tree.pending_steps())
    }

    /// Returns whether a step of [`step`](Self::step) comes before the next access.
    pub fn must_step(&self) -> bool {
        with_tree!(self, tree => tree.must_step())
    }

    /// Returns the work outside of the schedule so far, because the stash was too full.
    pub fn emergencies(&self) -> u64 {
        with_tree!(self, tree => tree.emergencies())
    }

    /// Lets `serve` read and change the payload of a block, if it is on the trusted side. Returns where it was.
    ///
    /// # Errors
    /// [`OramError::Poisoned`].
    pub fn serve_trusted(
        &self,
        block: BlockId,
        position: Option<Leaf>,
        serve: impl FnOnce(&mut [u8]),
    ) -> Result<Option<TrustedPlace>, OramError<S::Error>> {
        match self {
            Backend::Path(tree) => tree.serve_trusted(block, position, serve),
            Backend::Raw(tree) => Ok(tree.serve_from_stash(block, serve)?.then_some(TrustedPlace::Stash)),
            Backend::Ring(tree) => Ok(tree.serve_from_stash(block, serve)?.then_some(TrustedPlace::Stash)),
        }
    }

    /// Takes a block out, if it is on the trusted side. Returns the leaf that it keeps.
    ///
    /// # Errors
    /// [`OramError::Poisoned`].
    pub fn take_trusted(
        &self,
        block: BlockId,
        position: Option<Leaf>,
        take: impl FnOnce(&mut [u8]),
    ) -> Result<Option<Leaf>, OramError<S::Error>> {
        match self {
            Backend::Path(tree) => tree.take_trusted(block, position, take),
            Backend::Raw(tree) => tree.take_from_stash(block, take),
            Backend::Ring(tree) => tree.take_from_stash(block, take),
        }
    }

    /// The place of a block on the trusted side. Secret: only simulations look.
    pub fn trusted_place(&self, block: BlockId, position: Option<Leaf>) -> Option<TrustedPlace> {
        match self {
            Backend::Path(tree) => tree.trusted_place(block, position),
            Backend::Raw(tree) => tree.is_in_stash(block).then_some(TrustedPlace::Stash),
            Backend::Ring(tree) => tree.is_in_stash(block).then_some(TrustedPlace::Stash),
        }
    }

    /// All blocks on the trusted side, with their leaves. Secret: only simulations look.
    pub fn trusted_blocks(&self) -> Vec<(BlockId, Leaf)> {
        match self {
            Backend::Path(tree) => tree.trusted_blocks(),
            Backend::Raw(tree) => tree.blocks_in_stash(),
            Backend::Ring(tree) => tree.blocks_in_stash(),
        }
    }

    /// Returns the number of blocks in the stash now. Secret.
    pub fn stash_blocks(&self) -> usize {
        with_tree!(self, tree => tree.stash_blocks())
    }

    /// The times that a block stayed in the stash because its set of the tree top's index was full. Secret: only
    /// simulations look.
    pub fn index_refusals(&self) -> u64 {
        self.as_path().map_or(0, PathOram::index_refusals)
    }

    /// Returns the number of bytes on the trusted side.
    pub fn trusted_bytes(&self) -> usize {
        with_tree!(self, tree => tree.trusted_bytes())
    }

    /// Refuses everything from now on, because the front end detected tampering.
    pub(super) fn poison(&self) {
        with_tree!(self, tree => tree.poison());
    }

    /// The tree of the paths.
    pub(super) fn geometry(&self) -> &Geometry {
        with_tree!(self, tree => tree.geometry())
    }

    /// Returns whether the blocks of the top levels are outside of the stash.
    pub(super) fn has_tree_top(&self) -> bool {
        self.as_path().is_some()
    }
}
