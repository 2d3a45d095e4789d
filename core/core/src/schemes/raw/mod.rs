//! RAW ORAM: Fletcher, Ren, Kwon, van Dijk, Stefanov, Serpanos, Devadas, "A Low-Latency, Low-Area Hardware Oblivious
//! RAM Controller" (Tiny ORAM), FCCM 2015, section IV.
//!
//! ```text
//! AO(a, op, data*)                                                                access only; Steps 2 to 4 of II-A
//!     x <- position[a];  position[a] <- UniformRandom(0 .. 2^L - 1)
//!     for l in 0, 1, .., L:  read the header and the Z blocks of P(x, l)
//!         if the header names a:  stash <- stash u {(a, position[a], data)};  the header names it no more
//!     if op = write:  data <- data*
//!     for l in 0, 1, .., L:  write the header of P(x, l)
//! EO()                                                                      eviction only, after every A accesses
//!     x <- the bits of G, mirrored;  G <- G + 1
//!     for l in 0, 1, .., L:  stash <- stash u ReadBucket(P(x, l))
//!     for l in L, L - 1, .., 0:  WriteBucket(P(x, l), stash), as deep as they may
//! ```
//!
//! An AO takes one block and leaves the others where they are, so a controller decrypts L + 1 headers and a block. Each
//! bucket of the tree is two buckets in untrusted memory. The **header** is one slot with the block and the leaf of
//! each place. The **body** is Z slots with a payload each. So a block can be taken out without a writing of its body.
//! An AO replaces headers only. No header names a stale payload.
//!
//! AO up to its last line is the on-line work ([`access`](Oram::access)). The writing of headers, and EO, are the
//! off-line work ([`step`](Oram::step)). Between reading and writing headers are **held** on the trusted side. The
//! levels above `top` are always on the trusted side, as part of the stash (see [`Stash`]).
//!
//! **What the trace shows** (adversary `Full`). A batch of n accesses reads, in one operation, n paths that are
//! independent and uniform, for any requests: as in Path ORAM. Of each bucket it reads the header, unless that is held,
//! and all Z slots of the body; of a batch each bucket once. A step writes all held headers, in the order in which they
//! were read; they follow from the paths. When no header is held and an EO is due, a step reads and writes the next
//! path in reverse lexicographic order, as a whole. Which one is due follows from the count of accesses. Accesses and
//! steps wait for one another. The number of blocks in the stash shows only in an [emergency](Oram::emergencies). This
//! is an EO outside of the schedule, while a largest batch might not fit below the hard bound.
//!
//! **Costs** of a batch of n, with K = L + 1 - top buckets on each path. On line: one round trip of at most n·K·(Z + 1)
//! slots. Off line: one that writes at most n·K headers of one slot. Every A accesses: one round trip that reads
//! K·(Z + 1) slots, and one that writes them. For each bucket of a path that is `Z + 2 + 2(Z + 1)/A` slots per access,
//! as in section IV-B. **Parameters**: [`RawParameters`].
//!
//! **Errors**: those of [`OramError`]; of `access` never `StashFull`. After any but a refusal, and after a future
//! that was dropped half-way, it answers [`OramError::Poisoned`] only.

mod backend;
mod eviction;
mod incremental;
#[cfg(feature = "inspect")]
mod inspect;
mod parameters;
mod reading;
mod snapshot;
mod trees;

pub use parameters::RawParameters;
pub use snapshot::{RawSnapshot, RawSnapshotError};

use crate::concurrency::exclusive::Exclusive;
use crate::oram::admission;
use crate::oram::{Access, Bounds, Oram, OramError};
use crate::permutation::sampling;
use crate::position_map::{Lookup, PositionMap};
use crate::stash::Stash;
use crate::store::Store;
use crate::tree::bucket_buffer::BucketBuffer;
use crate::tree::eviction_schedule::EvictionSchedule;
use crate::tree::placement::Placement;
use crate::types::{BlockId, Leaf};
use alloc::vec::Vec;
use core::cell::RefCell;
use core::mem;
use rand_core::RngCore;
use reading::Reading;
use trees::Trees;

