//! Schemes that are broken on purpose, to test the judge. Each is a sound part in one wrapper that makes the mistake of
//! a hasty implementation. The schemes themselves are unchanged.
//!
//! All answer rightly, so only the trace of the store reveals them. The wrappers of stores look at plaintext, and are
//! for stores that are ready at once.

#[macro_use]
mod wrapper;

mod biased;
mod front_ends;
mod networks;
mod partitions;
mod positions;
mod randomness;
mod raw;
mod stores;

pub use biased::{Bias, BiasedLeaves, Occasion};
pub use front_ends::{ShowsAnswers, ShowsHits, ShowsRemapTurns};
pub use networks::{SkipsDummies, TrimsMessages};
pub use partitions::ReadsRandomPartition;
pub use positions::{KeepsToOwnPart, NeverRemaps, RepeatsPaths, ReusesLeafSometimes};
pub use randomness::{DrawsOnce, LowBits, OneDraw, Repeats, SharedDraw, Source, Uneven};
pub use raw::{AnnouncesTarget, StopsAtTarget, SwapsHalves, TargetBlock, WaitsUntilFull};
pub use stores::{Edit, EditingStore, FirstUnreadWhen, SkipsUnchanged};

use super::trace_store::{TraceStore, TraceStoreError};
use crate::oram::{Access, Bounds, Oram, OramError};
use crate::schemes::detworam::DetWoParameters;
use crate::schemes::trivial::TrivialParameters;
use crate::store::Store;
use crate::types::{BlockId, Bucket, Slot};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::future::poll_fn;
use core::mem;
use core::task::Poll;

/// An ORAM with a batch made shorter: a block that is requested twice is accessed once.
pub struct Deduplicates<O>(pub O);

/// An ORAM that answers a repeated request from the previous batch, without an access: a hit reads nothing.
pub struct SkipsHits<O> {
    oram: O,
    last: RefCell<BTreeMap<BlockId, Vec<u8>>>,
}

impl<O> SkipsHits<O> {
    /// An ORAM that remembers one batch.
    pub fn new(oram: O) -> Self {
        SkipsHits { oram, last: RefCell::default() }
    }
}

