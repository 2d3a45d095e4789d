//! A key change that is cut off at every step, by a kill and by a loss of power. A step is before or after a change or
//! sync of the trusted disk, or a request to the store. The next run continues it, and nothing is lost.
//!
//! The log begins while the vault is served with the old key. It ends after the vault was served with the new key for a
//! while. Blocks are written all the time, each time with new contents.
//!
//! If a lifecycle has more than 250 effects, one of every few consecutive effects is tested; the seed chooses which. If
//! `AMELES_SIM_SEEDS` is above the usual number, all are.
#![allow(clippy::print_stdout, reason = "figures are shown with --nocapture")]

use super::completion::{assert_nothing_is_left_of, sealed_on};
use super::openable_objects::opened_by;
use super::owner::{Owner, check, compare_blocks, new_key, old_key, touch, wait};
use super::write_log::{SECRET, WriteLog};
use crate::every_step::{is_thorough, path, ring};
use crate::support::effect_log::{Effect, LoggingStore, MachineState};
use crate::support::fragile_disk::Crash;
use crate::support::rng::TestRng;
use crate::support::{every_scheme_of, with_top_on_disk};
use ameles_store::{Blobs, VersionedMemory};
use ameles_vault::{
    JournalPlace, Row, TreeTopPlace, Vault, VaultError, VaultHeader, VaultParameters, read_header,
};
use std::collections::BTreeSet;
use std::time::Instant;
use tokio::runtime::Builder;

/// The number of effects of a lifecycle up to which each of them is tested.
const MAX_EFFECTS: usize = 125;

/// A key change with its log.
struct KeyChangeRun {
    header: VaultHeader,
    /// The state at the beginning of the change.
    begin: MachineState,
    /// Everything sealed on the disk at that time.
    sealed: BTreeSet<Vec<u8>>,
    effects: Vec<Effect>,
    writes: WriteLog,
}

/// Serves a vault with the old key, changes the key, serves the vault with the new one, and completes the change.
async fn run_key_change(parameters: VaultParameters, rng: &mut TestRng) -> KeyChangeRun {
    let owner = Owner::of(parameters, SECRET).await;
    let sealed = sealed_on(&owner);
    let begin = MachineState { disk: owner.disk.fork(), store: owner.store.clone() }.fork();
    let writes = WriteLog::default();
    let effect_log = writes.0.clone();
    owner.disk.record(&effect_log);
    let mut logging_store = || LoggingStore::over(owner.store.clone(), effect_log.clone(), rng.fork());
    owner.open_over(logging_store(), old_key(), async |vault| writes.write(vault, 5).await).await.unwrap();
    owner.change_key_over(logging_store()).await.unwrap();
    // The first opening is closed in the middle of the sweep.
    owner.open_over(logging_store(), new_key(), async |vault| writes.write(vault, 5).await).await.unwrap();
    let serving = owner.open_over(logging_store(), new_key(), async |vault| {
        for block in 2..6 {
            writes.write(vault, block).await;
        }
        wait(vault).await;
        writes.write(vault, 9).await;
    });
    serving.await.unwrap();
    KeyChangeRun { header: owner.header.clone(), begin, sealed, effects: effect_log.effects(), writes }
}

