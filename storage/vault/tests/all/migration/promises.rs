//! The promises and refusals of a migration, with kills at arbitrary points.

use super::lifecycle::{Summary, run_lifecycle};
use super::process::VaultSide;
use crate::every_step::more_if_thorough;
use crate::simulation::number;
use crate::support::parameters;
use crate::support::rng::TestRng;
use ameles_core::types::BlockId;
use ameles_vault::{
    MigrationStage, MirroredVaults, Receipt, Row, RowChange, Vault, VaultError, VaultParameters, cut_over,
    migration_stage, rows_at_rest,
};
use std::panic::catch_unwind;
use tokio::task::LocalSet;

/// The number of lifecycles of a usual run; a thorough one has ten times as many.
const LIVES: u64 = 75;

#[test]
fn nothing_acknowledged_is_lost_whenever_the_process_dies() {
    if let Some(seed) = number("AMELES_SIM_SEED") {
        run_lifecycle(seed);
        return;
    }
    let lives = more_if_thorough(LIVES, 10);
    let mut summary = Summary::default();
    for seed in 0..lives {
        let Ok(summary_of_one) = catch_unwind(|| run_lifecycle(seed)) else {
            panic!("see it again: AMELES_SIM_SEED={seed} cargo test -p ameles-vault --test all migration");
        };
        summary += summary_of_one;
    }
    let Summary { killed_while_filling, killed_while_cutting_over, stopped, changed, read } = summary;
    let did = [killed_while_filling, killed_while_cutting_over, stopped, changed / 20, read / 20];
    assert!(did.iter().all(|did| *did >= lives / 2), "the lives do too little: {summary:?}");
}

/// Opens two vaults with these parameters, works with them, and closes them.
async fn with_both(
    shapes: [VaultParameters; 2],
    work: impl AsyncFnOnce(&Vault, &Vault) -> Result<(), VaultError>,
) -> Result<[Receipt; 2], VaultError> {
    LocalSet::new()
        .run_until(async {
            let rng = &mut TestRng::of(4);
            let [old, new] = shapes;
            let (old, new) = (VaultSide::new(old, 7, 1, rng).await, VaultSide::new(new, 9, 1, rng).await);
            let (first, first_running) = Vault::start(old.setup(&old.mount(), rng)).await?;
            let (second, second_running) = Vault::start(new.setup(&new.mount(), rng)).await?;
            let working = async {
                work(&first, &second).await?;
                Ok([first.close().await?, second.close().await?])
            };
            let working = async {
                let outcome: Result<_, VaultError> = working.await;
                if outcome.is_err() {
                    let _ = futures::join!(first.close(), second.close());
                }
                outcome
            };
            futures::join!(working, first_running, second_running).0
        })
        .await
}

#[tokio::test(start_paused = true)]
async fn a_successor_that_does_not_fit_is_refused() {
    let shape = || parameters(40, 32, 4, 40);
    let smaller = parameters(39, 32, 4, 40);
    let other_blocks = parameters(40, 64, 4, 40);
    let less_room = VaultParameters { rows_bytes: 4095, ..shape() };
    for (refused, why) in
        [(smaller, "smaller"), (less_room, "smaller"), (other_blocks, "blocks of 64 bytes, and the vault")]
    {
        let error = with_both([shape(), refused], async |old, new| {
            MirroredVaults::new(old.clone(), new.clone()).await.map(drop)
        });
        let error = error.await.expect_err("it is refused").to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_successor_takes_over_when_it_has_all_blocks_and_not_before_and_twice_is_once() {
    let rows = vec![Row::new("a", "1"), Row::new("b", "2")];
    let work = async |old: &Vault, new: &Vault| {
        old.commit_rows(rows.iter().cloned().map(RowChange::from).collect()).await?;
        let (both, mut copier) = MirroredVaults::new(old.clone(), new.clone()).await?;
        let one = both.access_in(
            ameles_vault::Flow(1),
            vec![ameles_vault::Call::Write(BlockId(39), vec![3; 32].into())],
        );
        one.await?;
        copier.step().await?;
        copier.note().await?;
        let early = cut_over(old.header(), rows.clone(), new).await.expect_err("it is refused").to_string();
        assert!(early.contains("4 of 40 blocks"), "{early}");
        assert_eq!(
            migration_stage(old.header(), &new.load_rows().await?)?,
            MigrationStage::Copying(BlockId(4))
        );
        while !copier.copied().is_all() {
            copier.step().await?;
        }
        assert_eq!(migration_stage(old.header(), &new.load_rows().await?)?, MigrationStage::Copied);
        assert!(
            migration_stage(new.header(), &new.load_rows().await?).is_err(),
            "it is another vault's successor"
        );
        for _ in 0..2 {
            cut_over(old.header(), rows.clone(), new).await?;
            assert_eq!(new.load_rows().await?, rows);
            assert_eq!(migration_stage(old.header(), &rows)?, MigrationStage::CutOver);
        }
        assert_eq!(new.read(BlockId(39)).await?, vec![3; 32]);
        let late = MirroredVaults::new(old.clone(), new.clone()).await.map(drop).expect_err("it is refused");
        assert!(late.to_string().contains("must not be served"), "{late}");
        Ok(())
    };
    let shapes = [parameters(40, 32, 4, 40), parameters(80, 32, 8, 40)];
    let [old, new] = with_both(shapes, work).await.expect("nothing fails");
    assert_ne!(old.vault, new.vault);
}

#[tokio::test(start_paused = true)]
async fn rows_at_rest_are_those_of_the_last_commit_and_need_the_key() {
    let rng = &mut TestRng::of(5);
    let local = LocalSet::new();
    local
        .run_until(async {
            let side = VaultSide::new(parameters(40, 32, 4, 40), 7, 1, rng).await;
            let disk = side.mount();
            let (vault, running) = Vault::start(side.setup(&disk, rng)).await.expect("it opens");
            let working = async {
                vault.commit_rows(vec![RowChange::put("k", "v")]).await.expect("it is committed");
            };
            tokio::pin!(running);
            tokio::select! {
                () = working => {}
                () = &mut running => panic!("it has stopped"),
            }
            let rows = rows_at_rest(&disk, &side.master()).expect("they can be read");
            assert_eq!(rows, [Row::new("k", "v")]);
            let other = ameles_seal::master_key::MasterKey::take(&mut [8; 32]);
            assert!(matches!(rows_at_rest(&disk, &other), Err(VaultError::WrongKey)));
        })
        .await;
}
