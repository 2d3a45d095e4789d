//! A row of figures: a run, and how it compares with the run without an ORAM.

use super::options::CountFilling;
use super::published::{Published, PublishedRow};
use super::run_result::RunResult;
use crate::prices::{self, Provider};
use ameles_store::Usage;
use std::time::Duration;

/// The number of bytes of a MB in the thesis.
pub(super) const MEGA: f64 = (1u64 << 20) as f64;

/// The thesis's provider, whose costs it prints.
pub(super) const THESIS_PROVIDER: &str = "IBM";

/// The run of a workload by a scheme.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The workload's letter.
    pub workload: String,
    /// The scheme.
    pub scheme: &'static str,
    /// The name under which the thesis prints this row, if it has the row.
    pub printed: Option<&'static str>,
    /// The block size in KiB; none for whole objects.
    pub block_kib: Option<u64>,
    /// The measurements of the run: requests, bytes and times.
    pub result: RunResult,
    /// The run without an ORAM and without blocks.
    pub baseline: RunResult,
    /// The slowdown over the bare link, where neither the store nor the application takes time.
    pub bare_slowdown: f64,
    /// The part of the filling that is counted.
    pub filling: CountFilling,
    /// The seed.
    pub seed: u64,
}

impl Row {
    /// A row of a run that the thesis does not print: no filling counts, and nothing was run over the bare link.
    pub(super) fn unprinted(
        workload: &str,
        scheme: &'static str,
        block_kib: Option<u64>,
        [result, baseline]: [RunResult; 2],
    ) -> Self {
        Row {
            workload: workload.to_owned(),
            scheme,
            printed: None,
            block_kib,
            result,
            baseline,
            bare_slowdown: f64::NAN,
            filling: CountFilling::Nothing,
            seed: 0,
        }
    }

    /// The cells that a row of a table begins with: the scheme and its size of blocks, which may be empty.
    pub(super) fn names(&self) -> Vec<String> {
        vec![self.scheme.to_owned(), self.block_kib.map_or_else(String::new, |kib| kib.to_string())]
    }

    /// The runtime, as a multiple of the runtime of the baseline.
    pub fn slowdown(&self) -> f64 {
        self.result.runtime.as_secs_f64() / self.baseline.runtime.as_secs_f64()
    }

    /// Requests and bytes, including the counted part of the filling.
    pub fn usage(&self) -> Usage {
        let RunResult { usage, filling, .. } = self.result;
        let (requests, bytes) = match self.filling {
            CountFilling::Nothing => (0, 0),
            CountFilling::Requests => (filling.requests, 0),
            CountFilling::All => (filling.requests, filling.bytes),
        };
        Usage { bucket_writes: usage.bucket_writes + requests, bytes_up: usage.bytes_up + bytes, ..usage }
    }

    /// The dollars of the run at a provider, storage not included.
    pub fn dollars(&self, provider: &Provider) -> f64 {
        provider.bill(&self.usage()).spent()
    }

    /// The dollars of the run, as a multiple of the dollars of the baseline; none if the baseline is free.
    pub fn times_dollars(&self, provider: &Provider) -> Option<f64> {
        let baseline = provider.bill(&self.baseline.usage).spent();
        (baseline > 0.0).then(|| self.dollars(provider) / baseline)
    }
}

/// The rows by their runs: those of one run differ only by their seeds.
pub(super) fn by_run<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<Vec<&'a Row>> {
    let mut runs: Vec<Vec<&Row>> = Vec::new();
    for row in rows {
        let is_same = |run: &&mut Vec<&Row>| {
            let first = run[0];
            (&first.workload, first.scheme, first.block_kib) == (&row.workload, row.scheme, row.block_kib)
        };
        match runs.iter_mut().find(is_same) {
            Some(run) => run.push(row),
            None => runs.push(vec![row]),
        }
    }
    runs
}

/// The printed line of a row's run.
pub(super) fn printed_line<'a>(row: &Row, printed: &'a Published) -> Option<PublishedRow<'a>> {
    match (row.printed, row.block_kib) {
        (Some(name), Some(kib)) => printed.result(&row.workload, name, kib),
        (None, None) => printed.baseline(&row.workload),
        _ => None,
    }
}

/// The dollars of a row's printed run, as a multiple of the dollars of the printed baseline. Both follow from the
/// printed requests and bytes: the multiples that the thesis prints are of bills that it rounded, some to a single
/// cent.
pub(super) fn printed_times_dollars(row: &Row, printed: &Published, provider: &Provider) -> Option<f64> {
    let spent = |line: PublishedRow<'_>| {
        let of = |name| line.number(name);
        let usage = Usage {
            slot_reads: of("downloads")? as u64,
            bucket_writes: of("uploads")? as u64,
            bytes_down: (of("mb_down")? * MEGA) as u64,
            bytes_up: (of("mb_up")? * MEGA) as u64,
            ..Usage::default()
        };
        Some(provider.bill(&usage).spent())
    };
    Some(spent(printed_line(row, printed)?)? / spent(printed.baseline(&row.workload)?)?)
}

/// The prices of the thesis's provider.
pub(super) fn thesis_provider() -> Option<Provider> {
    prices::thesis_providers().into_iter().find(|provider| provider.name == THESIS_PROVIDER)
}