/// Runs a batch without the accesses that are skipped.
async fn run_without<O: Oram>(
    oram: &O,
    batch: &mut [Access<'_>],
    skipped: &[bool],
) -> Result<(), OramError<O::Error>> {
    let kept = batch.iter_mut().zip(skipped).filter(|(_, skipped)| !**skipped);
    let mut requested: Vec<Access<'_>> =
        kept.map(|(access, _)| mem::replace(access, Access::Dummy)).collect();
    let outcome = oram.access(&mut requested).await;
    let kept = batch.iter_mut().zip(skipped).filter(|(_, skipped)| !**skipped);
    kept.zip(requested).for_each(|((access, _), requested)| *access = requested);
    outcome
}

/// Remembers the blocks that a batch read, and those that it wrote.
fn remember(batch: &[Access<'_>], skipped: &[bool], known: &mut BTreeMap<BlockId, Vec<u8>>) {
    for (access, _) in batch.iter().zip(skipped).filter(|(_, skipped)| !**skipped) {
        match access {
            Access::Read(block, payload) => known.insert(*block, payload.to_vec()),
            Access::Write(block, payload) => known.insert(*block, payload.to_vec()),
            Access::Dummy => None,
        };
    }
}

fn answer(batch: &mut [Access<'_>], skipped: &[bool], known: &BTreeMap<BlockId, Vec<u8>>) {
    for (access, _) in batch.iter_mut().zip(skipped).filter(|(_, skipped)| **skipped) {
        if let Access::Read(block, into) = access {
            into.copy_from_slice(&known[block]);
        }
    }
}

wraps!([O: Oram] Deduplicates<O>, O::Error, 0, mutant, batch => {
    let mut read = BTreeSet::new();
    let skipped: Vec<bool> = batch
        .iter()
        .map(|access| match access {
            Access::Read(block, _) => !read.insert(*block),
            Access::Write(block, _) => {
                read.remove(block);
                false
            }
            Access::Dummy => false,
        })
        .collect();
    run_without(&mutant.0, batch, &skipped).await?;
    let mut known = BTreeMap::new();
    remember(batch, &skipped, &mut known);
    answer(batch, &skipped, &known);
    Ok(())
});
wraps!([O: Oram] SkipsHits<O>, O::Error, oram, mutant, batch => {
    let mut known = mutant.last.take();
    let mut written = BTreeSet::new();
    let skipped: Vec<bool> = batch
        .iter()
        .map(|access| match access {
            Access::Read(block, _) => known.contains_key(block) && !written.contains(block),
            Access::Write(block, _) => {
                written.insert(*block);
                false
            }
            Access::Dummy => false,
        })
        .collect();
    run_without(&mutant.oram, batch, &skipped).await?;
    answer(batch, &skipped, &known);
    known.retain(|block, _| batch.iter().any(|access| access.block() == Some(*block)));
    remember(batch, &skipped, &mut known);
    mutant.last.replace(known);
    Ok(())
});

/// An ORAM that yields once before an access of a block that the batch before also requested.
pub struct DelaysHits<O> {
    oram: O,
    last: RefCell<BTreeSet<BlockId>>,
}

impl<O> DelaysHits<O> {
    /// An ORAM that was never asked.
    pub fn new(oram: O) -> Self {
        DelaysHits { oram, last: RefCell::default() }
    }
}

wraps!([O: Oram] DelaysHits<O>, O::Error, oram, mutant, batch => {
    let requested: BTreeSet<BlockId> = batch.iter().filter_map(Access::block).collect();
    let last = mutant.last.replace(requested.clone());
    if !requested.is_disjoint(&last) {
        yield_once().await;
    }
    mutant.oram.access(batch).await
});

/// Yields once.
async fn yield_once() {
    let mut waits = true;
    poll_fn(|context| {
        if mem::take(&mut waits) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}

/// The reaction of a batch while the stash is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullStashReaction {
    /// The scheme runs as usual, but a part of it learns that the stash is full.
    Reports,
    /// The scheme yields once.
    Yields,
    /// The scheme leaves out its last access, if that is a dummy.
    DropsDummy,
}

/// An ORAM whose batches do that if the stash holds at least this many blocks when they begin.
pub struct ReactsToFullStash<O> {
    oram: O,
    stash_blocks: fn(&O) -> usize,
    full: usize,
    then: FullStashReaction,
    is_full: Rc<Cell<bool>>,
}

impl<O> ReactsToFullStash<O> {
    /// An ORAM whose stash is full with this many blocks; `is_full` learns when it is.
    pub fn new(
        oram: O,
        stash_blocks: fn(&O) -> usize,
        full: usize,
        then: FullStashReaction,
        is_full: Rc<Cell<bool>>,
    ) -> Self {
        ReactsToFullStash { oram, stash_blocks, full, then, is_full }
    }
}

wraps!([O: Oram] ReactsToFullStash<O>, O::Error, oram, mutant, batch => {
    let is_full = (mutant.stash_blocks)(&mutant.oram) >= mutant.full;
    mutant.is_full.set(is_full);
    if is_full && mutant.then == FullStashReaction::Yields {
        yield_once().await;
    }
    let drops_dummy = is_full && mutant.then == FullStashReaction::DropsDummy;
    match batch {
        [first @ .., Access::Dummy] if drops_dummy && !first.is_empty() => mutant.oram.access(first).await,
        all => mutant.oram.access(all).await,
    }
});

/// An ORAM in whose batches a page is written once, however often it was requested: all but the last write are dropped.
/// The reads of a batch come after its writes.
pub struct WritesOnce<O>(pub O);

wraps!([O: Oram] WritesOnce<O>, O::Error, 0, mutant, batch => {
    let mut written = BTreeSet::new();
    let mut skipped: Vec<bool> = batch
        .iter()
        .rev()
        .map(|access| match access {
            Access::Write(block, _) => !written.insert(*block),
            Access::Read(..) | Access::Dummy => false,
        })
        .collect();
    skipped.reverse();
    run_without(&mutant.0, batch, &skipped).await
});

/// An ORAM that does not write a page whose contents stay the same.
pub struct SkipsCleanWrites<O> {
    oram: O,
    /// The contents of every page; zeros if it is not here.
    known: RefCell<BTreeMap<BlockId, Vec<u8>>>,
}

impl<O> SkipsCleanWrites<O> {
    /// An ORAM that was never written.
    pub fn new(oram: O) -> Self {
        SkipsCleanWrites { oram, known: RefCell::default() }
    }
}

wraps!([O: Oram] SkipsCleanWrites<O>, O::Error, oram, mutant, batch => {
    let skipped: Vec<bool> = batch
        .iter()
        .map(|access| match access {
            Access::Write(block, payload) => {
                let before = mutant.known.borrow_mut().insert(*block, payload.to_vec());
                before.map_or(payload.iter().all(|byte| *byte == 0), |before| before == *payload)
            }
            Access::Read(..) | Access::Dummy => false,
        })
        .collect();
    run_without(&mutant.oram, batch, &skipped).await
});

/// A DetWoORAM that computes wrongly which slots are due.
pub struct WrongSchedule<'a> {
    parameters: DetWoParameters,
    store: &'a TraceStore,
    mistake: Mistake,
    writes: Cell<u64>,
    /// The contents of the pages. The scheme answers rightly despite its mistake.
    known: RefCell<Vec<Vec<u8>>>,
}

/// The wrong ways to compute the slots that are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// The bounds come from a ratio in floating point.
    Rounds,
    /// The slots go from the one bound mod N to the other bound mod N.
    ReducesAsAPair,
}

impl<'a> WrongSchedule<'a> {
    /// A scheme that makes this mistake.
    pub fn new(parameters: DetWoParameters, store: &'a TraceStore, mistake: Mistake) -> Self {
        let known =
            RefCell::new(vec![vec![0; parameters.block_bytes as usize]; parameters.capacity as usize]);
        WrongSchedule { parameters, store, mistake, writes: Cell::new(0), known }
    }

    fn due(&self, write: u64) -> Vec<u64> {
        let (main, holding) = (self.parameters.capacity, self.parameters.holding);
        match self.mistake {
            Mistake::Rounds => {
                let bound = |write: u64| (write as f64 * (main as f64 / holding as f64)) as u64;
                (bound(write)..bound(write + 1)).map(|slot| slot % main).collect()
            }
            Mistake::ReducesAsAPair => {
                let bound = |write: u64| write * main / holding % main;
                (bound(write)..bound(write + 1)).collect()
            }
        }
    }

    async fn write(&self) -> Result<(), TraceStoreError> {
        let write = self.writes.replace(self.writes.get() + 1);
        let held = self.parameters.capacity + write % self.parameters.holding;
        let mut buckets = vec![Bucket(held)];
        buckets.extend(self.due(write).into_iter().map(Bucket));
        let bytes = vec![0; buckets.len() * self.parameters.block_bytes as usize];
        self.store.write(&buckets, &bytes).await
    }
}

impl Oram for WrongSchedule<'_> {
    type Error = TraceStoreError;

    fn bounds(&self) -> Bounds {
        self.parameters.bounds()
    }
    async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<TraceStoreError>> {
        for access in batch {
            match access {
                Access::Read(page, into) => into.copy_from_slice(&self.known.borrow()[page.0 as usize]),
                Access::Write(page, from) => {
                    self.known.borrow_mut()[page.0 as usize].copy_from_slice(from);
                    self.write().await?;
                }
                Access::Dummy => self.write().await?,
            }
        }
        Ok(())
    }
}

/// A Trivial ORAM that stops scanning once it has found all that was requested.
pub struct StopsAtHit<'a> {
    /// The parameters of the sound scheme.
    pub parameters: TrivialParameters,
    /// The store of the ORAM.
    pub store: &'a TraceStore,
}

