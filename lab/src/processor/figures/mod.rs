//! The figures of the paper: ours with the printed numbers, a section for each rate of paths.

mod measure;
mod other_runs;
mod path_kinds;
mod picture;
mod run_set;
mod summary;

use super::options::Options;
use super::row::Row;
use super::schemes::pace_name;
use crate::report::{Section, Sheet};
use ameles_simulator::pace::Pace;
use measure::FIGURES;
use run_set::RunSet;

/// The sections of which there are rows: one for each rate, and the means of all.
pub(super) fn sections(options: &Options, rows: &[Row]) -> Vec<Section> {
    let all: Vec<RunSet<'_>> = options.paces.iter().map(|pace| RunSet::of(rows, pace_name(*pace))).collect();
    let mut sections: Vec<Section> =
        all.iter().filter(|runs| !runs.rows.is_empty()).map(rate_sections).collect();
    sections.extend(summary::of(&all));
    sections
}

/// A table of the means of all figures: the paper's, the logs', and those of each set of choices at each of its rates.
pub(super) fn means_by_machine(all: &[Options], rows: &[Row]) -> Sheet {
    summary::by_machine(&run_sets(all, rows))
}

/// The rows of each set of choices at each of its rates, with the title of the two.
fn run_sets<'a>(all: &[Options], rows: &'a [Row]) -> Vec<(String, RunSet<'a>)> {
    let of = |options: &Options| {
        let preset = options.preset;
        let of_preset = move |pace: &Pace| {
            let rows = rows.iter().filter(move |row| row.preset == preset);
            (format!("as {preset}, {}", pace_name(*pace)), RunSet::of(rows, pace_name(*pace)))
        };
        options.paces.iter().map(of_preset).collect::<Vec<_>>()
    };
    all.iter().flat_map(of).filter(|(_, runs)| !runs.rows.is_empty()).collect()
}

fn rate_sections(runs: &RunSet<'_>) -> Section {
    let mut section = Section::new(format!("paths-{}", runs.pace), format!("Paths {}", runs.pace));
    path_kinds::show(&mut section, runs);
    for figure in &FIGURES {
        figure.show(&mut section, runs);
    }
    other_runs::show(&mut section, runs);
    section
}
