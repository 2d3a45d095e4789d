//! Copies of the trusted folder, and of the running machine: the journal shows what a copy lacks.

use super::fixture;
use crate::promises::fixture::block;
use crate::support::host_named;
use ameles_core::types::BlockId;
use ameles_vault::{RowChange, Setup, Vault, VaultError};

/// An older copy could open here without the journal.
#[tokio::test(start_paused = true)]
async fn a_copy_is_told_of_each_access_and_each_change_of_rows_that_came_after_it() {
    for of_rows in [false, true] {
        let fixture = fixture().await;
        fixture.open(async |vault| vault.write(BlockId(1), block(1)).await.unwrap()).await.unwrap();
        let disk = fixture.disk.mount().unwrap();
        let (vault, running) = Vault::start(fixture.setup(&disk)).await.unwrap();
        let serving = async {
            vault.write(BlockId(1), block(2)).await.unwrap();
            let copy = fixture.with_copied_disk();
            if of_rows {
                vault.commit_rows(vec![RowChange::put("a", "row")]).await.unwrap();
            } else {
                vault.write(BlockId(1), block(3)).await.unwrap();
            }
            let other = copy.disk.mount().unwrap();
            let elsewhere = Setup { host: host_named("elsewhere"), ..copy.setup(&other) };
            let refused = Vault::start(elsewhere).await.err();
            assert!(matches!(refused, Some(VaultError::StaleTrustedState(_))), "{refused:?}");
            // The copy has displaced nobody.
            vault.write(BlockId(1), block(4)).await.unwrap();
            vault.close().await.unwrap();
        };
        futures::join!(serving, running);
    }
}

#[tokio::test(start_paused = true)]
async fn a_gateway_whose_folder_was_copied_acknowledges_nothing_once_the_copy_is_open() {
    let fixture = fixture().await;
    let disk = fixture.disk.mount().unwrap();
    let (vault, running) = Vault::start(fixture.setup(&disk)).await.unwrap();
    let serving = async {
        vault.write(BlockId(1), block(2)).await.unwrap();
        let copy = fixture.with_copied_disk();
        let other = copy.disk.mount().unwrap();
        // It is on the same machine, as a copy of a whole machine is, and so does not wait.
        let (second, going_on) = Vault::start(copy.setup(&other)).await.unwrap();
        let refused = vault.write(BlockId(1), block(3)).await.err();
        assert!(matches!(refused, Some(VaultError::Displaced { .. })), "{refused:?}");
        let reading = async {
            assert_eq!(second.read(BlockId(1)).await.unwrap(), block(2));
            second.close().await.unwrap();
        };
        futures::join!(reading, going_on);
    };
    futures::join!(serving, running);
}
