//! The part of the observer of partitions that depends on their sub-ORAMs.

use super::super::observer::Pick;
use alloc::string::String;
use alloc::vec::Vec;
use rand_chacha::ChaCha8Rng;

/// The expected trace of all sub-ORAMs, from the part that they have shown.
pub(super) trait SubOrams {
    /// The partition that a bucket belongs to.
    fn partition(&self, bucket: u64) -> usize;

    /// Checks the read of a take. Returns the leaf that it shows, with a number that is unique in all partitions.
    fn take(&mut self, at: usize, read: &[u64], shown: &mut Shown<'_>) -> Result<u64, String>;

    /// Returns whether a put reads before it writes.
    fn drains(&self, at: usize) -> bool;

    /// Looks at the read of a put.
    fn drain(&mut self, at: usize, read: &[u64], shown: &mut Shown<'_>) -> Result<(), String>;

    /// Looks at the write of a put. Returns the leaf that it shows to an adversary who sees writes only, if it shows
    /// one.
    fn fill(&mut self, at: usize, written: &[u64], sees_reads: bool) -> Result<Option<u64>, String>;
}

/// The place where choices of slots are noted.
pub(super) struct Shown<'a> {
    pub(super) random: &'a mut ChaCha8Rng,
    pub(super) picks: &'a mut Vec<Pick>,
}
