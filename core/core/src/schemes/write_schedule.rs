//! The slots that a deterministic write-only ORAM writes next: a function of the count of writes and of nothing else.
//!
//! Roche, Aviv, Choi, Mayberry, "Deterministic, Stash-Free Write-Only ORAM", CCS 2017, in the form of Algorithm 1 of
//! Chakravarty and Panda, "Introducing Fast and Secure Deterministic Stash Free Write Only Oblivious RAMs for Demand
//! Paging in Keystone" (2021). There is a main area of N slots and a holding area of M ≤ N; K = N/M. Write p, counted
//! from 0, goes to holding slot p mod M and then refreshes the main slots
//!
//! ```text
//! ⌊p·K⌋, ⌊p·K⌋ + 1, …, ⌊(p + 1)·K⌋ - 1,   each mod N
//! ```
//!
//! K is never computed: ⌊p·K⌋ is ⌊p·N / M⌋ in 128 bits. A rounded K would drift away from the holding area, and a page
//! would be overwritten there before it came to the main area. Each slot number is reduced mod N, not the two bounds.
//! Algorithm 1 takes `s` and `e` mod N first and then runs from `s` to `e`, which refreshes nothing if `e` has wrapped.
//!
//! The schemes rely on what follows from the formula:
//! - refreshes go over the main area strictly in order, and holding writes over the holding area;
//! - each write refreshes ⌊K⌋ or ⌈K⌉ slots, at least one;
//! - any M successive writes refresh every main slot exactly once. So the page that write p put into its holding slot
//!   is in the main area when write p + M comes for that slot.

use crate::range::{self, OutOfRange};

/// The order of a deterministic write-only ORAM's writes. Public, and so is everything that it computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteSchedule {
    main: u64,
    holding: u64,
}

impl WriteSchedule {
    /// The schedule for a main area of N slots and a holding area of M: 1 ≤ M ≤ N.
    ///
    /// # Errors
    /// [`OutOfRange`].
    pub fn new(main: u64, holding: u64) -> Result<Self, OutOfRange> {
        range::check(&[("holding", holding, 1, main)])?;
        Ok(WriteSchedule { main, holding })
    }

    /// N, slots of the main area.
    pub fn main(&self) -> u64 {
        self.main
    }

    /// M, slots of the holding area.
    pub fn holding(&self) -> u64 {
        self.holding
    }

    /// The holding slot, from 0, that write `write` goes to: p mod M.
    pub fn holding_slot(&self, write: u64) -> u64 {
        write % self.holding
    }

    /// The number of refreshes that come before those of write `write`: ⌊p·N / M⌋. `write` may be 2^64: all writes that
    /// a counter of 64 bits can count.
    pub fn refreshes_before(&self, write: u128) -> u128 {
        write * u128::from(self.main) / u128::from(self.holding)
    }

    /// The main slots, from 0, that write `write` refreshes, in their order.
    pub fn refreshes(&self, write: u64) -> Refreshes {
        let before = self.refreshes_before(write.into());
        let after = self.refreshes_before(u128::from(write) + 1);
        Refreshes {
            next: (before % u128::from(self.main)) as u64,
            remaining: (after - before) as u64,
            main: self.main,
        }
    }

    /// The maximum number of slots that any write refreshes: ⌈N / M⌉.
    pub fn max_refreshes(&self) -> u64 {
        self.main.div_ceil(self.holding)
    }
}

/// Successive main slots, going round at the end of the area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refreshes {
    next: u64,
    remaining: u64,
    main: u64,
}

impl Refreshes {
    /// The number of slots that are left.
    pub fn count_remaining(&self) -> u64 {
        self.remaining
    }

    /// The place of a main slot among those left, from 0.
    pub fn place_of(&self, slot: u64) -> Option<u64> {
        if slot >= self.main {
            return None;
        }
        let place = if slot >= self.next { slot - self.next } else { slot + (self.main - self.next) };
        (place < self.remaining).then_some(place)
    }
}

impl Iterator for Refreshes {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.remaining = self.remaining.checked_sub(1)?;
        let this = self.next;
        self.next = if this + 1 == self.main { 0 } else { this + 1 };
        Some(this)
    }

    fn nth(&mut self, n: usize) -> Option<u64> {
        let skipped = (n as u64).min(self.remaining);
        self.remaining -= skipped;
        self.next = ((u128::from(self.next) + u128::from(skipped)) % u128::from(self.main)) as u64;
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let remaining = usize::try_from(self.remaining).ok();
        (remaining.unwrap_or(usize::MAX), remaining)
    }
}
