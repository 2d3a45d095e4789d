//! The means of all figures under every rate, with the paper's.

use super::measure::{FIGURES, Unit};
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
            ]));
        }
    }
    for figure in &FIGURES {
        for runs in all {
            for column in figure.columns(runs) {
                let unit = figure.unit;
                let part = |nth: usize| unit.write(column.parts.map(|parts| parts[nth]));
                let (title, _) = figure.title.split_once(':').unwrap_or((figure.title, ""));
                let title = if unit == Unit::PerCent { format!("{title}, %") } else { title.to_owned() };
                sheet.rows.push(row([
                    &title,
                    &runs.pace,
                    column.scheme,
                    &unit.write(column.mean()),
                    &unit.write(column.printed),
                    &column.difference(),
                    &part(0),
                    &part(1),
                ]));
            }
        }
    }
    let mut section = Section::new("means", "The means of all programs, and the paper's");
    section.add_table(sheet);
    section.add_text(
        "A speed is the product of two ratios in each run: how many fewer paths there are, and how many fewer cycles each \
         takes with the rest after it. docs/reference/processor-figures.md has the reasons for the differences.",
    );
    (section.pieces.len() > 1).then_some(section)
}

fn row(cells: [&str; 8]) -> Vec<String> {
    cells.map(str::to_owned).into()
}
