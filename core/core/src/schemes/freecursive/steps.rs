//! The lines of the algorithm one by one: each step shows one path at most, or says which path comes next.

use super::counters::NEVER;
use super::labels::NewPosition;
use super::next_path::NextPath;
use super::pmmac;
use super::{FreecursiveOram, PositionEntry, PositionStorage, State, TrustedHits, check_block};
use crate::oram::OramError;
use crate::permutation::sampling;
use crate::schemes::path::TrustedPlace;
use crate::store::Store;
use crate::types::{BlockId, Leaf};
use core::mem;
use rand_core::{RngCore, SeedableRng};

impl<S: Store, R: RngCore + SeedableRng> FreecursiveOram<S, R> {
    /// Serves a block without a path, if it is on the trusted side and the parameters allow it. It keeps its leaf.
    ///
    /// # Errors
    /// [`OramError::OutOfRange`], [`OramError::Poisoned`].
    pub fn answer(
        &self,
        block: BlockId,
        serve: impl FnOnce(&mut [u8]),
    ) -> Result<Option<TrustedPlace>, OramError<S::Error>> {
        check_block(block, self.parameters.capacity)?;
        if self.reads_every_path() {
            return Ok(None);
        }
        let position = self.known_position(block);
        if !self.may_find(position) {
            return Ok(None);
        }
        self.tree.serve_trusted(block, position, serve)
    }

    /// Tells which path an access to a block needs next. PosMap blocks that the trusted side can serve without a path
    /// go into the buffer on the way.
    ///
    /// # Errors
    /// [`OramError::OutOfRange`], [`OramError::Poisoned`]; [`OramError::StashFull`], if the stash cannot take what
    /// leaves the buffer.
    pub fn next(&self, block: BlockId) -> Result<NextPath, OramError<S::Error>> {
        check_block(block, self.parameters.capacity)?;
        loop {
            let (mut at, mut missing) = (block, None);
            while let PositionEntry::Block(above, _) = self.space.position_entry(at) {
                if self.is_buffered(above) || !self.reads_every_path() && self.load_trusted(above, None)? {
                    break;
                }
                missing = Some(above);
                at = above;
            }
            let Some(missing) = missing else { return Ok(NextPath::Block) };
            let position = self.known_position(missing);
            if position.is_none() || !self.load_trusted(missing, position)? {
                return Ok(NextPath::PosMap(missing));
            }
        }
    }

    /// Brings in the PosMap block that [`next`](Self::next) named: one path, lines 3 to 5.
    ///
    /// # Errors
    /// The errors of [`Oram::access`](crate::oram::Oram::access); [`OramError::Contradiction`] if the block is in the
    /// buffer already, or its position is not available.
    pub async fn fetch(&self, wanted: BlockId) -> Result<(), OramError<S::Error>> {
        if self.space.level(wanted) == 0 || self.is_buffered(wanted) {
            return Err(OramError::Contradiction("a PosMap block is fetched that is not lacking"));
        }
        let new_position = self.assign_position(wanted)?;
        self.fetch_remapped(wanted, &new_position).await
    }

    /// Brings in a PosMap block that has a new position: one path.
    pub(super) async fn fetch_remapped(
        &self,
        wanted: BlockId,
        new_position: &NewPosition,
    ) -> Result<(), OramError<S::Error>> {
        let NewPosition { update, old_counter, new_counter } = new_position;
        let mut fetched = mem::take(&mut self.state.borrow_mut().fetched);
        let take = |payload: &mut [u8]| fetched.copy_from_slice(payload);
        self.take_checked(wanted, (update.old, *old_counter), take).await?;
        self.insert_into_buffer(wanted, (update.new, *new_counter), &fetched)?;
        self.state.borrow_mut().fetched = fetched;
        Ok(())
    }

    /// Accesses a block for which nothing is missing: one path, lines 7 and 8.
    ///
    /// # Errors
    /// The errors of [`Oram::access`](crate::oram::Oram::access); [`OramError::Contradiction`] if a PosMap block is
    /// missing.
    pub async fn access_block(
        &self,
        block: BlockId,
        serve: impl FnOnce(&mut [u8]),
    ) -> Result<(), OramError<S::Error>> {
        check_block(block, self.parameters.capacity)?;
        let new_position = self.assign_position(block)?;
        self.access_remapped(block, &new_position, serve).await
    }

    /// Takes a block out for which nothing is missing: one path. Its position is free until
    /// [`put_block_in`](Self::put_block_in).
    ///
    /// # Errors
    /// The errors of [`access_block`](Self::access_block).
    pub async fn take_block_out(
        &self,
        block: BlockId,
        take: impl FnOnce(&mut [u8]),
    ) -> Result<(), OramError<S::Error>> {
        check_block(block, self.parameters.capacity)?;
        if !self.is_position_available(block) {
            return Err(OramError::Contradiction("the position of a block is not at hand"));
        }
        let old = (self.position(block), self.counter(block));
        let take = |tagged: &mut [u8]| take(self.payload_of(tagged));
        self.take_checked(block, old, take).await?;
        self.state.borrow_mut().labels.set_taken_out(block, true);
        Ok(())
    }

