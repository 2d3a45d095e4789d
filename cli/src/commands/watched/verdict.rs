//! The conclusions of a watcher of snapshots from the changes that it has seen.

use super::observations::{Observation, Observations};
use ameles_core::schemes::write_schedule::WriteSchedule;
use ameles_pager::scheme::Scheme;
use std::collections::BTreeSet;

/// The verdict in a sentence or two.
pub(in crate::commands) fn of(scheme: Scheme, watched: &Observations) -> String {
    match (scheme, watched.geometry.areas) {
        _ if watched.evictions() == 0 => String::from(
            "no page was evicted: all that were touched stayed resident. A smaller --resident evicts",
        ),
        (Scheme::Plain, _) => plain(watched),
        (Scheme::Path, _) => String::from(
            "whole buckets, along paths that are drawn at random: there is no fixed order to compare with",
        ),
        (Scheme::Opam, _) => String::from(
            "one slot in each bucket of a path that is drawn at random; which slots they are gives away which pages come \
             back: OPAM is broken",
        ),
        (_, None) => {
            String::from("the program gave no areas of its memory: there is no schedule to compare with")
        }
        (_, Some((main, holding))) => {
            let schedule = WriteSchedule::new(main, holding).map_err(|error| error.to_string());
            match schedule.and_then(|schedule| follow(schedule, is_eager(scheme), &watched.sights)) {
                Ok(()) => String::from(
                    "exactly the slots of the deterministic schedule, in its order: they tell how many faults there were, \
                     and when, and nothing else",
                ),
                Err(deviation) => format!("NOT the deterministic schedule: {deviation}"),
            }
        }
    }
}

fn plain(watched: &Observations) -> String {
    let pages: BTreeSet<u64> = watched.sights.iter().flat_map(|sight| &sight.changed).copied().collect();
    format!(
        "each slot is a page, and changes when that page is evicted: whoever watches knows when each of these {} pages \
         was",
        pages.len()
    )
}

/// Tells whether slots of a write may still change after the fault of that write.
fn is_eager(scheme: Scheme) -> bool {
    matches!(scheme, Scheme::Eager | Scheme::EagerParallel)
}

/// Tells whether the changed slots are those of the schedule, fault by fault. An eager scheme may be behind by as much
/// as its last write; its order is the same.
fn follow(schedule: WriteSchedule, eager: bool, sights: &[Observation]) -> Result<(), String> {
    // Slots that were not seen to change yet, in their order.
    let mut due: Vec<u64> = Vec::new();
    let mut writes = 0;
    for Observation { moment, changed } in sights {
        let mut behind = 0;
        for write in writes..moment.evictions {
            let before = due.len();
            due.push(schedule.main() + schedule.holding_slot(write));
            due.extend(schedule.refreshes(write));
            behind = due.len() - before;
        }
        if moment.evictions == writes {
            behind = due.len();
        }
        writes = moment.evictions;
        let seen: BTreeSet<u64> = changed.iter().copied().collect();
        let min = if eager { due.len() - behind } else { due.len() }.max(seen.len());
        // A slot that is due twice is seen once.
        let done =
            (min..=due.len()).find(|done| due[..*done].iter().copied().collect::<BTreeSet<_>>() == seen);
        let Some(done) = done else {
            return Err(format!(
                "at fault {} the slots {changed:?} changed, due were {due:?}",
                moment.faults
            ));
        };
        due.drain(..done);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_pager::watch::FaultCounts;

    /// N = 10, M = 3, as in the documentation: the writes are 10 0 1 2, 11 3 4 5, 12 6 7 8 9, 10 0 1 2 …
    fn judge(eager: bool, seen: &[(u64, &[u64])]) -> Result<(), String> {
        let sights: Vec<Observation> = (1..)
            .zip(seen)
            .map(|(faults, (evictions, changed))| Observation {
                moment: FaultCounts { faults, evictions: *evictions },
                changed: changed.to_vec(),
            })
            .collect();
        follow(WriteSchedule::new(10, 3).unwrap(), eager, &sights)
    }

    const SCHEDULED: [(u64, &[u64]); 4] =
        [(0, &[]), (1, &[0, 1, 2, 10]), (2, &[3, 4, 5, 11]), (3, &[6, 7, 8, 9, 12])];

    #[test]
    fn the_schedule_is_recognised_and_every_deviation_is_told_with_its_fault() {
        assert_eq!(judge(false, &SCHEDULED), Ok(()));
        assert_eq!(judge(true, &SCHEDULED), Ok(()));
        for fault in 0..4 {
            for changed in [&[][..], &[0, 1, 2], &[0, 1, 2, 11], &[0, 1, 2, 3, 10], &[3, 4, 11]] {
                let mut seen = SCHEDULED;
                if seen[fault].1 == changed {
                    continue;
                }
                seen[fault].1 = changed;
                let told = judge(false, &seen).unwrap_err();
                assert!(told.starts_with(&format!("at fault {} ", fault + 1)), "{told}");
            }
        }
    }

    #[test]
    fn an_eager_scheme_may_be_behind_by_one_write_and_no_more() {
        assert_eq!(judge(true, &[(1, &[]), (2, &[0, 1, 2, 10]), (2, &[3, 4, 11]), (3, &[5, 12])]), Ok(()));
        assert!(judge(true, &[(1, &[]), (2, &[0, 1, 10])]).is_err());
        assert!(judge(true, &[(1, &[0, 10]), (1, &[2])]).is_err());
        assert!(judge(false, &[(1, &[]), (2, &[0, 1, 2, 10])]).is_err());
    }
}
