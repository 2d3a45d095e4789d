//! Slots to be sealed or opened together, each with its key.

use crate::parallel::{SealThreads, Work};
use crate::slot_format::Fresh;
use crate::slot_key::SlotKey;
use crate::slot_keys::{SlotKeys, SubKey};
use alloc::sync::Arc;
use alloc::vec::Vec;
use ameles_core::store::Place;

/// A slot of a batch.
#[derive(Clone, Copy)]
struct Job {
    place: Place,
    /// The index of its key in the batch's keys. Not used when the version is "never".
    key: u32,
    plain_bytes: u32,
    /// The bytes that sealing adds. A slot that was never written has no sealed bytes at all.
    overhead_bytes: u32,
}

impl Job {
    fn plain_bytes(&self) -> usize {
        self.plain_bytes as usize
    }

    fn sealed_bytes(&self) -> usize {
        if self.place.version.is_never() { 0 } else { self.plain_bytes() + self.overhead_bytes as usize }
    }
}

/// The slots of one request, in the order of its buffers.
#[derive(Default)]
pub(crate) struct Batch {
    jobs: Vec<Job>,
    keys: Vec<Arc<SlotKey>>,
    last: Option<SubKey>,
    plain_bytes: usize,
    sealed_bytes: usize,
}

impl Batch {
    pub(crate) fn clear(&mut self) {
        self.jobs.clear();
        self.keys.clear();
        self.last = None;
        self.plain_bytes = 0;
        self.sealed_bytes = 0;
    }

    pub(crate) fn plain_bytes(&self) -> usize {
        self.plain_bytes
    }

    pub(crate) fn sealed_bytes(&self) -> usize {
        self.sealed_bytes
    }

    /// Appends a slot; `false` if its epoch is unknown.
    #[must_use]
    pub(crate) fn push(&mut self, place: Place, plain_bytes: u32, keys: &mut SlotKeys) -> bool {
        if !place.version.is_never() {
            let sub_key = keys.sub_key(place.version);
            if self.last != Some(sub_key) {
                let Some(key) = keys.get(sub_key) else {
                    return false;
                };
                self.keys.push(key);
                self.last = Some(sub_key);
            }
        }
        let key = self.keys.len().saturating_sub(1) as u32;
        let job = Job { place, key, plain_bytes, overhead_bytes: keys.format().overhead_bytes() as u32 };
        self.plain_bytes += job.plain_bytes();
        self.sealed_bytes += job.sealed_bytes();
        self.jobs.push(job);
        true
    }

    /// Seals `plain` into `sealed`; each is exactly as long as the batch requires. `fresh` was drawn for this sealing.
    pub(crate) fn seal(&self, fresh: &Fresh, plain: &[u8], sealed: &mut [u8], workers: &SealThreads) {
        workers.run(Seal { jobs: &self.jobs, keys: &self.keys, fresh, plain, sealed });
    }

    /// Opens `sealed` in place and copies it to `plain`. The error is the first slot that was forged.
    pub(crate) fn open(
        &self,
        sealed: &mut [u8],
        plain: &mut [u8],
        workers: &SealThreads,
    ) -> Result<(), Place> {
        workers.run(Open { jobs: &self.jobs, keys: &self.keys, plain, sealed })
    }
}

struct Seal<'a> {
    jobs: &'a [Job],
    keys: &'a [Arc<SlotKey>],
    fresh: &'a Fresh,
    plain: &'a [u8],
    sealed: &'a mut [u8],
}

impl Work for Seal<'_> {
    type Done = ();

    fn bytes(&self) -> usize {
        self.sealed.len()
    }

    fn split(self) -> Result<(Self, Self), Self> {
        let Some(halves) = Halves::of(self.jobs) else {
            return Err(self);
        };
        let (plain, plain_rest) = self.plain.split_at(halves.plain_bytes);
        let (sealed, sealed_rest) = self.sealed.split_at_mut(halves.sealed_bytes);
        let Seal { keys, fresh, .. } = self;
        let first = Seal { jobs: halves.first, keys, fresh, plain, sealed };
        let second = Seal { jobs: halves.second, keys, fresh, plain: plain_rest, sealed: sealed_rest };
        Ok((first, second))
    }

    fn run(mut self) {
        for job in self.jobs {
            let plain = self.plain.split_off(..job.plain_bytes()).expect("lengths were added up");
            let sealed = self.sealed.split_off_mut(..job.sealed_bytes()).expect("lengths were added up");
            self.keys[job.key as usize].seal(&job.place, self.fresh, plain, sealed);
        }
    }

    fn join((): (), (): ()) {}
}

struct Open<'a> {
    jobs: &'a [Job],
    keys: &'a [Arc<SlotKey>],
    plain: &'a mut [u8],
    sealed: &'a mut [u8],
}

impl Work for Open<'_> {
    type Done = Result<(), Place>;

    fn bytes(&self) -> usize {
        self.sealed.len()
    }

    fn split(self) -> Result<(Self, Self), Self> {
        let Some(halves) = Halves::of(self.jobs) else {
            return Err(self);
        };
        let (plain, plain_rest) = self.plain.split_at_mut(halves.plain_bytes);
        let (sealed, sealed_rest) = self.sealed.split_at_mut(halves.sealed_bytes);
        let keys = self.keys;
        let first = Open { jobs: halves.first, keys, plain, sealed };
        let second = Open { jobs: halves.second, keys, plain: plain_rest, sealed: sealed_rest };
        Ok((first, second))
    }

    fn run(mut self) -> Result<(), Place> {
        for job in self.jobs {
            let plain = self.plain.split_off_mut(..job.plain_bytes()).expect("lengths were added up");
            if job.place.version.is_never() {
                plain.fill(0);
                continue;
            }
            let sealed = self.sealed.split_off_mut(..job.sealed_bytes()).expect("lengths were added up");
            let text = self.keys[job.key as usize].open(&job.place, sealed).map_err(|_| job.place)?;
            plain.copy_from_slice(text);
        }
        Ok(())
    }

    fn join(first: Self::Done, second: Self::Done) -> Self::Done {
        first.and(second)
    }
}

/// Jobs in two halves, and the boundary of their buffers.
#[cfg_attr(not(feature = "parallel"), allow(dead_code, reason = "without threads, work is not split"))]
struct Halves<'a> {
    first: &'a [Job],
    second: &'a [Job],
    plain_bytes: usize,
    sealed_bytes: usize,
}

#[cfg_attr(not(feature = "parallel"), allow(dead_code, reason = "without threads, work is not split"))]
impl<'a> Halves<'a> {
    fn of(jobs: &'a [Job]) -> Option<Self> {
        if jobs.len() < 2 {
            return None;
        }
        let (first, second) = jobs.split_at(jobs.len() / 2);
        Some(Halves {
            first,
            second,
            plain_bytes: first.iter().map(Job::plain_bytes).sum(),
            sealed_bytes: first.iter().map(Job::sealed_bytes).sum(),
        })
    }
}
