//! The figures that the thesis prints.

use serde::Deserialize;

/// Tables of the thesis, as TOML.
const THESIS: &str = include_str!("../../papers/thesis.toml");

/// The printed tables.
#[derive(Clone, Debug, Deserialize)]
pub struct Published {
    baselines: Table,
    results: Table,
    derived_ring: Table,
    estimates: Table,
    git: Table,
    asymptotics: Table,
    conclusions: Conclusions,
}

/// A printed table.
#[derive(Clone, Debug, Deserialize)]
struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Cell {
    Number(f64),
    Word(String),
}

/// The conclusions of 6.1.
#[derive(Clone, Debug, Deserialize)]
struct Conclusions {
    #[serde(flatten)]
    verdicts: Table,
    home_user: HomeUser,
    email: Email,
    code: Code,
    egovernment: EGovernment,
}

/// The figures of 6.1 that the thesis calls within the realm of practicality for a home user.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct HomeUser {
    /// GB of a free offer.
    pub free_gb: f64,
    /// The number of bytes stored, as a multiple of those of the ORAM.
    pub external_overhead: f64,
    /// The response time, as a multiple of that without an ORAM.
    pub relative_response: f64,
}

/// The figures of 6.1 that the thesis calls not prohibitively expensive for attachments.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Email {
    /// The mean size of an attachment, in MB.
    pub attachment_mb: f64,
    /// The number of attachments a day.
    pub attachments_a_day: f64,
    /// The dollars a month.
    pub dollars_a_month: f64,
}

/// The figures of 6.1 for the distribution of code.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Code {
    /// The slowdown of the thesis's choice.
    pub times_slowdown: f64,
    /// The multiple of dollars that the thesis calls not prohibitive, for attachments.
    pub times_dollars: f64,
}

/// The figures of 6.1 for E-Government.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct EGovernment {
    /// The peak of the processor, in per cent, from which on a server is overloaded.
    pub cpu_peak_pct: f64,
}

/// A row of a printed table.
#[derive(Clone, Copy, Debug)]
pub struct PublishedRow<'a> {
    table: &'a Table,
    cells: &'a [Cell],
}

impl Published {
    /// The tables that are compiled in.
    ///
    /// # Panics
    /// Never: a test reads them.
    pub fn tables() -> Self {
        toml::from_str(THESIS).expect("the tables of the thesis are well formed")
    }

    /// The run of a workload without ORAM and without blocks.
    pub fn baseline(&self, workload: &str) -> Option<PublishedRow<'_>> {
        self.baselines.find(|line| line.word("workload") == Some(workload))
    }

    /// The run of a workload by a scheme (`blocks`, `oblivistore`, `curious`, `ring`) with blocks of `block_kib` KiB.
    pub fn result(&self, workload: &str, scheme: &str, block_kib: u64) -> Option<PublishedRow<'_>> {
        self.results.find(|line| {
            line.word("workload") == Some(workload)
                && line.word("scheme") == Some(scheme)
                && line.number("block_kb") == Some(block_kib as f64)
        })
    }

    /// Git in a cloud (`public`, `private`) by a scheme (`baseline`, `curious`, `oblivistore`).
    pub fn git(&self, cloud: &str, scheme: &str) -> Option<PublishedRow<'_>> {
        self.git.find(|line| line.word("scenario") == Some(cloud) && line.word("scheme") == Some(scheme))
    }

    /// The block sizes of a workload in KiB, smallest first.
    pub fn block_sizes_kib(&self, workload: &str) -> Vec<u64> {
        let of_workload = |line: &PublishedRow<'_>| {
            line.word("workload") == Some(workload) && line.word("scheme") == Some("blocks")
        };
        let lines = self.results.lines().filter(of_workload);
        let mut sizes: Vec<u64> =
            lines.filter_map(|line| line.number("block_kb")).map(|kib| kib as u64).collect();
        sizes.sort_unstable();
        sizes
    }

    /// A workload without an ORAM in blocks of `block_kib` KiB: reads, writes, MB down, MB up, dollars (Appendix B).
    pub fn estimate(&self, workload: &str, block_kib: u64) -> Option<[f64; 5]> {
        let line = self.estimates.find(|line| {
            line.word("workload") == Some(workload) && line.number("block_kb") == Some(block_kib as f64)
        })?;
        let number = |name| line.number(name);
        Some([number("reads")?, number("writes")?, number("mb_down")?, number("mb_up")?, number("cost_usd")?])
    }

    /// The overhead and the local memory of a scheme, as in Table 3.1.
    pub fn asymptotics(&self, scheme: &str) -> Option<(&str, &str)> {
        let line = self.asymptotics.find(|line| line.word("scheme") == Some(scheme))?;
        Some((line.word("overhead")?, line.word("local")?))
    }

    /// The thesis's verdict on a workload.
    pub fn verdict(&self, workload: &str) -> Option<&str> {
        self.conclusions.verdicts.find(|line| line.word("workload") == Some(workload))?.word("verdict")
    }

    /// The printed runs of a workload by the three schemes of the thesis.
    pub fn runs<'a>(&'a self, workload: &'a str) -> impl Iterator<Item = PublishedRow<'a>> {
        let is_run = move |line: &PublishedRow<'_>| {
            line.word("workload") == Some(workload) && line.word("scheme") != Some("blocks")
        };
        self.results.lines().filter(is_run)
    }

    /// The figures of 6.1 for a home user.
    pub fn home_user(&self) -> HomeUser {
        self.conclusions.home_user
    }

    /// The figures of 6.1 for attachments of mail.
    pub fn email(&self) -> Email {
        self.conclusions.email
    }

    /// The figures of 6.1 for the distribution of code.
    pub fn code_distribution(&self) -> Code {
        self.conclusions.code
    }

    /// The figures of 6.1 for E-Government.
    pub fn egovernment(&self) -> EGovernment {
        self.conclusions.egovernment
    }

    /// Buckets on a path of the thesis's Ring ORAM, and all its buckets, with blocks of `block_kib` KiB.
    pub fn ring_tree(&self, block_kib: u64) -> Option<(f64, f64)> {
        let line = self.derived_ring.find(|line| line.number("block_kb") == Some(block_kib as f64))?;
        Some((line.number("height")?, line.number("buckets")?))
    }
}

