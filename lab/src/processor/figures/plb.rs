//! The PLB with each order of page frames and each number of ways: its hits, and the PosMap paths of a request.

use super::measure::{Unit, mean_speed};
use super::picture::{bar, chart};
use super::run_set::{RunSet, means, median};
use crate::bar_chart::Group;
use crate::processor::preset::FrameOrder;
use crate::processor::row::Row;
use crate::report::{Section, Sheet};

/// An order of frames, the ways of the PLB, and the rows of their runs.
type Mapping = (FrameOrder, u64, Vec<Row>);

/// Requests to the ORAM: lines that are loaded, stored and written back.
fn requests(row: &Row) -> f64 {
    let processor = row.outcome.processor;
    (processor.loads + processor.stores + processor.written_back) as f64
}

fn hits(row: &Row) -> f64 {
    let counts = row.counts();
    counts.plb_hits as f64 / (counts.plb_hits + counts.plb_misses) as f64
}

fn posmap_paths(row: &Row) -> f64 {
    row.counts().posmap_paths() as f64 / requests(row)
}

/// The section, of runs at a rate.
pub(in crate::processor) fn section(pace: &str, mappings: &[Mapping]) -> Section {
    let mut section = Section::new("plb", format!("PLB and page frames, paths {pace}"));
    let all: Vec<(String, RunSet<'_>)> = mappings
        .iter()
        .map(|(frames, ways, rows)| {
            let ways = if *ways == 1 { "1 way".to_owned() } else { format!("{ways} ways") };
            (format!("{frames}, {ways}"), RunSet::of(rows, pace.to_owned()))
        })
        .collect();
    let Some((_, first)) = all.first() else { return section };
    let schemes: Vec<&str> = first.schemes();
    let columns = schemes.iter().flat_map(|scheme| {
        ["PLB hits, %", "PosMap paths a request", "speed over Baseline's"]
            .map(|what| format!("{scheme}: {what}"))
    });
    let header = ["frames".to_owned(), "ways".to_owned()].into_iter().chain(columns);
    let mut sheet =
        Sheet::new("plb", "Means of all programs; a speed is over Baseline's of the same row", header);
    for ((_, runs), (frames, ways, _)) in all.iter().zip(mappings) {
        let mut cells = vec![frames.to_string(), ways.to_string()];
        for scheme in &schemes {
            let mean_of = |of: fn(&Row) -> f64| means(&runs.ratios(scheme, scheme, |_, row| of(row)));
            cells.push(Unit::PerCent.median_with_range(&mean_of(hits)));
            cells.push(Unit::Times.median_with_range(&mean_of(posmap_paths)));
            cells.push(mean_speed(runs, "baseline", scheme));
        }
        sheet.rows.push(cells);
    }
    section.add_table(sheet);
    let groups = first.programs.iter().map(|program| {
        let of_program = |runs: &RunSet<'_>| {
            let paths =
                runs.of_program(program, schemes[0]).map(posmap_paths).filter(|paths| paths.is_finite());
            median(paths).map(bar)
        };
        let bars = all.iter().map(|(_, runs)| of_program(runs)).collect();
        Group { name: (*program).to_owned(), bars, quoted: false }
    });
    let title = format!("PosMap paths a request of {}", schemes[0]);
    let what = format!("paths {pace}; by the order of page frames and the ways of the PLB");
    let names = all.iter().map(|(name, _)| name.as_str());
    section.add_picture(chart("plb".to_owned(), [&title, &what], groups.collect(), names));
    section.add_text(
        "With virtual addresses a program's pages are contiguous. A miss and the dirty line that it evicts are often 2 MiB \
         apart, and their PosMap blocks share a set of a direct-mapped PLB. Random frames and more ways keep both.",
    );
    section
}
