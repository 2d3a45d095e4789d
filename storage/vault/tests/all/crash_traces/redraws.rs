//! The requests of a restore that draws all positions again. It reads buckets whole, and then writes buckets, both in the
//! order of their numbers. Which ones follows from the count of accesses: the judge of schemes knows those that exist.

use crate::support::intercepted::Request;
use ameles_core::schemes::ring::RingParameters;
use ameles_core::store::{BucketVersion, Place};
use ameles_core::tree::eviction_schedule::reverse_lexicographic;
use ameles_core::types::{Bucket, Version};
use std::collections::{BTreeMap, BTreeSet};

/// The requests of a restore so far.
#[derive(Default)]
pub struct Redraw {
    read: Vec<Bucket>,
    pub written: Vec<BucketVersion>,
}

impl Redraw {
    /// Adds a request. `newest` has the versions that were written before the machine was lost.
    ///
    /// # Errors
    /// A deviation from the order of the buckets, from whole buckets, or from new versions.
    pub fn add(
        &mut self,
        request: &Request,
        ring: &RingParameters,
        newest: &BTreeMap<Bucket, Version>,
    ) -> Result<(), String> {
        match request {
            Request::Read(places) => self.read(places, ring, newest),
            Request::Write(buckets) => {
                buckets.iter().try_for_each(|at| self.write(*at, newest.values().max().copied()))
            }
            _ => Ok(()),
        }
    }

    fn read(
        &mut self,
        places: &[Place],
        ring: &RingParameters,
        newest: &BTreeMap<Bucket, Version>,
    ) -> Result<(), String> {
        let Some(first) = places.first() else { return Err("a restore read nothing".into()) };
        let bucket = first.slot.bucket;
        let whole = (0..ring.layout().extent(bucket).slots).map(|index| (bucket, index, first.version));
        if !places.iter().map(|at| (at.slot.bucket, at.slot.index, at.version)).eq(whole) {
            return Err(format!("a restore read {places:?}, which is not a bucket"));
        }
        if newest.get(&bucket).is_none_or(|newest| first.version > *newest) {
            return Err(format!("a restore read {first:?}, which nobody has written"));
        }
        if !self.written.is_empty() || self.read.last().is_some_and(|last| *last >= bucket) {
            return Err(format!("a restore read {bucket} after {:?} and {:?}", self.read, self.written));
        }
        self.read.push(bucket);
        Ok(())
    }

    fn write(&mut self, at: BucketVersion, newest: Option<Version>) -> Result<(), String> {
        let last = self.written.last().copied();
        let comes_later = last.is_none_or(|last| last.bucket < at.bucket && last.version < at.version);
        if !comes_later || newest.is_some_and(|newest| newest >= at.version) {
            return Err(format!("a restore wrote {at:?} after {last:?} and {newest:?}"));
        }
        self.written.push(at);
        Ok(())
    }

    /// Checks that the buckets that were read existed after some number of evictions, and that they still do.
    ///
    /// # Errors
    /// The buckets.
    pub fn check(&self, ring: &RingParameters) -> Result<(), String> {
        let (read, written) = (self.read.iter(), self.written.iter().map(|at| at.bucket));
        let (read, written): (BTreeSet<Bucket>, BTreeSet<Bucket>) =
            (read.copied().collect(), written.collect());
        let tree = ring.geometry();
        let mut exist = BTreeSet::new();
        let is_a_state = (0..=1 << ring.leaf_level.0).any(|turn| {
            let is_it = exist == read;
            exist.extend(tree.path(reverse_lexicographic(turn, ring.leaf_level)).map(|(_, bucket)| bucket));
            is_it
        });
        if is_a_state && read.is_subset(&written) {
            return Ok(());
        }
        Err(format!("a restore read {read:?} and wrote {written:?}"))
    }
}