impl Oram for StopsAtHit<'_> {
    type Error = TraceStoreError;

    fn bounds(&self) -> Bounds {
        self.parameters.bounds()
    }
    async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<TraceStoreError>> {
        let last = batch.iter().filter_map(Access::block).max().map_or(0, |block| block.0);
        let blocks: Vec<u64> = (0..self.parameters.capacity).collect();
        for chunk in blocks.chunks(self.parameters.chunk_blocks as usize) {
            let slots: Vec<Slot> =
                chunk.iter().map(|block| Slot { bucket: Bucket(*block), index: 0 }).collect();
            let buckets: Vec<Bucket> = chunk.iter().map(|block| Bucket(*block)).collect();
            let mut bytes = vec![0; chunk.len() * self.block_bytes()];
            self.store.read(&slots, &mut bytes).await?;
            for access in batch.iter_mut() {
                let Some(block) = access.block().filter(|block| chunk.contains(&block.0)) else { continue };
                let payload =
                    &mut bytes[(block.0 - chunk[0]) as usize * self.block_bytes()..][..self.block_bytes()];
                match access {
                    Access::Read(_, into) => into.copy_from_slice(payload),
                    Access::Write(_, from) => payload.copy_from_slice(from),
                    Access::Dummy => {}
                }
            }
            self.store.write(&buckets, &bytes).await?;
            if chunk.contains(&last) {
                break;
            }
        }
        Ok(())
    }
}
