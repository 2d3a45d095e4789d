//! A trusted disk that takes no more, because it is full or can only be read: from every change of a life on, or from every
//! fourth in a usual run.

use super::account::{Account, Entries};
use super::life::Machine;
use super::{effort_of, path, ring};
use crate::support::tape::{Effect, World};
use lethe_vault::{VaultError, VaultHeader};
use std::io::ErrorKind;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// More than anything here takes, in tokio's time.
const PATIENCE: Duration = Duration::from_secs(3600);

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime can be made")
}

fn new_machine(header: &VaultHeader) -> Machine {
    let world = World::new(header.parameters.layout());
    Machine::new(header, world, Account::new(&header.parameters), 0)
}

/// The changes of the disk in a whole life.
fn changes(header: &VaultHeader) -> u64 {
    let mut machine = new_machine(header);
    runtime().block_on(machine.live()).expect("nothing fails");
    let (effects, _) = machine.records();
    effects.iter().filter(|effect| matches!(effect, Effect::Change(..))).count() as u64
}

/// Lives until the disk refuses, and once more from there when it does not any more. Returns the error that callers got.
fn live_until_refused(header: &VaultHeader, after: u64, how: ErrorKind) -> VaultError {
    let runtime = runtime();
    let mut machine = new_machine(header);
    machine.world.disk.refuse_after(Some(after), how);
    let living = runtime.block_on(async { tokio::time::timeout(PATIENCE, machine.live()).await });
    let refusal =
        living.unwrap_or_else(|_| panic!("{how} after {after} changes: a caller waits without an end"));
    let refusal = refusal.expect_err("the disk takes no more");
    machine.world.disk.unplug();
    let (_, entries): (_, Entries) = machine.records();
    machine.world.disk.refuse_after(None, how);
    let account = Account::new(&header.parameters).at(usize::MAX, &entries);
    let mut machine = Machine::new(header, machine.world.fork(), account, after);
    let looked = runtime.block_on(machine.look_at_everything());
    looked.unwrap_or_else(|error| panic!("{how} after {after} changes: {error}"));
    refusal
}

/// Has every change of a life be the first that the disk refuses.
fn refuse_everywhere(header: &VaultHeader, how: ErrorKind, is_told: impl Fn(&VaultError) -> bool) {
    let (began, changes) = (Instant::now(), changes(header));
    assert!(changes > 100, "{changes} changes");
    let effort = effort_of(0);
    for after in (0..changes).filter(|after| effort.looks_at(*after as usize, changes as usize)) {
        let refusal = live_until_refused(header, after, how);
        assert!(is_told(&refusal), "{how} after {after} changes: {refusal}");
    }
    println!("{how} after each of {changes} changes in {:?}", began.elapsed());
}

fn is_full(error: &VaultError) -> bool {
    matches!(error, VaultError::DiskFull)
}

/// The words are those of the operating system.
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
