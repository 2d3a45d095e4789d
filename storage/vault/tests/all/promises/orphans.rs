//! Objects that are not needed are found in the store and removed; needed objects are not.

use super::fixture::{CAPACITY, VaultFixture, block, check, read_all, write_all};
use crate::support::fragile_disk::FragileDisk;
use crate::support::rng::TestRng;
use crate::support::{master, restore_options, shipped_contents};
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError};
use ameles_core::tree::layout::{Extent, Layout};
use ameles_core::types::{BlockId, Bucket, Version};
use ameles_store::{Blobs, VersionedMemory, forward_blobs, forward_inventory};
use ameles_vault::{Call, Orphans, Receipt, Removed, VaultError, find_orphans, restore};
use std::future::poll_fn;
use std::task::Poll;

const FILL: u8 = 40;

async fn find(fixture: &VaultFixture) -> Result<Orphans, VaultError> {
    let disk = fixture.disk.mount().unwrap();
    let found = find_orphans(&disk, &fixture.store, &master()).await;
    drop(disk);
    fixture.disk.unplug();
    found
}

async fn remove(fixture: &VaultFixture) -> Removed {
    find(fixture).await.unwrap().remove(&fixture.store, &master()).await.unwrap()
}

/// Restores the vault from a copy of its store.
async fn restore_copy(fixture: &VaultFixture, expect: Option<Receipt>) -> Result<Receipt, VaultError> {
    let copy = fixture.copy(&fixture.store.snapshot());
    let disk = FragileDisk::default().mount().unwrap();
    let options = restore_options(&fixture.header, expect);
    restore(copy.setup(&disk), options).await
}

/// A vault that was killed in service. All objects that its store ever had are back, so all deleted objects are
/// orphans.
async fn closed_vault(seed: u64) -> (VaultFixture, Receipt) {
    let fixture = VaultFixture::new().await;
    let mut rng = TestRng::of(seed);
    let ((), receipt) = fixture.open(async |vault| write_all(vault, FILL).await).await.unwrap();
    let mut old = Vec::new();
    let mut keep = || {
        for of in fixture.store.bucket_versions() {
            old.push((of, fixture.store.bucket(of).unwrap()));
        }
    };
    keep();
    fixture
        .open_and_crash(async |vault| {
            for _ in 0..rng.within(60..=200) {
                let of = rng.below(CAPACITY);
                vault
                    .access(vec![Call::Write(BlockId(of), block(FILL.wrapping_add(of as u8)).into())])
                    .await
                    .unwrap();
                keep();
            }
        })
        .await
        .unwrap();
    for (of, bytes) in old {
        if fixture.store.bucket(of).is_none() {
            Untrusted::write(&fixture.store, &[of], &bytes).await.unwrap();
        }
    }
    (fixture, receipt)
}

/// A store that pauses for each object that it deletes.
struct Slow(VersionedMemory);

impl Untrusted for Slow {
    fn layout(&self) -> &Layout {
        self.0.layout()
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        self.0.read(places, into).await
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        Untrusted::write(&self.0, buckets, from).await
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        for bucket in buckets {
            tokio::task::yield_now().await;
            self.0.delete(&[*bucket]).await?;
        }
        Ok(())
    }
}

forward_blobs!([] Slow, 0);

forward_inventory!([] Slow, 0);

#[tokio::test(start_paused = true)]
async fn what_nobody_needs_is_removed_and_the_vault_is_whole() {
    let (mut dead, mut kept) = (0, 0);
    for seed in 0..12 {
        let (fixture, receipt) = closed_vault(seed).await;
        let found = find(&fixture).await.unwrap();
        (dead, kept) = (dead + found.dead().objects, kept + found.kept.objects);
        let held = fixture.store.bucket_versions().len() as u64;
        let removed = remove(&fixture).await;
        assert_eq!(removed.buckets, found.dead_buckets.objects);
        assert_eq!(held - removed.buckets, fixture.store.bucket_versions().len() as u64);
        assert_eq!(find(&fixture).await.unwrap().dead().objects, 0, "seed {seed}");
        // The objects that a restore and a recovery read are there.
        restore_copy(&fixture, Some(receipt)).await.unwrap();
        let (faults, _) = fixture
            .open(async |vault| {
                read_all(vault, FILL).await.unwrap();
                check(vault).await.unwrap().faults
            })
            .await
            .unwrap();
        assert!(faults.is_empty(), "seed {seed}: {faults:?}");
    }
    assert!(dead > 100 && kept > 100, "{dead} dead, {kept} kept");
}

