//! Payloads beyond the last slot that any checkpoint names: a checkpoint wrote them there, and was cut off before it
//! was durable. They are sealed with the old key, and later checkpoints may not reach that far. Those made while
//! another was being uploaded had fewer slots to reuse.

use super::completion::{assert_nothing_is_left_of, sealed_on};
use super::owner::{Owner, new_key, old_key, touch, wait};
use crate::support::effect_log::{Effect, EffectLog, LoggingStore, MachineState};
use crate::support::every_scheme_of;
use crate::support::fragile_disk::Crash;
use crate::support::rng::TestRng;
use ameles_store::{BitsPerSecond, Link, LinkSpeed};
use std::time::Duration;

const SECRET: u8 = 40;
/// The file of the stash's slots, in the log.
const SLOTS: usize = 1;
/// A link on which a checkpoint takes as long as some hundred accesses.
const SLOW: LinkSpeed =
    LinkSpeed { round_trip: Duration::from_millis(1), up: BitsPerSecond(8_000), down: BitsPerSecond(0) };

#[tokio::test(start_paused = true)]
async fn payloads_that_no_checkpoint_came_to_name_are_gone_when_a_change_has_ended() {
    let ring = every_scheme_of(32, 2, 24).remove(2);
    let owner = Owner::of(ring, SECRET).await;
    let machine_state = MachineState { disk: owner.disk.fork(), store: owner.store.clone() }.fork();
    let (effect_log, mut rng) = (EffectLog::default(), TestRng::of(1));
    owner.disk.record(&effect_log);
    let store = Link::new(LoggingStore::over(owner.store.clone(), effect_log.clone(), rng.fork()), SLOW);
    let serving = owner.open_over(store, old_key(), async |vault| {
        for block in (0..12).cycle().take(400) {
            touch(vault, SECRET, block).await.unwrap();
        }
    });
    serving.await.unwrap();
    let mut cut_off = 0;
    for effect in effect_log.effects() {
        machine_state.replay(&effect);
        if !matches!(effect, Effect::Sync(SLOTS)) {
            continue;
        }
        // The payloads are durable, and nothing names them yet.
        cut_off += 1;
        let left = machine_state.fork();
        left.disk.crash(Crash::Kill, &mut rng);
        let owner = Owner::at(&owner.header, left.store, left.disk, 1000 * cut_off);
        let sealed = sealed_on(&owner);
        owner.change_key().await.unwrap();
        owner.open(new_key(), async |vault| wait(vault).await).await.unwrap();
        assert_nothing_is_left_of(&sealed, &owner);
    }
    assert!(cut_off > 10, "{cut_off} checkpoints");
}
