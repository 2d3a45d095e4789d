//! The time that a caller waits for others depends on how many there are, and not on how much they request.

use crate::support::{new_vault, parameters, setup};
use ameles_core::types::BlockId;
use ameles_store::{Link, LinkSpeed};
use ameles_vault::{Call, Flow, Vault};
use futures::future::join_all;
use std::cell::Cell;
use std::time::Duration;

const BATCH: u64 = 4;
/// The number of batches that may be on their way at once.
const IN_FLIGHT: u64 = 4;
const LONG: u64 = 12;
const SHORT: u64 = 12;
/// The number of batches that a long transfer has in flight at a time.
const WINDOW: u64 = 4;

fn reads(blocks: std::ops::Range<u64>) -> Vec<Call> {
    blocks.map(|block| Call::Read(BlockId(block % 64))).collect()
}

#[tokio::test(start_paused = true)]
async fn a_short_read_waits_for_one_call_of_each_other_flow_however_long_their_transfers_are() {
    let (_header, store, disk) = new_vault(parameters(64, 32, BATCH as u32, 40)).await;
    // In virtual time a batch takes so long that callers get the answers of the previous one meanwhile.
    let speed = LinkSpeed::unlimited(Duration::from_millis(10));
    let (vault, running) = Vault::start(setup(&disk, Link::new(store, speed), 3)).await.unwrap();
    let done = Cell::new(false);
    let long = |flow: u64| {
        let (vault, done) = (&vault, &done);
        join_all((0..WINDOW).map(move |lane| async move {
            while !done.get() {
                let from = flow * 7 + lane;
                vault.access_in(Flow(flow), reads(from..from + BATCH)).await.unwrap();
            }
        }))
    };
    let short = |flow: u64| {
        let vault = &vault;
        async move {
            let mut worst = 0;
            for turn in 0..20 {
                let before = vault.status().accesses;
                vault.access_in(Flow(flow), reads(flow + turn..flow + turn + 1)).await.unwrap();
                worst = worst.max(vault.status().accesses - before);
            }
            worst
        }
    };
    let local = tokio::task::LocalSet::new();
    let waits = local.run_until(async {
        let driver = tokio::task::spawn_local(running);
        let shorts = async {
            let waits = join_all((LONG..LONG + SHORT).map(short)).await;
            done.set(true);
            waits
        };
        let (waits, _) = futures::join!(shorts, join_all((0..LONG).map(long)));
        vault.close().await.unwrap();
        driver.await.unwrap();
        waits
    });
    let worst = waits.await.into_iter().max().unwrap();
    // One call of each other flow, and the rest of its own batch. Then those that start while its batch is on its way.
    let bound = (LONG + SHORT) + BATCH + IN_FLIGHT * BATCH;
    assert!(worst <= bound, "a short read waited for {worst} accesses, more than {bound}");
    assert!(worst > BATCH, "the vault was never busy");
}
