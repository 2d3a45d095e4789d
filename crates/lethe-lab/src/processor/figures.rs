//! The tables: a figure each, ours beside the paper's printed numbers.

use super::options::Options;
use super::published;
use super::row::Row;
use super::schemes::pace_name;
use crate::markdown::{add, markdown, rendered};
use std::collections::BTreeSet;

/// The rows of one rate.
struct Runs<'a> {
    pace: String,
    rows: Vec<&'a Row>,
    programs: Vec<&'a str>,
}

/// Levels of the tree top in Figure 6.
const TOP: usize = 10;

/// All tables of which there are rows.
pub(super) fn tables(options: &Options, rows: &[Row]) -> Vec<String> {
    let mut tables = Vec::new();
    for pace in &options.paces {
        let runs = Runs::of(rows, pace_name(*pace));
        let made = [
            runs.path_kinds(),
            runs.top_hits(),
            runs.speeds(),
            runs.delayed(),
            runs.sizes(),
            runs.posmap(),
            runs.dummies(),
            runs.energy(),
            runs.sound(),
            runs.plain(),
        ];
        tables.extend(made.into_iter().flatten());
    }
    tables
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn two(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{value:.2}"))
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{:.1}", 100.0 * value))
}

/// A measure of a run, beside another run of the same program.
type Ratio<'a> = &'a dyn Fn(&Row, &Row) -> f64;

impl<'a> Runs<'a> {
    fn of(rows: &'a [Row], pace: String) -> Self {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.pace == pace).collect();
        let mut seen = BTreeSet::new();
        let programs =
            rows.iter().map(|row| row.program.as_str()).filter(|program| seen.insert(*program)).collect();
        Runs { pace, rows, programs }
    }

    fn row(&self, program: &str, scheme: &str) -> Option<&'a Row> {
        self.rows.iter().find(|row| row.program == program && row.scheme == scheme).copied()
    }

    fn has(&self, schemes: &[&str]) -> bool {
        schemes.iter().all(|scheme| self.rows.iter().any(|row| row.scheme == *scheme))
    }

    /// A table of a measure of several schemes, each over `base`, with the means and the paper's numbers in the last lines.
    fn ratios(
        &self,
        title: &str,
        base: &str,
        schemes: &[(&str, Option<f64>)],
        ratio: Ratio<'_>,
        write: fn(Option<f64>) -> String,
    ) -> Option<String> {
        let there: Vec<_> = schemes.iter().filter(|(scheme, _)| self.has(&[base, scheme])).collect();
        if there.is_empty() {
            return None;
        }
        let header: Vec<&str> =
            ["program"].into_iter().chain(there.iter().map(|(scheme, _)| *scheme)).collect();
        let mut table = markdown(&header);
        let mut columns = vec![Vec::new(); there.len()];
        for program in &self.programs {
            let mut cells = vec![(*program).to_owned()];
            for ((scheme, _), column) in there.iter().zip(&mut columns) {
                let pair = self.row(program, base).zip(self.row(program, scheme));
                let value = pair.map(|(base, row)| ratio(base, row)).filter(|value| value.is_finite());
                column.extend(value);
                cells.push(write(value));
            }
            add(&mut table, cells);
        }
        let line = |name: &str, values: Vec<String>| [name.to_owned()].into_iter().chain(values).collect();
        let means: Vec<Option<f64>> = columns.iter().map(|column| mean(column)).collect();
        add(&mut table, line("mean", means.iter().map(|mean| write(*mean)).collect()));
        if there.iter().any(|(_, printed)| printed.is_some()) {
            add(
                &mut table,
                line("the paper's mean", there.iter().map(|(_, printed)| write(*printed)).collect()),
            );
            let off = |(mean, (_, printed)): (&Option<f64>, &&(&str, Option<f64>))| {
                mean.zip(*printed).map_or_else(String::new, |(ours, theirs)| {
                    format!("{:+.0} %", 100.0 * (ours / theirs - 1.0))
                })
            };
            add(&mut table, line("difference", means.iter().zip(&there).map(off).collect()));
        }
        Some(format!("{title}; paths {}\n\n{}", self.pace, rendered(&table)))
    }

    fn speeds(&self) -> Option<String> {
        let printed = published::FIGURE_10.map(|(scheme, speed)| (scheme, Some(speed)));
        let schemes: Vec<_> = printed.into_iter().chain([("llc-d", None)]).collect();
        let title = "Figure 10: speed over that of Baseline";
        self.ratios(title, "baseline", &schemes, &|base, row| base.cycles() / row.cycles(), two)
    }

    fn delayed(&self) -> Option<String> {
        let title =
            "Figure 11: speed of IR-Stash and IR-Alloc with delayed remapping, over delayed remapping";
        let schemes = [("llc-d-stash-alloc", Some(published::FIGURE_11))];
        self.ratios(title, "llc-d", &schemes, &|base, row| base.cycles() / row.cycles(), two)
    }

    fn sizes(&self) -> Option<String> {
        let schemes = ["ir-alloc1", "ir-alloc2", "ir-alloc3", "ir-alloc"].map(|scheme| (scheme, None));
        let title = "Figure 12: time over that of Baseline (ir-alloc is IR-Alloc4)";
        let times =
            self.ratios(title, "baseline", &schemes, &|base, row| row.cycles() / base.cycles(), two)?;
        let title = "Figure 12, shaded: background evictions in per cent of all paths";
        let share: Ratio<'_> = &|_, row| row.share(row.counts().background);
        let shaded = self.ratios(title, "baseline", &schemes, share, percent)?;
        Some(format!("{times}\n\n{shaded}"))
    }

    fn posmap(&self) -> Option<String> {
        let title = "Figure 14: PosMap paths in per cent of Baseline's";
        let schemes = [("ir-stash", Some(published::FIGURE_14 / 100.0))];
        let ratio: Ratio<'_> =
            &|base, row| row.counts().posmap_paths() as f64 / base.counts().posmap_paths() as f64;
        self.ratios(title, "baseline", &schemes, ratio, percent)
    }

    fn dummies(&self) -> Option<String> {
        if !self.has(&["ir-dwb"]) {
            return None;
        }
        let printed = published::FIGURE_15.map(|share| Some(share / 100.0));
        let schemes = [("baseline", printed[0]), ("ir-dwb", printed[1])];
        let title = "Figure 15: dummies in per cent of all paths";
        self.ratios(title, "baseline", &schemes, &|_, row| row.share(row.counts().dummy), percent)
    }

    fn energy(&self) -> Option<String> {
        let title = "Energy of the memory over Baseline's (section VI-F)";
        let schemes = [("ir-alloc", None), ("ir-oram", Some(1.0 - published::ENERGY / 100.0))];
        let ratio: Ratio<'_> = &|base, row| row.outcome.energy.total().0 / base.outcome.energy.total().0;
        self.ratios(title, "baseline", &schemes, ratio, two)
    }

    fn sound(&self) -> Option<String> {
        let title = "Every path is read, as obliviousness asks: speed over Baseline with every path read";
        let schemes = [("baseline", None), ("sound-alloc", None), ("sound-llc-d-alloc", None)];
        self.ratios(title, "sound-baseline", &schemes, &|base, row| base.cycles() / row.cycles(), two)
    }

    fn path_kinds(&self) -> Option<String> {
        if !self.has(&["baseline"]) {
            return None;
        }
        let mut table = markdown(&[
            "program",
            "data",
            "PosMap 1",
            "PosMap 2",
            "dummies",
            "background",
            "paths",
            "cycles a path",
        ]);
        let mut sums = [const { Vec::new() }; 5];
        for program in &self.programs {
            let Some(row) = self.row(program, "baseline") else { continue };
            let counts = row.counts();
            let posmap = |level: usize| counts.posmap.get(level).copied().unwrap_or(0);
            let shares = [counts.data, posmap(0), posmap(1), counts.dummy, counts.background]
                .map(|paths| row.share(paths));
            sums.iter_mut().zip(shares).for_each(|(sum, share)| sum.push(share));
            let mut cells = vec![(*program).to_owned()];
            cells.extend(shares.map(|share| percent(Some(share))));
            let paths = counts.paths();
            cells.extend([paths.to_string(), format!("{:.0}", row.cycles() / paths.max(1) as f64)]);
            add(&mut table, cells);
        }
        let means = sums.iter().map(|sum| percent(mean(sum)));
        add(
            &mut table,
            ["mean".to_owned()].into_iter().chain(means).chain([String::new(), String::new()]).collect(),
        );
        let [data, posmap, dummies] = published::FIGURE_2;
        let printed = [
            "the paper's".into(),
            format!("{data:.0}"),
            format!("{:.0}", posmap * 0.8),
            format!("{:.0}", posmap * 0.2),
            format!("{dummies:.0}"),
        ];
        add(&mut table, printed.into_iter().chain([const { String::new() }; 3]).collect());
        Some(format!(
            "Figure 2: kinds of Baseline's paths in per cent; paths {}\n\n{}",
            self.pace,
            rendered(&table)
        ))
    }

    fn top_hits(&self) -> Option<String> {
        let title = "Figure 6: requests in per cent whose block is in the stash or the top ten levels";
        let schemes = [("baseline", Some(published::FIGURE_6 / 100.0)), ("llc-d", None), ("ir-stash", None)];
        self.ratios(title, "baseline", &schemes, &|_, row| row.top_share(TOP), percent)
    }

    /// Rows that no figure has, of schemes that were asked for by name.
    fn plain(&self) -> Option<String> {
        if self.has(&["baseline"]) || self.rows.is_empty() {
            return None;
        }
        let mut table = markdown(&[
            "program",
            "scheme",
            "cycles",
            "paths",
            "data",
            "PosMap",
            "dummies",
            "background",
            "hits",
        ]);
        for row in &self.rows {
            let counts = row.counts();
            let hits = counts.stash_hits + counts.top_hits.iter().sum::<u64>();
            let numbers = [
                row.outcome.cycles.0,
                counts.paths(),
                counts.data,
                counts.posmap_paths(),
                counts.dummy,
                counts.background,
                hits,
            ];
            let cells = [row.program.clone(), row.scheme.clone()]
                .into_iter()
                .chain(numbers.map(|number| number.to_string()));
            add(&mut table, cells.collect());
        }
        Some(format!("Runs; paths {}\n\n{}", self.pace, rendered(&table)))
    }
}
