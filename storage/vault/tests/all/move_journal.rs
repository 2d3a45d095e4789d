//! A vault whose journal is moved in place, from the trusted disk into the store and back. The move is cut off at every
//! step, by a kill and by a loss of power. The machine is also lost, at every change of the store. Nothing acknowledged
//! is lost with the machine while the header in the store says that the journal is there.
#![allow(clippy::print_stdout, reason = "figures are shown with --nocapture")]

use crate::every_step::is_thorough;
use crate::rekey::owner::{Owner, check, compare_blocks, old_key, touch};
use crate::rekey::write_log::{ROW, SECRET, WriteLog};
use crate::support::effect_log::{Effect, LoggingStore, MachineState};
use crate::support::every_scheme_of;
use crate::support::fragile_disk::Crash;
use crate::support::rng::TestRng;
use ameles_store::{Blobs, VersionedMemory};
use ameles_vault::{
    JournalPlace, Row, Vault, VaultError, VaultHeader, VaultParameters, VaultStore, move_journal,
};
use tokio::runtime::Builder;

/// The number of effects of a lifecycle up to which each of them is tested.
const MAX_EFFECTS: usize = 150;

/// A lifecycle with its log.
struct Life {
    header: VaultHeader,
    begin: MachineState,
    effects: Vec<Effect>,
    writes: WriteLog,
}

async fn move_over(owner: &Owner, store: impl VaultStore, place: JournalPlace) -> Result<(), VaultError> {
    let moved = move_journal(owner.setup_over(store, old_key()), place).await;
    owner.disk.unplug();
    moved
}

/// Reads everything; each block and the row must have one of its allowed secrets.
async fn compare(vault: &Vault, allowed: impl Fn(u64) -> Vec<u8>) {
    compare_blocks(vault, &allowed).await;
    let rows = vault.load_rows().await.unwrap();
    let is_allowed = |secret: &u8| rows == [Row::new("name", vec![*secret])];
    assert!(allowed(ROW).iter().any(is_allowed), "{rows:?}, and {:?} are allowed", allowed(ROW));
}

/// Serves a vault with its journal on the disk, then in the store, and then on the disk again.
async fn live(parameters: VaultParameters, rng: &mut TestRng) -> Life {
    let owner = Owner::of(parameters, SECRET).await;
    let begin = MachineState { disk: owner.disk.fork(), store: owner.store.clone() }.fork();
    let writes = WriteLog::default();
    let effect_log = writes.0.clone();
    owner.disk.record(&effect_log);
    let mut store = || LoggingStore::over(owner.store.clone(), effect_log.clone(), rng.fork());
    let serving = owner.open_over(store(), old_key(), async |vault| {
        writes.write(vault, 5).await;
        writes.write(vault, ROW).await;
    });
    serving.await.unwrap();
    move_over(&owner, store(), JournalPlace::Store).await.unwrap();
    for block in [5, 6] {
        let serving = owner.open_over(store(), old_key(), async |vault| {
            assert_eq!(vault.header().parameters.journal, JournalPlace::Store);
            writes.write(vault, block).await;
            writes.write(vault, 7).await;
            // The disk keeps the last commit of rows for the journal.
            writes.write(vault, ROW).await;
        });
        serving.await.unwrap();
    }
    move_over(&owner, store(), JournalPlace::Disk).await.unwrap();
    let serving = owner.open_over(store(), old_key(), async |vault| {
        assert_eq!(vault.header().parameters.journal, JournalPlace::Disk);
        writes.write(vault, ROW).await;
        writes.write(vault, 6).await;
    });
    serving.await.unwrap();
    // Commits of rows from the first time in the store must not come back.
    move_over(&owner, store(), JournalPlace::Store).await.unwrap();
    owner.open_over(store(), old_key(), async |vault| writes.write(vault, 5).await).await.unwrap();
    Life { header: owner.header.clone(), begin, effects: effect_log.effects(), writes }
}

async fn place_in(store: &VersionedMemory) -> JournalPlace {
    let encoded = store.get("vault", usize::MAX).await.unwrap().unwrap();
    VaultHeader::decode(&encoded, &old_key()).unwrap().parameters.journal
}

impl Life {
    /// Continues after a crash after this many effects, moves the journal, and checks everything.
    async fn recover_and_check(&self, left: MachineState, at: usize, seed: u64) {
        let owner = Owner::at(&self.header, left.store, left.disk, seed);
        let allowed = |place| self.writes.allowed(place, at);
        let opened = owner.open(old_key(), async |vault| {
            compare(vault, allowed).await;
            vault.header().parameters.journal
        });
        let (place, _) = opened.await.unwrap();
        let other = match place {
            JournalPlace::Disk => JournalPlace::Store,
            _ => JournalPlace::Disk,
        };
        for place in [place, other, place] {
            move_over(&owner, owner.store.clone(), place).await.unwrap();
        }
        move_over(&owner, owner.store.clone(), other).await.unwrap();
        assert_eq!(place_in(&owner.store).await, other);
        let working = owner.open(old_key(), async |vault| {
            compare(vault, allowed).await;
            assert_eq!(vault.header().parameters.journal, other);
            check(vault).await;
        });
        working.await.unwrap();
        let restored = owner.restore(old_key(), None).await.unwrap();
        restored.open(old_key(), async |vault| compare(vault, allowed).await).await.unwrap();
    }