impl KeyChangeRun {
    /// Continues after a crash after this many effects, and checks everything.
    async fn recover_and_check(&self, machine_state: MachineState, at: usize, seed: u64) {
        let owner = Owner::at(&self.header, machine_state.store, machine_state.disk, seed);
        let allowed = |block| self.writes.allowed(block, at);
        let disk = owner.disk.mount().unwrap();
        let has_changed = read_header(&disk, &new_key()).is_ok();
        assert!(has_changed != read_header(&disk, &old_key()).is_ok(), "just one key opens the vault");
        drop(disk);
        owner.disk.unplug();
        let mut sealed = self.sealed.clone();
        if !has_changed {
            sealed.extend(sealed_on(&owner));
            let store = VersionedMemory::new(self.header.parameters.layout());
            store.restore(&owner.store.snapshot());
            let as_before = Owner::at(&self.header, store, owner.disk.fork(), seed + 1000);
            as_before.open(old_key(), async |vault| drop(compare(vault, allowed).await)).await.unwrap();
        }
        owner.change_key().await.unwrap();
        owner
            .open(new_key(), async |vault| {
                let found = compare(vault, allowed).await;
                wait(vault).await;
                if self.header.parameters.tree_top == TreeTopPlace::Disk {
                    // Payloads that are only on the disk are read from there again.
                    compare(vault, |block| vec![found[block as usize]]).await;
                }
                check(vault).await;
            })
            .await
            .unwrap();
        assert_eq!(opened_by(&owner, &old_key(), &new_key()).await, [""; 0], "the old key opens these");
        assert_nothing_is_left_of(&sealed, &owner);
        assert_eq!(owner.count_orphans().await, 0);
        self.refuse_earlier_headers(&owner, at).await;
    }

    /// Checks that the old key is refused, and each header that the store has held before.
    async fn refuse_earlier_headers(&self, owner: &Owner, at: usize) {
        let refusal = owner.open(old_key(), async |_| {}).await.unwrap_err();
        assert!(matches!(refusal, VaultError::WrongKey), "{refusal}");
        let now = header_in(&owner.store).await;
        let exchanged = self.effects[..at].iter().filter_map(|effect| match effect {
            Effect::Put(name, header) if name == "vault" => Some(header.clone()),
            _ => None,
        });
        let headers: BTreeSet<Vec<u8>> = [header_in(&self.begin.store).await]
            .into_iter()
            .chain(exchanged)
            .filter(|header| *header != now)
            .collect();
        assert!(!headers.is_empty());
        for header in headers {
            owner.store.put("vault", &header).await.unwrap();
            let refusal = owner.open(new_key(), async |_| {}).await.unwrap_err();
            assert!(refusal.is_tampering() && refusal.to_string().contains("brought back"), "{refusal}");
        }
        owner.store.put("vault", &now).await.unwrap();
    }

    /// Restores the vault from its store alone, with the key that opens the header there.
    async fn restore(&self, machine_state: MachineState, at: usize, seed: u64) {
        let encoded = header_in(&machine_state.store).await;
        let key = || if VaultHeader::decode(&encoded, &new_key()).is_ok() { new_key() } else { old_key() };
        let restored = Owner::at(&self.header, machine_state.store, machine_state.disk, seed)
            .restore(key(), None)
            .await
            .unwrap();
        let allowed = |block| match self.header.parameters.journal {
            JournalPlace::Disk => self.writes.shipped(block, at),
            _ => self.writes.allowed(block, at),
        };
        restored.open(key(), async |vault| drop(compare(vault, allowed).await)).await.unwrap();
    }
}

async fn header_in(store: &VersionedMemory) -> Vec<u8> {
    store.get("vault", usize::MAX).await.unwrap().unwrap()
}

/// Reads everything; returns the secrets of the blocks.
async fn compare(vault: &Vault, allowed: impl Fn(u64) -> Vec<u8>) -> Vec<u8> {
    assert_eq!(vault.load_rows().await.unwrap(), [Row::new("name", vec![SECRET])]);
    compare_blocks(vault, allowed).await
}

/// A seed that no opening has used before: otherwise the same salts would be drawn twice.
fn seed_at(seed: u64, effects: usize) -> u64 {
    1_000_000 * seed + 10_000 * effects as u64
}

