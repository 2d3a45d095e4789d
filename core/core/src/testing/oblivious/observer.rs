//! The adversary's reading of the events: whether each event follows the public schedule, and the choices that it
//! shows.

use super::super::driver::Event;
use super::super::trace_store::TraceEntry;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use rand_core::RngCore;

/// The adversary that watches the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adversary {
    /// Sees each read and write, in order.
    Full,
    /// Sees what changed between two moments: the buckets that were written.
    Snapshot,
}

/// Follows the events of one run, and computes the public schedule independently of the scheme.
///
/// The observer checks everything that follows from the events before: counts, batches, paths, and the order in which
/// the store finished. The random choices follow from nothing; they are collected as [`Observations`].
pub trait Observer {
    /// Looks at the next event.
    ///
    /// # Errors
    /// The event as it is, and as it should have been.
    fn observe(&mut self, event: &Event) -> Result<(), String>;

    /// Returns the random choices that were shown so far.
    fn observations(&self) -> &Observations;
}

/// The random choices that a run showed, each of which must be uniform and independent of all others.
#[derive(Clone, Debug, Default)]
pub struct Observations {
    /// The leaves shown, in order.
    pub leaves: Vec<ShownLeaf>,
    /// The choices of a slot among the unread ones of a bucket.
    pub picks: Vec<Pick>,
    /// The counts of what happened in the run and depends on the leaves.
    pub totals: BTreeMap<&'static str, u64>,
}

/// A leaf that was shown. If the trace shows only that it is one of several, the judge draws one of them. For a uniform
/// leaf the result is a uniform leaf.
#[derive(Clone, Copy, Debug)]
pub struct ShownLeaf {
    /// The access whose leaf it is, counted from the first of the run; `None` if it may be one of several.
    pub access: Option<usize>,
    /// The leaf.
    pub leaf: u64,
}

/// A choice of a slot.
#[derive(Clone, Copy, Debug)]
pub struct Pick {
    /// The access that made it; `None` for an eviction.
    pub access: Option<usize>,
    /// The level of the bucket.
    pub level: u32,
    /// The rank of the slot among the unread ones.
    pub rank: usize,
    /// The number of unread slots of the bucket.
    pub among: usize,
    /// The rank of the slot among the unread ones, spread evenly over 0 to 1 by a draw of the judge. A uniform choice
    /// gives a uniform number.
    pub value: f64,
    /// The value of the choice before it in the same writing of the same bucket.
    pub before: Option<f64>,
}

impl Pick {
    /// The choice of this rank among this many.
    pub fn of(
        random: &mut impl RngCore,
        access: Option<usize>,
        level: u32,
        (rank, among): (usize, usize),
        before: Option<f64>,
    ) -> Self {
        Pick { access, level, rank, among, value: spread(random, rank, among), before }
    }
}

impl Observations {
    /// Adds to a total.
    pub fn add(&mut self, total: &'static str, amount: u64) {
        *self.totals.entry(total).or_default() += amount;
    }
}

/// Uniform in `0..bound`, except for a bias below 2^-32.
pub fn draw_below(random: &mut impl RngCore, bound: usize) -> usize {
    ((u128::from(random.next_u64()) * bound as u128) >> 64) as usize
}

/// A rank among this many, spread evenly over 0 to 1.
pub fn spread(random: &mut impl RngCore, rank: usize, among: usize) -> f64 {
    let fraction = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    (rank as f64 + fraction) / among as f64
}

/// Returns an error, unless it holds.
pub(super) fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// Returns an error, unless no step is pending.
pub(super) fn ensure_idle(pending_steps: u64, must_step: bool) -> Result<(), String> {
    ensure((pending_steps, must_step) == (0, false), || String::from("it has pending steps"))
}

/// The buckets that an event writes. The trace does not show the order in which they are written.
pub(super) fn written_buckets(event: &Event) -> Option<BTreeSet<u64>> {
    match event {
        Event::StoreRequest(_, TraceEntry::Write(buckets)) => {
            Some(buckets.iter().map(|bucket| bucket.0).collect())
        }
        _ => None,
    }
}
