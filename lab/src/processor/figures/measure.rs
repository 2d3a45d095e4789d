//! The figures that show a measure of several schemes for each program.

use super::picture::{bar, chart};
use super::run_set::{RunSet, means, median};
use crate::bar_chart::Group;
use crate::processor::published;
use crate::processor::row::Row;
use crate::report::{Picture, Section, Sheet};

/// A figure: a measure of the runs by several schemes, each compared with the same program's run by `base`.
pub(super) struct Figure {
    /// The name of the figure in file names.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) base: &'static str,
    /// The schemes, with the means that the paper prints.
    pub(super) schemes: &'static [(&'static str, Option<f64>)],
    pub(super) of: fn(&Row, &Row) -> f64,
    pub(super) unit: Unit,
    /// The reason why it differs from the paper's, by a measurement.
    pub(super) reason: &'static str,
}

/// The unit of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// A speed over another one: it is a product of two ratios, which are shown as well.
    Speed,
    Times,
    PerCent,
}

const fn printed(scheme: &'static str, number: f64) -> (&'static str, Option<f64>) {
    (scheme, Some(number))
}

/// All of them, in the paper's order; beyond it come those of sound controllers.
pub(super) const FIGURES: [Figure; 12] = [
    Figure {
        name: "figure-6",
        title: "Figure 6: requests in per cent whose block is in the stash or the tree top",
        base: "baseline",
        schemes: &[printed("baseline", published::FIGURE_6), ("llc-d", None), ("ir-stash", None)],
        of: |_, row| if row.is_silent() { f64::NAN } else { row.top_share() },
        unit: Unit::PerCent,
        reason: "Lines alone are seldom found there. One that was just used is in the last-level cache. When it \
                 comes back, a thousand paths and more have carried it down. The paper counts PosMap blocks, \
                 too: see the next table.",
    },
    Figure {
        name: "figure-6-all",
        title: "Figure 6 with PosMap blocks: paths and hits in per cent whose block is in the stash or the tree top, as the authors count",
        base: "baseline",
        schemes: &[printed("baseline", published::FIGURE_6), ("llc-d", None), ("ir-stash", None)],
        of: |_, row| if row.is_silent() { f64::NAN } else { row.top_share_with_posmap() },
        unit: Unit::PerCent,
        reason: "A PosMap block that the direct-mapped PLB has just lost is still near the root. With contiguous \
                 pages a miss and the dirty line that it evicts are often 2 MiB apart, and their PosMap blocks \
                 share a set; with random frames they do not.",
    },
    Figure {
        name: "figure-10",
        title: "Figure 10: speed over that of Baseline",
        base: "baseline",
        schemes: &published::FIGURE_10,
        of: speed,
        unit: Unit::Speed,
        reason: "With 25 levels a path of IR-Alloc moves 36 blocks in place of 60: 1.67 at \
                 the most. The fixed time of a path and the background evictions (Figure 12) take a part of \
                 this. Evictions begin when the middle levels fill up: a packed tree has none at first, a \
                 settled one has many. One channel makes blocks dearer, four make rows and turnarounds count. \
                 IR-Stash gains where the PLB's sets collide (Figure 14).",
    },
    Figure {
        name: "figure-11",
        title: "Figure 11: speed of IR-Stash and IR-Alloc with delayed remapping, over delayed remapping",
        base: "llc-d",
        schemes: &[printed("llc-d-stash-alloc", published::FIGURE_11)],
        of: speed,
        unit: Unit::Speed,
        reason: "As Figure 10: it is IR-Alloc's gain, for tree-top hits are as rare as in Figure 6.",
    },
    Figure {
        name: "figure-12",
        title: "Figure 12: time over that of Baseline (ir-alloc is IR-Alloc4)",
        base: "baseline",
        schemes: &SIZES,
        of: |base, row| 1.0 / speed(base, row),
        unit: Unit::Times,
        reason: "",
    },
    Figure {
        name: "figure-12-evictions",
        title: "Figure 12, shaded: background evictions in per cent of all paths",
        base: "baseline",
        schemes: &SIZES,
        of: |base, row| if base.is_silent() { f64::NAN } else { row.share(row.counts().background) },
        unit: Unit::PerCent,
        reason: "",
    },
    Figure {
        name: "figure-14",
        title: "Figure 14: PosMap paths in per cent of Baseline's",
        base: "baseline",
        schemes: &[printed("ir-stash", published::FIGURE_14)],
        of: |base, row| row.counts().posmap_paths() as f64 / base.counts().posmap_paths() as f64,
        unit: Unit::PerCent,
        reason: "IR-Stash finds PosMap blocks that the PLB has just lost. With contiguous pages a stream of \
                 misses and dirty victims takes turns in one set of the direct-mapped PLB, so there are many; \
                 with random frames there are almost none.",
    },
    Figure {
        name: "figure-15",
        title: "Figure 15: dummies in per cent of all paths",
        base: "baseline",
        schemes: &[printed("baseline", published::FIGURE_15[0]), printed("ir-dwb", published::FIGURE_15[1])],
        of: |_, row| row.share(row.counts().dummy),
        unit: Unit::PerCent,
        reason: "Dummies are as many as a program rests. Those that stay are of programs with no dirty line that goes next.",
    },
    Figure {
        name: "energy",
        title: "Energy of the memory over Baseline's (section VI-F)",
        base: "baseline",
        schemes: &[("ir-alloc", None), printed("ir-oram", 1.0 - published::ENERGY)],
        of: |base, row| row.outcome.energy.total().0 / base.outcome.energy.total().0,
        unit: Unit::Times,
        reason: "The paper counts an amount for each access; here rows, bursts, refresh and standby take theirs.",
    },
    Figure {
        name: "delayed-ahead",
        title: "Delayed remapping whose dummies bring positions ahead (the paper's future work): speed over delayed remapping",
        base: "llc-d",
        schemes: &[("llc-d-dwb", None), ("llc-d-stash-alloc-dwb", None)],
        of: speed,
        unit: Unit::Speed,
        reason: "",
    },
    Figure {
        name: "other-trees",
        title: "RAW ORAM and Ring ORAM beneath the same front end: speed over Baseline",
        base: "baseline",
        schemes: &[("raw", None), ("ring", None), ("llc-d-raw", None), ("llc-d-ring", None)],
        of: speed,
        unit: Unit::Speed,
        reason: "",
    },
    Figure {
        name: "sound",
        title: "Every path is read, as obliviousness asks: speed over Baseline with every path read",
        base: "sound-baseline",
        schemes: &[
            ("baseline", None),
            ("sound-alloc", None),
            ("sound-llc-d-alloc", None),
            ("sound-raw", None),
            ("sound-ring", None),
            ("sound-llc-d", None),
            ("sound-llc-d-ring", None),
        ],
        of: speed,
        unit: Unit::Speed,
        reason: "",
    },
];

