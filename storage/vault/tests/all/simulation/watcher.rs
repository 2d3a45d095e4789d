//! An observer of the store that remembers every request of the vault, across all openings.
//!
//! It is between the vault and the layer that retries, so it sees each request once. It has no key. It checks that
//! crashes reveal nothing to it:
//! - a slot of a bucket version is read a second time only in a recovery. It repeats exactly the requests since the
//!   last checkpoint, in their order, from the first on;
//! - a bucket version is written once;
//! - a read names a version that exists.

use super::checked_store::CheckedStore;
use super::run_log;
use super::violation::Violation;
use crate::support::intercepted::{Intercepted, Interceptor, Request};
use ameles_core::store::{BucketVersion, Place, UntrustedError};
use ameles_core::types::Version;
use ameles_vault::Vault;
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

/// The record of what was seen. Clones share it.
#[derive(Clone)]
pub struct Watcher {
    checked_store: CheckedStore,
    violation: Violation,
    seen: Rc<RefCell<WatcherState>>,
}

#[derive(Default)]
struct WatcherState {
    /// All reads without repetitions, each with the number of the last checkpoint before it.
    reads: Vec<(u64, Vec<Place>)>,
    slots: HashSet<Place>,
    written: HashSet<Version>,
    /// The vault in service, which publishes the number of its checkpoint.
    vault: Option<Vault>,
    checkpoint: u64,
    /// True if there may have been a checkpoint that was not published.
    may_have_missed_checkpoint: bool,
    /// The first of the reads that the opening vault has repeated or made.
    replayed_from: usize,
    checking: bool,
    replay: Replay,
    repeated: u64,
}

/// The state of a recovery.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Replay {
    #[default]
    NotBegun,
    /// The next read to be repeated.
    At(usize),
    Over,
}

impl Watcher {
    pub fn new(checked_store: CheckedStore, violation: Violation) -> Self {
        Watcher { checked_store, violation, seen: Rc::default() }
    }

    /// Wraps the store for the next opening.
    pub fn wrap<S>(&self, inner: S) -> Intercepted<S, Watcher> {
        Intercepted { inner, interceptor: self.clone() }
    }

    /// Records that a vault is being opened; an earlier vault is no longer in service.
    pub fn opening(&self) {
        let mut seen = self.seen.borrow_mut();
        seen.note_checkpoint();
        seen.vault = None;
        seen.replay = Replay::NotBegun;
        seen.replayed_from = seen.reads.len();
    }

    /// Records whether reads belong to a full check, which reads all slots in order, after any requests.
    pub fn checking(&self, checking: bool) {
        self.seen.borrow_mut().checking = checking;
    }

    /// Records that the vault runs on, but has no callers any more.
    pub fn left_alone(&self) {
        self.closed();
        self.seen.borrow_mut().may_have_missed_checkpoint = true;
    }

    /// Records that the vault is open; it publishes its checkpoints from now on.
    pub fn in_service(&self, vault: &Vault) {
        let mut seen = self.seen.borrow_mut();
        seen.vault = Some(vault.clone());
        seen.note_checkpoint();
        seen.may_have_missed_checkpoint = false;
        let (from, checkpoint) = (seen.replayed_from, seen.checkpoint);
        seen.reads[from..].iter_mut().for_each(|(after, _)| *after = checkpoint);
    }

    /// Records that no vault is in service.
    pub fn closed(&self) {
        let mut seen = self.seen.borrow_mut();
        seen.note_checkpoint();
        seen.vault = None;
    }

    /// The store's side.
    pub fn checked_store(&self) -> &CheckedStore {
        &self.checked_store
    }

    /// Reads that recoveries repeated.
    pub fn repeated(&self) -> u64 {
        self.seen.borrow().repeated
    }

    fn read(&self, places: &[Place]) {
        let bucket = |place: &Place| BucketVersion { bucket: place.slot.bucket, version: place.version };
        let memory = self.checked_store.memory();
        let missing = places.iter().find(|place| memory.bucket(bucket(place)).is_none());
        self.violation.check(missing.is_none(), || format!("{missing:?} was read and is not there"));
        let mut seen = self.seen.borrow_mut();
        let broken = seen.read(places);
        self.violation.check(broken.is_none(), || broken.unwrap_or_default());
    }

    fn write(&self, buckets: &[BucketVersion]) {
        let mut seen = self.seen.borrow_mut();
        for bucket in buckets {
            let first = seen.written.insert(bucket.version);
            self.violation.check(first, || format!("{bucket:?} was written a second time"));
        }
    }
}

impl WatcherState {
    /// Records the checkpoint; its number is published before any request that follows the checkpoint.
    fn note_checkpoint(&mut self) {
        if let Some(vault) = &self.vault {
            self.checkpoint = vault.status().checkpoints.newest;
        }
    }

    /// Records a read; returns what is wrong with it.
    fn read(&mut self, places: &[Place]) -> Option<String> {
        self.note_checkpoint();
        if self.checking {
            return None;
        }
        if self.replay == Replay::NotBegun {
            let since = self.reads.iter().position(|(after, _)| *after >= self.checkpoint);
            let same = || self.reads.iter().position(|(_, read)| read == places);
            let first = if self.may_have_missed_checkpoint {
                same()
            } else {
                since.filter(|_| self.slots.contains(&places[0]))
            };
            self.replay = first.map_or(Replay::Over, Replay::At);
            self.replayed_from = first.unwrap_or(self.reads.len());
            // If nothing is repeated, a checkpoint became durable just at the crash.
            self.may_have_missed_checkpoint |= first.is_none();
        }
        if let Replay::At(next) = self.replay {
            if let Some((_, expected)) = self.reads.get(next) {
                self.replay = Replay::At(next + 1);
                self.repeated += 1;
                let same = expected == places;
                return (!same).then(|| {
                    let (read, expected) = (places_in_short(places), places_in_short(expected));
                    format!("a recovery read {read} where {expected} had been read before the crash")
                });
            }
            self.replay = Replay::Over;
        }
        let again = places.iter().find(|place| !self.slots.insert(**place));
        self.reads.push((self.checkpoint, places.to_vec()));
        again.map(|again| format!("{again:?} was read a second time, and not in a recovery"))
    }
}

/// `bucket.slot@epoch.counter` of each place.
fn places_in_short(places: &[Place]) -> String {
    let short = |place: &Place| {
        let Place { slot, version } = place;
        format!("{}.{}@{}.{}", slot.bucket.0, slot.index, version.epoch, version.counter)
    };
    places.iter().map(short).collect::<Vec<_>>().join(" ")
}

fn buckets_in_short(buckets: &[BucketVersion]) -> String {
    let short = |of: &BucketVersion| format!("{}@{}.{}", of.bucket.0, of.version.epoch, of.version.counter);
    buckets.iter().map(short).collect::<Vec<_>>().join(" ")
}

impl Interceptor for Watcher {
    async fn before(&self, request: &Request) -> Result<usize, UntrustedError> {
        match request {
            Request::Read(places) => {
                self.read(places);
                let after = self.seen.borrow().checkpoint;
                run_log::note(|| format!("    read after {after}: {}", places_in_short(places)));
            }
            Request::Write(buckets) => {
                self.write(buckets);
                run_log::note(|| format!("    write {}", buckets_in_short(buckets)));
            }
            Request::Delete(buckets) => run_log::note(|| format!("    delete {}", buckets_in_short(buckets))),
            other => run_log::note(|| format!("    {other:?}")),
        }
        Ok(0)
    }
}
