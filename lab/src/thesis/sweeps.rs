//! Sweeps that the thesis proposes: the block size, the bandwidth, the latency and the loss of the link.

use super::error::ThesisError;
use super::job::Job;
use super::options::Options;
use super::row::Row;
use super::run_result::RunResult;
use super::schemes::{self, SCHEMES, Scheme};
use super::trial::ORAM_BYTES;
use super::workload_runs::{workload_job, workload_trial};
use super::workloads::WORKLOADS;
use crate::bench::Progress;
use crate::prices::{self, Provider};
use crate::report::{Section, Sheet};
use ameles_store::{BitsPerSecond, LinkSpeed};
use std::time::Duration;

/// The sizes of blocks, in KiB.
const BLOCKS_KIB: [u64; 8] = [4, 16, 64, 256, 1024, 4096, 16_384, 65_536];
/// The mark of a run that trusts more than a quarter of the capacity, because no stash fits into that.
const MORE_TRUSTED: &str = " †";
/// The schemes of the sweep of blocks.
const BLOCK_SWEEP_SCHEMES: [&str; 3] = ["blocks-together", "path", "ring"];
/// The schemes of the sweep of links.
const LINK_SWEEP_SCHEMES: [&str; 2] = ["path", "ring"];
/// The size of blocks of the sweep of links, in KiB.
const LINK_BLOCKS_KIB: u64 = 256;
/// The number of bytes of a segment of TCP over Ethernet.
const SEGMENT: f64 = 1460.0;

/// A link of the sweep.
struct Link {
    name: &'static str,
    round_trip: Duration,
    /// Bandwidths up and down.
    up: BitsPerSecond,
    down: BitsPerSecond,
    /// The part of the segments that is lost.
    loss: f64,
}

const fn link(name: &'static str, millis: u64, mega_up: u64, mega_down: u64, loss: f64) -> Link {
    Link {
        name,
        round_trip: Duration::from_millis(millis),
        up: BitsPerSecond::mega(mega_up),
        down: BitsPerSecond::mega(mega_down),
        loss,
    }
}

const LINKS: [Link; 13] = [
    link("same region", 1, 10_000, 10_000, 0.0),
    link("10 Mbit/s", 24, 10, 10, 0.0),
    link("100 Mbit/s", 24, 100, 100, 0.0),
    link("510 Mbit/s", 24, 510, 510, 0.0),
    link("2 Gbit/s", 24, 2000, 2000, 0.0),
    link("5 ms", 5, 510, 510, 0.0),
    link("100 ms", 100, 510, 510, 0.0),
    link("300 ms", 300, 510, 510, 0.0),
    link("0.02 % lost", 24, 510, 510, 0.0002),
    link("0.1 % lost", 24, 510, 510, 0.001),
    link("1 % lost", 24, 510, 510, 0.01),
    link("mobile, 4G", 50, 10, 40, 0.005),
    link("home, cable", 20, 20, 200, 0.0001),
];

impl Link {
    /// The bandwidth that one connection gets under loss: Mathis, Semke, Mahdavi, Ott, "The Macroscopic Behavior of the
    /// TCP Congestion Avoidance Algorithm", 1997: `(segment / round trip) √(3/2) / √loss`.
    fn request_bandwidth(&self) -> BitsPerSecond {
        if self.loss == 0.0 {
            return BitsPerSecond(0);
        }
        let segments = (1.5 / self.loss).sqrt();
        BitsPerSecond((SEGMENT * 8.0 * segments / self.round_trip.as_secs_f64()) as u64)
    }
}

/// A workload of the thesis, with its job.
struct WorkloadJob {
    letter: &'static str,
    job: Job,
}

