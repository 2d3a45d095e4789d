//! The report's comparison: the paper, its authors' logs and each set of choices side by side.

use super::figures;
use super::logs::{LoggedRun, Logs};
use super::options::Options;
use super::programs;
use super::row::Row;
use super::schemes::pace_name;
use crate::report::{Section, Sheet};
use ameles_simulator::pace::Pace;

/// Runs of a set of choices at one rate.
struct Runs<'a> {
    title: String,
    rows: Vec<&'a Row>,
}

/// The sections, if there is more than one set of choices.
pub(super) fn sections(all: &[Options], rows: &[Row]) -> Vec<Section> {
    if all.len() < 2 || rows.is_empty() {
        return Vec::new();
    }
    let mut section = Section::new("comparison", "The paper, its authors' logs, and each machine");
    section.add_table(figures::means_by_machine(all, rows));
    let logs = Logs::published();
    for (scheme, run) in logs.by_scheme() {
        let runs: Vec<Runs<'_>> = all.iter().filter_map(|options| runs_like(options, rows, scheme)).collect();
        if !runs.is_empty() {
            section.add_table(by_program(scheme, run, &runs));
        }
    }
    vec![section]
}

/// The runs of a set of choices by a scheme that the logs repeat: without a rate, or with the first one that has them.
fn runs_like<'a>(options: &Options, rows: &'a [Row], scheme: &str) -> Option<Runs<'a>> {
    let of_pace = |pace: &Pace| {
        let name = pace_name(*pace);
        let rows: Vec<&Row> =
            rows.iter().filter(|row| row.preset == options.preset && row.pace == name).collect();
        let has = |scheme: &str| rows.iter().any(|row| row.scheme == scheme);
        let is_complete = has(scheme) && has("baseline");
        is_complete.then(|| Runs { title: format!("as {}, {name}", options.preset), rows })
    };
    of_pace(&Pace::Free).or_else(|| options.paces.iter().find_map(of_pace))
}

/// A table of a scheme's speed, evictions and PosMap paths by program.
fn by_program(scheme: &str, logged: &LoggedRun, all: &[Runs<'_>]) -> Sheet {
    let measures = ["speed", "evictions, %", "PosMap paths, %"];
    let titles = std::iter::once("the logs").chain(all.iter().map(|runs| runs.title.as_str()));
    let columns = titles.flat_map(|title| measures.map(|measure| format!("{title}: {measure}")));
    let header = ["program".to_owned(), "in the logs".to_owned()].into_iter().chain(columns);
    let LoggedRun { is, over, blocks_a_path, .. } = logged;
    let caption = format!("{scheme} beside the logs of {is} (a path of {blocks_a_path} blocks), over {over}");
    let mut sheet =
        Sheet { name: format!("logs-{scheme}"), caption, header: header.collect(), rows: Vec::new() };
    let mut seen = Vec::new();
    for row in all.iter().flat_map(|runs| &runs.rows).filter(|row| row.scheme == scheme) {
        if seen.contains(&row.program.as_str()) {
            continue;
        }
        seen.push(&row.program);
        let replaced = logged.replaced_by(&programs::stands_for(&row.program));
        let names = replaced.iter().map(|program| program.name.as_str()).collect::<Vec<_>>().join(", ");
        let mut cells = vec![row.program.clone(), names];
        let of_logs =
            mean_of(replaced.iter().map(|program| [program.speedup, program.evictions, program.posmap]));
        cells.extend(written(of_logs));
        cells.extend(all.iter().flat_map(|runs| written(runs.measures(scheme, &row.program))));
        sheet.rows.push(cells);
    }
    let mut cells = vec!["mean".to_owned(), String::new()];
    cells.extend(written(Some([logged.mean_speedup, logged.mean_evictions, logged.mean_posmap])));
    let mean = |runs: &Runs<'_>| mean_of(seen.iter().filter_map(|program| runs.measures(scheme, program)));
    cells.extend(all.iter().flat_map(|runs| written(mean(runs))));
    sheet.rows.push(cells);
    sheet
}

impl Runs<'_> {
    /// A program's speed over Baseline's, background evictions as a share of paths, and PosMap paths over Baseline's.
    fn measures(&self, scheme: &str, program: &str) -> Option<[f64; 3]> {
        let row = |scheme: &str| self.rows.iter().find(|row| row.scheme == scheme && row.program == program);
        let (row, base) = (row(scheme)?, row("baseline")?);
        let posmap = row.counts().posmap_paths() as f64 / base.counts().posmap_paths().max(1) as f64;
        Some([base.cycles() / row.cycles(), row.share(row.counts().background), posmap])
    }
}

fn mean_of(all: impl Iterator<Item = [f64; 3]>) -> Option<[f64; 3]> {
    let (mut sums, mut count) = ([0.0; 3], 0);
    for measures in all {
        count += 1;
        for (sum, measure) in sums.iter_mut().zip(measures) {
            *sum += measure;
        }
    }
    (count > 0).then(|| sums.map(|sum| sum / f64::from(count)))
}

fn written(measures: Option<[f64; 3]>) -> [String; 3] {
    let Some([speed, evictions, posmap]) = measures else { return Default::default() };
    [format!("{speed:.2}"), format!("{:.1}", 100.0 * evictions), format!("{:.0}", 100.0 * posmap)]
}
