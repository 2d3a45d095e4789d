//! The choices that a seed makes before the run: the vault, the store's faults, the callers.

use crate::support::rng::TestRng;
use ameles_core::schemes::path::PathParameters;
use ameles_core::schemes::ring::{RingObjective, RingParameters};
use ameles_core::schemes::trivial::TrivialParameters;
use ameles_core::types::Level;
use ameles_store::{FaultRates, RetryPolicy};
use ameles_vault::{JournalPlace, Pace, SchemeParameters, TreeTopPlace, VaultParameters};
use std::time::Duration;

/// The choices of a seed.
pub struct Scenario {
    pub parameters: VaultParameters,
    pub faults: FaultRates,
    pub retry: RetryPolicy,
    /// The longest delay of most messages, in milliseconds.
    pub slowest: u64,
    pub callers: u64,
    /// The number of openings that a crash or a failure may end, before the last one.
    pub openings: u64,
    /// The maximum number of requests of a caller in one opening.
    pub requests: u64,
    /// The percentage of openings that end before the vault is open.
    pub crashes_in_recovery: u64,
    pub pace: Option<Pace>,
}

impl Scenario {
    /// Returns whether the stash is planned to hold everything that ever waits, so that no emergency eviction may
    /// happen.
    pub fn has_planned_stash(&self) -> bool {
        let SchemeParameters::Path(path) = &self.parameters.scheme else { return true };
        let batch = path.max_batch * (path.path_buckets() as u32 * path.blocks_per_bucket + 1);
        path.stash_bound >= path.waiting_bound() + batch
    }

    /// Returns whether a lost machine must lose nothing that was acknowledged.
    pub fn has_journal_in_store(&self) -> bool {
        self.parameters.journal.is_in_store()
    }

    pub fn draw(rng: &mut TestRng) -> Self {
        let capacity = rng.within(16..=128);
        let block_bytes = rng.within(16..=64) as u32;
        let batch = rng.within(1..=8) as u32;
        let scheme = match rng.below(10) {
            0 => SchemeParameters::Trivial(TrivialParameters {
                capacity: capacity.min(32),
                block_bytes,
                chunk_blocks: rng.within(1..=32) as u32,
                max_batch: batch,
            }),
            1 | 2 => SchemeParameters::Path(path(capacity, block_bytes, batch, rng)),
            _ => {
                let (top, slice_slots) = (capacity / rng.within(2..=16), rng.one_of(&[0, u32::MAX]));
                let (slices, objective) = ((batch, slice_slots), RingObjective::BYTES);
                SchemeParameters::Ring(RingParameters::for_objective(
                    capacity,
                    block_bytes,
                    top,
                    slices,
                    objective,
                ))
            }
        };
        let parameters = VaultParameters {
            checkpoint_every: rng.within(8..=64),
            ship_every: rng.within(1..=3),
            // With much room, checkpoints in the store send changed rows, and otherwise all of them.
            rows_bytes: rng.one_of(&[1024, 256 << 10]),
            pad_batches: rng.percent(25),
            journal: draw_journal(rng),
            ..VaultParameters::with_defaults(scheme)
        };
        let rate = rng.one_of(&[0.0, 0.0, 0.01, 0.05, 0.2]);
        let faults = FaultRates {
            error_before: rate,
            error_after: rate,
            time_out: rate,
            torn_write: rate,
            lost_write: 0.0,
            time_out_after: Duration::from_millis(rng.within(1..=200)),
        };
        let retry = RetryPolicy {
            attempts: rng.within(2..=5) as u32,
            first_wait: Duration::from_millis(10),
            longest_wait: Duration::from_millis(100),
        };
        let announces = parameters.journal.announces();
        let mut scenario = Scenario {
            parameters,
            faults,
            retry,
            slowest: rng.one_of(&[0, 1, 5, 50]),
            callers: rng.within(1..=6),
            openings: rng.within(2..=6),
            requests: rng.magnitude(4..=40),
            crashes_in_recovery: rng.one_of(&[0, 20, 60]),
            pace: (rng.percent(30) && !announces).then(|| {
                let turn = Duration::from_millis(rng.magnitude(8..=1000));
                Pace::every(turn).expect("it is in range")
            }),
        };
        let has_top = !matches!(scenario.parameters.scheme, SchemeParameters::Trivial(_));
        if has_top && rng.percent(30) {
            scenario.parameters.tree_top = TreeTopPlace::Disk;
        }
        scenario
    }
}

fn draw_journal(rng: &mut TestRng) -> JournalPlace {
    let (disk, store) = (JournalPlace::Disk, JournalPlace::Store);
    let announcing = [JournalPlace::StoreFirst, JournalPlace::Standby, JournalPlace::Etcd];
    let announcing = rng.one_of(&announcing);
    rng.one_of(&[disk, disk, disk, store, store, announcing, announcing])
}

/// A Path ORAM; sometimes its stash has room for hardly more than a largest batch, so that it evicts in the background.
fn path(capacity: u64, block_bytes: u32, batch: u32, rng: &mut TestRng) -> PathParameters {
    let planned =
        PathParameters::for_capacity(capacity, block_bytes, capacity / 4, batch).expect("they are in range");
    if rng.percent(50) {
        return planned;
    }
    // A tree without a trusted top, in which all blocks have room.
    let paths = batch * (planned.blocks_per_bucket * (planned.leaf_level.0 + 1) + 1);
    PathParameters { top: Level(0), stash_bound: paths + 1, ..planned }
}