/// Runs the sweeps.
///
/// # Errors
/// [`ThesisError`].
pub(super) fn section(options: &Options, progress: &dyn Progress) -> Result<Section, ThesisError> {
    let workloads = if options.quick { &WORKLOADS[..1] } else { &WORKLOADS[..] };
    let jobs = workloads.iter().map(|(letter, _)| {
        let (_, job) = workload_job(options, letter)?;
        Ok(WorkloadJob { letter, job })
    });
    let jobs: Vec<WorkloadJob> = jobs.collect::<Result<_, ThesisError>>()?;
    let mut section = Section::new("sweeps", "Sweeps of blocks and links");
    let [slowdown, dollars] = block_sweep(options, &jobs, progress)?;
    section.add_table(slowdown);
    section.add_table(dollars);
    section.add_text(
        "The same 5 GiB for every size of blocks. A size is left out (–) where the objects do not fit, each in blocks of its \
         own. † trusts more than a quarter of the capacity: so few blocks need a larger share of stash.",
    );
    section.add_table(link_sweep(options, &jobs, progress)?);
    section.add_text(
        "Each connection gets (1460 bytes / round trip) √(3/2) / √loss of a link that loses segments (Mathis et al. 1997), \
         and no more than the link's bandwidth; up to 64 requests are in flight, each on a connection of its own. Without an \
         ORAM an object is one request, as in the thesis: a client that cuts large ones in parts would lose less.",
    );
    Ok(section)
}

/// Slowdown and dollars by size of blocks.
fn block_sweep(
    options: &Options,
    jobs: &[WorkloadJob],
    progress: &dyn Progress,
) -> Result<[Sheet; 2], ThesisError> {
    let letters = || jobs.iter().map(|workload| workload.letter);
    let header = || ["scheme", "block, KiB"].into_iter().chain(letters());
    let mut slowdown = Sheet::new("sweep-blocks-slowdown", "Slowdown by size of blocks:", header());
    let mut dollars = Sheet::new(
        "sweep-blocks-dollars",
        "Dollars by size of blocks, as multiples of those without an ORAM:",
        header(),
    );
    let providers = prices::thesis_providers();
    let all = (BLOCK_SWEEP_SCHEMES.len() * BLOCKS_KIB.len()) as u64;
    let runs = BLOCK_SWEEP_SCHEMES.iter().flat_map(|scheme| BLOCKS_KIB.map(|kib| (*scheme, kib)));
    for (nth, (name, kib)) in runs.enumerate() {
        progress.on_step(&format!("sweep: {name}, blocks of {kib} KiB"), nth as u64, all);
        let first = vec![name.to_owned(), kib.to_string()];
        let (mut times, mut bills) = (first.clone(), first);
        for workload in jobs {
            let row = sweep_row(options, workload, scheme_by_name(name), kib)?;
            let mark = if row.as_ref().is_some_and(trusts_more) { MORE_TRUSTED } else { "" };
            let shown = |figure: Option<f64>| {
                figure.map_or_else(|| "–".to_owned(), |figure| format!("{figure:.2}{mark}"))
            };
            times.push(shown(row.as_ref().map(Row::slowdown)));
            bills.push(shown(row.as_ref().and_then(|row| row.times_dollars(s3(&providers)))));
        }
        slowdown.rows.push(times);
        dollars.rows.push(bills);
    }
    Ok([slowdown, dollars])
}

/// Slowdown by link. The store and the application take the times of the thesis.
fn link_sweep(
    options: &Options,
    jobs: &[WorkloadJob],
    progress: &dyn Progress,
) -> Result<Sheet, ThesisError> {
    let header =
        ["scheme", "link", "round trip, ms", "Mbit/s up", "Mbit/s down", "loss, %", "a connection, Mbit/s"];
    let letters = jobs
        .iter()
        .flat_map(|workload| [format!("{}: no ORAM, s", workload.letter), workload.letter.to_owned()]);
    let caption = format!("Slowdown by link, with blocks of {LINK_BLOCKS_KIB} KiB:");
    let mut sheet = Sheet::new("sweep-links", &caption, header.map(str::to_owned).into_iter().chain(letters));
    let all = (LINK_SWEEP_SCHEMES.len() * LINKS.len()) as u64;
    let runs = LINK_SWEEP_SCHEMES.iter().flat_map(|scheme| LINKS.iter().map(move |link| (*scheme, link)));
    for (nth, (name, link)) in runs.enumerate() {
        progress.on_step(&format!("sweep: {name}, {}", link.name), nth as u64, all);
        let Link { round_trip, up, down, .. } = *link;
        let request_bandwidth = link.request_bandwidth();
        let options =
            Options { link: LinkSpeed { round_trip, up, down }, request_bandwidth, ..options.clone() };
        let mut cells = vec![
            name.to_owned(),
            link.name.to_owned(),
            round_trip.as_millis().to_string(),
            (up.0 / 1_000_000).to_string(),
            (down.0 / 1_000_000).to_string(),
            format!("{}", link.loss * 100.0),
            if request_bandwidth.0 == 0 {
                "–".to_owned()
            } else {
                format!("{:.1}", request_bandwidth.0 as f64 / 1e6)
            },
        ];
        for workload in jobs {
            let row = sweep_row(&options, workload, scheme_by_name(name), LINK_BLOCKS_KIB)?;
            match row {
                Some(row) => {
                    cells.push(format!("{:.1}", row.baseline.runtime.as_secs_f64()));
                    cells.push(format!("{:.2}", row.slowdown()));
                }
                None => cells.extend(["–".to_owned(), "–".to_owned()]),
            }
        }
        sheet.rows.push(cells);
    }
    Ok(sheet)
}

