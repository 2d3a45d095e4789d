//! The database itself: data is durable before anything points to it. Acknowledged changes are there, or their absence
//! is detected.
//!
//! A database that made pages durable together with the mark that points to them would survive every crash here. It
//! would find that the pages do not verify, and return to the previous commit. Nothing was acknowledged after that
//! commit. But then a page that is corrupted **after** the acknowledgement looks like such a crash too, and
//! acknowledged data is lost silently. So the order is checked in the log, and sectors of acknowledged commits are
//! corrupted.

use super::explorer::Effort;
use super::machine::{Machine, runtime};
use super::model::Model;
use super::{effort, path, ring};
use crate::support::effect_log::{Effect, MachineState};
use crate::support::fragile_disk::{Change, Crash, DATABASE};
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

/// Checks that each mark of a newest commit is written after everything that it points to is durable. Returns how many
/// marks there are.
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
        assert!(marks > 50, "{marks} commits");
    }
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
        if let Effect::Change(DATABASE, Change::Write(offset, bytes)) = effect
            && *offset >= HEADER
        {
            last.push_front((*offset, bytes.len()));
            last.truncate(LAST);
        }
        let model = || Model::new(&header.parameters).at(at, &events);
        if last.is_empty() || !effort.includes(at, effects.len()) || !model().was_opened() {
            continue;
        }
        for _ in 0..SPOILT_AT_A_STEP {
            let left = machine_state.fork();
            left.disk.crash(Crash::Kill, &mut rng);
            let (offset, len) = last[rng.below(last.len() as u64) as usize];
            let place = offset + rng.below(len as u64) as usize;
            left.disk.flip_in_database(place);
            let mut machine = Machine::new(header, left, model(), rng.seed());
            let looking = catch_unwind(AssertUnwindSafe(|| runtime.block_on(machine.check_everything())));
            match looking {
                Ok(Ok(())) => {}
                Ok(Err(VaultError::Damaged(_))) => told += 1,
                Ok(Err(other)) => panic!("byte {place} after {at} effects: {other}"),
                Err(_) => {
                    panic!("byte {place} spoilt after {at} effects: what was acknowledged is gone, untold")
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
