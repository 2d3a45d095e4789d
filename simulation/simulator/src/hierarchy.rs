//! The trees of a machine: the main one, and ρ's small tree before it if there is one. A block is in one of them.

use crate::configuration::Configuration;
use crate::configuration_error::ConfigurationError;
use crate::counts::PathKind;
use crate::main_oram::{AccessKind, MainOram, TreeParts};
use crate::pattern::Tree;
use crate::small_oram::SmallOram;
use crate::small_tree::Admission;
use crate::tree_backend::{Failure, Step, TreeBackend};
use ameles_core::schemes::freecursive::TrustedHits;
use ameles_core::types::BlockId;
use rand_chacha::ChaCha8Rng;

/// The main tree, and ρ's small tree in front of it if there is one.
pub(crate) struct Hierarchy {
    pub(crate) main: MainOram,
    pub(crate) small: Option<SmallOram>,
    admission: Admission,
}

impl Hierarchy {
    /// The trees of a configuration. The main tree has contents.
    pub(crate) fn over(
        configuration: &Configuration,
        mut parts: TreeParts,
        random: &mut ChaCha8Rng,
    ) -> Result<Self, ConfigurationError> {
        let Configuration { oram, small_tree, .. } = configuration;
        let saves_paths = oram.hits != TrustedHits::ReadThePath;
        let small = match small_tree {
            Some(small) => {
                let main = (&mut parts, oram.user_blocks);
                Some(SmallOram::draw(small, saves_paths, main, random)?)
            }
            None => None,
        };
        let admission = small_tree.as_ref().map_or(Admission::OnAccess, |small| small.admission);
        Ok(Hierarchy { main: MainOram::over(oram, parts, random)?, small, admission })
    }

    fn backend(&self, tree: Tree) -> &dyn TreeBackend {
        match (tree, &self.small) {
            (Tree::Small, Some(small)) => small,
            _ => &self.main,
        }
    }

    /// The tree whose path a block needs next.
    pub(crate) fn tree_of(&self, block: BlockId) -> Tree {
        match &self.small {
            Some(small) if small.has(block) => Tree::Small,
            _ => Tree::Main,
        }
    }

    /// Serves a block without a path, if it is on the trusted side.
    pub(crate) fn answer(&mut self, block: BlockId, access_kind: AccessKind) -> Result<bool, Failure> {
        let Some(small) = &mut self.small else { return self.main.answer(block, access_kind) };
        if small.has(block) {
            let is_answered = small.answer(block)?;
            self.main.counts.stash_hits += u64::from(is_answered);
            return Ok(is_answered);
        }
        if self.admission == Admission::OnEviction {
            return self.main.answer(block, access_kind);
        }
        let is_answered = small.has_room() && self.main.answer(block, AccessKind::TakeOut)?;
        if is_answered {
            small.put_in(block)?;
        }
        Ok(is_answered)
    }

    /// Does the next step towards a block, in the tree [that it needs](Self::tree_of): one path at most.
    pub(crate) fn step(&mut self, block: BlockId, access_kind: AccessKind) -> Result<Step, Failure> {
        let Some(small) = &mut self.small else { return self.main.step(block, access_kind) };
        if small.has(block) {
            let step = small.step(block)?;
            self.main.counts.small_hits += u64::from(matches!(step, Step::Path { .. }));
            return Ok(step);
        }
        if self.admission == Admission::OnEviction {
            return self.main.step(block, access_kind);
        }
        if !small.has_room() {
            return Ok(Step::TooFull);
        }
        let step = self.main.step(block, AccessKind::TakeOut)?;
        if matches!(step, Step::Answered | Step::Path { kind: PathKind::Data, .. }) {
            small.put_in(block)?;
        }
        Ok(step)
    }

    /// Returns whether a small tree takes blocks in before a run begins.
    pub(crate) fn warms_up(&self) -> bool {
        self.small.is_some() && self.admission == Admission::OnAccess
    }

    /// Returns whether a block that the cache evicts dirty comes into the small tree [then](Admission::OnEviction).
    pub(crate) fn admits(&self, block: BlockId) -> bool {
        self.admission == Admission::OnEviction && self.small.as_ref().is_some_and(|small| !small.has(block))
    }

    /// Moves a block that it [admits](Self::admits) into the small tree, by one path of the small tree. This is the
    /// path of the block that loses its tag, or any path. The main tree shows neither move.
    pub(crate) fn admit(&mut self, block: BlockId) -> Result<Step, Failure> {
        self.move_unseen(block, AccessKind::TakeOut)?;
        let Some(small) = &mut self.small else { return Ok(Step::Answered) };
        small.put_in(block)?;
        // The block may have filled the stash: then the path is an eviction, and the other block leaves later.
        let step = if small.must_evict() { None } else { small.take_out_next()? };
        let step = step.map_or_else(|| small.dummy(), Ok)?;
        while let Some(leaving) = self.small.as_ref().and_then(SmallOram::first_outside) {
            self.move_unseen(leaving, AccessKind::PutIn)?;
            self.small.iter_mut().for_each(|small| small.remove_leaving(leaving));
        }
        Ok(match step {
            Step::Path { leaf, kind } if !kind.is_eviction() => Step::Path { leaf, kind: PathKind::Leaving },
            step => step,
        })
    }

    /// Moves a block out of the main tree or into it, with all paths that this takes; none is shown or counted.
    fn move_unseen(&mut self, block: BlockId, access_kind: AccessKind) -> Result<(), Failure> {
        let counts = self.main.counts.clone();
        loop {
            self.main.make_room()?;
            let step = self.main.step(block, access_kind)?;
            if matches!(step, Step::Path { .. }) {
                self.main.write_back()?;
            }
            if matches!(step, Step::Answered | Step::Path { kind: PathKind::Data, .. }) {
                break;
            }
        }
        self.main.counts = counts;
        Ok(())
    }

    /// Returns whether blocks evicted from the small tree must move on before any more can be.
    pub(crate) fn is_full_of_leaving(&self) -> bool {
        self.small.as_ref().is_some_and(SmallOram::is_full_of_leaving)
    }

    /// Does a step for the blocks that leave the small tree, by a path of this tree; `None` if none needs one.
    pub(crate) fn step_leaving(&mut self, tree: Tree) -> Result<Option<Step>, Failure> {
        let Some(small) = &mut self.small else { return Ok(None) };
        if tree == Tree::Small {
            return small.take_out_next();
        }
        while let Some(block) = small.first_outside() {
            match self.main.bring_position(block)? {
                Some(Step::Path { leaf, .. }) => {
                    return Ok(Some(Step::Path { leaf, kind: PathKind::Leaving }));
                }
                Some(_) => return Ok(None),
                None => {
                    self.main.oram.put_block_in(block, &[])?;
                    small.remove_leaving(block);
                }
            }
        }
        Ok(None)
    }

    /// Reads a path of a tree for no block, or for an eviction if one comes first.
    pub(crate) fn dummy(&self, tree: Tree) -> Result<Step, Failure> {
        self.backend(tree).dummy()
    }

    /// Writes back what an access leaves to be written of the path of a tree.
    pub(crate) fn write_back(&self, tree: Tree) -> Result<(), Failure> {
        self.backend(tree).write_back()
    }

    /// Returns whether an eviction of a tree comes before its next access.
    pub(crate) fn must_evict(&self, tree: Tree) -> bool {
        self.backend(tree).must_evict()
    }

    /// Does an eviction of a tree: a path that is written back at once.
    pub(crate) fn evict(&self, tree: Tree) -> Result<Step, Failure> {
        self.backend(tree).evict()
    }
}