/// A RAW ORAM over a store, a position map and randomness of the caller's choice.
pub struct RawOram<S, P, R> {
    parameters: RawParameters,
    trees: Trees,
    store: S,
    positions: P,
    exclusive: Exclusive,
    state: RefCell<State<R>>,
}

struct State<R> {
    random: R,
    stash: Stash,
    schedule: EvictionSchedule,
    /// The number of accesses whose headers are not written yet.
    unwritten: u64,
    /// The held headers and lists, which the holder of the lock takes.
    work: Work,
}

/// The held headers, and lists that are used again.
#[derive(Default)]
struct Work {
    held: BucketBuffer,
    lookups: Vec<Lookup>,
    paths: Vec<Leaf>,
    reading: Reading,
    placement: Placement,
}

/// The next work of `step`.
enum Due {
    Headers,
    Evict(Leaf),
}

impl<S: Store, P: PositionMap<Error = S::Error>, R: RngCore> RawOram<S, P, R> {
    /// Accesses `n` blocks, the `nth` of them `block(nth)` or a dummy, and lets `serve` read and change each payload in
    /// order.
    async fn update(
        &self,
        n: usize,
        block: impl Fn(usize) -> Option<BlockId>,
        mut serve: impl FnMut(usize, &mut [u8]),
    ) -> Result<(), OramError<S::Error>> {
        if n == 0 {
            return Ok(());
        }
        let serve_all = async || {
            let mut work = mem::take(&mut self.state.borrow_mut().work);
            self.draw((0..n).map(&block), &mut work);
            self.positions.remap(&mut work.lookups).await?;
            admission::find_paths(&mut work.paths, &work.lookups, &self.trees.headers)?;
            self.read_paths(&mut work).await?;
            for nth in 0..n {
                if let Some(block) = block(nth) {
                    self.take(block, nth, &mut work, |payload| serve(nth, payload))?;
                }
            }
            self.state.borrow_mut().work = work;
            Ok(())
        };
        self.exclusive.access_blocks(self, serve_all).await
    }

    /// Counts the accesses, and draws a leaf and a path for each. A dummy needs the path.
    fn draw(&self, blocks: impl Iterator<Item = Option<BlockId>>, work: &mut Work) {
        let State { random, schedule, unwritten, .. } = &mut *self.state.borrow_mut();
        let Work { lookups, paths, .. } = work;
        paths.clear();
        admission::look_up(blocks, lookups, || {
            let new = sampling::leaf(random, &self.trees.headers);
            paths.push(sampling::leaf(random, &self.trees.headers));
            new
        });
        schedule.accesses += paths.len() as u64;
        *unwritten += paths.len() as u64;
    }

    /// Reads headers and bodies of all paths; from then on the headers are held.
    async fn read_paths(&self, work: &mut Work) -> Result<(), OramError<S::Error>> {
        let Work { held, paths, reading, .. } = work;
        reading.plan(paths, &self.trees, held);
        reading.read(&self.store).await?;
        for header in reading.headers() {
            held.add_contents(header, &self.trees.headers, self.parameters.capacity)?;
        }
        Ok(())
    }

    /// Takes the block of interest out of its bucket, unless it is in the stash already, and serves the access with its
    /// new leaf. No other block moves.
    fn take(
        &self,
        block: BlockId,
        nth: usize,
        work: &mut Work,
        serve: impl FnOnce(&mut [u8]),
    ) -> Result<(), OramError<S::Error>> {
        let Work { held, lookups, reading, .. } = work;
        let lookup = &lookups[nth];
        let stash = &mut self.state.borrow_mut().stash;
        if let (Some(_), Some(leaf), None) = (lookup.block, lookup.old, stash.find(block)) {
            let buckets = self.trees.headers.path(leaf).map(|(_, bucket)| bucket);
            if let Some((depth, entry)) = held.find(buckets, (block, leaf)) {
                stash.insert_with(block, leaf, reading.payload(nth, depth, held.place(entry)));
                held.entry_mut(entry).fill(0);
            }
        }
        let handle = admission::claim(stash, block, lookup)?;
        serve(stash.payload_mut(handle));
        Ok(())
    }

