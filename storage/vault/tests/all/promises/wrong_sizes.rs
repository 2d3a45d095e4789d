//! Buckets that the store has truncated, and a claim that it has changed, are detected when the vault is opened, before
//! any read.

use super::closed_vault::closed_vault;
use crate::support::master;
use ameles_core::store::BucketVersion;
use ameles_store::Blobs;
use ameles_vault::{VaultError, find_orphans};

/// Checks that the error is one of tampering and names the bucket.
fn names(error: &VaultError, of: BucketVersion) -> bool {
    error.is_tampering() && error.to_string().contains(&format!("{} ({})", of.bucket, of.version))
}

#[tokio::test(start_paused = true)]
async fn a_bucket_of_the_wrong_size_is_named_by_opening_restore_and_orphans() {
    let original = closed_vault().await;
    for (nth, of) in original.live.iter().copied().enumerate() {
        let bytes = &original.bytes[&of];
        let sizes = [vec![], bytes[..bytes.len() - 1].to_vec(), [bytes.as_slice(), &[0]].concat()];
        let closed_vault = original.copy();
        closed_vault.fixture.store.replace(of, sizes[nth % sizes.len()].clone());

        let disk = closed_vault.fixture.disk.mount().unwrap();
        let found = find_orphans(&disk, &closed_vault.fixture.store, &master()).await.unwrap();
        assert_eq!(found.spoilt, [format!("{} {}", of.bucket, of.version)]);
        drop(disk);
        let error = closed_vault.restore(None).await.unwrap_err();
        assert!(names(&error, of), "restored: {error}");
        assert_eq!(
            closed_vault.fixture.store.list("epoch/").await.unwrap().len(),
            2,
            "a restore that fails claims nothing"
        );
        let error = closed_vault.opening_error().await;
        assert!(names(&error, of), "opened: {error}");

        closed_vault.undo(of).await;
        closed_vault.assert_whole().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_of_its_own_that_was_changed_does_not_open_and_can_be_restored_from() {
    let original = closed_vault().await;
    // Ours were epochs 1 and 2.
    let claim = original.fixture.store.get("epoch/00000002", usize::MAX).await.unwrap().unwrap();
    let mut flipped = claim.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for spoilt in [flipped, claim[..claim.len() - 1].to_vec(), Vec::new(), [claim.as_slice(), &[0]].concat()]
    {
        let closed_vault = original.copy();
        closed_vault.fixture.store.put("epoch/00000002", &spoilt).await.unwrap();
        let error = closed_vault.opening_error().await;
        assert!(error.is_tampering() && error.to_string().contains("epoch/00000002"), "{error}");
        assert_eq!(closed_vault.fixture.store.list("epoch/").await.unwrap().len(), 2, "nothing was claimed");
        closed_vault.restore(None).await.unwrap();
    }
}
