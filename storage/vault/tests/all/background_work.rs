//! Long work on the trusted disk delays no request.

use crate::support::gated_disk::{Gate, LARGE, Work};
use crate::support::shipped_contents::{self, ShippedContents};
use crate::support::{header, parameters, setup};
use ameles_core::types::BlockId;
use ameles_store::{Snapshot, VersionedMemory};
use ameles_vault::{Call, Row, RowChange, Vault, VaultHeader, VaultParameters};
use std::cell::Cell;
use std::time::Duration;

const CAPACITY: u64 = 64;

async fn in_service() -> (Vault, impl Future<Output = ()>, Gate, VaultHeader, VersionedMemory) {
    let small = parameters(CAPACITY, 32, 4, 1 << 20);
    let header = header(VaultParameters { rows_bytes: 4 * LARGE as u64, ..small }, 1);
    let store = VersionedMemory::new(header.parameters.layout());
    let gate = Gate::default();
    let disk = gate.disk();
    Vault::create(&mut setup(&disk, store.clone(), 1), &header).await.unwrap();
    let (vault, running) = Vault::start(setup(&disk, store.clone(), 2)).await.unwrap();
    (vault, running, gate, header, store)
}

/// Makes a row that takes long to read, while the gate is shut, and writes every block.
async fn make_row(vault: &Vault) {
    let calls = (0..CAPACITY).map(|at| Call::Write(BlockId(at), vec![1; 32].into()));
    vault.access(calls.collect()).await.unwrap();
    vault.commit_rows(vec![RowChange::put("large", vec![7; LARGE])]).await.unwrap();
    vault.checkpoint().await.unwrap();
}

/// Works with a vault that has a large row, and closes it.
async fn with_a_large_row(work: impl AsyncFnOnce(&Vault, &Gate, &VaultHeader, &VersionedMemory)) {
    let (vault, running, gate, header, store) = in_service().await;
    let working = async {
        make_row(&vault).await;
        work(&vault, &gate, &header, &store).await;
        assert!(!gate.has_given_up(), "the vault waited for its disk");
        vault.close().await.unwrap();
    };
    futures::join!(working, running);
}

#[tokio::test]
async fn requests_are_served_while_the_rows_of_a_checkpoint_are_read_and_it_holds_no_later_ones() {
    with_a_large_row(async |vault, gate, header, store| {
        let serving = async {
            for at in 0..CAPACITY {
                vault.write(BlockId(at), vec![at as u8; 32]).await.unwrap();
                assert_eq!(vault.read(BlockId(at)).await.unwrap(), vec![at as u8; 32]);
            }
            // It names a block that is not in the checkpoint.
            vault.commit_rows(vec![RowChange::put("later", "block 5")]).await.unwrap();
        };
        let receipt = gate.hold_up(Work::LargeRead, vault.checkpoint(), serving).await.unwrap();
        let name = shipped_contents::name(&receipt);
        let shipped = ShippedContents::open(header, &name, store).await;
        assert_eq!(shipped.rows, [Row::new("large", vec![7; LARGE])]);
        assert_eq!(vault.load_rows().await.unwrap().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn the_session_goes_on_while_a_record_is_being_synced() {
    with_a_large_row(async |vault, gate, _, _| {
        let before = vault.status().journal_bytes;
        // The session publishes its figures whenever it has nothing to do.
        let has_gone_on = async {
            while vault.status().journal_bytes == before {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        gate.hold_up(Work::Sync, vault.write(BlockId(2), vec![2; 32]), has_gone_on).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn figures_do_not_wait_for_a_change_of_rows_that_is_under_way() {
    with_a_large_row(async |vault, gate, _, _| {
        let asking = async { assert!(vault.status().rows.used > 0) };
        let change = vault.commit_rows(vec![RowChange::put("small", "row")]);
        gate.hold_up(Work::Sync, change, asking).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_vault_that_fails_while_rows_are_read_has_let_go_of_its_disk_when_it_ends() {
    let has_ended = Cell::new(false);
    let ending = async |vault: &Vault, gate: &Gate, store: &VersionedMemory| {
        let failing = async {
            store.restore(&Snapshot::default());
            vault.read(BlockId(0)).await.unwrap_err();
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert!(!has_ended.get(), "a thread of its own still reads the disk");
        };
        gate.hold_up(Work::LargeRead, vault.checkpoint(), failing).await.unwrap_err();
    };
    let (vault, running, gate, _, store) = in_service().await;
    let running = async {
        running.await;
        has_ended.set(true);
    };
    futures::join!(
        async {
            make_row(&vault).await;
            ending(&vault, &gate, &store).await;
        },
        running
    );
    assert!(!gate.has_given_up());
}
