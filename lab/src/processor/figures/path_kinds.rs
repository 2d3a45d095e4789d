//! Figure 2: the kinds of Baseline's paths.

use super::picture::{bar, chart};
use super::run_set::{RunSet, mean};
use crate::bar_chart::Group;
use crate::processor::published;
use crate::processor::row::Row;
use crate::report::{Section, Sheet};

const TITLE: &str = "Figure 2: kinds of Baseline's paths in per cent";
const KINDS: [&str; 5] = ["data", "PosMap 1", "PosMap 2", "dummies", "background"];
const REASON: &str = "The paper's rates differ by program in its code, and are one in its text. Data and PosMap paths are as \
                      many under every rate: only dummies come with it.";

/// The shares of a run, in the order of [`KINDS`]; no numbers without paths.
fn shares(row: &Row) -> [f64; 5] {
    let counts = row.counts();
    let posmap = |level: usize| counts.posmap.get(level).copied().unwrap_or(0);
    [counts.data, posmap(0), posmap(1), counts.dummy, counts.background].map(|paths| row.share(paths))
}

/// The means of all programs.
pub(super) fn means(runs: &RunSet<'_>) -> Option<[f64; 5]> {
    let baseline = runs.rows.iter().filter(|row| row.scheme == "baseline" && row.counts().paths() > 0);
    let all: Vec<[f64; 5]> = baseline.map(|row| shares(row)).collect();
    let of = |nth: usize| mean(&all.iter().map(|shares| shares[nth]).collect::<Vec<_>>());
    Some([of(0)?, of(1)?, of(2)?, of(3)?, of(4)?])
}

/// The shares that the paper prints.
pub(super) fn printed() -> [Option<f64>; 5] {
    let [data, posmap, dummies] = published::FIGURE_2;
    let [first, second] = published::POSMAP_1_AND_2.map(|part| Some(posmap * part));
    [Some(data), first, second, Some(dummies), None]
}

/// The names of the kinds.
pub(super) fn names() -> [&'static str; 5] {
    KINDS
}

/// Shows the table and the picture, if there are runs of Baseline.
pub(super) fn show(section: &mut Section, runs: &RunSet<'_>) {
    let Some(means) = means(runs) else { return };
    let per_cent =
        |share: Option<f64>| share.map_or_else(String::new, |share| format!("{:.1}", 100.0 * share));
    let header = ["program"].into_iter().chain(KINDS).chain(["paths", "cycles a path"]);
    let mut sheet = Sheet::new(&format!("figure-2-{}", runs.pace), TITLE, header);
    let mut groups = Vec::new();
    let mut line = |name: &str, shares: [Option<f64>; 5], more: [String; 2]| {
        sheet.rows.push([name.to_owned()].into_iter().chain(shares.map(per_cent)).chain(more).collect());
        let bars = shares.map(|share| share.map(|share| bar(100.0 * share))).into();
        groups.push(Group { name: name.to_owned(), bars, quoted: name.starts_with("the paper") });
    };
    for program in &runs.programs {
        let Some(row) = runs.of_program(program, "baseline").next() else { continue };
        let paths = row.counts().paths();
        // A program that the cache serves reads no path.
        let cycles = if paths > 0 { format!("{:.0}", row.cycles_a_path()) } else { String::new() };
        let more = [paths.to_string(), cycles];
        line(program, shares(row).map(|share| Some(share).filter(|share| share.is_finite())), more);
    }
    line("mean", means.map(Some), Default::default());
    line("the paper's mean", printed(), Default::default());
    section.add_table(sheet);
    let what = format!("paths {}; outlines: the paper", runs.pace);
    section.add_picture(chart(format!("figure-2-{}", runs.pace), [TITLE, &what], groups, KINDS.into_iter()));
    section.add_text(REASON);
}
