//! The figures of the paper: ours with the printed numbers, a section for each rate of paths.

mod comparison;
mod measure;
mod other_runs;
mod over_time;
mod path_kinds;
mod picture;
mod plb;
mod run_set;
mod summary;

use super::options::Options;
use super::row::Row;
use super::schemes::pace_name;
use crate::report::Section;
pub(super) use comparison::section as comparison;
use measure::FIGURES;
pub(super) use measure::mean_speed;
pub(super) use over_time::{sections as over_time, window_ends};
pub(super) use plb::section as plb;
pub(super) use run_set::RunSet;

/// The sections of which there are rows: one for each rate, and the means of all.
pub(super) fn sections(options: &Options, rows: &[Row]) -> Vec<Section> {
    let all: Vec<RunSet<'_>> = options.paces.iter().map(|pace| RunSet::of(rows, pace_name(*pace))).collect();
    let mut sections: Vec<Section> =
        all.iter().filter(|runs| !runs.rows.is_empty()).map(rate_sections).collect();
    sections.extend(summary::of(&all));
    sections
}

fn rate_sections(runs: &RunSet<'_>) -> Section {
    let mut section = Section::new(format!("paths-{}", runs.pace), format!("Paths {}", runs.pace));
    path_kinds::show(&mut section, runs);
    for figure in &FIGURES {
        figure.show(&mut section, runs);
    }
    other_runs::show(&mut section, runs);
    let silent = runs.silent();
    if !silent.is_empty() {
        let names = silent.join(", ");
        section.add_text(format!(
            "Nothing of {names} misses the last-level cache after the warm-up, so no scheme changes the speed: tables and means of \
             speed leave it out."
        ));
    }
    section
}
