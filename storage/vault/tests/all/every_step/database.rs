//! The database and the journal: data is durable before anything points to it. Acknowledged changes are present, or
//! their absence is detected.
//!
//! A database that made pages durable together with the mark that points to them would survive every crash here. It
//! would find that the pages do not verify, and return to the previous commit. Nothing was acknowledged after that
//! commit. But then a page that is corrupted **after** the acknowledgement looks like such a crash too, and
//! acknowledged data is lost silently. So the order is checked in the log, and sectors of acknowledged commits are
//! corrupted.

use super::explorer::Effort;
use super::machine::{Machine, OpeningEnd, access, commit, runtime};
use super::model::Model;
use super::{effort, path, ring};
use crate::support::effect_log::{Effect, MachineState};
use crate::support::fragile_disk::{Change, Crash, DATABASE, JOURNAL};
use crate::support::rng::TestRng;
use ameles_vault::{VaultError, VaultHeader};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The number of bytes of the page that holds the database's header.
const HEADER: usize = 4096;
/// The byte and the bit that say which of the last two commits is the newest.
const NEWEST: (usize, u8) = (9, 1);
/// The writes before an acknowledgement that are corrupted, one at a time.
const SPOILT_AT_A_STEP: u64 = 3;
/// The number of last writes among which those are chosen.
const LAST: usize = 24;

/// Runs a lifecycle to its end.
fn run_machine(header: &VaultHeader) -> Machine {
    let machine_state = MachineState::new(header.parameters.layout());
    let mut machine = Machine::new(header, machine_state, Model::new(&header.parameters), 0);
    runtime().block_on(machine.run_lifecycle()).expect("nothing fails");
    machine
}

/// Checks that the mark of each newest commit is written last: everything that it points to is durable before. Returns
/// how many marks there are.
fn marks_that_come_last(effects: &[Effect]) -> usize {
    let (mut newest, mut unsynced, mut marks) = (None, 0, 0);
    for (at, effect) in effects.iter().enumerate() {
        match effect {
            Effect::Change(DATABASE, Change::Write(offset, bytes)) => {
                let mark = (*offset == 0).then(|| bytes.get(NEWEST.0)).flatten().map(|byte| byte & NEWEST.1);
                if mark.is_some() && mark != newest {
                    // The first one marks an empty database.
                    let is_first = newest.is_none();
                    assert!(is_first || unsynced == 0, "effect {at}: {unsynced} writes are not durable yet");
                    (newest, marks) = (mark, marks + 1);
                } else {
                    unsynced += 1;
                }
            }
            Effect::Change(DATABASE, Change::Resize(_)) => unsynced += 1,
            Effect::Sync(DATABASE) => unsynced = 0,
            _ => {}
        }
    }
    marks
}

#[test]
fn the_database_points_to_nothing_that_is_not_durable() {
    for header in [ring(true), path(false)] {
        let (effects, _) = run_machine(&header).records();
        let marks = marks_that_come_last(&effects);
        assert!(marks > 20, "{marks} commits");
    }
}

/// Checks that the journal is synced after each write, before anything else happens. Returns the number of syncs.
fn journal_syncs_that_come_first(effects: &[Effect]) -> usize {
    let (mut is_synced, mut syncs) = (true, 0);
    for (at, effect) in effects.iter().enumerate() {
        match effect {
            Effect::Change(JOURNAL, _) => is_synced = false,
            Effect::Sync(JOURNAL) => (is_synced, syncs) = (true, syncs + 1),
            _ => assert!(is_synced, "effect {at}: {effect:?} comes before the sync of the journal"),
        }
    }
    syncs
}

#[test]
fn each_group_of_the_journal_is_durable_before_anything_follows_from_it() {
    for header in [ring(true), path(false)] {
        let (effects, _) = run_machine(&header).records();
        let syncs = journal_syncs_that_come_first(&effects);
        assert!(syncs > 50, "{syncs} groups");
    }
}

