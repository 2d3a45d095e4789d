//! Runs that no figure shows: of schemes that the user named.

use super::run_set::RunSet;
use crate::report::{Section, Sheet};

/// Shows the counts of all runs, if there is no run of Baseline to compare with.
pub(super) fn show(section: &mut Section, runs: &RunSet<'_>) {
    if runs.has(&["baseline"]) {
        return;
    }
    let header = ["program", "scheme", "cycles", "paths", "data", "PosMap", "dummies", "evictions", "hits"];
    let mut sheet = Sheet::new(&format!("runs-{}", runs.pace), "Runs", header);
    for row in &runs.rows {
        let counts = row.counts();
        let hits = counts.stash_hits + counts.top_hits.iter().sum::<u64>();
        let numbers = [
            row.outcome.cycles.0,
            counts.paths(),
            counts.data,
            counts.posmap_paths(),
            counts.dummy,
            counts.background + counts.evictions + counts.reshuffles,
            hits,
        ];
        let names = [row.program.clone(), row.scheme.clone()];
        sheet.rows.push(names.into_iter().chain(numbers.map(|number| number.to_string())).collect());
    }
    section.add_table(sheet);
}
