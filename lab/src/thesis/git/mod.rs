//! Git over Swift: the requests of a Dulwich server for four steps, by each scheme in two clouds.

mod trace;

use super::error::ThesisError;
use super::job::QUICK_STEPS;
use super::options::Options;
use super::published::{Published, PublishedRow};
use super::row::{self, Row};
use super::run_result::RunResult;
use super::schemes::{BASELINE, SCHEMES, Scheme};
use super::table;
use super::trial::Trial;
use crate::bench::Progress;
use crate::report::{Section, Sheet};
use crate::virtual_time::{LinkModel, ServerTime};
use ameles_store::{BitsPerSecond, LinkSpeed};
use std::time::Duration;
use trace::Trace;

/// The recording that comes with the lab.
const RECORDING: &str = include_str!("../../../workloads/git.csv");

/// The schemes with their block sizes in KiB, and the names under which the thesis prints them.
const RUNS: [(&str, Option<u64>, Option<&str>); 6] = [
    (BASELINE, None, Some("baseline")),
    ("blocks", Some(16), None),
    ("curious-thesis", Some(16), Some("curious")),
    ("oblivistore-thesis", Some(64), Some("oblivistore")),
    ("ring", Some(16), None),
    ("path", Some(16), None),
];

/// The assumptions.
const ASSUMPTIONS: &str = "Requests that the recording had in flight together are sent together, in groups of the mean \
    number. A request that moves no bytes costs a request without an ORAM, and touches no block. The end of a step does not \
    wait for the pending work of a scheme. The private cloud is our choice: 1 ms, 1 Gbit/s each way, and a store that takes \
    5 ms for each request. × is the time as a multiple of that without an ORAM in the same cloud; the thesis's, of that in \
    the public one.";

/// The printed columns of the times of the steps.
const TIME_COLUMNS: [&str; 4] = ["push_repository_s", "clone_s", "push_commit_s", "pull_commit_s"];

/// The private cloud: the thesis names a virtual machine and prints no link.
fn private_cloud() -> (LinkSpeed, ServerTime) {
    let line = BitsPerSecond::mega(1000);
    let link = LinkSpeed { round_trip: Duration::from_millis(1), up: line, down: line };
    (link, ServerTime { get: Duration::from_millis(5), put: Duration::from_millis(5) })
}

/// Runs the recording by every scheme in both clouds.
///
/// # Errors
/// [`ThesisError`].
pub(super) fn section(options: &Options, progress: &dyn Progress) -> Result<Section, ThesisError> {
    let mut trace = Trace::parse(RECORDING)?;
    if options.quick {
        trace.job.truncate(QUICK_STEPS);
    }
    section_of_trace(options, progress, &trace)
}

fn section_of_trace(
    options: &Options,
    progress: &dyn Progress,
    trace: &Trace,
) -> Result<Section, ThesisError> {
    let mut section = Section::new("git", "Git (in brackets: the thesis)");
    section.add_table(requests_sheet(trace));
    section.add_text(ASSUMPTIONS);
    let clouds = [("public", (options.link, options.server)), ("private", private_cloud())];
    for (nth, (cloud, (speed, server))) in clouds.into_iter().enumerate() {
        let mut rows = Vec::new();
        for (done, (name, block_kib, _)) in RUNS.into_iter().enumerate() {
            let Some(scheme) = SCHEMES.iter().find(|scheme| scheme.name == name) else { continue };
            progress.on_step(
                &format!("Git: {name}, {cloud}"),
                (nth * RUNS.len() + done) as u64,
                2 * RUNS.len() as u64,
            );
            let model = LinkModel { speed, server, ..options.model() };
            let result = run_scheme(options, trace, scheme, block_kib, model)?;
            let baseline = rows.first().map_or(result, |row: &Row| row.result);
            rows.push(Row {
                filling: options.filling,
                seed: options.seed,
                ..Row::unprinted("git", scheme.name, block_kib, [result, baseline])
            });
        }
        section.add_table(cloud_sheet(cloud, &rows, &Published::tables()));
    }
    Ok(section)
}

fn run_scheme(
    options: &Options,
    trace: &Trace,
    scheme: &Scheme,
    block_kib: Option<u64>,
    model: LinkModel,
) -> Result<RunResult, ThesisError> {
    (scheme.run)(&Trial {
        model,
        is_single_run: true,
        has_proxy_slots: scheme.has_proxy_slots,
        ..Trial::of(&trace.job, block_kib.unwrap_or(1) << 10, options)
    })
}

/// The requests of each step.
fn requests_sheet(trace: &Trace) -> Sheet {
    let mut sheet = Sheet::new("git-requests", "Recorded:", ["step", "requests", "bytes up", "bytes down"]);
    for (step, traffic) in trace::STEPS.iter().zip(&trace.traffic_by_step) {
        let numbers = [traffic.requests, traffic.up, traffic.down].map(|number| number.to_string());
        sheet.rows.push([(*step).to_owned()].into_iter().chain(numbers).collect());
    }
    sheet
}

/// The times, slowdowns and dollars of a cloud.
fn cloud_sheet(cloud: &str, rows: &[Row], printed: &Published) -> Sheet {
    let header = ["scheme", "block, KiB"].map(str::to_owned).into_iter();
    let header = header.chain(trace::STEPS.iter().flat_map(|step| [format!("{step}, s"), "×".to_owned()]));
    let caption = format!("In a {cloud} cloud:");
    let mut sheet =
        Sheet::new(&format!("git-{cloud}"), &caption, header.chain(["accesses", "$"].map(str::to_owned)));
    let ibm = row::thesis_provider();
    for row in rows {
        let name =
            RUNS.iter().find(|run| (run.0, run.1) == (row.scheme, row.block_kib)).and_then(|run| run.2);
        let theirs = name.and_then(|name| printed.git(cloud, name));
        // The thesis compares both clouds with the public one's baseline.
        let base = printed.git("public", "baseline");
        let mut cells = row.names();
        for (step, column) in TIME_COLUMNS.into_iter().enumerate() {
            let of = |result: &RunResult| step_time(result, step).as_secs_f64();
            let of_line = |line: Option<PublishedRow<'_>>| line.and_then(|line| line.number(column));
            cells.push(with_printed(of(&row.result), of_line(theirs), 1));
            let slower = of_line(theirs).zip(of_line(base)).map(|(time, base)| time / base);
            cells.push(with_printed(of(&row.result) / of(&row.baseline), slower, 2));
        }
        cells.push(row.result.accesses.to_string());
        let dollars = ibm.as_ref().map_or(f64::NAN, |ibm| row.dollars(ibm));
        cells.push(with_printed(dollars, theirs.and_then(|line| line.number("cost_usd")), 2));
        sheet.rows.push(cells);
    }
    sheet
}

/// The time of a step.
fn step_time(result: &RunResult, step: usize) -> Duration {
    let begin = step.checked_sub(1).map_or(Duration::ZERO, |before| result.step_times[before]);
    result.step_times[step].saturating_sub(begin)
}

fn with_printed(ours: f64, theirs: Option<f64>, digits: usize) -> String {
    // A step that was cut off has no time, and no slowdown.
    if !ours.is_finite() {
        return "–".to_owned();
    }
    table::bracketed(format!("{ours:.digits$}"), theirs, digits)
}

#[cfg(test)]
mod tests;