impl Table {
    fn lines(&self) -> impl Iterator<Item = PublishedRow<'_>> {
        self.rows.iter().map(|cells| PublishedRow { table: self, cells })
    }

    fn find(&self, is_it: impl Fn(&PublishedRow<'_>) -> bool) -> Option<PublishedRow<'_>> {
        self.lines().find(is_it)
    }
}

impl<'a> PublishedRow<'a> {
    fn cell(&self, column: &str) -> Option<&'a Cell> {
        let nth = self.table.columns.iter().position(|name| name == column)?;
        self.cells.get(nth)
    }

    /// The word in a column; `None` without one.
    pub fn word(&self, column: &str) -> Option<&'a str> {
        match self.cell(column)? {
            Cell::Word(word) => Some(word),
            Cell::Number(_) => None,
        }
    }

    /// The number in a column; `None` without one.
    pub fn number(&self, column: &str) -> Option<f64> {
        match self.cell(column)? {
            Cell::Number(number) => Some(*number),
            Cell::Word(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_ratios_follow_from_the_printed_columns() {
        let printed = Published::tables();
        let mut compared = 0;
        for line in printed.results.lines() {
            let base = printed.baseline(line.word("workload").unwrap()).unwrap();
            let (of, base) = (|name| line.number(name).unwrap(), |name| base.number(name).unwrap());
            for (column, ratio) in [
                ("x_slowdown", of("runtime_s") / base("runtime_s")),
                ("x_bandwidth", (of("mb_down") + of("mb_up")) / (base("mb_down") + base("mb_up"))),
                (
                    "x_response",
                    (of("resp_read_ms") + of("resp_write_ms"))
                        / (base("resp_read_ms") + base("resp_write_ms")),
                ),
            ] {
                let is = of(column);
                assert!((is - ratio).abs() <= 0.011_f64.max(0.0005 * ratio), "{column}: {is}, {ratio}");
                compared += 1;
            }
        }
        assert_eq!(compared, 3 * 60);
    }

    #[test]
    fn every_workload_has_three_block_sizes_and_a_ring_tree_for_each() {
        let printed = Published::tables();
        for workload in ["A", "B", "C", "D", "E"] {
            let sizes = printed.block_sizes_kib(workload);
            assert_eq!(sizes.len(), 3, "{workload}");
            for kib in sizes {
                assert!(printed.result(workload, "ring", kib).is_some());
                let (height, buckets) = printed.ring_tree(kib).unwrap();
                assert_eq!(buckets + 1.0, height.exp2());
            }
        }
        assert!(printed.result("A", "ring", 16).is_none());
    }
}
