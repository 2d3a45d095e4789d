//! A change that is cut off at every step: before and after each change and sync of the trusted disk and each request to
//! the store, by a kill and by a loss of power. The next run goes on, and nothing is lost.
#![allow(clippy::print_stdout, reason = "figures are shown with --nocapture")]

use super::opened::opened_by;
use super::owner::{Owner, check, compare, new_key, old_key, touch, wait};
use crate::support::chance::Chance;
use crate::support::every_scheme_of;
use crate::support::fragile_disk::Crash;
use crate::support::tape::{Effect, Tape, Taped, World};
use lethe_store::{Blobs, VersionedMemory};
use lethe_vault::{JournalPlace, VaultHeader, VaultParameters, read_header};
use tokio::runtime::Builder;

const SECRET: u8 = 150;

/// Changes the key, serves the vault, and ends the change, on a tape. Returns the world before, and the effects.
async fn live(parameters: VaultParameters, chance: &mut Chance) -> (VaultHeader, World, Vec<Effect>) {
    let owner = Owner::of(parameters, SECRET).await;
    let world = World { disk: owner.disk.fork(), store: owner.store.clone() };
    let begin = world.fork();
    let tape = Tape::default();
    owner.disk.record(&tape);
    let mut taped = || Taped::over(owner.store.clone(), tape.clone(), chance.fork());
    owner.change_key_over(taped()).await.unwrap();
    // The first opening is closed in the midst of the sweep.
    owner.open_over(taped(), new_key(), async |vault| touch(vault, SECRET, 5).await.unwrap()).await.unwrap();
    let serving = owner.open_over(taped(), new_key(), async |vault| {
        for block in 0..4 {
            touch(vault, SECRET, block).await.unwrap();
        }
        wait(vault).await;
        touch(vault, SECRET, 9).await.unwrap();
    });
    serving.await.unwrap();
    (owner.header.clone(), begin, tape.effects())
}

/// Goes on after a crash, whatever it has left, and looks at everything.
async fn go_on(header: &VaultHeader, world: World, seed: u64) {
    let owner = Owner::at(header, world.store, world.disk, seed);
    let disk = owner.disk.mount().unwrap();
    let has_changed = read_header(&disk, &new_key()).is_ok();
    assert!(has_changed != read_header(&disk, &old_key()).is_ok(), "just one key opens the vault");
    drop(disk);
    owner.disk.unplug();
    if !has_changed {
        let store = VersionedMemory::new(header.parameters.layout());
        store.restore(&owner.store.snapshot());
        let as_before = Owner::at(header, store, owner.disk.fork(), seed + 1000);
        as_before.open(old_key(), async |vault| compare(vault, SECRET).await).await.unwrap();
    }
    owner.change_key().await.unwrap();
    owner
        .open(new_key(), async |vault| {
            compare(vault, SECRET).await;
            wait(vault).await;
            check(vault).await;
        })
        .await
        .unwrap();
    assert_eq!(opened_by(&owner, &old_key(), &new_key()).await, [""; 0], "the old key opens these");
    assert_eq!(owner.count_orphans().await, 0);
}

/// Restores the vault from its store alone, with the key that opens the header there.
async fn restore(header: &VaultHeader, world: World, seed: u64) {
    let encoded = world.store.get("vault", usize::MAX).await.unwrap().unwrap();
    let key = || if VaultHeader::decode(&encoded, &new_key()).is_ok() { new_key() } else { old_key() };
    let restored = Owner::at(header, world.store, world.disk, seed).restore(key(), None).await.unwrap();
    restored.open(key(), async |vault| compare(vault, SECRET).await).await.unwrap();
}

/// A seed of which no opening before has drawn: the same salts would come twice.
fn seed_at(seed: u64, effects: usize) -> u64 {
    1_000_000 * seed + 10_000 * effects as u64
}

fn cut_off_everywhere(parameters: VaultParameters, seed: u64) {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let mut chance = Chance::of(seed);
    let name = parameters.scheme.name();
    let (header, world, effects) = runtime.block_on(live(parameters, &mut chance));
    let (mut crashes, mut restores) = (0, 0);
    for at in 0..=effects.len() {
        let is_news = at == 0 || !matches!(effects[at - 1], Effect::Asked);
        for how in [Crash::Kill, Crash::PowerLoss] {
            if !is_news || (how == Crash::PowerLoss && world.disk.is_synced()) {
                continue;
            }
            println!("{name}, seed {seed}: {how:?} after {at} of {} effects", effects.len());
            let left = world.fork();
            left.disk.crash(how, &mut chance);
            runtime.block_on(go_on(&header, left, seed_at(seed, at)));
            crashes += 1;
        }
        if at > 0 && matches!(effects[at - 1], Effect::Put(..) | Effect::Removed(_) | Effect::Deleted(_)) {
            println!("{name}, seed {seed}: a lost machine after {at} of {} effects", effects.len());
            runtime.block_on(restore(&header, world.fork(), seed_at(seed, at)));
            restores += 1;
        }
        if let Some(effect) = effects.get(at) {
            world.play(effect);
        }
    }
    assert!(crashes > 100 && restores > 10, "{crashes} crashes, {restores} restores");
}

#[test]
fn no_crash_at_any_step_of_a_change_loses_anything_under_path_oram() {
    cut_off_everywhere(every_scheme_of(32, 2, 24).remove(0), 1);
}

#[test]
fn no_crash_at_any_step_of_a_change_loses_anything_under_trivial_oram() {
    cut_off_everywhere(every_scheme_of(32, 2, 24).remove(1), 2);
}

#[test]
fn no_crash_at_any_step_of_a_change_loses_anything_under_ring_oram() {
    cut_off_everywhere(every_scheme_of(32, 2, 24).remove(2), 3);
}

#[test]
fn no_crash_at_any_step_of_a_change_loses_anything_of_a_vault_with_its_journal_in_the_store() {
    let ring = every_scheme_of(32, 2, 24).remove(2);
    cut_off_everywhere(VaultParameters { journal: JournalPlace::Store, ..ring }, 4);
}
