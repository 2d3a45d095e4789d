//! Over a slow link, many callers fill the batches, and a due checkpoint makes none of them wait for evictions.

use crate::support::{new_vault, parameters, setup};
use ameles_core::types::BlockId;
use ameles_store::{BitsPerSecond, Link, LinkSpeed};
use ameles_vault::{Call, Status, Vault, VaultParameters};
use futures::future::join_all;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

const CALLERS: u64 = 4;
const ROUNDS: u64 = 160;
const EVERY: u64 = 64;
const BLOCKS: u64 = 1024;

/// The accesses, and the accesses since a checkpoint, at the time of each answer.
#[derive(Default)]
struct BatchStats {
    after_batches: BTreeSet<u64>,
    since_checkpoint: BTreeSet<u64>,
    checkpoints_before: u64,
    checkpoints: u64,
}

impl BatchStats {
    fn note(&mut self, status: &Status) {
        self.after_batches.insert(status.accesses);
        self.since_checkpoint.insert(status.checkpoints.accesses_since);
        self.checkpoints = status.checkpoints.newest;
    }
}

/// Callers that ask again soon after each answer; this many of them begin a little later than the others.
async fn ask_again_and_again(late: u64) -> BatchStats {
    let small = parameters(BLOCKS, 32, CALLERS as u32, EVERY);
    let (_header, store, disk) = new_vault(VaultParameters { ship_every: 8, ..small }).await;
    // An eviction takes longer than a batch: it sends much.
    let (up, down) = (BitsPerSecond(1_000_000), BitsPerSecond(0));
    let speed = LinkSpeed { round_trip: Duration::from_millis(40), up, down };
    let (vault, running) = Vault::start(setup(&disk, Link::new(store, speed), 3)).await.unwrap();
    let stats = RefCell::new(BatchStats::default());
    let caller = |nth: u64| {
        let (vault, stats) = (&vault, &stats);
        async move {
            if nth < late {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            for round in 0..ROUNDS {
                vault.read(BlockId((nth * 31 + round * 7) % BLOCKS)).await.unwrap();
                stats.borrow_mut().note(&vault.status());
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    };
    let working = async {
        // Before the first evictions there is nothing to read, and batches take no time.
        let all = (0..BLOCKS).map(|at| Call::Write(BlockId(at), vec![1; 32].into()));
        vault.access(all.collect()).await.unwrap();
        stats.borrow_mut().checkpoints_before = vault.status().checkpoints.newest;
        join_all((0..CALLERS).map(caller)).await;
        vault.close().await.unwrap();
    };
    futures::join!(working, running);
    stats.into_inner()
}

#[tokio::test(start_paused = true)]
async fn callers_that_ask_again_share_their_batches_whoever_began_first() {
    for late in 0..CALLERS {
        let batches = ask_again_and_again(late).await.after_batches.len() as u64;
        // The first and the last ones may hold only some callers' calls; if the callers alternated, there would be
        // twice as many.
        assert!(batches <= ROUNDS + 4, "{batches} batches for {ROUNDS} rounds, {late} callers late");
    }
}

#[tokio::test(start_paused = true)]
async fn batches_go_on_beside_the_evictions_that_a_checkpoint_waits_for_and_it_is_not_late_for_long() {
    let mut longest_of_all = 0;
    for late in 0..CALLERS {
        let BatchStats { since_checkpoint, checkpoints_before, checkpoints, .. } =
            ask_again_and_again(late).await;
        let longest = *since_checkpoint.last().unwrap();
        longest_of_all = longest.max(longest_of_all);
        // No batch begins once the interval is exceeded by a quarter; the last one is full.
        assert!(longest < EVERY + EVERY / 4 + CALLERS, "{longest}");
        // Delays do not add up.
        let came = checkpoints - checkpoints_before;
        assert!(came + 1 >= CALLERS * ROUNDS / EVERY, "{came}");
    }
    assert!(longest_of_all > EVERY, "no batch has gone on: {longest_of_all}");
}