#[tokio::test(start_paused = true)]
async fn a_removal_may_be_cut_off_anywhere_and_run_again() {
    let mut cut_off = 0;
    for polls in 0..40 {
        let (fixture, _) = closed_vault(polls).await;
        let mut left = polls;
        let slow = Slow(fixture.store.clone());
        let found = find(&fixture).await.unwrap();
        let master = master();
        let mut removing = std::pin::pin!(found.remove(&slow, &master));
        let done = poll_fn(|context| match removing.as_mut().poll(context) {
            Poll::Pending if left == 0 => Poll::Ready(false),
            Poll::Pending => {
                left -= 1;
                Poll::Pending
            }
            Poll::Ready(removed) => Poll::Ready(removed.is_ok()),
        })
        .await;
        cut_off += u32::from(!done);
        if polls % 2 == 0 {
            remove(&fixture).await;
            assert_eq!(find(&fixture).await.unwrap().dead().objects, 0);
        }
        fixture.open(async |vault| read_all(vault, FILL).await.unwrap()).await.unwrap();
    }
    assert!(cut_off >= 3, "{cut_off} removals were cut off");
}

#[tokio::test(start_paused = true)]
async fn what_is_newer_or_foreign_is_named_and_stays() {
    let (fixture, receipt) = closed_vault(1).await;
    remove(&fixture).await;
    let buckets = fixture.header.parameters.layout().buckets();
    let version = Version { epoch: 1, counter: 1 };
    let foreign = BucketVersion { bucket: Bucket(buckets), version };
    // This layout has room for any bucket.
    let wide = Layout::new(vec![Extent { buckets: buckets + 1, slots: 1, slot_bytes: 20 }]);
    Untrusted::write(&fixture.store.with_layout(wide), &[foreign], &[1; 20]).await.unwrap();
    let planted = shipped_contents::name(&Receipt { epoch: 9, ..receipt });
    let older = shipped_contents::name(&Receipt { epoch: 0, ..receipt });
    for name in [planted.as_str(), older.as_str(), "checkpoint/1-1", "notes"] {
        fixture.store.put(name, &[7; 50]).await.unwrap();
    }
    let before = fixture.store.snapshot();
    let found = find(&fixture).await.unwrap();
    assert_eq!(found.newer, [planted]);
    assert_eq!(
        found.foreign,
        [format!("{} {version}", foreign.bucket), "checkpoint/1-1".into(), "notes".into()]
    );
    assert_eq!((found.dead_checkpoints.objects, found.dead_checkpoints.bytes), (1, 50));
    // It has the name of an older checkpoint, but is none.
    let removed = remove(&fixture).await;
    assert_eq!(removed, Removed { not_ours: 1, ..Removed::default() });
    let after = fixture.copy(&before).store;
    assert_eq!(fixture.store.bucket_versions(), after.bucket_versions());
    assert_eq!(fixture.store.list("").await.unwrap(), after.list("").await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn what_was_planted_is_removed_and_the_vault_opens_again() {
    let (fixture, receipt) = closed_vault(1).await;
    remove(&fixture).await;
    let held = fixture.store.bucket_versions();
    let newest = held.iter().map(|of| of.version).max().unwrap();
    let wide = Layout::new(vec![Extent { buckets: 1000, slots: 1, slot_bytes: 20 }]);
    let wide = fixture.store.with_layout(wide);
    for (bucket, epoch, counter) in [
        (0, 9, 1),
        (999, 9, 1),
        (1, newest.epoch + 1, 1),
        (1, newest.epoch, newest.counter + 1),
        (999, newest.epoch, u64::MAX),
    ] {
        let plant = BucketVersion { bucket: Bucket(bucket), version: Version { epoch, counter } };
        Untrusted::write(&wide, &[plant], &[1; 20]).await.unwrap();
        let error = fixture.open_and_crash(async |_| {}).await.unwrap_err();
        assert!(error.is_tampering() && error.to_string().contains("gc --remove"), "{plant:?}: {error}");
        let found = find(&fixture).await.unwrap();
        assert_eq!((found.planted.objects, found.dead().objects), (1, 1), "{plant:?}");
        assert_eq!(remove(&fixture).await, Removed { buckets: 1, ..Removed::default() });
        assert_eq!(fixture.store.bucket_versions(), held, "{plant:?}");
    }
    restore_copy(&fixture, Some(receipt)).await.unwrap();
    fixture.open(async |vault| read_all(vault, FILL).await.unwrap()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_copy_of_the_trusted_disk_from_within_an_epoch_is_told_so_and_removes_nothing() {
    let fixture = VaultFixture::new().await;
    let mut copy = None;
    fixture
        .open_and_crash(async |vault| {
            write_all(vault, FILL).await;
            copy = Some(fixture.with_copied_disk());
            write_all(vault, FILL).await;
        })
        .await
        .unwrap();
    let copy = copy.unwrap();
    // A planted version above it changes nothing: one slot that opens is enough.
    let newest = fixture.store.bucket_versions().iter().map(|of| of.version).max().unwrap();
    let version = Version { counter: newest.counter + 1, ..newest };
    let extent = fixture.store.layout().extent(Bucket(0));
    let bytes = vec![1; extent.slots as usize * extent.slot_bytes as usize];
    Untrusted::write(&fixture.store, &[BucketVersion { bucket: Bucket(0), version }], &bytes).await.unwrap();
    let held = fixture.store.bucket_versions();
    let error = find(&copy).await.unwrap_err();
    assert!(matches!(error, VaultError::StaleTrustedState(_)), "{error}");
    assert_eq!(fixture.store.bucket_versions(), held);
    remove(&fixture).await;
    fixture.open(async |vault| read_all(vault, FILL).await.unwrap()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_was_noted_and_never_made_does_not_stand_for_the_other_gateways() {
    for left in 0..40 {
        let fixture = VaultFixture::new().await;
        fixture.open(async |vault| write_all(vault, FILL).await).await.unwrap();
        let other = fixture.with_copied_disk();
        fixture.disk.fail_after(Some(left));
        let _ = fixture.open_and_crash(async |_| {}).await;
        fixture.disk.unplug();
        fixture.disk.fail_after(None);
        if fixture.store.list("epoch/").await.unwrap().len() > 1 {
            return;
        }
        other.open_and_crash(async |vault| write_all(vault, FILL).await).await.unwrap();
        for error in [find(&fixture).await.err(), fixture.open_and_crash(async |_| {}).await.err()] {
            assert!(matches!(error, Some(VaultError::Displaced { .. })), "{left}: {error:?}");
        }
    }
    panic!("it never claimed");
}

#[tokio::test(start_paused = true)]
async fn an_older_checkpoint_of_the_vaults_own_is_removed() {
    let fixture = VaultFixture::new().await;
    let ((), receipt) = fixture.open(async |vault| write_all(vault, FILL).await).await.unwrap();
    let name = shipped_contents::name(&receipt);
    let older = fixture.store.get(&name, usize::MAX).await.unwrap().unwrap();
    fixture.open(async |vault| read_all(vault, FILL).await.unwrap()).await.unwrap();
    fixture.store.put(&name, &older).await.unwrap();
    let removed = remove(&fixture).await;
    assert_eq!((removed.checkpoints, removed.not_ours), (1, 0));
    assert_eq!(fixture.store.get(&name, usize::MAX).await.unwrap(), None);
    restore_copy(&fixture, None).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn nothing_is_removed_once_another_gateway_has_the_vault() {
    let (fixture, _) = closed_vault(2).await;
    let found = find(&fixture).await.unwrap();
    assert!(found.dead().objects > 0);
    let disk = FragileDisk::default().mount().unwrap();
    let options = restore_options(&fixture.header, None);
    let before: Vec<_> = fixture.store.bucket_versions();
    let before: Vec<_> = before.into_iter().map(|of| (of, fixture.store.bucket(of).unwrap())).collect();
    restore(fixture.setup(&disk), options).await.unwrap();
    // Buckets that the other vault has deleted since are brought back: to us they are unneeded, but they are no longer
    // ours to delete.
    for (of, bytes) in before {
        Untrusted::write(&fixture.store, &[of], &bytes).await.unwrap();
    }
    let held = fixture.store.bucket_versions();
    let refused = found.remove(&fixture.store, &master()).await.unwrap_err();
    assert!(matches!(refused, VaultError::Displaced { .. }), "{refused}");
    assert!(matches!(find(&fixture).await, Err(VaultError::Displaced { .. })));
    assert_eq!(fixture.store.bucket_versions(), held);
}

#[tokio::test(start_paused = true)]
async fn a_planted_checkpoint_name_does_not_keep_the_owner_of_a_receipt_from_a_restore() {
    let fixture = VaultFixture::new().await;
    let ((), receipt) = fixture.open(async |vault| write_all(vault, FILL).await).await.unwrap();
    let planted = shipped_contents::name(&Receipt { checkpoint: receipt.checkpoint + 1, ..receipt });
    fixture.store.put(&planted, &[3; 1000]).await.unwrap();
    let error = restore_copy(&fixture, None).await.unwrap_err();
    let text = error.to_string();
    assert!(error.is_tampering() && text.contains(&planted) && text.contains("--expect"), "{text}");
    assert_eq!(restore_copy(&fixture, Some(receipt)).await.unwrap().vault, receipt.vault);
    // A name that the vault would not choose is not the name of a checkpoint.
    Blobs::remove(&fixture.store, &planted).await.unwrap();
    fixture.store.put("checkpoint/ffffffff-1", &[3; 1000]).await.unwrap();
    restore_copy(&fixture, None).await.unwrap();
    // If the receipt's own checkpoint was corrupted, no older one replaces it.
    fixture.store.tamper_blob(&shipped_contents::name(&receipt), |held| held[60] ^= 1);
    let error = restore_copy(&fixture, Some(receipt)).await.unwrap_err();
    assert!(error.is_tampering() && error.to_string().contains(&shipped_contents::name(&receipt)), "{error}");
    assert!(!error.to_string().contains("--expect"), "it was given: {error}");
    // With no checkpoint at all, the receipt shows that there was one.
    for blob in fixture.store.list("checkpoint/").await.unwrap() {
        Blobs::remove(&fixture.store, &blob.name).await.unwrap();
    }
    let error = restore_copy(&fixture, Some(receipt)).await.unwrap_err();
    assert!(matches!(error, VaultError::Receipt(_)) && error.to_string().contains("removed"), "{error}");
    assert!(matches!(restore_copy(&fixture, None).await, Err(VaultError::NoCheckpoint)));
}