const SIZES: [(&str, Option<f64>); 4] =
    [("ir-alloc1", None), ("ir-alloc2", None), ("ir-alloc3", None), ("ir-alloc", None)];

/// The speed over another run; no number for a program without misses, which every scheme runs at one speed.
fn speed(base: &Row, row: &Row) -> f64 {
    if base.is_silent() { f64::NAN } else { base.cycles() / row.cycles() }
}

/// The mean of all programs' speeds by a scheme over `base`: the median over seeds, and the range.
pub(in crate::processor) fn mean_speed(runs: &RunSet<'_>, base: &str, scheme: &str) -> String {
    Unit::Speed.median_with_range(&means(&runs.ratios(base, scheme, speed)))
}

impl Unit {
    /// A number in this unit; nothing for nothing.
    pub(super) fn write(self, value: Option<f64>) -> String {
        match (value, self) {
            (None, _) => String::new(),
            (Some(value), Unit::Speed | Unit::Times) => format!("{value:.2}"),
            (Some(value), Unit::PerCent) => format!("{:.1}", 100.0 * value),
        }
    }

    /// The median of the means of the seeds, with their range unless that is one number.
    pub(super) fn median_with_range(self, means: &[f64]) -> String {
        let median = self.write(median(means.iter().copied()));
        match self.range(means) {
            Some([min, max]) if min != max => format!("{median} ({min} to {max})"),
            _ => median,
        }
    }

