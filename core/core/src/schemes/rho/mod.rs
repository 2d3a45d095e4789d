//! The small tree of ρ: Nagarajan, Shafiee, Balasubramonian, Tiwari, "ρ: Relaxed Hierarchical ORAM", ASPLOS 2019, as
//! Raoufi, Zhang, Yang describe it in "IR-ORAM: Path Access Type Based Memory Intensity Reduction for Path-ORAM"
//! (sections II-C and VI).
//!
//! ```text
//! to access block a, with a small tree before the main one:
//!  1  if a has a tag, with its leaf l in the small tree:
//!  2      leaf of the tag <- UniformRandom;  access a by the path l of the small tree
//!  3  else:
//!  4      take a out of the main tree, by the position map of that
//!  5      a gets a tag of its set and a leaf of the small tree, and waits in the stash of that
//!  6      if the set was full, its least recently used tag went to a:
//!  7          take that tag's block out of the small tree, by its path
//!  8          put it into the main tree, by the position map of that
//! ```
//!
//! A [`SmallTree`] does lines 1, 2, 5 and 7: it is an oblivious cache. The main tree is any tree whose blocks can be
//! taken out and put in, such as a [`FreecursiveOram`](super::freecursive::FreecursiveOram). It needs no position map:
//! a tag has the leaf of its block. In untrusted memory a block has a number that reveals nothing about the block.
//! There are as many numbers as tags and blocks on their way out.
//!
//! **What the trace shows** (adversary `Full`). [`access`](SmallTree::access), [`take_out`](SmallTree::take_out) and
//! [`dummy`](SmallTree::dummy) show the same: a path that was drawn for this and never shown before.
//! [`put_in`](SmallTree::put_in) shows nothing. The trace shows which of the two trees the next path belongs to. So a
//! caller that drives both needs a fixed order of them, with dummies of both.
//!
//! **Costs** of an access: one path of the small tree; without a tag, none.
//!
//! **Errors**: those of [`OramError`], as in Path ORAM.

mod parameters;

pub use parameters::{SmallTreeParameters, SmallTreeParametersError};

use crate::oram::{Oram, OramError};
use crate::permutation::sampling;
use crate::position_map::external::{ExternalPositions, PositionUpdate};
use crate::position_map::external_access::ExternalPositionOram;
use crate::position_map::look_aside::{LookAside, Place, Victim};
use crate::schemes::path::{PathOram, TrustedPlace};
use crate::store::Store;
use crate::types::{BlockId, Bucket, Leaf};
use alloc::vec::Vec;
use core::cell::RefCell;
use rand_core::{RngCore, SeedableRng};

/// A small tree over a store and randomness of the caller's choice.
pub struct SmallTree<S: Store, R> {
    tree: PathOram<S, ExternalPositions<S::Error>, R>,
    state: RefCell<State<R>>,
}

struct State<R> {
    random: R,
    /// A tag has the block, its leaf, and as its payload the block's number in untrusted memory.
    tags: LookAside,
    /// The numbers that no block has.
    free: Vec<u32>,
}

/// A block that lost its tag, and has to leave the small tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvictedBlock {
    block: BlockId,
    leaf: Leaf,
    number: u32,
}

impl EvictedBlock {
    /// The block.
    pub fn block(&self) -> BlockId {
        self.block
    }
}

/// The number of bytes of a number in a tag.
const NUMBER_BYTES: u32 = 4;

impl<S: Store, R: RngCore + SeedableRng> SmallTree<S, R> {
    /// An empty small tree over a store that was never written. Its buckets are numbered from `first_bucket`.
    ///
    /// # Errors
    /// [`SmallTreeParametersError`].
    pub fn new(
        parameters: &SmallTreeParameters,
        first_bucket: Bucket,
        store: S,
        random: R,
    ) -> Result<Self, SmallTreeParametersError> {
        Self::over_filled_store(parameters, &[], first_bucket, store, random)
    }

    /// A small tree over a store that a simulation has filled. The nth block of `held` has the number n there, and is
    /// on the path to its leaf.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new); [`SmallTreeParametersError::Held`].
    pub fn over_filled_store(
        parameters: &SmallTreeParameters,
        held: &[(BlockId, Leaf)],
        first_bucket: Bucket,
        store: S,
        mut random: R,
    ) -> Result<Self, SmallTreeParametersError> {
        parameters.validate()?;
        let for_tree = R::from_rng(&mut random);
        let tree =
            PathOram::with_tree_top(&parameters.tree, parameters.tree_top, first_bucket, store, for_tree)?;
        let mut tags = LookAside::new((parameters.tags() as u32, parameters.ways), NUMBER_BYTES, false);
        for (number, (block, leaf)) in (0u32..).zip(held) {
            let (place, victim) = tags.victim(*block);
            if victim.is_some() {
                return Err(SmallTreeParametersError::Held { block: block.0 });
            }
            tags.put(place, *block, *leaf, &number.to_le_bytes());
        }
        let numbers = parameters.tree.parameters().capacity as u32;
        let free = (held.len() as u32..numbers).rev().collect();
        Ok(SmallTree { tree, state: RefCell::new(State { random, tags, free }) })
    }

    /// The tree, whose write-backs and background evictions the caller drives.
    pub fn tree(&self) -> &PathOram<S, ExternalPositions<S::Error>, R> {
        &self.tree
    }

