//! The classes that a draw is in: facts of the requests, which are secret, and of the batches.

use super::super::run_sets::ObservedRun;
use super::names::Names;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The name of the class of all draws.
pub(super) const ALL: &str = "all";

/// The classes of an access.
const OF_ACCESS: [&str; 13] = [
    "dummies",
    "repeats within a batch",
    "first accesses",
    "early returns",
    "late writes",
    "late reads",
    "accesses right after a dummy",
    "returns in the next batch",
    "writes",
    "first places of batches",
    "second places of batches",
    "third places of batches",
    "later places of batches",
];
const REPEATS: usize = 1;
const AFTER_DUMMY: usize = 6;
const NEXT_BATCH: usize = 7;
const WRITES: usize = 8;
const PLACES: usize = 9;

/// The first class of each kind: accesses that showed a draw, accesses that made it, and sequences.
const SHOWN: usize = 1;
const DRAWN: usize = SHOWN + OF_ACCESS.len();
const SEQUENCES: usize = DRAWN + OF_ACCESS.len();

/// The sequences that were seen, each a class.
#[derive(Default)]
pub(super) struct Classes {
    sequences: Vec<String>,
}

/// The classes of the accesses of a run.
pub(super) struct OfRun {
    of_access: Vec<Vec<usize>>,
    sequence: usize,
}

impl Classes {
    /// Classes all accesses of a run under a sequence.
    pub(super) fn of(&mut self, run: &ObservedRun, sequence: &str) -> OfRun {
        let known = self.sequences.iter().position(|known| known == sequence);
        let nth = known.unwrap_or_else(|| {
            self.sequences.push(sequence.to_string());
            self.sequences.len() - 1
        });
        let of_access = (0..run.requested.len()).map(|access| of_access(run, access)).collect();
        OfRun { of_access, sequence: SEQUENCES + nth }
    }
}

fn of_access(run: &ObservedRun, access: usize) -> Vec<usize> {
    let kind = OF_ACCESS.iter().position(|name| *name == run.kinds[access]);
    let begin = run.begins[access];
    let mut classes: Vec<usize> = kind.into_iter().collect();
    let is_dummy = |access: usize| run.requested[access].is_none() || run.kinds[access] == OF_ACCESS[REPEATS];
    if access > 0 && is_dummy(access - 1) {
        classes.push(AFTER_DUMMY);
    }
    if run.before[access].is_some_and(|before| begin > 0 && run.begins[before] == run.begins[begin - 1]) {
        classes.push(NEXT_BATCH);
    }
    if run.writes[access] {
        classes.push(WRITES);
    }
    classes.push(PLACES + (access - begin).min(3));
    classes
}

impl OfRun {
    /// The classes of a draw by the access that showed it, if this is known, and by the access that made it.
    pub(super) fn of(
        &self,
        shown_by: Option<usize>,
        drawn_by: Option<usize>,
    ) -> impl Iterator<Item = usize> + '_ {
        let shown =
            shown_by.into_iter().flat_map(|access| self.of_access[access].iter().map(|class| SHOWN + class));
        let drawn =
            drawn_by.into_iter().flat_map(|access| self.of_access[access].iter().map(|class| DRAWN + class));
        [0, self.sequence].into_iter().chain(shown).chain(drawn)
    }
}

impl Names for Classes {
    fn name(&self, class: usize) -> String {
        match class {
            0 => ALL.to_string(),
            SHOWN..DRAWN => format!("shown by {}", OF_ACCESS[class - SHOWN]),
            DRAWN..SEQUENCES => format!("drawn by {}", OF_ACCESS[class - DRAWN]),
            _ => format!("under {}", self.sequences[class - SEQUENCES]),
        }
    }
}