    /// The smallest and the greatest mean of a seed, if there are several.
    fn range(self, means: &[f64]) -> Option<[String; 2]> {
        let bound = |further: fn(f64, f64) -> f64| means.iter().copied().reduce(further);
        let bounds = [bound(f64::min)?, bound(f64::max)?].map(|bound| self.write(Some(bound)));
        Some(bounds).filter(|_| means.len() > 1)
    }

    /// The length of a bar.
    pub(super) fn bar_length(self, value: f64) -> f64 {
        if self == Unit::PerCent { 100.0 * value } else { value }
    }
}

/// The measures of a scheme, and what the paper prints.
pub(super) struct Column {
    pub(super) scheme: &'static str,
    pub(super) printed: Option<f64>,
    /// Bytes on the trusted side.
    on_chip: Option<u64>,
    /// The measure of each program, the median over the seeds.
    pub(super) values: Vec<Option<f64>>,
    /// The mean of all programs for each seed.
    means: Vec<f64>,
    /// The means of a speed's parts: ratios of paths, and of cycles per path.
    pub(super) parts: Option<[f64; 2]>,
}

impl Column {
    /// The mean of all programs: the median over the seeds.
    pub(super) fn mean(&self) -> Option<f64> {
        median(self.means.iter().copied())
    }

    /// KiB on the trusted side, rounded up.
    pub(super) fn on_chip_kib(&self) -> String {
        self.on_chip.map_or_else(String::new, |bytes| bytes.div_ceil(1024).to_string())
    }

    /// The mean of all programs, with its range over the seeds unless that is one number.
    pub(super) fn mean_with_range(&self, unit: Unit) -> String {
        unit.median_with_range(&self.means)
    }

    fn range(&self, unit: Unit) -> Option<[String; 2]> {
        unit.range(&self.means)
    }

    /// The difference of the mean from the paper's.
    pub(super) fn difference(&self) -> String {
        let pair = self.mean().zip(self.printed);
        pair.map_or_else(String::new, |(ours, theirs)| format!("{:+.0} %", 100.0 * (ours / theirs - 1.0)))
    }
}

impl Figure {
    /// The title up to its colon, with the unit of shares.
    pub(super) fn short_title(&self) -> String {
        let (title, _) = self.title.split_once(':').unwrap_or((self.title, ""));
        if self.unit == Unit::PerCent { format!("{title}, %") } else { title.to_owned() }
    }

    /// The columns of which there are runs.
    pub(super) fn columns(&self, runs: &RunSet<'_>) -> Vec<Column> {
        let available = self.schemes.iter().filter(|(scheme, _)| runs.has(&[self.base, scheme]));
        let column = |(scheme, printed): &(&'static str, Option<f64>)| {
            // Nothing is compared for a program without misses.
            let mean_of = |of: fn(&Row, &Row) -> f64| {
                let of = |base: &Row, row: &Row| if base.is_silent() { f64::NAN } else { of(base, row) };
                median(means(&runs.ratios(self.base, scheme, of)).into_iter())
            };
            let by_seed = runs.ratios(self.base, scheme, self.of);
            let of_program = |nth: usize| median(by_seed.iter().filter_map(|values| values[nth]));
            let is_speed = self.unit == Unit::Speed;
            let fewer_paths = mean_of(|base, row| base.counts().paths() as f64 / row.counts().paths() as f64);
            let shorter_paths = mean_of(|base, row| base.cycles_a_path() / row.cycles_a_path());
            Column {
                scheme,
                printed: *printed,
                on_chip: runs.rows.iter().find(|row| row.scheme == *scheme).map(|row| row.on_chip),
                values: (0..runs.programs.len()).map(of_program).collect(),
                means: means(&by_seed),
                parts: fewer_paths
                    .zip(shorter_paths)
                    .filter(|_| is_speed)
                    .map(|(fewer_paths, shorter_paths)| [fewer_paths, shorter_paths]),
            }
        };
        available.map(column).collect()
    }

