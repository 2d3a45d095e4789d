//! Copies of a trusted folder: exactly one of them serves, and the others get the error for a displaced owner.

use super::{FILL, MANY, again, claims, cut_off, cuts, is_displaced, opening, written};
use crate::promises::fixture::{VaultFixture, block, check, read_all, write_all};
use crate::support::fragile_disk::FragileDisk;
use crate::support::master;
use crate::support::stepped::{Claiming, step};
use ameles_core::types::BlockId;
use ameles_store::{Blobs, VersionedMemory};
use ameles_vault::{Vault, VaultError, find_orphans};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// Opens two copies, the second completely after this many steps of the first, or both alternately. Returns whether
/// each has the vault.
fn race(one: &VaultFixture, other: &VaultFixture, ahead: Option<usize>) -> [Result<(), VaultError>; 2] {
    let (mut first, mut second) = (opening(one), opening(other));
    let (mut first_end, mut second_end) = (None, None);
    let mut steps = 0;
    while first_end.is_none() || second_end.is_none() {
        let is_first = match ahead {
            Some(ahead) => steps < ahead || second_end.is_some(),
            None => steps % 2 == 0,
        };
        if is_first && first_end.is_none() {
            first_end = step(&mut first);
        } else if !is_first && second_end.is_none() {
            second_end = step(&mut second);
        }
        steps += 1;
        assert!(steps < 10 * MANY, "an opening hangs");
    }
    // Both openings are killed here; the one that has the vault is reopened.
    for fixture in [one, other] {
        fixture.disk.unplug();
    }
    [first_end, second_end].map(|end| end.unwrap())
}