    /// Writes all held headers, those that named no block of interest too.
    async fn write_headers(&self) -> Result<(), OramError<S::Error>> {
        let mut work = mem::take(&mut self.state.borrow_mut().work);
        work.held.write_back(&self.store).await?;
        let mut state = self.state.borrow_mut();
        (state.work, state.unwritten) = (work, 0);
        Ok(())
    }

    /// EO: takes the blocks of the next path into the stash, and fills its buckets from there.
    async fn evict(&self, leaf: Leaf) -> Result<(), OramError<S::Error>> {
        let mut work = mem::take(&mut self.state.borrow_mut().work);
        let Work { reading, placement, .. } = &mut work;
        reading.plan_whole(leaf, &self.trees);
        reading.read(&self.store).await?;
        let path = eviction::Path { leaf, trees: &self.trees, capacity: self.parameters.capacity };
        {
            let stash = &mut self.state.borrow_mut().stash;
            path.add_to_stash(reading.bytes(), stash)?;
            path.fill(reading.bytes_mut(), stash, placement);
        }
        reading.write(&self.store).await?;
        self.state.borrow_mut().work = work;
        Ok(())
    }

    /// Returns whether the stash has room for a largest batch.
    fn has_room(&self) -> bool {
        let after = self.state.borrow().stash.len() + self.parameters.max_batch as usize;
        after <= self.parameters.stash_bound as usize
    }

    /// Returns the number of evictions that the schedule requests now.
    fn behind(&self) -> u64 {
        self.state.borrow().schedule.behind(self.parameters.pace())
    }

    /// Begins what is due next: headers before an eviction, so that it reads and writes a whole path.
    fn next_due(&self) -> Option<Due> {
        if self.state.borrow().unwritten > 0 {
            return Some(Due::Headers);
        }
        let is_emergency = self.behind() == 0;
        if is_emergency && self.has_room() {
            return None;
        }
        let schedule = &mut self.state.borrow_mut().schedule;
        schedule.emergencies += u64::from(is_emergency);
        Some(Due::Evict(schedule.begin(self.parameters.leaf_level)))
    }
}

impl<S: Store, P: PositionMap<Error = S::Error>, R: RngCore> Oram for RawOram<S, P, R> {
    type Error = S::Error;

    fn bounds(&self) -> Bounds {
        self.parameters.bounds()
    }

    async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<S::Error>> {
        admission::check_batch(batch, self.bounds())?;
        let n = batch.len();
        let batch = RefCell::new(batch);
        let block = |nth: usize| batch.borrow()[nth].block();
        self.update(n, block, |nth, payload| batch.borrow_mut()[nth].serve(payload)).await
    }

    /// Counts the writing of headers, the evictions that are due or that room is missing for, and the
    /// pending steps of the position map.
    fn pending_steps(&self) -> u64 {
        let headers = u64::from(self.state.borrow().unwritten > 0);
        headers + self.behind().max(u64::from(!self.has_room())) + self.positions.pending_steps()
    }

    /// Returns true if there are as many unwritten headers as a largest batch makes, a second eviction is due, or the
    /// next batch might overflow the stash.
    fn must_step(&self) -> bool {
        self.state.borrow().unwritten >= u64::from(self.parameters.max_batch)
            || self.behind() > 1
            || !self.has_room()
            || self.positions.must_step()
    }

    /// Writes the held headers, or does one eviction; when neither is due, one step of the position map.
    async fn step(&self) -> Result<(), OramError<S::Error>> {
        let work = async || match self.next_due() {
            Some(Due::Headers) => self.write_headers().await,
            Some(Due::Evict(leaf)) => self.evict(leaf).await,
            None => self.positions.step().await,
        };
        self.exclusive.step(work).await
    }

    fn emergencies(&self) -> u64 {
        self.state.borrow().schedule.emergencies + self.positions.emergencies()
    }
}