    /// Takes a block out without a path, if it is on the trusted side and the parameters allow it. Returns whether it
    /// was.
    ///
    /// # Errors
    /// The errors of [`answer`](Self::answer).
    pub fn take_trusted_block_out(
        &self,
        block: BlockId,
        take: impl FnOnce(&mut [u8]),
    ) -> Result<bool, OramError<S::Error>> {
        check_block(block, self.parameters.capacity)?;
        if self.reads_every_path() {
            return Ok(false);
        }
        let position = self.known_position(block);
        let is_taken = self.may_find(position) && self.tree.take_trusted(block, position, take)?.is_some();
        if is_taken {
            self.state.borrow_mut().labels.set_taken_out(block, true);
        }
        Ok(is_taken)
    }

    /// Puts in a block that was taken out, with a new position. Nothing may be missing for the block. The call shows
    /// nothing.
    ///
    /// # Errors
    /// [`OramError::Contradiction`], if a PosMap block is missing or the ORAM has the block already;
    /// [`OramError::StashFull`].
    pub fn put_block_in(&self, block: BlockId, payload: &[u8]) -> Result<(), OramError<S::Error>> {
        check_block(block, self.parameters.capacity)?;
        let NewPosition { update, new_counter, .. } = self.assign_position(block)?;
        match &self.tags {
            None => self.tree.put_in(block, update.new, payload)?,
            Some(tags) => {
                let mut tagged = payload.to_vec();
                tagged.resize(payload.len() + pmmac::TAG_BYTES, 0);
                tags.write(block, new_counter, &mut tagged);
                self.tree.put_in(block, update.new, &tagged)?;
            }
        }
        self.state.borrow_mut().labels.set_taken_out(block, false);
        Ok(())
    }

    /// Gives a block that was taken out the position with which it [comes in](Self::put_block_in_remapped) later, so
    /// that its PosMap block need not be available at that time. Nothing may be missing for the block now. The call
    /// shows nothing. A position that is computed from a counter cannot be drawn ahead: its group may be remapped
    /// meanwhile.
    ///
    /// # Errors
    /// [`OramError::OutOfRange`]; [`OramError::Contradiction`], if a PosMap block is missing, or positions are
    /// computed.
    pub fn remap_ahead(&self, block: BlockId) -> Result<Leaf, OramError<S::Error>> {
        check_block(block, self.parameters.capacity)?;
        if matches!(self.parameters.positions, PositionStorage::Counters { .. }) {
            return Err(OramError::Contradiction("a position that is computed is drawn ahead"));
        }
        Ok(self.assign_position(block)?.update.new)
    }

    /// Puts in a block that was taken out, with the position that it was given since. The call shows nothing.
    ///
    /// # Errors
    /// [`OramError::Contradiction`], if the ORAM has the block already; [`OramError::StashFull`].
    pub fn put_block_in_remapped(
        &self,
        block: BlockId,
        leaf: Leaf,
        payload: &[u8],
    ) -> Result<(), OramError<S::Error>> {
        check_block(block, self.parameters.capacity)?;
        self.tree.put_in(block, leaf, payload)
    }

    /// The place of a block on the trusted side, if it is there and that can be told. Secret: only simulations look.
    pub fn trusted_place(&self, block: BlockId) -> Option<TrustedPlace> {
        let position = if self.is_position_available(block) { self.position(block) } else { None };
        self.tree.trusted_place(block, position)
    }

    /// Returns whether a PosMap block is in the buffer.
    pub(super) fn is_buffered(&self, block: BlockId) -> bool {
        self.state.borrow().look_aside.place(block).is_some()
    }

    /// Returns whether the position of a block is available, in the table of the trusted side or in the buffer.
    /// Secret: only simulations look from outside.
    pub fn is_position_available(&self, block: BlockId) -> bool {
        match self.space.position_entry(block) {
            PositionEntry::Block(above, _) => self.is_buffered(above),
            PositionEntry::Trusted(_) => true,
        }
    }

    fn reads_every_path(&self) -> bool {
        self.parameters.hits == TrustedHits::ReadThePath
    }

    /// The position of a block, if it is available and may save a path.
    fn known_position(&self, block: BlockId) -> Option<Leaf> {
        let saves = self.parameters.hits == TrustedHits::SaveThePath;
        if saves && self.is_position_available(block) { self.position(block) } else { None }
    }

    /// Returns whether a block whose position is known, or is not, can be found on the trusted side.
    fn may_find(&self, position: Option<Leaf>) -> bool {
        position.is_some() || self.parameters.hits != TrustedHits::SaveThePath || self.tree.has_tree_top()
    }

    pub(super) fn position(&self, block: BlockId) -> Option<Leaf> {
        let State { look_aside, labels, .. } = &*self.state.borrow();
        labels.get(&self.space, look_aside, block)
    }

