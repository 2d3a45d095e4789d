//! A trusted disk that accepts no more writes, because it is full or read-only. This begins at every change of a
//! lifecycle, or at every eighth in a usual run. Without a reserve that ends the vault; with one it does not.

use super::machine::{Machine, OpeningEnd, access, commit, runtime};
use super::model::{Model, ModelEvents};
use super::{effort, is_thorough, path, ring};
use crate::support::effect_log::{Effect, MachineState};
use ameles_vault::{VaultError, VaultHeader};
use std::io::ErrorKind;
use std::time::{Duration, Instant};

/// A time that is longer than anything here takes, in tokio's time.
const PATIENCE: Duration = Duration::from_secs(3600);

fn new_machine(header: &VaultHeader) -> Machine {
    let machine_state = MachineState::new(header.parameters.layout());
    Machine::new(header, machine_state, Model::new(&header.parameters), 0)
}

/// The changes of the disk in a whole lifecycle.
fn changes(header: &VaultHeader) -> u64 {
    let mut machine = new_machine(header);
    runtime().block_on(machine.run_lifecycle()).expect("nothing fails");
    let (effects, _) = machine.records();
    effects.iter().filter(|effect| matches!(effect, Effect::Change(..))).count() as u64
}

/// Runs until the disk refuses, then continues once it no longer does. Returns the error that callers got.
fn run_until_refused(header: &VaultHeader, after: u64, how: ErrorKind) -> VaultError {
    let runtime = runtime();
    let mut machine = new_machine(header);
    machine.machine_state.disk.refuse_after(Some(after), how);
    let living = runtime.block_on(async { tokio::time::timeout(PATIENCE, machine.run_lifecycle()).await });
    let refusal =
        living.unwrap_or_else(|_| panic!("{how} after {after} changes: a caller waits without an end"));
    let refusal = refusal.expect_err("the disk takes no more");
    machine.machine_state.disk.unplug();
    let (_, events): (_, ModelEvents) = machine.records();
    machine.machine_state.disk.refuse_after(None, how);
    let model = Model::new(&header.parameters).at(usize::MAX, &events);
    let mut machine = Machine::new(header, machine.machine_state.fork(), model, after);
    let looked = runtime.block_on(machine.check_everything());
    looked.unwrap_or_else(|error| panic!("{how} after {after} changes: {error}"));
    refusal
}

/// Lets every change of a lifecycle be the first that the disk refuses.
fn refuse_everywhere(header: &VaultHeader, how: ErrorKind, is_told: impl Fn(&VaultError) -> bool) {
    let (began, changes) = (Instant::now(), changes(header));
    assert!(changes > 100, "{changes} changes");
    let effort = effort();
    for after in (0..changes).filter(|after| effort.includes(*after as usize, changes as usize)) {
        let refusal = run_until_refused(header, after, how);
        assert!(is_told(&refusal), "{how} after {after} changes: {refusal}");
    }
    println!("{how} after each of {changes} changes in {:?}", began.elapsed());
}

/// Runs on a disk with a reserve. The disk is full from a change of the second opening on, or never. It has space again
/// in the third opening. Returns the changes of the second opening, and whether writes were refused in it.
fn run_until_there_is_room(header: &VaultHeader, full_after: Option<u64>) -> (u64, bool) {
    let mut machine = new_machine(header);
    machine.has_reserve = true;
    let living = async {
        machine.make().await?;
        let disk = machine.machine_state.disk.clone();
        machine
            .open(OpeningEnd::Close, async |vault, model_recorder, _| {
                access(vault, model_recorder, &[0, 1], &[]).await?;
                commit(vault, model_recorder, &[("a", Some("first"))]).await
            })
            .await?;
        let before = disk.changes();
        full_after.iter().for_each(|after| disk.end_room_after(*after));
        let refuses = machine.open(OpeningEnd::Kill, async |vault, model_recorder, _| {
            let mut refuses = false;
            for at in 0..24 {
                match access(vault, model_recorder, &[at % 3], &[(at + 1) % 16]).await {
                    Err(VaultError::NoRoom) => refuses = true,
                    written => written?,
                }
                access(vault, model_recorder, &[], &[at % 3, at % 16]).await?;
            }
            commit(vault, model_recorder, &[("a", None)]).await?;
            Ok(refuses)
        });
        let refuses = refuses.await?;
        let changes = disk.changes() - before;
        machine
            .open(OpeningEnd::Close, async |vault, model_recorder, _| {
                access(vault, model_recorder, &[], &[0, 1, 2]).await?;
                disk.leave_room(None);
                tokio::time::sleep(Duration::from_secs(5)).await;
                access(vault, model_recorder, &[0, 4], &[]).await?;
                commit(vault, model_recorder, &[("b", Some("second"))]).await
            })
            .await?;
        machine.check_everything().await?;
        Ok::<_, VaultError>((changes, refuses))
    };
    runtime().block_on(living).unwrap_or_else(|error| panic!("full after {full_after:?} changes: {error}"))
}

#[test]
fn a_disk_that_is_full_at_any_change_and_has_room_again_stops_no_vault_that_keeps_a_reserve() {
    let (began, header) = (Instant::now(), ring(true));
    let (changes, refuses) = run_until_there_is_room(&header, None);
    assert!(changes > 100 && !refuses, "{changes} changes");
    let stride = if is_thorough() { 3 } else { 29 };
    let lives = (0..changes).step_by(stride).map(|after| run_until_there_is_room(&header, Some(after)).1);
    let refused = lives.filter(|refuses| *refuses).count();
    println!("full after {changes} changes, writes refused in {refused} lives, in {:?}", began.elapsed());
    assert!(refused > 0, "no life has found the disk full");
}

fn is_full(error: &VaultError) -> bool {
    matches!(error, VaultError::DiskFull)
}

/// The text comes from the operating system.
fn is_read_only(error: &VaultError) -> bool {
    matches!(error, VaultError::Disk(_)) && error.to_string().to_lowercase().contains("read-only")
}

#[test]
fn a_disk_that_is_full_at_any_change_is_told_and_loses_nothing_under_ring_oram() {
    refuse_everywhere(&ring(true), ErrorKind::StorageFull, is_full);
}

#[test]
fn a_disk_that_is_full_at_any_change_is_told_and_loses_nothing_under_path_oram() {
    refuse_everywhere(&path(true), ErrorKind::StorageFull, is_full);
}

#[test]
fn a_disk_that_becomes_read_only_at_any_change_is_told_and_loses_nothing() {
    refuse_everywhere(&ring(true), ErrorKind::ReadOnlyFilesystem, is_read_only);
}
