//! The progress of a key change is reported from its beginning on, and across openings.

use super::owner::{Owner, new_key, old_key, wait};
use crate::support::{every_scheme, every_scheme_of};
use ameles_store::{Link, LinkSpeed};
use ameles_vault::{KeyChangeFigures, change_under_way};
use std::time::Duration;

const SECRET: u8 = 90;

#[tokio::test(start_paused = true)]
async fn a_change_that_was_stopped_is_counted_from_where_it_stands() {
    // Each step of the sweep takes a while.
    let speed = LinkSpeed::unlimited(Duration::from_millis(10));
    for parameters in every_scheme_of(512, 4, 40) {
        let owner = Owner::of(parameters, SECRET).await;
        owner.change_key().await.unwrap();
        let (mut before, mut stopped_within) = (0, 0);
        loop {
            let store = Link::new(owner.store.clone(), speed);
            let working = owner.open_over(store, new_key(), async |vault| {
                let first = vault.status().key_change?;
                assert!(first.passed >= before, "{before} of {first:?} were passed before");
                tokio::time::sleep(Duration::from_millis(60)).await;
                let now = vault.status().key_change?;
                if now.passed == now.of {
                    // The rest takes longer.
                    wait(vault).await;
                }
                Some(now)
            });
            let (Some(now), _) = working.await.unwrap() else { break };
            stopped_within += u32::from(now.passed > before);
            before = now.passed;
        }
        assert!(stopped_within > 3, "it was stopped {stopped_within} times");
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_is_known_before_the_vault_is_served_and_no_longer_when_it_is_complete() {
    let owner = Owner::of(every_scheme().remove(2), SECRET).await;
    let under_way = |key| {
        let change = change_under_way(&owner.disk.mount().unwrap(), &key);
        owner.disk.unplug();
        change.unwrap()
    };
    assert_eq!(under_way(old_key()), None);
    owner.change_key().await.unwrap();
    let of = owner.header.parameters.layout().buckets();
    assert_eq!(under_way(new_key()), Some(KeyChangeFigures { passed: 0, of }));
    owner.open(new_key(), async |vault| wait(vault).await).await.unwrap();
    assert_eq!(under_way(new_key()), None);
}