    /// Shows the table, the picture and the reason, if there are runs.
    pub(super) fn show(&self, section: &mut Section, runs: &RunSet<'_>) {
        let columns = self.columns(runs);
        if columns.is_empty() {
            return;
        }
        section.add_table(self.sheet(runs, &columns));
        section.add_picture(self.picture(runs, &columns));
        if !self.reason.is_empty() && columns.iter().any(|column| column.printed.is_some()) {
            section.add_text(self.reason);
        }
    }

    /// Bars for each program and the mean, and the paper's mean as outlines.
    fn picture(&self, runs: &RunSet<'_>, columns: &[Column]) -> Picture {
        let group = |name: &str, quoted: bool, value: &dyn Fn(&Column) -> Option<f64>| Group {
            name: name.to_owned(),
            bars: columns
                .iter()
                .map(|column| value(column).map(|value| bar(self.unit.bar_length(value))))
                .collect(),
            quoted,
        };
        let programs = runs.programs.iter().enumerate();
        let mut groups: Vec<Group> =
            programs.map(|(nth, program)| group(program, false, &|column| column.values[nth])).collect();
        groups.push(group("mean", false, &Column::mean));
        if columns.iter().any(|column| column.printed.is_some()) {
            groups.push(group("the paper's mean", true, &|column| column.printed));
        }
        let unit = match self.unit {
            Unit::Speed => "speed: the higher, the faster",
            Unit::Times => "a ratio",
            Unit::PerCent => "per cent",
        };
        let what = format!("{unit}; paths {}; outlines: the paper", runs.pace);
        let names = columns.iter().map(|column| column.scheme);
        chart(format!("{}-{}", self.name, runs.pace), [self.title, &what], groups, names)
    }

    fn sheet(&self, runs: &RunSet<'_>, columns: &[Column]) -> Sheet {
        let header = ["program"].into_iter().chain(columns.iter().map(|column| column.scheme));
        let name = format!("{}-{}", self.name, runs.pace);
        let mut sheet = Sheet::new(&name, self.title, header);
        let mut line = |name: &str, cell: &dyn Fn(&Column) -> String| {
            sheet.rows.push([name.to_owned()].into_iter().chain(columns.iter().map(cell)).collect());
        };
        for (nth, program) in runs.programs.iter().enumerate() {
            line(program, &|column| self.unit.write(column.values[nth]));
        }
        line("mean", &|column| self.unit.write(column.mean()));
        if columns.iter().any(|column| column.range(self.unit).is_some()) {
            line("range of the mean over seeds", &|column| {
                column.range(self.unit).map_or_else(String::new, |bounds| bounds.join(" to "))
            });
        }
        if columns.iter().any(|column| column.printed.is_some()) {
            line("the paper's mean", &|column| self.unit.write(column.printed));
            line("difference", &Column::difference);
        }
        line("KiB on chip", &Column::on_chip_kib);
        if self.unit == Unit::Speed {
            let part = |column: &Column, nth: usize| self.unit.write(column.parts.map(|parts| parts[nth]));
            line("by fewer paths", &|column| part(column, 0));
            line("by shorter paths", &|column| part(column, 1));
        }
        sheet
    }
}
