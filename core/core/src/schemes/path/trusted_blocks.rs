//! Blocks that are on the trusted side already: a front end serves them without a path, and they keep their leaf.
//!
//! **What the trace shows.** Nothing at once: the leaf of such a block was not shown since it was drawn, and is not
//! shown now. But it is **not oblivious** to use this in place of an access that would show the block's path. A path
//! that is shown then reveals that its block had left the trusted side. So this path shares its beginning with one that
//! was shown since the block's last access. See [`TrustedHits`](crate::schemes::freecursive::TrustedHits). Simulations
//! of processors that do so need it.

use super::tree_top::{self, TreeTop, TreeTopParameters};
use super::{BucketsByLevel, PathOram, PathParametersError};
use crate::oram::OramError;
use crate::position_map::external::ExternalPositions;
use crate::range;
use crate::stash::{Handle, Stash};
use crate::store::Store;
use crate::types::{BlockId, Bucket, Leaf, Level, Slot};
use alloc::vec;
use alloc::vec::Vec;
use rand_core::RngCore;

/// The place of a block on the trusted side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustedPlace {
    /// The stash proper.
    Stash,
    /// A bucket of the tree top, on this level.
    TreeTop(Level),
}

/// A block that was found.
enum Found {
    InStash(Handle),
    InTop(tree_top::Entry),
}

impl Found {
    fn place(&self, top: &TreeTop) -> TrustedPlace {
        match self {
            Found::InStash(_) => TrustedPlace::Stash,
            Found::InTop(entry) => TrustedPlace::TreeTop(top.level(*entry)),
        }
    }
}

impl<S: Store, R: RngCore> PathOram<S, ExternalPositions<S::Error>, R> {
    /// An empty Path ORAM whose top levels are kept as buckets on the trusted side. `buckets` are those of all levels,
    /// from the root's: their `top` is 0. Untrusted memory has the buckets of all levels. Only
    /// [`write_back_trusted`](Self::write_back_trusted) uses those of the tree top.
    ///
    /// # Errors
    /// [`PathParametersError::OutOfRange`].
    pub fn with_tree_top(
        buckets: &BucketsByLevel,
        top: TreeTopParameters,
        first_bucket: Bucket,
        store: S,
        random: R,
    ) -> Result<Self, PathParametersError> {
        let parameters = buckets.parameters().clone();
        range::check(&[("top, beside a tree top of buckets", parameters.top.0.into(), 0, 0)])?;
        let bucket = (parameters.blocks_per_bucket, parameters.block_bytes);
        let top = TreeTop::new(top, parameters.leaf_level, bucket, first_bucket)?;
        let tree = buckets.geometry(first_bucket);
        Ok(Self::over(parameters, (tree, top), store, ExternalPositions::default(), random))
    }

    /// The place of a block on the trusted side. A tree top without an index needs the block's position; with `None`
    /// it is not searched.
    pub fn trusted_place(&self, block: BlockId, position: Option<Leaf>) -> Option<TrustedPlace> {
        let state = self.state.borrow();
        Some(self.find_trusted(&state.stash, &state.tree_top, block, position)?.place(&state.tree_top))
    }

    /// Puts a block of zeros that is not there into the tree top, as deep as there is room; `false` if there is none.
    /// Simulations that begin with a filled tree need this.
    ///
    /// # Errors
    /// The errors of [`put_in`](crate::position_map::external_access::ExternalPositionOram::put_in).
    pub fn put_in_tree_top(&self, block: BlockId, leaf: Leaf) -> Result<bool, OramError<S::Error>> {
        if leaf.0 >= self.tree.leaves() {
            return Err(OramError::Contradiction("a position lies beyond the tree"));
        }
        let top = &mut self.state.borrow_mut().tree_top;
        let buckets = (0..top.levels()).rev().map(|level| self.tree.bucket(Level(level), leaf));
        Ok(top.put_in(buckets, block, leaf))
    }

    /// All blocks on the trusted side, with their leaves. Secret: only simulations look.
    pub fn trusted_blocks(&self) -> Vec<(BlockId, Leaf)> {
        let state = self.state.borrow();
        let stash = state.stash.iter().map(|at| (state.stash.block(at), state.stash.leaf(at)));
        stash.chain(state.tree_top.blocks()).collect()
    }