    /// The counter of a block whose position is available; [`NEVER`] where positions are kept.
    fn counter(&self, block: BlockId) -> u64 {
        let State { look_aside, labels, .. } = &*self.state.borrow();
        labels.counted().map_or(NEVER, |counted| counted.counter(&self.space, look_aside, block))
    }

    /// The payload that the user has of a block: without its tag.
    fn payload_of<'a>(&self, tagged: &'a mut [u8]) -> &'a mut [u8] {
        match &self.tags {
            Some(_) => pmmac::split(tagged).0,
            None => tagged,
        }
    }

    /// Accesses a block that has a new position: one path. Its tag is checked, and replaced by that for its new
    /// counter.
    pub(super) async fn access_remapped(
        &self,
        block: BlockId,
        new_position: &NewPosition,
        serve: impl FnOnce(&mut [u8]),
    ) -> Result<(), OramError<S::Error>> {
        let Some(tags) = &self.tags else {
            return self.tree.access_at(block, new_position.update, serve).await;
        };
        let mut fits = false;
        let checked = |tagged: &mut [u8]| {
            fits = tags.fits(block, new_position.old_counter, tagged);
            if fits {
                serve(pmmac::split(tagged).0);
                tags.write(block, new_position.new_counter, tagged);
            }
        };
        self.tree.access_at(block, new_position.update, checked).await?;
        self.check_tag(fits)
    }

    /// Takes out a block that has this position and counter: one path. Its tag is checked.
    async fn take_checked(
        &self,
        block: BlockId,
        (position, counter): (Option<Leaf>, u64),
        take: impl FnOnce(&mut [u8]),
    ) -> Result<(), OramError<S::Error>> {
        let Some(tags) = &self.tags else { return self.tree.take_out(block, position, take).await };
        let mut fits = false;
        let checked = |tagged: &mut [u8]| {
            fits = tags.fits(block, counter, tagged);
            if fits {
                take(tagged);
            }
        };
        self.tree.take_out(block, position, checked).await?;
        self.check_tag(fits)
    }

    /// Refuses a block whose tag does not match, and everything after it.
    fn check_tag(&self, fits: bool) -> Result<(), OramError<S::Error>> {
        if fits {
            return Ok(());
        }
        self.poison();
        Err(OramError::Contradiction(
            "a block is not what was last written: its tag does not match its counter",
        ))
    }

    /// Refuses everything from now on, because the store was caught tampering.
    fn poison(&self) {
        self.tree.poison();
        drop(self.poison_flag.begin());
    }

    /// Lines 3 and 7: gives a block a new position. The PosMap block is the most recently used one of its set from
    /// then on.
    pub(super) fn assign_position(&self, block: BlockId) -> Result<NewPosition, OramError<S::Error>> {
        let State { random, look_aside, labels, .. } = &mut *self.state.borrow_mut();
        if let PositionEntry::Block(above, _) = self.space.position_entry(block) {
            let Some(place) = look_aside.place(above) else {
                return Err(OramError::Contradiction("the position of a block is not at hand"));
            };
            look_aside.touch(place);
        }
        let drawn = || sampling::leaf(random, self.tree.geometry());
        labels.assign_position(&self.space, look_aside, block, drawn).ok_or(OramError::Backlogged)
    }

    /// Brings in a PosMap block if it is found on the trusted side. Returns whether it was found.
    fn load_trusted(&self, block: BlockId, position: Option<Leaf>) -> Result<bool, OramError<S::Error>> {
        if !self.may_find(position) {
            return Ok(false);
        }
        let mut fetched = mem::take(&mut self.state.borrow_mut().fetched);
        let found = self.tree.take_trusted(block, position, |payload| fetched.copy_from_slice(payload))?;
        if let Some(leaf) = found {
            self.insert_into_buffer(block, (leaf, NEVER), &fetched)?;
        }
        self.state.borrow_mut().fetched = fetched;
        Ok(found.is_some())
    }

    /// Lines 4 and 5: puts a PosMap block into the buffer, and what had to leave it into the stash, with its tag. The
    /// counter counts where blocks have tags.
    fn insert_into_buffer(
        &self,
        block: BlockId,
        (leaf, counter): (Leaf, u64),
        payload: &[u8],
    ) -> Result<(), OramError<S::Error>> {
        let look_aside = &mut self.state.borrow_mut().look_aside;
        if let Some(tags) = &self.tags {
            let (place, _) = look_aside.victim(block);
            if let Some((leaving, counter)) = look_aside.counted(place) {
                tags.write(leaving, counter, look_aside.payload_mut(place));
            }
        }
        let (place, victim) = look_aside.victim(block);
        if let Some(victim) = victim {
            let put = self.tree.put_in(victim.block, victim.leaf, victim.payload);
            if let Err(OramError::Contradiction(_)) = put {
                // A copy of it came from the store meanwhile.
                self.poison();
            }
            put?;
        }
        look_aside.put(place, block, leaf, payload);
        look_aside.set_counter(place, counter);
        Ok(())
    }
}
