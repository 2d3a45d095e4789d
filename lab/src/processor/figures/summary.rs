//! The means of all figures under every rate, with the paper's.

use super::measure::{Column, FIGURES, Unit};
use super::path_kinds;
use super::run_set::RunSet;
use crate::report::{Section, Sheet};

/// The means, if anything can be compared.
pub(super) fn of(all: &[RunSet<'_>]) -> Option<Section> {
    let header = [
        "figure",
        "paths",
        "scheme",
        "ours",
        "the paper's",
        "difference",
        "by fewer paths",
        "by shorter paths",
        "KiB on chip",
    ];
    let mut sheet = Sheet::new("means", "", header);
    for runs in all {
        let Some(means) = path_kinds::means(runs) else { continue };
        for ((kind, ours), printed) in path_kinds::names().into_iter().zip(means).zip(path_kinds::printed()) {
            let difference = printed
                .map_or_else(String::new, |printed| format!("{:+.0} %", 100.0 * (ours / printed - 1.0)));
            let per_cent = |share| Unit::PerCent.write(share);
            sheet.rows.push(row([
                "Figure 2, %",
                &runs.pace,
                kind,
                &per_cent(Some(ours)),
                &per_cent(printed),
                &difference,
                "",
                "",
                "",
            ]));
        }
    }
    for figure in &FIGURES {
        for runs in all {
            for column in figure.columns(runs) {
                let unit = figure.unit;
                let part = |nth: usize| unit.write(column.parts.map(|parts| parts[nth]));
                sheet.rows.push(row([
                    &figure.short_title(),
                    &runs.pace,
                    column.scheme,
                    &column.mean_with_range(unit),
                    &unit.write(column.printed),
                    &column.difference(),
                    &part(0),
                    &part(1),
                    &column.on_chip_kib(),
                ]));
            }
        }
    }
    let mut section = Section::new("means", "The means of all programs, and the paper's");
    section.add_table(sheet);
    section.add_text(
        "A speed is the product of two ratios in each run: that of the paths, and that of the cycles of a path with \
         what follows it. docs/reference/processor-figures.md has the reasons for the differences.",
    );
    (section.pieces.len() > 1).then_some(section)
}

/// A table of the means: the paper's, and those of all runs, each under its title.
pub(super) fn by_machine(all: &[&(String, RunSet<'_>)]) -> Sheet {
    let header =
        ["figure", "scheme", "the paper"].into_iter().chain(all.iter().map(|(title, _)| title.as_str()));
    let mut sheet = Sheet::new("comparison", "Means of all programs", header);
    for (nth, kind) in path_kinds::names().into_iter().enumerate() {
        let written = |share: Option<f64>| Unit::PerCent.write(share);
        let ours = all.iter().map(|(_, runs)| written(path_kinds::means(runs).map(|means| means[nth])));
        let first = ["Figure 2, %".to_owned(), kind.to_owned(), written(path_kinds::printed()[nth])];
        sheet.rows.push(first.into_iter().chain(ours).collect());
    }
    for figure in &FIGURES {
        let columns: Vec<_> = all.iter().map(|(_, runs)| figure.columns(runs)).collect();
        for (scheme, printed) in figure.schemes {
            let of_scheme = |columns: &Vec<Column>| {
                let column = columns.iter().find(|column| column.scheme == *scheme);
                column.map_or_else(String::new, |column| column.mean_with_range(figure.unit))
            };
            let ours: Vec<String> = columns.iter().map(of_scheme).collect();
            if ours.iter().all(String::is_empty) {
                continue;
            }
            let first = [figure.short_title(), (*scheme).to_owned(), figure.unit.write(*printed)];
            sheet.rows.push(first.into_iter().chain(ours).collect());
        }
    }
    sheet
}

fn row(cells: [&str; 9]) -> Vec<String> {
    cells.map(str::to_owned).into()
}
