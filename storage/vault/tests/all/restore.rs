//! A lost machine is restored from the store and the key; receipts detect a rolled-back store.

use crate::support::stepped::Claiming;
use crate::support::{
    every_scheme, faults_of, header, memory_disk, new_vault, parameters, restore_options, setup,
};
use ameles_core::types::BlockId;
use ameles_store::{Blobs, Event, FaultRates, Faults, Recorder, Request, VersionedMemory};
use ameles_vault::{
    CheckpointFigures, LEASE, Receipt, Restore, Row, RowChange, TrustedDisk, Vault, VaultError, VaultHeader,
    restore,
};
use futures::future::Either;
use std::cell::Cell;
use std::pin::pin;
use tokio::time::Instant;

pub(crate) fn block(fill: u8) -> Vec<u8> {
    vec![fill; 32]
}

/// Opens the vault, works with it, closes it, and returns the receipt.
pub(crate) async fn in_service(
    disk: &TrustedDisk,
    store: &VersionedMemory,
    seed: u64,
    work: impl AsyncFnOnce(&Vault),
) -> Result<Receipt, VaultError> {
    let (vault, running) = Vault::start(setup(disk, store.clone(), seed)).await?;
    let working = async {
        work(&vault).await;
        vault.close().await
    };
    futures::join!(working, running).0
}

