//! The five steps of a fault over a scheme.
//!
//! **What an observer of the untrusted memory sees.** Every fault is one read of the scheme. After the limit of
//! resident pages is reached, there is one write before it. This is the same for clean and dirty pages, and at the
//! first access to a page. Some platforms allow more pages while none can be taken out, for example if all are pinned
//! for direct I/O. Such a fault writes no page, and a later one writes two. If the number of resident pages follows the
//! program's size (`enable_growth`), a fault without a victim writes zeros as another page. So only two things depend
//! on the size: the number of faults, and their time, since no page is taken out. [`discard`](FaultPath::discard) and
//! an access to an unmapped page reveal nothing: they change trusted state only. So the number and the time of the
//! faults are visible, and what the scheme says that reads and writes reveal.
//!
//! **Trusted state**: 1 byte a page, two queues of the resident pages, the frames; the resident pages themselves; the
//! scheme's. Nothing is allocated after construction, unless the scheme does.

use super::counters::Counters;
use super::error::{FaultError, FaultPathError};
use super::frames::{Frames, TakeOutcome};
use super::policy::Policy;
use super::poll_now::poll_now;
use super::resident::{Residence, Resident};
use super::reuse::ReuseEstimator;
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::types::BlockId;
use core::error::Error;
use core::ops::Range;

/// The number of pinned pages in a row after which one more page than requested may be resident.
const MAX_TRIES: usize = 64;

/// The outcome of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultOutcome {
    /// The page was paged in through the scheme.
    PagedIn,
    /// The page was mapped again during its second chance.
    Remapped,
    /// The page was mapped already: another thread had faulted on it.
    AlreadyMapped,
}

/// A scheme, and which of its pages are resident.
pub struct FaultPath<O> {
    pub(super) oram: O,
    pub(super) resident: Resident,
    pub(super) counters: Counters,
    /// The number of pages that the scheme was given so far.
    pub(super) writes: u64,
    reuse: Option<ReuseEstimator>,
    failed: bool,
}

pub(super) type Outcome<T, O, F> = Result<T, FaultError<<O as Oram>::Error, F>>;

impl<O: Oram> FaultPath<O> {
    /// A fault path over a scheme whose blocks are the pages, with at most `resident` resident pages.
    ///
    /// # Errors
    /// [`FaultPathError`].
    pub fn new(oram: O, resident: usize, policy: Policy) -> Result<Self, FaultPathError> {
        if oram.max_batch() == 0 {
            return Err(FaultPathError::MaxBatch);
        }
        let resident = Resident::new(oram.capacity(), resident, policy)?;
        Ok(FaultPath { oram, resident, counters: Counters::default(), writes: 0, reuse: None, failed: false })
    }

    /// Doubles the limit of resident pages whenever more than four times as many pages hold something.
    #[cfg(feature = "linux")]
    pub(crate) fn enable_growth(&mut self) {
        self.resident.enable_growth();
        self.counters.max_resident = self.resident.grow_for(0);
    }

    /// Estimates from now on how many resident pages would halve the faults.
    #[cfg(feature = "linux")]
    pub(crate) fn enable_estimate(&mut self) {
        self.reuse = Some(ReuseEstimator::new(self.resident.pages()));
    }

    /// The number of resident pages that would have halved the faults since then, or fewer, if any number would have.
    #[cfg(feature = "linux")]
    pub(crate) fn resident_for_half_the_faults(&self) -> Option<u64> {
        self.reuse.as_ref()?.resident_for_half_the_faults()
    }

    /// The scheme.
    pub fn oram(&self) -> &O {
        &self.oram
    }

    /// The counters so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the number of pages that are resident now.
    pub fn resident(&self) -> usize {
        self.resident.len()
    }

    /// Returns whether a page is mapped in the application.
    pub fn is_mapped(&self, page: u64) -> bool {
        page < self.resident.pages() && self.resident.place(page) == Residence::Mapped
    }

    /// Returns the trusted memory in bytes, without the resident pages and the scheme.
    pub fn trusted_bytes(&self) -> usize {
        size_of::<Self>() - size_of::<O>()
            + self.resident.bytes()
            + self.reuse.as_ref().map_or(0, |reuse| reuse.bytes())
    }

