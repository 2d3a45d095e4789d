//! The off-line work of Ring ORAM: a reshuffle, or a slice of an eviction (Algorithms 3 and 4).

use super::in_flight::BatchNumber;
use super::slices::Turn;
use super::state::State;
use super::{Fetch, MAX_REWRITES, RingOram};
use crate::concurrency::fifo_lock::FifoGuard;
use crate::oram::OramError;
use crate::permutation::sampling;
use crate::position_map::PositionMap;
use crate::schemes::ring::in_flight::{Placed, Round};
use crate::store::Store;
use crate::types::{Bucket, Leaf, Level, Slot};
use alloc::vec::Vec;
use rand_core::RngCore;

/// The next work of `step`.
enum Due {
    Reshuffle(Bucket),
    /// A slice of an eviction, and the number of batches that were planned before it.
    Evict(Turn, BatchNumber),
}

impl<S, P, R> RingOram<S, P, R>
where
    S: Store,
    P: PositionMap<Error = S::Error>,
    R: RngCore,
{
    /// Does one reshuffle or one slice of an eviction; when neither is due, one step of the position map.
    pub(super) async fn do_step(&self) -> Result<(), OramError<S::Error>> {
        let guard = self.step_lock.acquire().await;
        self.until_written().await?;
        let operation = self.poison_flag.begin();
        match self.next_due() {
            Some(Due::Reshuffle(bucket)) => {
                let level = self.tree.level_of(bucket);
                let bucket = [(level, bucket)];
                self.read_rest(&bucket).await?;
                self.fill(self.tree.first_leaf_below(level, bucket[0].1), &bucket);
                self.write(guard, &bucket).await?;
            }
            Some(Due::Evict(turn, planned)) => self.evict(guard, turn, planned).await?,
            None => self.positions.step().await?,
        }
        operation.complete();
        Ok(())
    }

    /// Does a slice of EvictPath. The last slice of an eviction fills the buckets of its whole path, once the batches
    /// before it are served: their blocks may be placed. The lock is released after that: the next step reads while
    /// this one writes.
    async fn evict(
        &self,
        guard: FifoGuard<'_>,
        turn: Turn,
        planned: BatchNumber,
    ) -> Result<(), OramError<S::Error>> {
        let reads: Vec<(Level, Bucket)> = self.slices.reads(turn, &self.tree).collect();
        self.read_rest(&reads).await?;
        if let Some(eviction) = self.slices.fills(turn) {
            self.poison_flag.wait_until(|| self.state.borrow().in_flight.is_next(planned)).await?;
            let leaf = self.slices.path(eviction);
            self.fill(leaf, &self.tree.path(leaf).collect::<Vec<_>>());
        }
        self.state.borrow_mut().in_flight.unfilled = false;
        let writes: Vec<(Level, Bucket)> = self.slices.writes(turn, &self.tree).collect();
        if writes.is_empty() { Ok(()) } else { self.write(guard, &writes).await }
    }

    /// ReadBucket: takes the unread blocks of these buckets into the stash, and holds the buckets.
    async fn read_rest(&self, buckets: &[(Level, Bucket)]) -> Result<(), OramError<S::Error>> {
        let fetches = self.plan_evacuation(buckets);
        self.fetch(&fetches).await?;
        let state = &mut *self.state.borrow_mut();
        let came = |Fetch { slot, block }: &Fetch| {
            let level = self.tree.level_of(slot.bucket);
            block.map(|block| Placed { block, level, slot: *slot })
        };
        state.hold(fetches.iter().filter_map(came), &self.tree);
        self.poison_flag.wake_waiters();
        Ok(())
    }

    /// Plans the reads of ReadBucket: of each bucket every unread block, and unread dummies up to Z slots in all.
    fn plan_evacuation(&self, buckets: &[(Level, Bucket)]) -> Vec<Fetch> {
        let mut fetches = Vec::new();
        let State { random, metadata, in_flight, .. } = &mut *self.state.borrow_mut();
        in_flight.begin_round(buckets.iter().map(|(_, bucket)| *bucket));
        for (level, bucket) in buckets.iter().copied() {
            if !metadata.is_written(&self.tree, bucket) {
                continue;
            }
            let first = fetches.len();
            for slot in metadata.unread(&self.tree, level, bucket, true) {
                fetches.push(Fetch { slot, block: metadata.block(&self.tree, level, slot) });
            }
            let mut dummies: Vec<Slot> = metadata.unread(&self.tree, level, bucket, false).collect();
            let max = self.tree.shape(level).blocks as usize;
            while fetches.len() - first < max && !dummies.is_empty() {
                let slot = dummies.swap_remove(sampling::below(random, dummies.len()));
                fetches.push(Fetch { slot, block: None });
            }
            // In the order of the slots, so that the order says nothing of which are real.
            fetches[first..].sort_unstable_by_key(|fetch| fetch.slot);
        }
        fetches
    }

    /// Places stash blocks into held buckets on the path to `leaf`.
    fn fill(&self, leaf: Leaf, buckets: &[(Level, Bucket)]) {
        self.state.borrow_mut().fill_buckets(leaf, buckets, &self.tree);
    }

    /// WriteBucket: writes held buckets, and takes their blocks out of the stash.
    async fn write(
        &self,
        guard: FifoGuard<'_>,
        buckets: &[(Level, Bucket)],
    ) -> Result<(), OramError<S::Error>> {
        let (round, mut buffer) = self.begin_rewrite(buckets);
        drop(guard);
        let numbers: Vec<Bucket> = buckets.iter().map(|(_, bucket)| *bucket).collect();
        self.store.write_buffer(&numbers, &mut buffer).await?;
        self.written(round);
        self.buffers.give_back(buffer);
        Ok(())
    }

    /// Returns the rewrite of held buckets, and their plaintext.
    fn begin_rewrite(&self, buckets: &[(Level, Bucket)]) -> (Round, Vec<u8>) {
        let bytes =
            |level: Level| (self.tree.shape(level).slots * self.tree.shape(level).slot_bytes) as usize;
        let mut buffer = self.buffers.zeros(buckets.iter().map(|(level, _)| bytes(*level)).sum());
        let round = self.state.borrow_mut().begin_rewrite(buckets, &self.tree, &mut buffer);
        (round, buffer)
    }

    /// Takes the blocks of rewritten buckets out of the stash: the store has them.
    fn written(&self, round: Round) {
        let State { stash, in_flight, .. } = &mut *self.state.borrow_mut();
        for Placed { block, .. } in in_flight.written(round) {
            let handle = stash.find(block).expect("a placed block stays until its bucket is written");
            stash.remove(handle);
        }
        self.poison_flag.wake_waiters();
    }

    /// Waits until at most one rewrite is being written, and its buckets are not those that the next slice reads.
    async fn until_written(&self) -> Result<(), OramError<S::Error>> {
        let may_read = || {
            let state = self.state.borrow();
            let next = self.slices.turn(state.schedule.begun);
            state.in_flight.rewrites() < MAX_REWRITES
                && self.slices.reads(next, &self.tree).all(|(_, bucket)| !state.in_flight.has(bucket))
        };
        self.poison_flag.wait_until(may_read).await
    }

    /// Begins the next due work: a reshuffle before an eviction.
    fn next_due(&self) -> Option<Due> {
        let state = &mut *self.state.borrow_mut();
        while let Some(bucket) = state.worn.pop_front() {
            // An eviction may have rewritten it since.
            if state.metadata.reads(&self.tree, bucket) > self.parameters.reads_before_reshuffle() {
                return Some(Due::Reshuffle(bucket));
            }
        }
        let emergency = state.needs_emergency(&self.parameters);
        if !emergency && state.behind() == 0 {
            return None;
        }
        state.schedule.emergencies += u64::from(emergency);
        state.in_flight.unfilled = true;
        let turn = self.slices.turn(state.schedule.begun);
        state.schedule.begun += 1;
        Some(Due::Evict(turn, state.in_flight.planned()))
    }
}