async fn write_all(vault: &Vault, fill: u8) {
    for at in 0..48 {
        vault.write(BlockId(at), block(fill + at as u8)).await.unwrap();
    }
    vault.commit_rows(vec![RowChange::put("name", vec![fill])]).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lost_machine_is_restored_and_the_old_one_can_do_no_more() {
    let (header, store, old) = new_vault(parameters(64, 32, 4, 40)).await;
    let receipt = in_service(&old, &store, 3, async |vault| write_all(vault, 10).await).await.unwrap();

    let new = memory_disk();
    let mut without = restore_options(&header, Some(receipt));
    without.takeover = false;
    let refused = restore(setup(&new, store.clone(), 4), without).await.unwrap_err();
    assert!(matches!(refused, VaultError::TakeoverNeeded(1)), "{refused}");
    restore(setup(&new, store.clone(), 5), restore_options(&header, Some(receipt))).await.unwrap();

    let again = in_service(&new, &store, 6, async |vault| {
        for at in 0..64 {
            let fill = if at < 48 { 10 + at as u8 } else { 0 };
            assert_eq!(vault.read(BlockId(at)).await.unwrap(), block(fill));
        }
        assert_eq!(vault.load_rows().await.unwrap(), [Row::new("name", vec![10])]);
        assert!(faults_of(vault).await.is_empty());
    });
    let newest = again.await.unwrap();
    let displaced = in_service(&old, &store, 7, async |_| {}).await.unwrap_err();
    assert!(matches!(displaced, VaultError::Displaced { .. }), "{displaced}");

    // Both receipts are for a state that the store still continues.
    for expect in [receipt, newest] {
        restore(setup(&memory_disk(), store.clone(), 8), restore_options(&header, Some(expect)))
            .await
            .unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_rolled_back_store_is_told_by_the_receipt() {
    let (header, store, disk) = new_vault(parameters(64, 32, 4, 40)).await;
    in_service(&disk, &store, 3, async |vault| write_all(vault, 10).await).await.unwrap();
    let older = store.snapshot();
    let receipt = in_service(&disk, &store, 4, async |vault| write_all(vault, 20).await).await.unwrap();
    store.restore(&older);
    let error = restore(setup(&memory_disk(), store.clone(), 5), restore_options(&header, Some(receipt)))
        .await
        .unwrap_err();
    assert!(matches!(error, VaultError::Receipt(_)), "{error}");
    let receipt: Receipt = receipt.to_string().parse().unwrap();
    let error = restore(setup(&memory_disk(), store.clone(), 5), restore_options(&header, Some(receipt)))
        .await
        .unwrap_err();
    assert!(matches!(error, VaultError::Receipt(_)), "{error}");
}

/// Writes this many blocks, each once, in an opening that is lost with its machine. Returns the figures at that point.
async fn write_and_kill(
    disk: &TrustedDisk,
    store: &VersionedMemory,
    writes: std::ops::Range<u64>,
) -> CheckpointFigures {
    let (vault, running) = Vault::start(setup(disk, store.clone(), 3 + writes.start)).await.unwrap();
    let working = async {
        for at in writes {
            vault.write(BlockId(at), block(1)).await.unwrap();
        }
        vault.status().checkpoints
    };
    match futures::future::select(pin!(working), pin!(running)).await {
        Either::Left((figures, _)) => figures,
        Either::Right(_) => panic!("nobody has closed it: {:?}", vault.failure()),
    }
}

/// The writes that a restore from this store does not find.
async fn lost(header: &VaultHeader, store: &VersionedMemory, writes: u64) -> u64 {
    let disk = memory_disk();
    restore(setup(&disk, store.clone(), 4), restore_options(header, None)).await.unwrap();
    let mut lost = 0;
    let reading = in_service(&disk, store, 5, async |vault| {
        for at in 0..writes {
            lost += u64::from(vault.read(BlockId(at)).await.unwrap() != block(1));
        }
    });
    reading.await.unwrap();
    lost
}

#[tokio::test(start_paused = true)]
async fn no_more_is_lost_with_a_machine_than_the_figures_say() {
    let (mut exact, mut more_than_since_the_last_on_the_disk) = (0, 0);
    for writes in 1..=60 {
        for first in [0, writes / 2] {
            let (header, store, disk) = new_vault(parameters(64, 32, 4, 8)).await;
            write_and_kill(&disk, &store, 0..first).await;
            let figures = write_and_kill(&disk, &store, first..writes).await;
            let lost = lost(&header, &store, writes).await;
            assert!(lost <= figures.unshipped, "{lost} of {first} and {writes} are lost: {figures:?}");
            let max = header.parameters.recovery_point() + 2 * header.parameters.checkpoint_every;
            assert!(figures.unshipped <= max, "{figures:?} after {first} and {writes}");
            exact += u64::from(lost == figures.unshipped);
            more_than_since_the_last_on_the_disk += u64::from(lost > figures.accesses_since);
        }
    }
    assert!(exact > 60, "{exact} of 120 are exact");
    assert!(more_than_since_the_last_on_the_disk > 0);
}

/// A gateway may have checked the claims just before the restore claims, and upload and delete just after.
#[tokio::test(start_paused = true)]
async fn a_restore_goes_on_with_the_checkpoint_that_has_taken_the_place_of_the_one_it_had_chosen() {
    let (header, store, old) = new_vault(parameters(64, 32, 4, 40)).await;
    let racing = async {
        let (vault, running) = Vault::start(setup(&old, store.clone(), 3)).await.unwrap();
        tokio::task::spawn_local(running);
        write_all(&vault, 10).await;
        let before = vault.checkpoint().await.unwrap();
        let serves = Cell::new(Some(vault));
        let claims = async move |store: &VersionedMemory, name: &str, bytes: &[u8]| {
            // The first of these replaces what the chosen checkpoint needs, and the second deletes it.
            if let Some(vault) = serves.take() {
                for fill in [20, 30] {
                    write_all(&vault, fill).await;
                    vault.checkpoint().await.expect("it has looked before the claim");
                }
            }
            store.put_if_absent(name, bytes).await
        };
        let new = memory_disk();
        let claiming = Claiming::over(store.clone(), claims);
        restore(setup(&new, claiming, 4), restore_options(&header, Some(before))).await.unwrap();
        in_service(&new, &store, 5, async |vault| {
            for at in 0..48 {
                assert_eq!(vault.read(BlockId(at)).await.unwrap(), block(30 + at as u8));
            }
        })
        .await
        .unwrap();
    };
    tokio::task::LocalSet::new().run_until(racing).await;
}

/// The disk under the local copy may be full, or break, while the copy is written and while it is read.
#[tokio::test(start_paused = true)]
async fn a_local_copy_that_fails_is_told_as_such_and_not_as_the_store() {
    let ring = parameters(64, 32, 4, 40).scheme.name();
    for parameters in every_scheme() {
        let (header, store, old) = new_vault(parameters).await;
        in_service(&old, &store, 3, async |vault| write_all(vault, 10).await).await.unwrap();
        for fails_from in ["the beginning", "fetching", "rewriting"] {
            let rates = FaultRates { error_before: 1.0, ..FaultRates::default() };
            let copy = Faults::new(VersionedMemory::new(header.parameters.layout()), rates, 4);
            let switch = copy.switch();
            switch.set(fails_from == "the beginning");
            let progress = Box::new(move |stage: &'static str, done, all| {
                // The last bucket is fetched, or the first is rewritten.
                let is_between = stage == "rewriting" || done == all;
                if stage == fails_from && is_between {
                    switch.set(true);
                }
            });
            let Restore { scratch, expect, takeover, announce, .. } = restore_options(&header, None);
            let redraw = false;
            let failing = Restore { copy, scratch, expect, takeover, redraw, announce, progress };
            let error = restore(setup(&memory_disk(), store.clone(), 5), failing).await.unwrap_err();
            assert!(matches!(error, VaultError::LocalCopy(_)), "{fails_from}: {error}");
            assert!(error.to_string().contains("run `ameles restore` again"), "{error}");
            let before = Instant::now();
            restore(setup(&memory_disk(), store.clone(), 6), restore_options(&header, None)).await.unwrap();
            // It has answered no request, and says so, unless it got as far as opening the vault.
            let is_sparing = fails_from != "rewriting" || header.parameters.scheme.name() == ring;
            assert!(!is_sparing || before.elapsed() < LEASE / 2, "{fails_from}: {:?}", before.elapsed());
        }
    }
}

/// The requests of a restore of a vault with `used` written blocks, without the epochs and counters in them.
async fn shown_by_a_restore(used: u64) -> Vec<String> {
    let (header, store, disk) = new_vault(parameters(64, 32, 4, 40)).await;
    let working = in_service(&disk, &store, 3, async |vault| {
        for round in 0..4 {
            for at in 0..64 {
                vault.write(BlockId(at % used), block(round)).await.unwrap();
            }
        }
    });
    working.await.unwrap();
    requests_of_restore(&header, &store).await
}

/// The requests of a restore, without the epochs and counters in them.
pub(crate) async fn requests_of_restore(header: &VaultHeader, store: &VersionedMemory) -> Vec<String> {
    let recorder = Recorder::new(store.clone());
    let trace = recorder.trace();
    restore(setup(&memory_disk(), recorder, 5), restore_options(header, None)).await.unwrap();
    let shown = |event: Event| match event.request {
        Request::Write(of) => format!("write {} of {}", of.bucket, event.bytes.0),
        Request::Read(range) => format!("read {} {}", range.of.bucket, event.bytes.0),
        Request::Delete(of) => format!("delete {}", of.bucket),
        other => format!("{other:?} {}", event.bytes.0),
    };
    trace.events().into_iter().map(shown).collect()
}

#[tokio::test(start_paused = true)]
async fn a_restore_shows_the_same_whatever_the_vault_held() {
    let (full, nearly_empty) = (shown_by_a_restore(64).await, shown_by_a_restore(1).await);
    assert_eq!(full, nearly_empty);
    let written: Vec<&String> = full.iter().filter(|request| request.starts_with("write bucket")).collect();
    let buckets = header(parameters(64, 32, 4, 40), 1).parameters.layout().buckets();
    let order: Vec<String> = (0..buckets).map(|bucket| format!("write bucket {bucket} of")).collect();
    assert!(written.len() as u64 == buckets, "{written:?}");
    assert!(written.iter().zip(order).all(|(request, begin)| request.starts_with(&begin)), "{written:?}");
}