/// The writes and the syncs of the disk's files in some effects.
fn disk_work(effects: &[Effect]) -> (Vec<usize>, Vec<usize>) {
    let (mut writes, mut syncs) = (Vec::new(), Vec::new());
    for effect in effects {
        match effect {
            Effect::Change(file, _) => writes.push(*file),
            Effect::Sync(file) => syncs.push(*file),
            _ => {}
        }
    }
    (writes, syncs)
}

#[test]
fn an_access_and_a_change_of_rows_take_one_write_and_one_sync_each() {
    let header = ring(true);
    let machine_state = MachineState::new(header.parameters.layout());
    let mut machine = Machine::new(&header, machine_state, Model::new(&header.parameters), 0);
    let effect_log = machine.effect_log.clone();
    let working = async {
        machine.make().await?;
        machine
            .open(OpeningEnd::Close, async |vault, model_recorder, _| {
                access(vault, model_recorder, &[0, 1], &[]).await?;
                let mut alone = 0;
                for block in 0..16 {
                    let before = effect_log.len();
                    access(vault, model_recorder, &[block], &[]).await?;
                    // An eviction that is under way has records of its own.
                    let work = disk_work(&effect_log.effects()[before..]);
                    alone += usize::from(work == (vec![JOURNAL], vec![JOURNAL]));
                    let before = effect_log.len();
                    commit(vault, model_recorder, &[("a", Some("value"))]).await?;
                    let work = disk_work(&effect_log.effects()[before..]);
                    assert_eq!(work, (vec![JOURNAL], vec![JOURNAL]));
                }
                Ok(alone)
            })
            .await
    };
    let alone = runtime().block_on(working).expect("nothing fails");
    assert!(alone >= 4, "{alone} accesses");
}

/// Corrupts recently written sectors at every step of a lifecycle at which the machine may be killed. The vault must
/// detect it, or have everything that was acknowledged. Returns the number of times that the vault detected the damage.
fn corrupt_everywhere(header: &VaultHeader, effort: Effort) -> usize {
    let (effects, events) = run_machine(header).records();
    let (runtime, machine_state, mut rng) =
        (runtime(), MachineState::new(header.parameters.layout()), TestRng::of(7));
    let (mut last, mut told) = (VecDeque::new(), 0);
    for (at, effect) in (1..).zip(&effects) {
        machine_state.replay(effect);
        if let Effect::Change(file @ (DATABASE | JOURNAL), Change::Write(offset, bytes)) = effect
            && (*file == JOURNAL || *offset >= HEADER)
        {
            last.push_front((*file, *offset, bytes.len()));
            last.truncate(LAST);
        }
        let model = || Model::new(&header.parameters).at(at, &events);
        if last.is_empty() || !effort.includes(at, effects.len()) || !model().was_opened() {
            continue;
        }
        for _ in 0..SPOILT_AT_A_STEP {
            let left = machine_state.fork();
            left.disk.crash(Crash::Kill, &mut rng);
            let (file, offset, len) = last[rng.below(last.len() as u64) as usize];
            let place = offset + rng.below(len as u64) as usize;
            left.disk.flip(file, place);
            let mut machine = Machine::new(header, left, model(), rng.seed());
            let looking = catch_unwind(AssertUnwindSafe(|| runtime.block_on(machine.check_everything())));
            match looking {
                Ok(Ok(())) => {}
                // Without its last records, the disk is older than the store.
                Ok(Err(VaultError::Damaged(_) | VaultError::StaleTrustedState(_))) => told += 1,
                Ok(Err(other)) => panic!("byte {place} of file {file} after {at} effects: {other}"),
                Err(_) => {
                    panic!(
                        "byte {place} of file {file} spoilt after {at} effects: what was acknowledged is gone, untold"
                    )
                }
            }
        }
    }
    told
}

#[test]
fn a_spoilt_page_of_a_commit_that_was_acknowledged_is_told_or_loses_nothing() {
    let effort = effort();
    let told = corrupt_everywhere(&ring(true), effort);
    println!("{told} times the vault told of damage");
    assert!(told > 20, "{told}");
}