/// The run of a scheme on a job. `None` if the objects do not fit, or the scheme has no parameters for so few blocks.
fn sweep_row(
    options: &Options,
    workload: &WorkloadJob,
    scheme: &Scheme,
    kib: u64,
) -> Result<Option<Row>, ThesisError> {
    let WorkloadJob { letter, job } = workload;
    let run = |scheme: &Scheme, kib| (scheme.run)(&workload_trial(options, letter, job, scheme, kib));
    let baseline = run(&SCHEMES[0], None)?;
    let result: RunResult = match run(scheme, Some(kib)) {
        Err(ThesisError::TooSmall { .. } | ThesisError::Parameters(..)) => return Ok(None),
        result => result?,
    };
    Ok(Some(Row {
        filling: options.filling,
        seed: options.seed,
        ..Row::unprinted(letter, scheme.name, Some(kib), [result, baseline])
    }))
}

fn trusts_more(row: &Row) -> bool {
    row.result.local_bytes > ORAM_BYTES / 100 * 26
}

fn s3(providers: &[Provider]) -> &Provider {
    &providers[0]
}

fn scheme_by_name(name: &str) -> &'static Scheme {
    schemes::by_name(name).unwrap_or(&SCHEMES[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Silent;
    use crate::thesis::{Part, run};

    fn quick_job(letter: &'static str) -> (Options, WorkloadJob) {
        let options = Options { quick: true, ..Options::standard() };
        let (_, job) = workload_job(&options, letter).unwrap();
        (options, WorkloadJob { letter, job })
    }

    #[test]
    fn a_cell_of_a_sweep_is_the_run_of_the_workload() {
        let (mut options, workload) = quick_job("C");
        let cell = sweep_row(&options, &workload, scheme_by_name("ring"), 1024).unwrap().unwrap();
        (options.workloads, options.schemes) = (vec!["C".to_owned()], vec!["ring".to_owned()]);
        (options.block_bytes, options.parts) = (vec![1 << 20], vec![Part::Workloads]);
        let report = run(&options, &Silent).unwrap();
        assert_eq!((cell.result, cell.baseline), (report.rows[1].result, report.rows[1].baseline));
        assert!(
            sweep_row(&options, &workload, scheme_by_name("path"), 1 << 20).unwrap().is_none(),
            "no object fits"
        );
    }

    #[test]
    fn loss_bounds_a_connection_as_one_computes_by_hand() {
        let request_bandwidth = link("", 24, 510, 510, 0.0002).request_bandwidth().0 as f64;
        let by_hand = 1460.0 * 8.0 / 0.024 * 7500.0_f64.sqrt();
        assert!((request_bandwidth / by_hand - 1.0).abs() < 1e-6, "{request_bandwidth} {by_hand}");
        assert_eq!(link("", 24, 510, 510, 0.0).request_bandwidth(), BitsPerSecond(0));
    }

    #[test]
    fn a_lossy_link_slows_what_goes_over_one_connection() {
        let (options, workload) = quick_job("C");
        let runtime = |request_bandwidth| {
            let options = Options { request_bandwidth, ..options.clone() };
            sweep_row(&options, &workload, scheme_by_name("ring"), 1024).unwrap().unwrap().baseline.runtime
        };
        let (whole, half) = (runtime(BitsPerSecond(0)), runtime(BitsPerSecond::mega(255)));
        let bytes: u64 = workload.job.steps[workload.job.prepared..]
            .iter()
            .map(|step| step.bytes(&workload.job.sizes))
            .sum();
        let more = bytes as f64 * 8.0 * (1.0 / 255e6 - 1.0 / 510.4e6);
        assert!(((half - whole).as_secs_f64() - more).abs() < 1e-3, "{half:?} {whole:?} {more}");
    }
}
