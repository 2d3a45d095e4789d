//! The report's comparison: the paper, its authors' logs and each set of choices side by side.

use super::run_set::{RunSet, median};
use super::summary;
use crate::processor::logs::{LoggedRun, Logs};
use crate::processor::options::Options;
use crate::processor::programs;
use crate::processor::row::Row;
use crate::processor::schemes::pace_name;
use crate::report::{Section, Sheet};
use ameles_simulator::pace::Pace;

/// The runs of a set of choices at one rate, with the title of both.
type TitledRuns<'a> = (String, RunSet<'a>);

/// The section, if there is more than one set of choices.
pub(in crate::processor) fn section(all: &[Options], rows: &[Row]) -> Option<Section> {
    if all.len() < 2 || rows.is_empty() {
        return None;
    }
    let machines: Vec<Vec<TitledRuns<'_>>> = all.iter().map(|options| run_sets(options, rows)).collect();
    let mut section = Section::new("comparison", "The paper, its authors' logs, and each machine");
    section.add_table(summary::by_machine(&machines.iter().flatten().collect::<Vec<_>>()));
    for (scheme, run) in Logs::published().by_scheme() {
        let runs: Vec<&TitledRuns<'_>> =
            machines.iter().filter_map(|machine| runs_like(machine, scheme)).collect();
        if !runs.is_empty() {
            section.add_table(by_program(scheme, run, &runs));
        }
    }
    Some(section)
}

/// The runs of a set of choices, for each of its rates that has any.
fn run_sets<'a>(options: &Options, rows: &'a [Row]) -> Vec<TitledRuns<'a>> {
    let of_pace = |pace: &Pace| {
        let (preset, name) = (options.preset, pace_name(*pace));
        (format!("as {preset}, {name}"), RunSet::of(rows.iter().filter(|row| row.preset == preset), name))
    };
    options.paces.iter().map(of_pace).filter(|(_, runs)| !runs.rows.is_empty()).collect()
}

/// The runs of a scheme that the logs repeat: without a rate, or with the first one that has them.
fn runs_like<'a, 'b>(machine: &'a [TitledRuns<'b>], scheme: &str) -> Option<&'a TitledRuns<'b>> {
    let mut complete = machine.iter().filter(|(_, runs)| runs.has(&["baseline", scheme]));
    let free = complete.clone().find(|(_, runs)| runs.pace == pace_name(Pace::Free));
    free.or_else(|| complete.next())
}

/// A table of a scheme's speed, evictions and PosMap paths by program.
fn by_program(scheme: &str, logged: &LoggedRun, all: &[&TitledRuns<'_>]) -> Sheet {
    let measures = ["speed", "evictions, %", "PosMap paths, %"];
    let titles = std::iter::once("the logs").chain(all.iter().map(|(title, _)| title.as_str()));
    let columns = titles.flat_map(|title| measures.map(|measure| format!("{title}: {measure}")));
    let header = ["program".to_owned(), "in the logs".to_owned()].into_iter().chain(columns);
    let LoggedRun { is, over, blocks_a_path, mean_speedup, .. } = logged;
    let caption = format!(
        "{scheme} beside the logs of {is} (a path of {blocks_a_path} blocks), over {over}, for equal work; by the logs' cycles \
         alone, {mean_speedup:.2}"
    );
    let mut sheet =
        Sheet { name: format!("logs-{scheme}"), caption, header: header.collect(), rows: Vec::new() };
    // Every machine runs the same programs.
    let programs = all.first().map_or(&[][..], |(_, runs)| &runs.programs);
    for program in programs {
        let replaced = logged.replaced_by(&programs::stands_for(program));
        let names = replaced.iter().map(|program| program.name.as_str()).collect::<Vec<_>>().join(", ");
        let mut cells = vec![(*program).to_owned(), names];
        let of_logs =
            mean_of(replaced.iter().map(|program| [program.speed(), program.evictions, program.posmap]));
        cells.extend(written(of_logs));
        cells.extend(all.iter().flat_map(|(_, runs)| written(measures_of(runs, scheme, program))));
        sheet.rows.push(cells);
    }
    let mut cells = vec!["mean".to_owned(), String::new()];
    cells.extend(written(Some([logged.mean_speed(), logged.mean_evictions, logged.mean_posmap])));
    let mean =
        |runs: &RunSet<'_>| mean_of(programs.iter().filter_map(|program| measures_of(runs, scheme, program)));
    cells.extend(all.iter().flat_map(|(_, runs)| written(mean(runs))));
    sheet.rows.push(cells);
    sheet
}

/// A program's speed over Baseline's, background evictions as a share of paths, and PosMap paths over Baseline's: the
/// medians over the seeds.
fn measures_of(runs: &RunSet<'_>, scheme: &str, program: &str) -> Option<[f64; 3]> {
    let of_base = || runs.of_program(program, "baseline").filter(|base| !base.is_silent());
    let pairs = || of_base().zip(runs.of_program(program, scheme));
    let posmap = |(base, row): (&Row, &Row)| {
        row.counts().posmap_paths() as f64 / base.counts().posmap_paths().max(1) as f64
    };
    Some([
        median(pairs().map(|(base, row)| base.cycles() / row.cycles()))?,
        median(pairs().map(|(_, row)| row.share(row.counts().background)))?,
        median(pairs().map(posmap))?,
    ])
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