    /// The times that a block stayed in the stash because its set of the tree top's index was full. Secret: only
    /// simulations look.
    pub fn index_refusals(&self) -> u64 {
        self.state.borrow().tree_top.refusals()
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
        self.poison_flag.check()?;
        let state = &mut *self.state.borrow_mut();
        let Some(found) = self.find_trusted(&state.stash, &state.tree_top, block, position) else {
            return Ok(None);
        };
        let place = found.place(&state.tree_top);
        match found {
            Found::InStash(handle) => serve(state.stash.payload_mut(handle)),
            Found::InTop(entry) => serve(state.tree_top.payload_mut(entry)),
        }
        Ok(Some(place))
    }

    /// Takes a block out, if it is on the trusted side: `take` gets its payload. Returns the leaf that it keeps.
    ///
    /// # Errors
    /// [`OramError::Poisoned`].
    pub fn take_trusted(
        &self,
        block: BlockId,
        position: Option<Leaf>,
        take: impl FnOnce(&mut [u8]),
    ) -> Result<Option<Leaf>, OramError<S::Error>> {
        self.poison_flag.check()?;
        let state = &mut *self.state.borrow_mut();
        Ok(match self.find_trusted(&state.stash, &state.tree_top, block, position) {
            Some(Found::InStash(handle)) => {
                let leaf = state.stash.leaf(handle);
                take(state.stash.payload_mut(handle));
                state.stash.remove(handle);
                Some(leaf)
            }
            Some(Found::InTop(entry)) => state.tree_top.take(entry, take),
            None => None,
        })
    }

    fn find_trusted(
        &self,
        stash: &Stash,
        top: &TreeTop,
        block: BlockId,
        position: Option<Leaf>,
    ) -> Option<Found> {
        if let Some(handle) = stash.find(block) {
            return Some(Found::InStash(handle));
        }
        if let Some(entry) = top.find(block) {
            return Some(Found::InTop(entry));
        }
        let path = position?;
        let buckets = (0..top.levels()).map(|level| self.tree.bucket(Level(level), path));
        top.find_in(buckets, block).map(Found::InTop)
    }

    /// Writes the tree top into untrusted memory, as for a context switch: all of its buckets, in one operation. First,
    /// it writes held paths back. Afterwards the tree top is empty.
    ///
    /// # Errors
    /// The errors of [`Oram::step`](crate::oram::Oram::step).
    pub async fn write_back_trusted(&self) -> Result<(), OramError<S::Error>> {
        let kept = core::mem::take(&mut self.state.borrow_mut().kept);
        while !self.state.borrow().held.is_empty() {
            crate::oram::Oram::step(self).await?;
        }
        self.state.borrow_mut().kept = kept;
        let _guard = self.lock.acquire().await;
        self.poison_flag.check()?;
        let operation = self.poison_flag.begin();
        let buckets = self.top_buckets();
        let bytes = {
            let state = &mut *self.state.borrow_mut();
            state.tree_top.empty_all()
        };
        self.store.write(&buckets, &bytes).await?;
        operation.complete();
        Ok(())
    }

    /// Reads the tree top back that [`write_back_trusted`](Self::write_back_trusted) wrote, in one operation. Nothing
    /// else may have been done in between.
    ///
    /// # Errors
    /// The errors of the store; [`OramError::Contradiction`] if a block is in an impossible place, or its set of the
    /// index is full.
    pub async fn resume(&self) -> Result<(), OramError<S::Error>> {
        let _guard = self.lock.acquire().await;
        self.poison_flag.check()?;
        let operation = self.poison_flag.begin();
        let buckets = self.top_buckets();
        let slots: Vec<Slot> = buckets.iter().map(|bucket| Slot::only(*bucket)).collect();
        let mut bytes = vec![0; self.state.borrow().tree_top.entries_bytes()];
        self.store.read(&slots, &mut bytes).await?;
        let is_sound = |block, leaf, bucket| {
            let at = (self.tree.level_of(bucket), bucket);
            self.tree.check_block((block, leaf), self.parameters.capacity, at)
        };
        self.state.borrow_mut().tree_top.fill(&buckets, &bytes, is_sound)?;
        operation.complete();
        Ok(())
    }

    fn top_buckets(&self) -> Vec<Bucket> {
        let levels = self.state.borrow().tree_top.levels();
        let first = self.tree.first_bucket().0;
        (first..first + (1 << levels) - 1).map(Bucket).collect()
    }
}