    /// Restores the vault from its store alone.
    async fn restore(&self, left: MachineState, at: usize, seed: u64) {
        let place = place_in(&left.store).await;
        let owner = Owner::at(&self.header, left.store, left.disk, seed);
        let restored = owner.restore(old_key(), None).await.unwrap();
        let allowed = |block| match place {
            JournalPlace::Disk => self.writes.shipped(block, at),
            _ => self.writes.allowed(block, at),
        };
        restored.open(old_key(), async |vault| compare(vault, allowed).await).await.unwrap();
    }
}

fn cut_off_everywhere(parameters: VaultParameters, seed: u64) {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let mut rng = TestRng::of(seed);
    let life = runtime.block_on(live(parameters, &mut rng));
    let (machine, effects) = (life.begin.fork(), &life.effects);
    let every = if is_thorough() { 1 } else { effects.len().div_ceil(MAX_EFFECTS) };
    let offset = rng.below(every as u64) as usize;
    let (mut crashes, mut restores, mut exchanges) = (0, 0, 0);
    for at in 0..=effects.len() {
        let effect = (at > 0).then(|| &effects[at - 1]);
        if let Some(effect) = effect {
            machine.replay(effect);
        }
        // Every exchange of a header is tested, from the request before it to the one after it.
        let exchanges_header =
            |effect: Option<&Effect>| matches!(effect, Some(Effect::Put(name, _)) if name == "vault");
        let is_exchange = (at.saturating_sub(4)..at + 4).any(|near| exchanges_header(effects.get(near)));
        if at % every != offset && !is_exchange {
            continue;
        }
        exchanges += usize::from(exchanges_header(effect));
        let seed = 1_000_000 * seed + 10_000 * at as u64;
        for how in [Crash::Kill, Crash::PowerLoss] {
            let is_news = at == 0 || !matches!(effect, Some(Effect::Asked));
            if !is_news || (how == Crash::PowerLoss && machine.disk.is_synced()) {
                continue;
            }
            println!("seed {seed}: {how:?} after {at} of {} effects", effects.len());
            let left = machine.fork();
            left.disk.crash(how, &mut rng);
            runtime.block_on(life.recover_and_check(left, at, seed));
            crashes += 1;
        }
        if matches!(effect, Some(Effect::Put(..) | Effect::Removed(_) | Effect::Deleted(_))) {
            println!("seed {seed}: a lost machine after {at} of {} effects", effects.len());
            runtime.block_on(life.restore(machine.fork(), at, seed));
            restores += 1;
        }
    }
    println!("{crashes} crashes and {restores} restores at every {every} of {} effects", effects.len());
    assert!(crashes > 100 && restores > 10 && exchanges == 3, "{crashes}, {restores}, {exchanges}");
}

#[test]
fn no_crash_at_any_step_of_a_move_loses_anything_under_ring_oram() {
    cut_off_everywhere(every_scheme_of(32, 2, 24).remove(2), 1);
}

#[test]
fn no_crash_at_any_step_of_a_move_loses_anything_under_path_oram() {
    cut_off_everywhere(every_scheme_of(32, 2, 24).remove(0), 2);
}

#[tokio::test(start_paused = true)]
async fn a_vault_whose_last_accesses_are_not_in_the_store_is_not_converted() {
    let owner = Owner::of(every_scheme_of(32, 2, 24).remove(2), SECRET).await;
    let (vault, running) = Vault::start(owner.setup_over(owner.store.clone(), old_key())).await.unwrap();
    let working = async {
        touch(&vault, SECRET, 3).await.unwrap();
        vault.close_without_shipping().await.unwrap();
    };
    futures::join!(working, running);
    drop(vault);
    owner.disk.unplug();
    let refusal = move_over(&owner, owner.store.clone(), JournalPlace::Store).await.unwrap_err();
    assert!(
        matches!(&refusal, VaultError::Parameters(why) if why.to_string().contains("lacks")),
        "{refusal}"
    );
    assert_eq!(place_in(&owner.store).await, JournalPlace::Disk);
    owner.open(old_key(), async |vault| touch(vault, SECRET, 4).await.unwrap()).await.unwrap();
    move_over(&owner, owner.store.clone(), JournalPlace::Store).await.unwrap();
}

#[test]
fn a_move_that_was_cut_off_is_not_completed_over_a_gateway_that_took_over() {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let life = runtime.block_on(live(every_scheme_of(32, 2, 24).remove(2), &mut TestRng::of(3)));
    let machine = life.begin.fork();
    // Up to just before the first exchange in the store: the disk has the new header.
    for effect in &life.effects {
        if matches!(effect, Effect::Put(name, _) if name == "vault") {
            break;
        }
        machine.replay(effect);
    }
    runtime.block_on(async {
        let owner = Owner::at(&life.header, machine.store.clone(), machine.disk.fork(), 5_000_000);
        let restored = owner.restore(old_key(), None).await.unwrap();
        restored.open(old_key(), async |vault| touch(vault, SECRET, 3).await.unwrap()).await.unwrap();
        let refusal = owner.open(old_key(), async |_| {}).await.unwrap_err();
        assert!(matches!(refusal, VaultError::Displaced { .. }), "{refusal}");
        assert_eq!(place_in(&machine.store).await, JournalPlace::Disk);
        restored.open(old_key(), async |vault| touch(vault, SECRET, 4).await.unwrap()).await.unwrap();
    });
}
