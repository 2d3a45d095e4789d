//! Path ORAM as a backend: accesses of single blocks, whose positions a front end keeps.
//!
//! So Freecursive ORAM has it (Fletcher, Ren, Kwon, van Dijk, Devadas, "Freecursive ORAM: [Nearly] Free Recursion and
//! Integrity Verification for Position-based Oblivious RAM", ASPLOS 2015): an access, `readrmv` and `append`. A block
//! that is taken out is in the care of whoever took it: a cache of PosMap blocks, or a processor's cache whose lines are
//! remapped late (Nagarajan, Shafiee, Balasubramonian, Tiwari, "ρ: Relaxed Hierarchical ORAM", ASPLOS 2019).
//!
//! **What the trace shows.** [`access_at`](PathOram::access_at), [`take_out`](PathOram::take_out) and
//! [`dummy`](PathOram::dummy) show the same: a path that was drawn for this access and never shown before.
//! [`put_in`](PathOram::put_in) shows nothing. How many there are, and when, shows.

use super::PathOram;
use crate::oram::OramError;
use crate::position_map::handed::{Handed, HandedPositions};
use crate::store::Store;
use crate::words::{BlockId, Leaf};
use rand_core::RngCore;

impl<S: Store, R: RngCore> PathOram<S, HandedPositions<S::Error>, R> {
    /// Accesses a block at a position, and lets `serve` read and change its payload.
    ///
    /// # Errors
    /// Those of [`Oram::access`](crate::oram::Oram::access); [`OramError::Contradiction`] if the block is not there, or the
    /// new leaf is none of the tree's.
    pub async fn access_at(
        &self,
        block: BlockId,
        handed: Handed,
        serve: impl FnOnce(&mut [u8]),
    ) -> Result<(), OramError<S::Error>> {
        self.check(block, handed.new)?;
        self.positions.hand(handed);
        let mut serve = Some(serve);
        let update = self.update(
            1,
            |_| Some(block),
            |_, payload| {
                if let Some(serve) = serve.take() {
                    serve(payload);
                }
            },
        );
        update.await
    }

    /// Reads the path of a block, and takes the block out: `take` gets its payload, and the ORAM has it no more. A block
    /// that was never mapped is zeros.
    ///
    /// # Errors
    /// As [`access_at`](Self::access_at).
    pub async fn take_out(
        &self,
        block: BlockId,
        old: Option<Leaf>,
        take: impl FnOnce(&mut [u8]),
    ) -> Result<(), OramError<S::Error>> {
        self.access_at(block, Handed { old, new: old.unwrap_or(Leaf(0)) }, take).await?;
        let stash = &mut self.state.borrow_mut().stash;
        if let Some(handle) = stash.find(block) {
            stash.remove(handle);
        }
        Ok(())
    }

    /// Puts a block in that is not there: it waits in the stash for a path that leads to its leaf.
    ///
    /// # Errors
    /// [`OramError::StashFull`] at the hard bound; [`OramError::Contradiction`] if the block waits already, or the leaf is
    /// none of the tree's. Nothing is changed then.
    pub fn put_in(&self, block: BlockId, leaf: Leaf, payload: &[u8]) -> Result<(), OramError<S::Error>> {
        self.check(block, leaf)?;
        let stash = &mut self.state.borrow_mut().stash;
        let (held, most) = (stash.len(), self.parameters.stash_bound as usize);
        if held >= most {
            return Err(OramError::StashFull { held, most });
        }
        if stash.find(block).is_some() {
            return Err(OramError::Contradiction("a block is put in that is there"));
        }
        stash.insert_with(block, leaf, payload);
        Ok(())
    }

    /// Reads a path that was drawn for nothing else.
    ///
    /// # Errors
    /// Those of [`Oram::access`](crate::oram::Oram::access).
    pub async fn dummy(&self) -> Result<(), OramError<S::Error>> {
        self.update(1, |_| None, |_, _| ()).await
    }

    fn check(&self, block: BlockId, leaf: Leaf) -> Result<(), OramError<S::Error>> {
        let capacity = self.parameters.capacity;
        if block.0 >= capacity {
            return Err(OramError::OutOfRange { block, capacity });
        }
        if leaf.0 >= self.tree.leaves() {
            return Err(OramError::Contradiction("a position lies beyond the tree"));
        }
        Ok(())
    }
}
