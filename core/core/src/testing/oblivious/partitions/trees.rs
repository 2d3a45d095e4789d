//! The k-ary trees of CURIOUS as the trace shows them: a take reads a path, and the put after it writes the same path.

use super::super::observer::ensure;
use super::sub_orams::{Shown, SubOrams};
use crate::schemes::curious::CuriousParameters;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

pub(super) struct Trees {
    arity: u64,
    levels: u32,
    /// The leaf of the path that each partition holds, as it was shown.
    held: Vec<Option<u64>>,
}

impl Trees {
    pub(super) fn new(parameters: &CuriousParameters) -> Self {
        let held = vec![None; parameters.partitions.partitions as usize];
        Trees { arity: parameters.tree.arity.into(), levels: parameters.tree.levels, held }
    }

    fn buckets(&self) -> u64 {
        (0..self.levels).map(|level| self.arity.pow(level)).sum()
    }

    fn leaves(&self) -> u64 {
        self.arity.pow(self.levels - 1)
    }

    /// The leaf whose path through the tree of a partition these buckets are.
    fn path(&self, at: usize, buckets: &[u64]) -> Result<u64, String> {
        let of_no_path = || format!("{buckets:?} are not a path of partition {at}");
        let first = at as u64 * self.buckets();
        let inner = self.buckets() - self.leaves();
        let last = buckets.last().and_then(|last| last.checked_sub(first + inner));
        let leaf = last.filter(|leaf| *leaf < self.leaves()).ok_or_else(of_no_path)?;
        let (mut due, mut node, mut above) = (Vec::new(), leaf, inner);
        for level in (0..self.levels).rev() {
            due.insert(0, first + above + node);
            node /= self.arity;
            above -= if level == 0 { 0 } else { self.arity.pow(level - 1) };
        }
        ensure(due == buckets, of_no_path)?;
        Ok(leaf)
    }
}

impl SubOrams for Trees {
    fn partition(&self, bucket: u64) -> usize {
        (bucket / self.buckets()) as usize
    }

    fn take(&mut self, at: usize, read: &[u64], _: &mut Shown<'_>) -> Result<u64, String> {
        let leaf = self.path(at, read)?;
        self.held[at] = Some(leaf);
        Ok(at as u64 * self.leaves() + leaf)
    }

    fn drains(&self, _: usize) -> bool {
        false
    }

    fn drain(&mut self, at: usize, read: &[u64], _: &mut Shown<'_>) -> Result<(), String> {
        Err(format!("a put to partition {at} read {read:?}"))
    }

    fn fill(&mut self, at: usize, written: &[u64], sees_reads: bool) -> Result<Option<u64>, String> {
        let leaf = self.path(at, written)?;
        let held = self.held[at].take();
        ensure(!sees_reads || held == Some(leaf), || {
            format!("the path to {leaf} was written, held is {held:?}")
        })?;
        Ok(Some(at as u64 * self.leaves() + leaf))
    }
}