    /// Returns the number of bytes on the trusted side.
    pub fn trusted_bytes(&self) -> usize {
        let state = self.state.borrow();
        self.tree.trusted_bytes() + state.tags.bytes() + size_of_val(&state.free[..])
    }

    /// Returns whether a block has a tag.
    pub fn holds(&self, block: BlockId) -> bool {
        self.state.borrow().tags.place(block).is_some()
    }

    /// Returns whether a block can be put in: whether few enough are on their way out, and the stash has room.
    pub fn has_room(&self) -> bool {
        !self.state.borrow().free.is_empty() && !self.tree.must_step()
    }

    /// Accesses a block that has a tag, lines 1 and 2: one path.
    ///
    /// # Errors
    /// The errors of [`Oram::access`]; [`OramError::Contradiction`] if it has none.
    pub async fn access(
        &self,
        block: BlockId,
        serve: impl FnOnce(&mut [u8]),
    ) -> Result<(), OramError<S::Error>> {
        let (number, handed) = self.remap(block)?;
        self.tree.access_at(BlockId(number.into()), handed, serve).await
    }

    /// Serves a block without a path, if it has a tag and is on the trusted side. It keeps its leaf, which is not
    /// oblivious: see [`TrustedHits`](super::freecursive::TrustedHits).
    ///
    /// # Errors
    /// [`OramError::Poisoned`].
    pub fn answer(
        &self,
        block: BlockId,
        serve: impl FnOnce(&mut [u8]),
    ) -> Result<Option<TrustedPlace>, OramError<S::Error>> {
        let mut state = self.state.borrow_mut();
        let Some(place) = state.tags.place(block) else { return Ok(None) };
        let number = BlockId(number_at(&state.tags, place).into());
        let found = self.tree.serve_trusted(number, Some(state.tags.leaf(place)), serve)?;
        if found.is_some() {
            state.tags.touch(place);
        }
        Ok(found)
    }

    /// Puts in a block that has no tag, lines 5 and 6. The call shows nothing. Returns the block that lost its tag to
    /// it, and must be taken out.
    ///
    /// # Errors
    /// [`OramError::Contradiction`], if the block is there, or too many are on their way out; [`OramError::StashFull`].
    pub fn put_in(
        &self,
        block: BlockId,
        payload: &[u8],
    ) -> Result<Option<EvictedBlock>, OramError<S::Error>> {
        let State { random, tags, free } = &mut *self.state.borrow_mut();
        if tags.place(block).is_some() {
            return Err(OramError::Contradiction("the block is already in the small tree"));
        }
        let Some(number) = free.last().copied() else {
            return Err(OramError::Contradiction("too many blocks are on their way out of the small tree"));
        };
        let leaf = sampling::leaf(random, self.tree.geometry());
        self.tree.put_in(BlockId(number.into()), leaf, payload)?;
        free.pop();
        let (place, victim) = tags.victim(block);
        let leaving = victim.map(|Victim { block, leaf, .. }| {
            let number = number_at(tags, place);
            EvictedBlock { block, leaf, number }
        });
        tags.put(place, block, leaf, &number.to_le_bytes());
        Ok(leaving)
    }

    /// Takes out a block that lost its tag, line 7: one path.
    ///
    /// # Errors
    /// The errors of [`Oram::access`].
    pub async fn take_out(
        &self,
        leaving: EvictedBlock,
        take: impl FnOnce(&mut [u8]),
    ) -> Result<(), OramError<S::Error>> {
        self.tree.take_out(BlockId(leaving.number.into()), Some(leaving.leaf), take).await?;
        self.state.borrow_mut().free.push(leaving.number);
        Ok(())
    }

    /// Takes a block out without a path, if it is on the trusted side. Returns whether it was. As with
    /// [`answer`](Self::answer), this is not oblivious.
    ///
    /// # Errors
    /// [`OramError::Poisoned`].
    pub fn take_trusted_out(
        &self,
        leaving: EvictedBlock,
        take: impl FnOnce(&mut [u8]),
    ) -> Result<bool, OramError<S::Error>> {
        let number = BlockId(leaving.number.into());
        let found = self.tree.take_trusted(number, Some(leaving.leaf), take)?.is_some();
        if found {
            self.state.borrow_mut().free.push(leaving.number);
        }
        Ok(found)
    }

    /// Reads a path that was drawn only for this.
    ///
    /// # Errors
    /// The errors of [`Oram::access`].
    pub async fn dummy(&self) -> Result<(), OramError<S::Error>> {
        self.tree.dummy().await
    }

    /// Draws a new leaf for a block with a tag, which is the most recently used one of its set from then on. Returns
    /// its number.
    fn remap(&self, block: BlockId) -> Result<(u32, PositionUpdate), OramError<S::Error>> {
        let State { random, tags, .. } = &mut *self.state.borrow_mut();
        let Some(place) = tags.place(block) else {
            return Err(OramError::Contradiction("a block has no tag in the small tree"));
        };
        let (number, old) = (number_at(tags, place), tags.leaf(place));
        let new = sampling::leaf(random, self.tree.geometry());
        tags.put(place, block, new, &number.to_le_bytes());
        Ok((number, PositionUpdate { old: Some(old), new }))
    }
}

fn number_at(tags: &LookAside, place: Place) -> u32 {
    tags.payload(place).iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}