    /// Handles the fault of a page.
    ///
    /// # Errors
    /// [`FaultError`]. After any but `OutOfRange` it returns [`FaultError::Failed`] only.
    pub fn fault<F: Frames>(&mut self, page: u64, frames: &mut F) -> Outcome<FaultOutcome, O, F::Error> {
        if page >= self.resident.pages() {
            return Err(FaultError::OutOfRange { pages: self.resident.pages() });
        }
        self.unless_failed(|path| match path.resident.place(page) {
            Residence::Absent => path.page_in(page, frames),
            Residence::Unmapped => path.remap(page, frames),
            Residence::Mapped => {
                path.counters.repeated += 1;
                frames.confirm(page).map_err(FaultError::Frames)?;
                Ok(FaultOutcome::AlreadyMapped)
            }
        })
    }

    /// Discards the contents of pages: they read as zeros from now on. It reveals nothing.
    ///
    /// # Errors
    /// [`FaultError::OutOfRange`], before anything has changed; errors of the platform.
    pub fn discard<F: Frames>(&mut self, pages: Range<u64>, frames: &mut F) -> Outcome<(), O, F::Error> {
        if pages.end > self.resident.pages() {
            return Err(FaultError::OutOfRange { pages: self.resident.pages() });
        }
        self.unless_failed(|path| {
            for page in pages {
                path.counters.held_pages -= u64::from(path.resident.unmark_held(page));
                match path.resident.place(page) {
                    Residence::Absent => path.resident.discard(page),
                    Residence::Mapped => frames.clear(page).map_err(FaultError::Frames)?,
                    Residence::Unmapped => {
                        if let Some(frame) = path.resident.frame_of(page) {
                            frames.clear_frame(frame).map_err(FaultError::Frames)?;
                        }
                    }
                }
            }
            Ok(())
        })
    }

    /// Overwrites all resident pages with zeros, as far as possible, before their memory is freed. No fault is handled
    /// afterwards.
    pub fn wipe<F: Frames>(&mut self, frames: &mut F) {
        self.failed = true;
        for page in self.resident.mapped() {
            // A page that cannot be wiped is still freed.
            let _ = frames.wipe(page);
        }
        for frame in self.resident.occupied() {
            frames.bytes(frame).fill(0);
        }
    }

    /// Returns the number of pending steps of the scheme's offline work.
    pub fn pending_steps(&self) -> u64 {
        if self.failed { 0 } else { self.oram.pending_steps() }
    }

    /// Does a bounded step of pending work, between two faults.
    ///
    /// # Errors
    /// [`FaultError`].
    pub fn step<F: Frames>(&mut self, frames: &F) -> Outcome<(), O, F::Error> {
        self.unless_failed(|path| {
            let begin = frames.now();
            path.idle_step()?;
            path.counters.idle_nanos += frames.now().saturating_sub(begin);
            Ok(())
        })
    }

    /// Absent pages that hold nothing.
    #[cfg(feature = "linux")]
    pub(crate) fn absent_zeros(&self) -> Vec<u64> {
        self.resident.absent_zeros()
    }

