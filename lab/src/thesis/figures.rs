//! The thesis's Figures 5.1 to 5.5, drawn from our figures. They show a workload's traffic, dollars, response time and
//! slowdown as multiples of the run without an ORAM. The printed figures are outlines next to ours.

use super::published::Published;
use super::row::{self, Column, RELATIVE, Row};
use crate::bar_chart::{Bar, Chart, Group, Scale, Series};
use crate::bench::Sample;
use crate::prices::Provider;
use crate::report::Picture;
use crate::svg::COLOURS;

/// A picture of a workload.
struct Figure {
    /// The name of the figure in file names.
    name: &'static str,
    /// The words for its bars.
    what: &'static str,
    /// The name of its column of multiples; `None` for dollars.
    column: Option<&'static str>,
}

const FIGURES: [Figure; 4] = [
    Figure { name: "bytes", what: "bytes moved", column: Some("times_bytes") },
    Figure { name: "dollars", what: "dollars", column: None },
    Figure { name: "response", what: "mean response time", column: Some("times_response") },
    Figure { name: "slowdown", what: "runtime", column: Some("slowdown") },
];

/// The schemes that are not drawn, so that the bars of the others are readable. Their figures are in the tables.
const NOT_DRAWN: [&str; 8] = [
    "none",
    "blocks-together",
    "ring-33-48-63",
    "path-paper",
    "trivial",
    "practical-os",
    "square-root",
    "hierarchical",
];

/// The letters of Figures 5.1 to 5.5.
const LETTERS: &str = "ABCDE";

/// The pictures of a workload's rows.
pub(super) fn pictures(rows: &[Row], printed: &Published) -> Vec<Picture> {
    let Some(workload) = rows.first().map(|row| row.workload.as_str()) else { return Vec::new() };
    let number = LETTERS.find(workload).filter(|_| workload.len() == 1).map(|nth| nth + 1);
    let (file, title) = match number {
        Some(number) => (format!("figure-5-{number}"), format!("Figure 5.{number}: workload {workload}")),
        None => (workload.to_lowercase(), format!("Workload {workload}")),
    };
    let draw = |figure: &Figure| {
        let chart = chart(figure, &title, rows, printed);
        let picture = Picture { name: format!("{file}-{}", figure.name), svg: chart.svg() };
        (!chart.groups.is_empty()).then_some(picture)
    };
    FIGURES.iter().filter_map(draw).collect()
}

fn chart(figure: &Figure, title: &str, rows: &[Row], printed: &Published) -> Chart {
    let runs = row::by_run(rows.iter().filter(|row| !NOT_DRAWN.contains(&row.scheme)));
    let drawn: Vec<&Row> = runs.iter().map(|run| run[0]).collect();
    let mut sizes: Vec<Option<u64>> = drawn.iter().map(|row| row.block_kib).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut schemes: Vec<&str> = drawn.iter().map(|row| row.scheme).collect();
    schemes.dedup();
    let ibm = row::thesis_provider();
    let groups = schemes.into_iter().flat_map(|scheme| {
        let at =
            |size: &Option<u64>| runs.iter().find(|run| run[0].scheme == scheme && run[0].block_kib == *size);
        let bars = |of: &dyn Fn(&Row) -> Option<f64>| {
            let bar = |run: &Vec<&Row>| bar(&run.iter().filter_map(|row| of(row)).collect::<Vec<_>>());
            sizes.iter().map(|size| at(size).and_then(bar)).collect::<Vec<_>>()
        };
        let ours = bars(&|row| ibm.as_ref().and_then(|ibm| figure.ours(row, ibm)));
        let theirs = bars(&|row| ibm.as_ref().and_then(|ibm| figure.theirs(row, printed, ibm)));
        let name = if scheme.len() > 10 { scheme.replacen('-', "-\n", 1) } else { scheme.to_owned() };
        let groups = [(name, ours, false), ("(thesis)".to_owned(), theirs, true)];
        let group = |(name, bars, quoted): (String, Vec<Option<Bar>>, bool)| Group { name, bars, quoted };
        groups.map(group).into_iter().filter(|group| group.bars.iter().any(Option::is_some))
    });
    let series = |(nth, size): (usize, &Option<u64>)| Series {
        name: size.map_or_else(|| "whole objects".to_owned(), |kib| format!("blocks of {kib} KiB")),
        colour: COLOURS[nth % COLOURS.len()],
        strength: 1.0,
    };
    Chart {
        scale: Scale::Ratios,
        title: format!("{title}, {}", figure.what),
        what: format!(
            "{}, as a multiple of those without an ORAM and without blocks; outlines: the thesis",
            figure.what
        ),
        groups: groups.collect(),
        series: sizes.iter().enumerate().map(series).collect(),
    }
}

