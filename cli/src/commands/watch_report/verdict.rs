//! The conclusions that a watcher of snapshots can draw from the changes.

use super::observations::{Observation, Observations};
use ameles_core::schemes::write_schedule::WriteSchedule;
use ameles_pager::scheme::Scheme;
use std::collections::BTreeSet;

/// Returns the verdict in one or two sentences.
pub(in crate::commands) fn verdict(scheme: Scheme, observations: &Observations) -> String {
    match (scheme, observations.geometry.areas) {
        _ if observations.evictions() == 0 => String::from(
            "no page was evicted: all accessed pages stayed resident. Choose a smaller --resident",
        ),
        (Scheme::Plain, _) => plain(observations),
        (Scheme::Path, _) => {
            String::from("whole buckets along random paths: there is no fixed order to compare with")
        }
        (Scheme::Opam, _) => String::from(
            "one slot in each bucket of a random path; the chosen slots reveal which pages are accessed again: OPAM is \
             broken",
        ),
        (_, None) => {
            String::from("the program reported no areas of its memory: there is no schedule to compare with")
        }
        (_, Some((main, holding))) => {
            let schedule = WriteSchedule::new(main, holding).map_err(|error| error.to_string());
            match schedule.and_then(|schedule| check_schedule(schedule, is_eager(scheme), &observations.list))
            {
                Ok(()) => String::from(
                    "exactly the slots of the deterministic schedule, in its order: they reveal only the number and the \
                     times of faults",
                ),
                Err(deviation) => format!("NOT the deterministic schedule: {deviation}"),
            }
        }
    }
}

fn plain(observations: &Observations) -> String {
    let pages: BTreeSet<u64> = observations.list.iter().flat_map(|sight| &sight.changed).copied().collect();
    format!(
        "each slot is a page, and changes when that page is evicted: a watcher learns when each of these {} pages was \
         evicted",
        pages.len()
    )
}

/// Returns true if slots of a write may still change after the fault of that write.
fn is_eager(scheme: Scheme) -> bool {
    matches!(scheme, Scheme::Eager | Scheme::EagerParallel)
}

/// Checks for each fault that the changed slots follow the schedule. The slots of an eager scheme's last write may
/// change later, but in the same order.
fn check_schedule(schedule: WriteSchedule, eager: bool, list: &[Observation]) -> Result<(), String> {
    // Slots that have not changed yet, in the order of the schedule.
    let mut pending: Vec<u64> = Vec::new();
    let mut writes = 0;
    for Observation { moment, changed } in list {
        let mut allowed_lag = 0;
        for write in writes..moment.evictions {
            let before = pending.len();
            pending.push(schedule.main() + schedule.holding_slot(write));
            pending.extend(schedule.refreshes(write));
            allowed_lag = pending.len() - before;
        }
        if moment.evictions == writes {
            allowed_lag = pending.len();
        }
        writes = moment.evictions;
        let changed_slots: BTreeSet<u64> = changed.iter().copied().collect();
        let min = if eager { pending.len() - allowed_lag } else { pending.len() }.max(changed_slots.len());
        // A slot that is pending twice changes once.
        let done = (min..=pending.len())
            .find(|done| pending[..*done].iter().copied().collect::<BTreeSet<_>>() == changed_slots);
        let Some(done) = done else {
            return Err(format!(
                "at fault {} the slots {changed:?} changed, and {pending:?} were expected",
                moment.faults
            ));
        };
        pending.drain(..done);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_pager::watch::FaultCounts;

    /// N = 10 and M = 3, as in the documentation. The writes are 10 0 1 2, 11 3 4 5, 12 6 7 8 9, 10 0 1 2 …
    fn check(eager: bool, changed_slots: &[(u64, &[u64])]) -> Result<(), String> {
        let list: Vec<Observation> = (1..)
            .zip(changed_slots)
            .map(|(faults, (evictions, changed))| Observation {
                moment: FaultCounts { faults, evictions: *evictions },
                changed: changed.to_vec(),
            })
            .collect();
        check_schedule(WriteSchedule::new(10, 3).unwrap(), eager, &list)
    }

    const SCHEDULED: [(u64, &[u64]); 4] =
        [(0, &[]), (1, &[0, 1, 2, 10]), (2, &[3, 4, 5, 11]), (3, &[6, 7, 8, 9, 12])];

    #[test]
    fn the_schedule_is_recognised_and_every_deviation_is_reported_with_its_fault() {
        assert_eq!(check(false, &SCHEDULED), Ok(()));
        assert_eq!(check(true, &SCHEDULED), Ok(()));
        for fault in 0..4 {
            for changed in [&[][..], &[0, 1, 2], &[0, 1, 2, 11], &[0, 1, 2, 3, 10], &[3, 4, 11]] {
                let mut changed_slots = SCHEDULED;
                if changed_slots[fault].1 == changed {
                    continue;
                }
                changed_slots[fault].1 = changed;
                let message = check(false, &changed_slots).unwrap_err();
                assert!(message.starts_with(&format!("at fault {} ", fault + 1)), "{message}");
            }
        }
    }

    #[test]
    fn an_eager_scheme_may_be_behind_by_one_write_and_no_more() {
        assert_eq!(check(true, &[(1, &[]), (2, &[0, 1, 2, 10]), (2, &[3, 4, 11]), (3, &[5, 12])]), Ok(()));
        assert!(check(true, &[(1, &[]), (2, &[0, 1, 10])]).is_err());
        assert!(check(true, &[(1, &[0, 10]), (1, &[2])]).is_err());
        assert!(check(false, &[(1, &[]), (2, &[0, 1, 2, 10])]).is_err());
    }
}
