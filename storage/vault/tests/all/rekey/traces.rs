//! The trace of a key change: an observer could predict it from the names of the objects in the store.

use super::owner::{Owner, contents, new_key, old_key, wait};
use crate::support::every_scheme;
use crate::support::intercepted::Request;
use crate::support::recorder::{Recorder, TraceEvent};
use ameles_core::store::BucketVersion;
use ameles_core::types::{BlockId, Bucket};
use ameles_vault::{Pace, Setup, VaultParameters};
use std::collections::BTreeMap;
use std::time::Duration;

/// The owner of a vault in which the blocks that this picks were written, with other contents.
async fn owner_of(parameters: VaultParameters, secret: u8, pick: impl Fn(u64) -> u64) -> Owner {
    let owner = Owner::of(parameters, secret).await;
    owner
        .open(old_key(), async |vault| {
            for nth in 0..150 {
                let block = pick(nth) % vault.capacity();
                vault.write(BlockId(block), contents(vault, secret, nth)).await.unwrap();
            }
        })
        .await
        .unwrap();
    owner.change_key().await.unwrap();
    owner
}

/// The buckets that a sweep rewrites, step by step, computed from the names in the store alone.
fn predicted(owner: &Owner) -> Vec<Vec<Bucket>> {
    let layout = owner.header.parameters.layout();
    let newest: BTreeMap<Bucket, BucketVersion> =
        owner.store.bucket_versions().into_iter().map(|of| (of.bucket, of)).collect();
    let max = layout.bytes().0 / 64;
    let (mut steps, mut bytes) = (Vec::<Vec<Bucket>>::new(), u64::MAX);
    for bucket in newest.into_keys() {
        let more = layout.bucket_bytes(bucket) as u64;
        bytes = bytes.saturating_add(more);
        if bytes > max {
            steps.push(Vec::new());
            bytes = more;
        }
        steps.last_mut().expect("one was just made").push(bucket);
    }
    steps
}

/// The buckets that were read whole and written, in the order of the requests; nothing else was read.
fn swept(owner: &Owner, recorder: &Recorder) -> Vec<Vec<Bucket>> {
    let layout = owner.header.parameters.layout();
    let mut steps = Vec::new();
    let mut reads: Option<Vec<Bucket>> = None;
    for (_, event) in recorder.take_trace() {
        match event {
            TraceEvent::Asks { request: Request::Read(places), .. } => {
                let mut buckets: Vec<Bucket> = places.iter().map(|at| at.slot.bucket).collect();
                buckets.dedup();
                let slots: u32 = buckets.iter().map(|bucket| layout.extent(*bucket).slots).sum();
                assert_eq!(places.len(), slots as usize, "buckets are read whole");
                assert_eq!(reads.replace(buckets), None, "one step comes after the other");
            }
            TraceEvent::Asks { request: Request::Write(written), .. } => {
                let written: Vec<Bucket> = written.iter().map(|of| of.bucket).collect();
                assert_eq!(reads.take(), Some(written.clone()), "what was read is written");
                steps.push(written);
            }
            _ => {}
        }
    }
    steps
}

#[tokio::test(start_paused = true)]
async fn the_sweep_of_an_idle_vault_follows_from_the_names_in_its_store() {
    for parameters in every_scheme() {
        let name = parameters.scheme.name();
        for (secret, step) in [(3, 0), (200, 1), (77, 17)] {
            let owner = owner_of(parameters.clone(), secret, |nth| nth * step).await;
            let expected = predicted(&owner);
            let recorder = Recorder::new();
            let watched = recorder.over(owner.store.clone());
            // Evictions that an earlier opening has left due come first.
            let owes = async |vault: &ameles_vault::Vault| vault.status().evictions_pending > 0;
            let (pending, _) = owner
                .open_over(watched, new_key(), async |vault| {
                    let pending = owes(vault).await;
                    wait(vault).await;
                    pending
                })
                .await
                .unwrap();
            assert!(!pending, "{name}: the test wants a vault that owes nothing");
            assert_eq!(swept(&owner, &recorder), expected, "{name}, secret {secret}");
            assert!(expected.len() > 1, "{name}: {expected:?}");
        }
    }
}

/// All requests of a paced vault during a key change, with their times, while this many calls are made.
async fn paced(parameters: VaultParameters, secret: u8, calls: u64) -> Vec<(Duration, TraceEvent)> {
    let owner = owner_of(parameters, secret, |nth| nth * u64::from(secret)).await;
    let recorder = Recorder::new();
    recorder.clear();
    let setup = owner.setup_over(recorder.over(owner.store.clone()), new_key());
    let pace = Some(Pace::every(Duration::from_millis(80)).unwrap());
    let serving = owner.open_as(Setup { pace, ..setup }, async |vault| {
        let asking = async {
            for nth in 0..calls {
                vault.write(BlockId(nth % vault.capacity()), contents(vault, secret, nth)).await.unwrap();
            }
        };
        let waiting = async {
            tokio::time::sleep(Duration::from_secs(30)).await;
            assert_eq!(vault.status().key_change, None, "the change ends within the time of the test");
        };
        futures::join!(asking, waiting);
    });
    serving.await.unwrap();
    let mut trace = recorder.take_trace();
    trace.retain(|(at, event)| *at < Duration::from_secs(29) && !matches!(event, TraceEvent::Begun(_)));
    trace
}

#[tokio::test(start_paused = true)]
async fn a_paced_change_shows_the_same_whatever_is_asked_meanwhile() {
    // Its trace contains no leaf: all of it can be compared.
    let trivial = every_scheme().remove(1);
    let silent = paced(trivial.clone(), 3, 0).await;
    let busy = paced(trivial, 201, 1000).await;
    assert!(silent.len() > 1000);
    assert_eq!(silent.len(), busy.len());
    for (one, other) in silent.iter().zip(&busy) {
        assert_eq!(one, other);
    }
}
