//! Any tampering with the store is detected and named while the trusted disk survives, and never leads to a wrong
//! answer. When the store is repaired, everything is there.

use super::closed_vault::{FILL, TAMPERINGS, Tampering, closed_vault};
use super::fixture::{check, read_all, write_all};
use crate::support::master;
use crate::support::rng::TestRng;
use crate::support::shipped_contents;
use ameles_core::store::{BucketVersion, Untrusted};
use ameles_core::types::Version;
use ameles_store::{Blobs, Snapshot};
use ameles_vault::{Receipt, VaultError, VaultHeader};

#[tokio::test(start_paused = true)]
async fn a_check_names_the_slot_whatever_is_done_to_whichever_bucket() {
    let closed_vault = closed_vault().await;
    let mut rng = TestRng::of(1);
    let checking = closed_vault.fixture.open_and_crash(async |vault| {
        for of in closed_vault.live.iter().copied() {
            for kind in TAMPERINGS {
                let slot = closed_vault.tamper(of, kind, &mut rng);
                let faults = check(vault).await.unwrap().faults;
                let named = faults.iter().any(|line| match kind {
                    // The seed decides which of its slots is read first.
                    Tampering::Remove | Tampering::TruncateToNothing | Tampering::TruncateByOneByte => {
                        line.contains(&format!(" of {} ({})", of.bucket, of.version))
                    }
                    _ => line.contains(&format!("slot {slot} of {} ({})", of.bucket, of.version)),
                });
                assert!(named, "{kind:?} of slot {slot} of {of:?}: {faults:?}");
                let touched = if matches!(kind, Tampering::SwapWithAnotherBucket) { 2 } else { 1 };
                assert_eq!(faults.len(), touched, "{kind:?} of {of:?}: {faults:?}");
                closed_vault.undo(of).await;
            }
        }
        assert!(check(vault).await.unwrap().faults.is_empty());
    });
    assert!(checking.await.unwrap().1.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_check_notices_a_flip_of_any_byte_of_any_level() {
    let closed_vault = closed_vault().await;
    let layout = closed_vault.fixture.header.parameters.layout();
    let checking = closed_vault.fixture.open_and_crash(async |vault| {
        for of in closed_vault.first_of_each_level() {
            for at in 0..layout.bucket_bytes(of.bucket) {
                closed_vault.fixture.store.flip(of, at, 1 << (at % 8));
                let faults = check(vault).await.unwrap().faults;
                let named = format!("slot {} of {} ", at / closed_vault.slot_bytes(of), of.bucket);
                assert!(faults.len() == 1 && faults[0].contains(&named), "byte {at}: {faults:?}");
                closed_vault.fixture.store.flip(of, at, 1 << (at % 8));
            }
        }
    });
    checking.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn no_access_answers_from_a_bucket_that_was_tampered_with_and_nothing_is_lost_by_it() {
    let original = closed_vault().await;
    // The ways that change every slot. The others are detected only when their slot is read.
    let kinds = [
        Tampering::FlipOneBitOfEachSlot,
        Tampering::SwapWithAnotherBucket,
        Tampering::ReplayTheWholeBucket,
        Tampering::TruncateToNothing,
        Tampering::Remove,
        Tampering::DuplicateAnotherBucket,
    ];
    for of in original.live.iter().copied() {
        for kind in kinds {
            let closed_vault = original.copy();
            closed_vault.tamper(of, kind, &mut TestRng::of(of.bucket.0));
            let reading = closed_vault.fixture.open_and_crash(async |vault| {
                for _ in 0..20 {
                    read_all(vault, FILL).await?;
                }
                Ok(())
            });
            let error = match reading.await {
                Ok((Err(error), _)) | Err(error) => error,
                Ok((Ok(()), _)) => panic!("{kind:?} of {of:?} was never noticed"),
            };
            assert!(error.is_tampering(), "{kind:?} of {of:?}: {error}");
            let names = |bucket: u64| error.to_string().contains(&format!("bucket {bucket} "));
            assert!(
                names(of.bucket.0) || names(closed_vault.sibling(of).bucket.0),
                "{kind:?} of {of:?}: {error}"
            );
            closed_vault.undo(of).await;
            closed_vault.assert_whole().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_was_rolled_back_or_emptied_does_not_open() {
    let closed_vault = closed_vault().await;
    let mut states = vec![closed_vault.older.clone(), Snapshot::default()];
    // Everything but the header is gone; then everything but the claims.
    closed_vault.fixture.store.restore(&Snapshot::default());
    let header = closed_vault.header_blob().await;
    closed_vault.fixture.store.put("vault", &header).await.unwrap();
    states.push(closed_vault.fixture.store.snapshot());
    for state in &states {
        closed_vault.fixture.store.restore(state);
        let error = closed_vault.opening_error().await;
        assert!(error.is_tampering(), "{error}");
    }
    closed_vault.fixture.store.restore(&closed_vault.now);
    closed_vault.assert_whole().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_rolled_back_in_service_is_noticed_by_the_next_checkpoint() {
    let closed_vault = closed_vault().await;
    let rolled_back = closed_vault.fixture.open_and_crash(async |vault| {
        closed_vault.fixture.store.restore(&closed_vault.now);
        vault.checkpoint().await.unwrap_err()
    });
    let (error, _) = rolled_back.await.unwrap();
    assert!(error.is_tampering(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn every_byte_of_the_header_is_compared_when_the_vault_is_opened() {
    let closed_vault = closed_vault().await;
    let header = closed_vault.header_blob().await;
    let held = |bytes: Vec<u8>| closed_vault.fixture.store.tamper_blob("vault", |held| *held = bytes);
    for at in 0..header.len() {
        let mut changed = header.clone();
        changed[at] ^= 1 << (at % 8);
        // With the key alone, as a restore reads it.
        let error = VaultHeader::decode(&changed, &master()).unwrap_err();
        assert!(error.is_tampering(), "byte {at}: {error}");
        held(changed);
        let error = closed_vault.opening_error().await;
        assert!(error.is_tampering(), "byte {at}: {error}");
    }
    // This version of Ameles does not know how a header of a newer format is sealed.
    let mut newer = header.clone();
    newer[7] = 99;
    *newer.last_mut().unwrap() ^= 1;
    let error = VaultHeader::decode(&newer, &master()).unwrap_err();
    assert!(matches!(error, VaultError::NewerFormat { found: 99, .. }), "{error}");
    for len in [0, 1, 7, header.len() / 2, header.len() - 1] {
        held(header[..len].to_vec());
        let error = closed_vault.opening_error().await;
        assert!(error.is_tampering(), "{len} bytes of the header: {error}");
    }
    held(header.iter().copied().chain([0]).collect());
    let error = closed_vault.opening_error().await;
    assert!(error.is_tampering(), "a byte more than the header: {error}");
    Blobs::remove(&closed_vault.fixture.store, "vault").await.unwrap();
    let error = closed_vault.opening_error().await;
    assert!(error.is_tampering(), "{error}");
    closed_vault.fixture.store.put("vault", &header).await.unwrap();
    closed_vault.assert_whole().await;
}

#[tokio::test(start_paused = true)]
async fn a_check_names_every_claim_and_checkpoint_that_was_touched() {
    let closed_vault = closed_vault().await;
    let store = &closed_vault.fixture.store;
    let checking = closed_vault.fixture.open_and_crash(async |vault| {
        let receipt = vault.checkpoint().await.unwrap();
        assert!(check(vault).await.unwrap().faults.is_empty());
        let checkpoint = shipped_contents::name(&receipt);
        let claims = store.list("epoch/").await.unwrap().into_iter().map(|blob| blob.name);
        let names: Vec<String> = claims.chain([checkpoint.clone(), "vault".into()]).collect();
        assert_eq!(names.len(), 3 + 1 + 1);
        for name in &names {
            let bytes = store.get(name, usize::MAX).await.unwrap().unwrap();
            let flipped = |at: usize| {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << (at % 8);
                flipped
            };
            let other = names.iter().find(|other| *other != name).unwrap();
            let other = store.get(other, usize::MAX).await.unwrap().unwrap();
            let mut changed: Vec<Vec<u8>> = (0..bytes.len()).step_by(bytes.len() / 20).map(flipped).collect();
            changed.extend([flipped(bytes.len() - 1), Vec::new(), bytes[..bytes.len() - 1].to_vec(), other]);
            changed.push([bytes.clone(), vec![0]].concat());
            for changed in changed {
                store.put(name, &changed).await.unwrap();
                is_named(check(vault).await, name, "was changed");
            }
            Blobs::remove(store, name).await.unwrap();
            is_named(check(vault).await, name, "was removed");
            store.put(name, &bytes).await.unwrap();
        }
        // An old checkpoint under a newer name, and an unreadable one.
        let bytes = store.get(&checkpoint, usize::MAX).await.unwrap().unwrap();
        let planted = shipped_contents::name(&Receipt { checkpoint: receipt.checkpoint + 1, ..receipt });
        for bytes in [bytes, vec![1; 50]] {
            store.put(&planted, &bytes).await.unwrap();
            let faults = check(vault).await.unwrap().faults;
            assert!(faults.len() == 1 && faults[0].contains(&planted), "{faults:?}");
        }
        Blobs::remove(store, &planted).await.unwrap();
        assert!(check(vault).await.unwrap().faults.is_empty());
        vault.close().await.unwrap();
    });
    checking.await.unwrap();
    closed_vault.assert_whole().await;
}

/// Checks that the report, or the error that stopped the vault, names this object.
fn is_named(report: Result<ameles_vault::Report, VaultError>, name: &str, what: &str) {
    let name = if name == "vault" { "header" } else { name };
    let faults = report.unwrap().faults;
    assert!(faults.len() == 1 && faults[0].contains(name) && faults[0].contains(what), "{name}: {faults:?}");
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_was_planted_or_removed_stops_the_vault() {
    let closed_vault = closed_vault().await;
    let store = &closed_vault.fixture.store;
    // Ours were epochs 1 and 2.
    let second = store.get("epoch/00000002", usize::MAX).await.unwrap().unwrap();
    for planted in [second.clone(), vec![0; 40], Vec::new()] {
        for name in ["epoch/00000003", "epoch/00000009"] {
            store.put(name, &planted).await.unwrap();
            let error = closed_vault.opening_error().await;
            assert!(error.is_tampering(), "{error}");
            Blobs::remove(store, name).await.unwrap();
        }
    }
    Blobs::remove(store, "epoch/00000002").await.unwrap();
    let error = closed_vault.opening_error().await;
    assert!(error.is_tampering() && error.to_string().contains("epoch 2"), "{error}");
    store.put("epoch/00000002", &second).await.unwrap();
    closed_vault.assert_whole().await;
}

#[tokio::test(start_paused = true)]
async fn a_planted_bucket_is_named_before_anything_is_claimed() {
    let closed_vault = closed_vault().await;
    let store = &closed_vault.fixture.store;
    let of = closed_vault.live[0];
    let newest = closed_vault.live.iter().map(|live| live.version).max().unwrap();
    let planted = [
        Version { epoch: u32::MAX, counter: 1 },
        Version { epoch: newest.epoch + 1, counter: 1 },
        Version { epoch: newest.epoch, counter: u64::MAX },
        Version { epoch: newest.epoch, counter: newest.counter + 1 },
    ];
    for version in planted {
        let plant = BucketVersion { bucket: of.bucket, version };
        Untrusted::write(store, &[plant], &closed_vault.bytes[&of]).await.unwrap();
        let names = |error: &VaultError| {
            let text = error.to_string();
            error.is_tampering() && text.contains("planted") && text.contains("Delete nothing by hand")
        };
        let error = closed_vault.opening_error().await;
        assert!(names(&error), "{version}: {error}");
        if version.epoch > newest.epoch {
            let error = closed_vault.restore(None).await.unwrap_err();
            assert!(names(&error), "{version}: {error}");
        }
        Untrusted::delete(store, &[plant]).await.unwrap();
    }
    assert_eq!(store.list("epoch/").await.unwrap().len(), 2, "nobody has claimed anything");
    closed_vault.assert_whole().await;
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_was_tried_too_early_is_told_of_the_other_gateway_and_not_of_tampering() {
    let closed_vault = closed_vault().await;
    let copy = closed_vault.fixture.with_copied_disk();
    let displaced = |tried: Result<_, VaultError>| match tried {
        Err(VaultError::Displaced { .. }) => {}
        Err(error) => panic!("{error}"),
        Ok(((), _)) => panic!("two gateways have the vault"),
    };
    // Nothing was written in the new epoch yet: the copy tries to claim it.
    closed_vault
        .fixture
        .open_and_crash(async |_| displaced(copy.open_and_crash(async |_| {}).await))
        .await
        .unwrap();
    closed_vault.fixture.open(async |vault| write_all(vault, FILL).await).await.unwrap();
    for _ in 0..2 {
        displaced(copy.open_and_crash(async |_| {}).await);
    }
    closed_vault.assert_whole().await;
}

#[tokio::test(start_paused = true)]
async fn a_restore_misses_claims_that_were_removed() {
    let closed_vault = closed_vault().await;
    for claim in closed_vault.fixture.store.list("epoch/").await.unwrap() {
        Blobs::remove(&closed_vault.fixture.store, &claim.name).await.unwrap();
    }
    let error = closed_vault.restore(None).await.unwrap_err();
    assert!(error.is_tampering() && error.to_string().contains("claim"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_check_that_comes_first_finds_the_store_as_it_was_left() {
    let original = closed_vault().await;
    for of in original.live.iter().copied() {
        let closed_vault = original.copy();
        closed_vault.fixture.store.flip(of, 0, 1);
        let (faults, failure) = closed_vault
            .fixture
            .open_and_crash(async |vault| check(vault).await.unwrap().faults)
            .await
            .unwrap();
        let named = format!("slot 0 of {} ({})", of.bucket, of.version);
        assert!(faults.len() == 1 && faults[0].contains(&named), "{of:?}: {faults:?}");
        assert!(failure.is_none(), "{failure:?}");
    }
    let closed_vault = original.copy();
    let checkpoint = shipped_contents::name(&closed_vault.receipt);
    Blobs::remove(&closed_vault.fixture.store, &checkpoint).await.unwrap();
    let checking = closed_vault
        .fixture
        .open_and_crash(async |vault| is_named(check(vault).await, &checkpoint, "was removed"));
    checking.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_was_displaced_is_told_so_and_not_of_tampering() {
    let closed_vault = closed_vault().await;
    let displaced = closed_vault.fixture.open_and_crash(async |vault| {
        closed_vault.restore(None).await.unwrap();
        for _ in 0..20 {
            if let Err(error) = read_all(vault, FILL).await {
                return error;
            }
        }
        panic!("it was never told")
    });
    let (error, _) = displaced.await.unwrap();
    assert!(matches!(error, VaultError::Displaced { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_restore_notices_whatever_was_done_to_a_bucket_or_the_checkpoint() {
    let original = closed_vault().await;
    for of in original.first_of_each_level() {
        for kind in TAMPERINGS {
            let closed_vault = original.copy();
            closed_vault.tamper(of, kind, &mut TestRng::of(of.bucket.0));
            match closed_vault.restore(None).await {
                Err(error) => assert!(error.is_tampering(), "{kind:?} of {of:?}: {error}"),
                Ok(_) => panic!("{kind:?} of {of:?} was not noticed"),
            }
        }
    }
    let checkpoint = shipped_contents::name(&original.receipt);
    let bytes = original.fixture.store.get(&checkpoint, usize::MAX).await.unwrap().unwrap();
    for at in (0..bytes.len()).step_by(bytes.len() / 50) {
        let closed_vault = original.copy();
        closed_vault.fixture.store.tamper_blob(&checkpoint, |held| held[at] ^= 1 << (at % 8));
        let error = closed_vault.restore(None).await.unwrap_err();
        assert!(error.is_tampering() && error.to_string().contains(&checkpoint), "byte {at}: {error}");
    }
    // Without a receipt, an older consistent state is accepted like the newest; with one it is not.
    let closed_vault = original.copy();
    closed_vault.fixture.store.restore(&closed_vault.older);
    let error = closed_vault.restore(Some(closed_vault.receipt)).await.unwrap_err();
    assert!(matches!(error, VaultError::Receipt(_)), "{error}");
    closed_vault.restore(None).await.unwrap();
}