fn cut_off_everywhere(parameters: VaultParameters, seed: u64) {
    let began = Instant::now();
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let mut rng = TestRng::of(seed);
    let name = parameters.scheme.name();
    let life = runtime.block_on(run_key_change(parameters, &mut rng));
    let (machine_state, effects) = (life.begin.fork(), &life.effects);
    let every = if is_thorough() { 1 } else { effects.len().div_ceil(MAX_EFFECTS) };
    let offset = rng.below(every as u64) as usize;
    let (mut crashes, mut restores) = (0, 0);
    for at in 0..=effects.len() {
        if at > 0 {
            machine_state.replay(&effects[at - 1]);
        }
        if at % every != offset {
            continue;
        }
        let is_news = at == 0 || !matches!(effects[at - 1], Effect::Asked);
        for how in [Crash::Kill, Crash::PowerLoss] {
            if !is_news || (how == Crash::PowerLoss && machine_state.disk.is_synced()) {
                continue;
            }
            println!("{name}, seed {seed}: {how:?} after {at} of {} effects", effects.len());
            let left = machine_state.fork();
            left.disk.crash(how, &mut rng);
            runtime.block_on(life.recover_and_check(left, at, seed_at(seed, at)));
            crashes += 1;
        }
        if at > 0 && matches!(effects[at - 1], Effect::Put(..) | Effect::Removed(_) | Effect::Deleted(_)) {
            println!("{name}, seed {seed}: a lost machine after {at} of {} effects", effects.len());
            runtime.block_on(life.restore(machine_state.fork(), at, seed_at(seed, at)));
            restores += 1;
        }
    }
    let (effects, took) = (effects.len(), began.elapsed());
    println!(
        "{name}, seed {seed}: {crashes} crashes and {restores} restores at every {every} of {effects} effects in {took:?}"
    );
    assert!(crashes > 100 && restores > 5, "{crashes} crashes, {restores} restores");
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

/// The smallest vault that has a tree top, with the top on the trusted disk.
fn smallest_with_top_on_disk(header: &VaultHeader) -> VaultParameters {
    with_top_on_disk(header.parameters.clone())
}

#[test]
fn no_crash_at_any_step_of_a_change_loses_anything_under_ring_oram_with_its_top_on_the_disk() {
    cut_off_everywhere(smallest_with_top_on_disk(&ring(true)), 5);
}

#[test]
fn no_crash_at_any_step_of_a_change_loses_anything_under_path_oram_with_its_top_on_the_disk() {
    cut_off_everywhere(smallest_with_top_on_disk(&path(true)), 6);
}

#[test]
fn no_crash_at_any_step_of_a_change_loses_anything_with_its_top_on_the_disk_and_its_journal_in_the_store() {
    let ring = smallest_with_top_on_disk(&ring(true));
    cut_off_everywhere(VaultParameters { journal: JournalPlace::Store, ..ring }, 7);
}

#[test]
fn a_change_that_was_cut_off_is_not_completed_over_a_gateway_that_took_over() {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let mut rng = TestRng::of(3);
    let life = runtime.block_on(run_key_change(every_scheme_of(32, 2, 24).remove(2), &mut rng));
    let machine_state = life.begin.fork();
    let old = runtime.block_on(header_in(&machine_state.store));
    let opens_with = |key| {
        let owner = Owner::at(&life.header, machine_state.store.clone(), machine_state.disk.fork(), 1);
        let opens = read_header(&owner.disk.mount().unwrap(), &key).is_ok();
        owner.disk.unplug();
        opens
    };
    // Up to the point at which the disk has the new key and the store does not.
    for effect in &life.effects {
        machine_state.replay(effect);
        if opens_with(new_key()) {
            break;
        }
    }
    runtime.block_on(async {
        assert_eq!(header_in(&machine_state.store).await, old, "the store has the old header");
        let owner =
            Owner::at(&life.header, machine_state.store.clone(), machine_state.disk.fork(), 5_000_000);
        let restored = owner.restore(old_key(), None).await.unwrap();
        restored.open(old_key(), async |vault| touch(vault, SECRET, 3).await.unwrap()).await.unwrap();
        let refusal = owner.open(new_key(), async |_| {}).await.unwrap_err();
        assert!(matches!(refusal, VaultError::Displaced { .. }), "{refusal}");
        let refusal = owner.change_key().await.unwrap_err();
        assert!(matches!(refusal, VaultError::Displaced { .. }), "{refusal}");
        assert_eq!(header_in(&machine_state.store).await, old);
        restored.open(old_key(), async |vault| touch(vault, SECRET, 4).await.unwrap()).await.unwrap();
    });
}