/// A figure of a row.
pub(super) struct Column {
    /// The column's heading.
    pub(super) heading: &'static str,
    /// The column's name in CSV.
    pub(super) name: &'static str,
    /// The column of the thesis that prints it; empty if none does.
    pub(super) printed: &'static str,
    /// The number of digits behind the point.
    pub(super) digits: usize,
    /// The figure.
    pub(super) of: fn(&Row) -> f64,
}

const fn column(
    heading: &'static str,
    name: &'static str,
    printed: &'static str,
    digits: usize,
    of: fn(&Row) -> f64,
) -> Column {
    Column { heading, name, printed, digits, of }
}

/// The figures of the traffic and of the time.
pub(super) const TRAFFIC: [Column; 7] = [
    column("GETs", "gets", "downloads", 0, |row| row.usage().gets() as f64),
    column("PUTs", "puts", "uploads", 0, |row| row.usage().puts() as f64),
    column("MB down", "mb_down", "mb_down", 0, |row| row.usage().bytes_down as f64 / MEGA),
    column("MB up", "mb_up", "mb_up", 0, |row| row.usage().bytes_up as f64 / MEGA),
    column("runtime, s", "runtime_s", "runtime_s", 1, |row| row.result.runtime.as_secs_f64()),
    column("read, ms", "read_ms", "resp_read_ms", 0, |row| millis(row.result.read)),
    column("write, ms", "write_ms", "resp_write_ms", 0, |row| millis(row.result.write)),
];

/// The figures relative to those of the baseline, and the trusted side's share.
pub(super) const RELATIVE: [Column; 6] = [
    column("slowdown", "slowdown", "x_slowdown", 2, Row::slowdown),
    column("slowdown, bare link", "slowdown_bare", "", 2, |row| row.bare_slowdown),
    column("bytes ×", "times_bytes", "x_bandwidth", 2, |row| {
        moved(&row.usage()) / moved(&row.baseline.usage)
    }),
    column("response ×", "times_response", "x_response", 2, |row| {
        let response = |result: &RunResult| millis(result.read) + millis(result.write);
        response(&row.result) / response(&row.baseline)
    }),
    column("store, MB", "store_mb", "remote_mb", 0, |row| row.result.usage.stored_bytes as f64 / MEGA),
    column("outsource ratio", "outsource_ratio", "outsource_ratio", 1, |row| {
        5120.0 * MEGA / row.result.local_bytes as f64
    }),
];

fn moved(usage: &Usage) -> f64 {
    (usage.bytes_up + usage.bytes_down) as f64
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_with_fewer_than_four_evictions_is_short() {
        let of = |accesses, period| RunResult { accesses, period, ..RunResult::default() }.is_short();
        assert_eq!([of(191, 48), of(192, 48), of(5, 0)], [true, false, false]);
    }

    #[test]
    fn the_filling_is_counted_as_it_is_asked_for() {
        let usage = Usage { bucket_writes: 10, bytes_up: 100, bytes_down: 50, ..Usage::default() };
        let filling = super::super::run_result::FillingTraffic { requests: 7, bytes: 70 };
        let result = RunResult { usage, filling, ..RunResult::default() };
        let counted = |filling| {
            let row = Row {
                workload: "A".to_owned(),
                scheme: "ring",
                printed: None,
                block_kib: None,
                result,
                baseline: RunResult { usage, ..result },
                bare_slowdown: 1.0,
                filling,
                seed: 1,
            };
            (row.usage().puts(), row.usage().bytes_up)
        };
        assert_eq!(counted(CountFilling::Nothing), (10, 100));
        assert_eq!(counted(CountFilling::Requests), (17, 100));
        assert_eq!(counted(CountFilling::All), (17, 170));
    }

    #[test]
    fn the_thesis_s_dollars_are_multiples_of_its_traffic_and_not_of_a_rounded_cent() {
        let (printed, ibm) = (Published::tables(), thesis_provider().unwrap());
        let of = |workload: &str, scheme, kib| {
            let (result, baseline) = Default::default();
            let (workload, filling) = (workload.to_owned(), CountFilling::Requests);
            let (printed_as, block_kib) = (Some(scheme), Some(kib));
            let bare_slowdown = 1.0;
            let row = Row {
                workload,
                scheme,
                printed: printed_as,
                block_kib,
                result,
                baseline,
                bare_slowdown,
                filling,
                seed: 1,
            };
            printed_times_dollars(&row, &printed, &ibm).unwrap()
        };
        // 2541 GETs, 23,270 PUTs and 2541 MB down against 29, 77 and 29.02: 0.34 dollars against 0.0029, which is
        // printed as 0.01.
        let by_hand = (2.541 * 0.0004 + 23.270 * 0.005 + 2541.0 / 1024.0 * 0.09)
            / (0.029 * 0.0004 + 0.077 * 0.005 + 29.02 / 1024.0 * 0.09);
        assert!((of("A", "oblivistore", 1024) / by_hand - 1.0).abs() < 1e-3, "{by_hand}");
        assert!((by_hand - 115.6).abs() < 0.1 && (of("C", "oblivistore", 4096) - 86.6).abs() < 0.1);
    }
}