    pub(super) fn unless_failed<T, F: Error>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Outcome<T, O, F>,
    ) -> Outcome<T, O, F> {
        if self.failed {
            return Err(FaultError::Failed);
        }
        let outcome = act(self);
        self.failed = outcome.is_err();
        outcome
    }

    fn page_in<F: Frames>(&mut self, page: u64, frames: &mut F) -> Outcome<FaultOutcome, O, F::Error> {
        let begin = frames.now();
        let more = if self.resident.is_over_limit() { self.evict_extra(frames)? } else { 0 };
        let (frame, victim) = self.make_room(frames)?;
        let taken = frames.now();
        if let Some(victim) = victim {
            self.evict(victim, frame, frames)?;
            frames.renew(frame);
        } else if let Some(other) = self.resident.dummy_victim() {
            self.counters.evictions += 1;
            // The scheme's copy of a mapped page does not matter.
            self.write(other, frames.bytes(frame))?;
        }
        let written = frames.now();
        self.access(Access::Read(BlockId(page), frames.bytes(frame)))?;
        if self.resident.take_discarded(page) {
            frames.bytes(frame).fill(0);
        }
        let read = frames.now();
        frames.put(frame, page).map_err(FaultError::Frames)?;
        self.resident.on_mapped(page);
        self.unmap_excess(frame, frames)?;
        let end = frames.now();

        let counters = &mut self.counters;
        counters.held_pages += u64::from(self.resident.mark_held(page));
        counters.max_held_pages = counters.max_held_pages.max(counters.held_pages);
        counters.max_resident = self.resident.grow_for(counters.held_pages);
        if let Some(reuse) = &mut self.reuse {
            reuse.on_paged_in(page, self.resident.max());
        }
        counters.faults += 1;
        counters.total_nanos += end.saturating_sub(begin);
        counters.frames_nanos += taken.saturating_sub(begin).saturating_sub(more) + end.saturating_sub(read);
        counters.write_nanos += more + written.saturating_sub(taken);
        counters.read_nanos += read.saturating_sub(written);
        Ok(FaultOutcome::PagedIn)
    }

    fn remap<F: Frames>(&mut self, page: u64, frames: &mut F) -> Outcome<FaultOutcome, O, F::Error> {
        let frame = self.resident.frame_of(page).expect("an unmapped page has a frame");
        frames.put(frame, page).map_err(FaultError::Frames)?;
        self.resident.on_remapped(page);
        self.unmap_excess(frame, frames)?;
        self.counters.soft_faults += 1;
        Ok(FaultOutcome::Remapped)
    }

    /// A frame with memory for the wanted page, and the page that was taken into it and must be written first.
    fn make_room<F: Frames>(&mut self, frames: &mut F) -> Outcome<(usize, Option<u64>), O, F::Error> {
        // Under a second chance there may be room by now, but no empty frame. If so, one more page is taken out.
        if !self.resident.is_full()
            && let Some(frame) = self.resident.take_spare()
        {
            frames.prepare(frame).map_err(FaultError::Frames)?;
            return Ok((frame, None));
        }
        if let Some((victim, frame)) = self.resident.take_oldest_unmapped() {
            return Ok((frame, Some(victim)));
        }
        let frame = self.resident.take_spare().expect("the frame is empty between two faults");
        let victim = self.take_oldest(frame, frames)?;
        match victim {
            Some(_) => self.resident.remove_oldest_mapped(),
            // They are pinned for a system call that may need this page too, and ends only when it has it.
            None if frames.may_exceed() => frames.prepare(frame).map_err(FaultError::Frames)?,
            None => return Err(FaultError::AllBusy { resident: self.resident.len() }),
        }
        Ok((frame, victim))
    }

    fn evict<F: Frames>(&mut self, victim: u64, frame: usize, frames: &mut F) -> Outcome<(), O, F::Error> {
        self.counters.evictions += 1;
        if let Some(reuse) = &mut self.reuse {
            reuse.on_evicted(victim);
        }
        let tracks_zero_pages = frames.tracks_zero_pages();
        let page = frames.bytes(frame);
        self.write(victim, page)?;
        if !tracks_zero_pages {
            return Ok(());
        }
        let zeros = is_zero(page);
        self.resident.set_zero(victim, zeros);
        // It may hold something again, if it was discarded while it was mapped.
        self.counters.held_pages += u64::from(self.resident.mark_held(victim));
        self.counters.max_held_pages = self.counters.max_held_pages.max(self.counters.held_pages);
        Ok(())
    }

    /// Writes a page to the scheme.
    pub(super) fn write<F: Error>(&mut self, page: u64, from: &[u8]) -> Outcome<(), O, F> {
        self.access(Access::Write(BlockId(page), from))?;
        self.writes += 1;
        self.resident.mark_stored(page);
        Ok(())
    }

    /// Brings the number of resident pages closer to the requested one, if one can be taken out. Returns the time of
    /// its write.
    pub(super) fn evict_extra<F: Frames>(&mut self, frames: &mut F) -> Outcome<u64, O, F::Error> {
        let mut nanos = 0;
        let (frame, victim) = match self.resident.take_oldest_unmapped() {
            Some((victim, frame)) => (frame, Some(victim)),
            None => {
                let frame = self.resident.take_spare().expect("a frame is empty between two faults");
                let victim = self.take_oldest(frame, frames)?;
                if victim.is_some() {
                    self.resident.remove_oldest_mapped();
                }
                (frame, victim)
            }
        };
        if let Some(victim) = victim {
            let begin = frames.now();
            self.evict(victim, frame, frames)?;
            nanos = frames.now().saturating_sub(begin);
            frames.release(frame);
        }
        self.resident.add_spare(frame);
        Ok(nanos)
    }

    /// The page that was paged in has left its frame. If too many are mapped now, the oldest is moved there.
    fn unmap_excess<F: Frames>(&mut self, frame: usize, frames: &mut F) -> Outcome<(), O, F::Error> {
        if self.resident.has_second_chance()
            && self.resident.has_too_many_mapped()
            && self.take_oldest(frame, frames)?.is_some()
        {
            self.resident.unmap_oldest(frame);
        } else {
            self.resident.add_spare(frame);
        }
        Ok(())
    }

    /// Takes out the oldest mapped page that can be taken out. Returns this page, which is now the oldest mapped page.
    /// `None` if no page can be taken out, or none of the many that were tried.
    fn take_oldest<F: Frames>(&mut self, frame: usize, frames: &mut F) -> Outcome<Option<u64>, O, F::Error> {
        if let Some(page) = self.resident.due_pinned()
            && self.take_pinned(page, frame, frames)?
        {
            return Ok(Some(page));
        }
        let tries = if frames.may_exceed() { MAX_TRIES } else { usize::MAX };
        for _ in 0..self.resident.mapped_len().min(tries) {
            let Some(oldest) = self.resident.oldest_mapped() else {
                break;
            };
            match frames.take(oldest, frame).map_err(FaultError::Frames)? {
                TakeOutcome::Out => return Ok(Some(oldest)),
                TakeOutcome::Busy => self.resident.pin_oldest(),
            }
        }
        // If no more pages may be resident, one of these must be evicted.
        let tries = if frames.may_exceed() { 1 } else { self.resident.pinned_len() };
        for _ in 0..tries {
            if let Some(page) = self.resident.next_pinned()
                && self.take_pinned(page, frame, frames)?
            {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// Takes out a page that was pinned, if that is possible now.
    fn take_pinned<F: Frames>(
        &mut self,
        page: u64,
        frame: usize,
        frames: &mut F,
    ) -> Outcome<bool, O, F::Error> {
        let is_out = frames.take(page, frame).map_err(FaultError::Frames)? == TakeOutcome::Out;
        if is_out {
            self.resident.on_unpinned();
        } else {
            self.resident.on_still_pinned();
        }
        Ok(is_out)
    }

    pub(super) fn access<F: Error>(&mut self, access: Access<'_>) -> Outcome<(), O, F> {
        while self.oram.must_step() {
            self.idle_step()?;
        }
        let mut batch = [access];
        let mut outcome = poll_now(self.oram.access(&mut batch)).ok_or(FaultError::Waits)?;
        if matches!(outcome, Err(OramError::StashFull { .. })) {
            // Refused before anything changed: offline work may make room.
            self.idle_step()?;
            outcome = poll_now(self.oram.access(&mut batch)).ok_or(FaultError::Waits)?;
        }
        Ok(outcome?)
    }

    fn idle_step<F: Error>(&mut self) -> Outcome<(), O, F> {
        self.counters.idle_steps += 1;
        Ok(poll_now(self.oram.step()).ok_or(FaultError::Waits)??)
    }
}

/// Reads every byte: the time does not depend on where the first non-zero byte is.
fn is_zero(page: &[u8]) -> bool {
    let (words, rest) = page.as_chunks::<8>();
    let word = words.iter().fold(0, |all, word| all | u64::from_ne_bytes(*word));
    rest.iter().fold(word, |all, byte| all | u64::from(*byte)) == 0
}