/// Checks that exactly one of the two has the vault, now and later, and that nothing is lost.
async fn just_one_serves(fixtures: [&VaultFixture; 2], opened: [Result<(), VaultError>; 2], when: &str) {
    let has = opened.each_ref().map(Result::is_ok);
    assert_ne!(has[0], has[1], "{when}: {opened:?}");
    let displaced = opened.iter().find(|opened| opened.is_err()).unwrap();
    assert!(is_displaced(displaced), "{when}: {displaced:?}");
    let (owner, loser) = if has[0] { (fixtures[0], fixtures[1]) } else { (fixtures[1], fixtures[0]) };
    owner
        .open(async |vault| {
            read_all(vault, FILL).await.unwrap();
            write_all(vault, FILL + 1).await;
            assert!(
                is_displaced(&loser.open_and_crash(async |_| {}).await),
                "{when}: while the other serves"
            );
            assert!(check(vault).await.unwrap().faults.is_empty(), "{when}");
        })
        .await
        .unwrap();
    assert!(is_displaced(&loser.open_and_crash(async |_| {}).await), "{when}: afterwards");
    owner.open(async |vault| read_all(vault, FILL + 1).await.unwrap()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn of_two_copies_from_after_an_opening_that_was_cut_off_anywhere_just_one_serves() {
    let scene = written().await;
    for cut in cuts(&scene).await {
        // One after the other, alternately, and one between the other's two steps at its claim.
        for ahead in [None, Some(0), Some(MANY)] {
            let one = again(&scene);
            assert!(cut_off(&one, cut).await);
            let other = one.with_copied_disk();
            let opened = race(&one, &other, ahead);
            just_one_serves([&one, &other], opened, &format!("{cut:?}, {ahead:?} steps ahead")).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_copies_just_one_serves_however_their_openings_interleave() {
    let scene = written().await;
    // It is killed right after its claim.
    let mut cut = None;
    for at in cuts(&scene).await {
        let fixture = again(&scene);
        cut_off(&fixture, at).await;
        if claims(&fixture).await > claims(&scene).await {
            cut = Some(at);
            break;
        }
    }
    let cut = cut.expect("an opening claims");
    for ahead in 0..60 {
        let one = again(&scene);
        cut_off(&one, cut).await;
        let other = one.with_copied_disk();
        let opened = race(&one, &other, Some(ahead));
        just_one_serves([&one, &other], opened, &format!("{ahead} steps ahead")).await;
    }
}

/// A gateway's next checkpoint deletes versions that the journal of a copy reads again. It need not write anything for
/// that, so no newer version shows the copy its age.
#[tokio::test(start_paused = true)]
async fn a_copy_that_misses_a_deleted_bucket_never_displaces_the_gateway_that_it_was_copied_from() {
    let scene = written().await;
    let mut missed = 0;
    for writes in 1..=40 {
        let fixture = again(&scene);
        let served = fixture.open(async |vault| {
            write_all(vault, FILL).await;
            vault.checkpoint().await.unwrap();
            for at in 0..writes {
                vault.write(BlockId(at), block(FILL + at as u8)).await.unwrap();
            }
            let copy = fixture.with_copied_disk();
            vault.checkpoint().await.unwrap();
            // Time passes when all deletions are done.
            tokio::time::sleep(Duration::from_millis(1)).await;
            let before = claims(&fixture).await;
            match copy.open_and_crash(async |_| {}).await {
                // Nothing shows that it is a copy: `docs/leaks.md` has this window.
                Ok(_) => return,
                Err(VaultError::StaleTrustedState(_)) => {}
                Err(error) => {
                    assert!(error.is_tampering() && error.to_string().contains("older copy"), "{error}");
                    missed += 1;
                }
            }
            assert_eq!(claims(&fixture).await, before, "after {writes} writes");
            read_all(vault, FILL).await.unwrap();
            write_all(vault, FILL + 1).await;
            assert!(check(vault).await.unwrap().faults.is_empty());
        });
        assert!(served.await.is_ok() || claims(&fixture).await > claims(&scene).await + 1);
    }
    assert!(missed > 5, "{missed} copies missed a bucket");
}

/// A folder may also be copied while its gateway runs, between a claim and the first record of its epoch.
#[tokio::test(start_paused = true)]
async fn what_a_machine_writes_that_was_copied_at_its_claim_is_never_removed_by_the_copy() {
    let fixture = VaultFixture::new().await;
    fixture.open(async |vault| write_all(vault, FILL).await).await.unwrap();
    let image: Rc<RefCell<Option<FragileDisk>>> = Rc::default();
    let (disk, taken) = (fixture.disk.clone(), image.clone());
    let claiming = Claiming::over(
        fixture.store.clone(),
        async move |store: &VersionedMemory, name: &str, bytes: &[u8]| {
            let made = store.put_if_absent(name, bytes).await;
            *taken.borrow_mut() = Some(disk.image());
            made
        },
    );
    let (vault, running) =
        Vault::start(fixture.setup_over(&fixture.disk.mount().unwrap(), claiming)).await.unwrap();
    {
        let working = std::pin::pin!(write_all(&vault, FILL));
        futures::future::select(working, std::pin::pin!(running)).await;
    }
    drop(vault);
    fixture.disk.unplug();
    let copy = image.take().expect("it has claimed");
    let held = fixture.store.bucket_versions();
    let mounted = copy.mount().unwrap();
    let found = find_orphans(&mounted, &fixture.store, &master()).await.unwrap();
    assert!(found.planted.objects == 0 && found.newer.len() > 10, "{found:?}");
    found.remove(&fixture.store, &master()).await.unwrap();
    let newest = held.iter().filter(|of| of.version.epoch == 2).count();
    let left = fixture.store.bucket_versions().into_iter().filter(|of| of.version.epoch == 2).count();
    assert!(newest > 10 && left == newest, "{left} of {newest} are left");
    let error = Vault::start(fixture.setup(&mounted)).await.err().unwrap();
    assert!(error.is_tampering() && error.to_string().contains("older copy"), "{error}");
    drop(mounted);
    fixture.open(async |vault| read_all(vault, FILL).await.unwrap()).await.unwrap();
}
