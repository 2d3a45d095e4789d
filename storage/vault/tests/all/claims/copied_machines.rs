//! A machine that is copied while it runs: both copies have the same claim, keys, counters and generators. The first
//! that writes continues, and the other stops when it finds what the first has written.

use super::FILL;
use crate::promises::fixture::{CAPACITY, VaultFixture, block, check, read_all, write_all};
use crate::support::stepped::stepped;
use ameles_core::types::BlockId;
use ameles_vault::{RowChange, Vault, VaultError};
use std::pin::pin;

/// A written vault on two copies of one machine.
async fn copies() -> [VaultFixture; 2] {
    let fixture = VaultFixture::new().await;
    fixture.open(async |vault| write_all(vault, FILL).await).await.unwrap();
    let copy = fixture.copied_machine();
    [fixture, copy]
}

/// Opens the vault on both machines at the same time, step by step. They draw the same randomness, so each takes the
/// claim for its own. The copy works as soon as `work` says so, and the original closes the vault at the end. Returns
/// the error that ended the copy.
async fn both_open(
    fixtures: &[VaultFixture; 2],
    work: impl AsyncFnOnce(&Vault),
    of_copy: impl AsyncFnOnce(&Vault),
    more: impl AsyncFnOnce(&Vault),
) -> VaultError {
    let open = |fixture: &VaultFixture| {
        Vault::start(fixture.setup_over(&fixture.disk.mount().unwrap(), stepped(fixture.store.clone())))
    };
    let (one, other) = futures::join!(open(&fixtures[0]), open(&fixtures[1]));
    let ((vault, running), (copy, copy_running)) = (one.unwrap(), other.unwrap());
    let working = async {
        work(&vault).await;
        futures::future::select(pin!(of_copy(&copy)), pin!(copy_running)).await;
        more(&vault).await;
        vault.close().await.unwrap();
    };
    futures::join!(working, running);
    let failure = copy.failure().expect("the copy was stopped");
    drop((vault, copy));
    fixtures.iter().for_each(|fixture| fixture.disk.unplug());
    failure
}

async fn refusal(fixture: &VaultFixture) -> VaultError {
    fixture.open_and_crash(async |_| {}).await.expect_err("it is refused")
}

async fn writes_until_stopped(copy: &Vault) {
    for at in 0..CAPACITY {
        if copy.write(BlockId(at), block(200)).await.is_err() {
            return;
        }
    }
    panic!("the copy was not stopped");
}

async fn reads_until_stopped(copy: &Vault) {
    for at in 0..CAPACITY {
        if copy.read(BlockId(at)).await.is_err() {
            return;
        }
    }
    panic!("the copy was not stopped");
}

#[tokio::test(start_paused = true)]
async fn the_copy_that_comes_second_stops_at_its_first_eviction_and_the_other_goes_on() {
    for only_reads in [false, true] {
        let fixtures = copies().await;
        let failure = both_open(
            &fixtures,
            async |vault| {
                // Enough for an eviction, but not for a checkpoint, which removes what the copy would read.
                for at in 0..8 {
                    vault.write(BlockId(at), block(100)).await.unwrap();
                }
            },
            async |copy| {
                if only_reads { reads_until_stopped(copy).await } else { writes_until_stopped(copy).await }
            },
            async |vault| {
                for at in 0..8 {
                    assert_eq!(vault.read(BlockId(at)).await.unwrap(), block(100));
                }
                write_all(vault, FILL + 2).await;
                assert!(check(vault).await.unwrap().faults.is_empty());
            },
        )
        .await;
        assert!(matches!(&failure, VaultError::Copied(what) if what.contains("bucket")), "{failure}");
        // Refused now, and after the original was reopened.
        let refused = refusal(&fixtures[1]).await;
        assert!(matches!(refused, VaultError::StaleTrustedState(_)), "{refused}");
        fixtures[0].open(async |vault| read_all(vault, FILL + 2).await.unwrap()).await.unwrap();
        let refused = refusal(&fixtures[1]).await;
        assert!(matches!(refused, VaultError::Displaced { .. }), "{refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_checkpoints_with_one_number_the_first_stays() {
    let fixtures = copies().await;
    let name = async |vault: &Vault, name: &'static str| {
        vault.commit_rows(vec![RowChange::put("name", name)]).await.unwrap();
        vault.checkpoint().await
    };
    let failure = both_open(
        &fixtures,
        async |vault| {
            name(vault, "the original").await.unwrap();
        },
        async |copy| {
            name(copy, "the copy").await.unwrap_err();
        },
        async |_| {},
    )
    .await;
    assert!(matches!(&failure, VaultError::Copied(what) if what.starts_with("piece/")), "{failure}");
    let (rows, _) = fixtures[0].open(async |vault| vault.load_rows().await.unwrap()).await.unwrap();
    assert_eq!(rows[0].value, b"the original"[..]);
}
