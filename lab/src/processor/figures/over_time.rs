//! The speed over Baseline's from the start of a tree on: in windows of misses, and once the tree has settled.

use super::measure::Unit;
use super::picture::{bar, chart};
use super::run_set::{RunSet, means, median};
use crate::bar_chart::Group;
use crate::processor::options::{Options, Part};
use crate::processor::row::Row;
use crate::processor::schemes::pace_name;
use crate::report::{Section, Sheet};
use std::collections::BTreeSet;

/// The misses at which the windows of a run end: 5000, 10,000, 20,000, 50,000 and so on, up to the number that the run
/// has. `max` is among them if the run has so many.
pub(in crate::processor) fn window_ends(misses: u64, max: u64) -> Vec<u64> {
    let powers = (3..).map_while(|power| 10u64.checked_pow(power));
    let all = powers.flat_map(|power| [5, 10, 20].map(|step| power.saturating_mul(step)));
    let mut ends: Vec<u64> = all.take_while(|end| *end <= misses).collect();
    if misses == max && ends.last() != Some(&max) {
        ends.push(max);
    }
    ends
}

/// A part of a run.
#[derive(Clone, Copy)]
enum Stretch {
    /// From one number of misses to another.
    Window { from: u64, to: u64 },
    /// All of it.
    Whole,
}

impl Stretch {
    /// The cycles, paths and background evictions, if the run has all of it.
    fn of(self, row: &Row) -> Option<[f64; 3]> {
        let Stretch::Window { from, to } = self else {
            return Some([row.cycles(), row.counts().paths() as f64, row.counts().background as f64]);
        };
        let until = |misses: u64| {
            let found = row.outcome.checkpoints.iter().find(|checkpoint| checkpoint.misses == misses)?;
            let counts = &found.counts;
            Some([found.cycles.0 as f64, counts.paths() as f64, counts.background as f64])
        };
        let (end, start) = (until(to)?, if from == 0 { [0.0; 3] } else { until(from)? });
        Some([0, 1, 2].map(|nth| end[nth] - start[nth]))
    }

    /// The speed of a run over that of Baseline's.
    fn speed(self, base: &Row, row: &Row) -> f64 {
        match (self.of(base), self.of(row)) {
            (Some([base_cycles, ..]), Some([cycles, ..])) if !base.is_silent() => base_cycles / cycles,
            _ => f64::NAN,
        }
    }

    /// The share of background evictions.
    fn evictions(self, row: &Row) -> f64 {
        self.of(row).map_or(f64::NAN, |[_, paths, background]| background / paths)
    }
}

/// A section for each rate: `rows` begin as the part does, and `settled` in a tree that has settled.
pub(in crate::processor) fn sections(options: &Options, rows: &[Row], settled: &[Row]) -> Vec<Section> {
    let of_pace = |pace: &_| {
        let pace = pace_name(*pace);
        let (runs, settled) = (RunSet::of(rows, pace.clone()), RunSet::of(settled, pace));
        (!runs.rows.is_empty()).then(|| section(options, &runs, &settled))
    };
    options.paces.iter().filter_map(of_pace).collect()
}

fn section(options: &Options, runs: &RunSet<'_>, settled: &RunSet<'_>) -> Section {
    let mut section =
        Section::new(format!("over-time-{}", runs.pace), format!("Speed over time, paths {}", runs.pace));
    let start = options.start_of(Part::OverTime);
    let title = format!("Speed over Baseline's, from a tree that begins {start} to one that has settled");
    let checkpoints = runs.rows.iter().flat_map(|row| &row.outcome.checkpoints);
    let ends: BTreeSet<u64> = checkpoints.map(|checkpoint| checkpoint.misses).collect();
    let froms = std::iter::once(0).chain(ends.iter().copied());
    let mut all: Vec<(String, Stretch, Stretch, &RunSet<'_>)> = froms
        .zip(&ends)
        .map(|(from, to)| {
            let window = Stretch::Window { from, to: *to };
            (format!("{from} to {to}"), window, Stretch::Window { from: 0, to: *to }, runs)
        })
        .collect();
    all.push(("settled".to_owned(), Stretch::Whole, Stretch::Whole, settled));
    let mut schemes = runs.schemes();
    if schemes.len() > 1 {
        schemes.retain(|scheme| *scheme != "baseline");
    }
    let columns = schemes.iter().flat_map(|scheme| {
        ["speed", "speed since the start", "background evictions, %"].map(|what| format!("{scheme}: {what}"))
    });
    let header = ["misses".to_owned(), "programs".to_owned()].into_iter().chain(columns);
    let mut sheet = Sheet::new(&format!("over-time-{}", runs.pace), &title, header);
    let mut groups = Vec::new();
    for (name, stretch, since_start, runs) in all {
        let mut cells = vec![name.clone(), program_count(stretch, runs).to_string()];
        let mut bars = Vec::new();
        for scheme in &schemes {
            let speeds = |stretch: Stretch| {
                means(&runs.ratios("baseline", scheme, |base, row| stretch.speed(base, row)))
            };
            let evictions = means(&runs.ratios(scheme, scheme, |_, row| stretch.evictions(row)));
            let since_start = match since_start {
                Stretch::Whole => String::new(),
                since_start => Unit::Speed.median_with_range(&speeds(since_start)),
            };
            let speeds = speeds(stretch);
            cells.push(Unit::Speed.median_with_range(&speeds));
            cells.push(since_start);
            cells.push(Unit::PerCent.median_with_range(&evictions));
            bars.push(median(speeds.into_iter()).map(bar));
        }
        sheet.rows.push(cells);
        groups.push(Group { name, bars, quoted: false });
    }
    section.add_table(sheet);
    let what = format!("paths {}, in each window of misses; the mean of its programs", runs.pace);
    section.add_picture(chart(
        format!("over-time-{}", runs.pace),
        [&title, &what],
        groups,
        schemes.iter().copied(),
    ));
    section.add_text(
        "A window counts the programs whose traces have all of its misses: the column says how many. The last row has whole runs \
         that begin in a tree settled by random accesses.",
    );
    section
}

/// The programs with misses whose runs have all of a stretch.
fn program_count(stretch: Stretch, runs: &RunSet<'_>) -> usize {
    let counts = |row: &&&Row| !row.is_silent() && stretch.of(row).is_some();
    runs.rows.iter().filter(counts).map(|row| row.program.as_str()).collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_end_in_a_series_and_at_the_number_that_was_asked_for() {
        assert_eq!(window_ends(300, 300), [300]);
        assert_eq!(window_ends(100_000, 100_000), [5000, 10_000, 20_000, 50_000, 100_000]);
        assert_eq!(window_ends(30_000, 30_000), [5000, 10_000, 20_000, 30_000]);
        // A shorter trace has whole windows only.
        assert_eq!(window_ends(30_000, 100_000), [5000, 10_000, 20_000]);
        assert_eq!(window_ends(2_000_000, u64::MAX).last(), Some(&2_000_000));
        assert!(window_ends(300, 5000).is_empty());
    }
}