/// The bar of the median over the seeds, with the range; none without a number.
fn bar(ratios: &[f64]) -> Option<Bar> {
    let Sample { median, min, max, .. } = (!ratios.is_empty()).then(|| Sample::of(ratios))?;
    Some(Bar { ratio: median, spread: (min < max).then_some((min, max)) })
}

impl Figure {
    fn column(&self) -> Option<&'static Column> {
        RELATIVE.iter().find(|column| Some(column.name) == self.column)
    }

    /// Our multiple for a row; none if there is no such multiple.
    fn ours(&self, row: &Row, provider: &Provider) -> Option<f64> {
        match self.column() {
            Some(column) => Some((column.of)(row)).filter(|ratio| ratio.is_finite()),
            None => row.times_dollars(provider),
        }
    }

    /// The thesis's multiple for a row; none if it prints none.
    fn theirs(&self, row: &Row, printed: &Published, provider: &Provider) -> Option<f64> {
        match self.column() {
            Some(column) => row::printed_line(row, printed)?.number(column.printed),
            None => row::printed_times_dollars(row, printed, provider),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Options, run};
    use super::*;
    use crate::bench::Silent;

    fn rows() -> Vec<Row> {
        let schemes = ["blocks", "ring-thesis", "ring"].map(str::to_owned).into();
        let options =
            Options { workloads: vec!["C".to_owned()], schemes, quick: true, ..Options::standard() };
        run(&options, &Silent).unwrap().rows
    }

    #[test]
    fn a_bar_is_what_one_divides_by_hand() {
        let (rows, printed) = (rows(), Published::tables());
        let pictures = pictures(&rows, &printed);
        let names: Vec<&str> = pictures.iter().map(|picture| picture.name.as_str()).collect();
        assert_eq!(
            names,
            ["figure-5-3-bytes", "figure-5-3-dollars", "figure-5-3-response", "figure-5-3-slowdown"]
        );
        let chart = chart(&FIGURES[3], "", &rows, &printed);
        let groups: Vec<(&str, bool)> =
            chart.groups.iter().map(|group| (group.name.as_str(), group.quoted)).collect();
        let thesis = ("(thesis)", true);
        assert_eq!(groups, [("blocks", false), thesis, ("ring-\nthesis", false), thesis, ("ring", false)]);
        let seconds = |nth: usize| rows[nth].result.runtime.as_secs_f64();
        assert!((chart.groups[4].bars[0].unwrap().ratio - seconds(3) / seconds(0)).abs() < 1e-9);
        // Table C.3: 2442 s with Ring ORAM and 16 MB, 70 s without.
        assert!((chart.groups[3].bars[0].unwrap().ratio - 2442.0 / 70.0).abs() < 0.01);
    }

    #[test]
    fn a_hostile_name_of_a_workload_stays_text() {
        let mut rows = rows();
        rows.iter_mut().for_each(|row| row.workload = "<script>\"&".to_owned());
        for picture in pictures(&rows, &Published::tables()) {
            let document = roxmltree::Document::parse(&picture.svg).unwrap();
            assert!(document.descendants().all(|node| !node.has_tag_name("script")));
            assert!(picture.svg.contains("&lt;script&gt;"));
        }
    }
}
