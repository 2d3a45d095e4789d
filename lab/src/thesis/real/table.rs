//! The tables of a workload in real time.

use super::both::Both;
use crate::prices;
use crate::report::{Section, Sheet};
use crate::thesis::options::CountFilling;
use crate::thesis::ran::Ran;
use crate::thesis::row::Row;
use crate::thesis::trial::Trial;

const MEGA: f64 = (1u64 << 20) as f64;

/// The section of a workload.
pub(super) fn of(letter: &str, trial: &Trial<'_>, all: &[Both]) -> Section {
    let title = format!("Workload {letter} in real time");
    let mut section = Section::new(format!("real-{}", letter.to_lowercase()), title);
    section.say(format!(
        "{} reads and writes, blocks of {} KiB, an ORAM of {} MiB, by HTTP to an S3 server on loopback behind the link. \
Requests and bytes are those at the S3 server, with a vault's checkpoints and removals; processor time is without the S3 \
server's, and a share of 100 % is one processor. Works of several workers are done one step after the other.",
        trial.job.steps.len(),
        trial.block_bytes >> 10,
        trial.oram_bytes >> 20
    ));
    section.show(metrics(letter, trial, all));
    section.show(gaps(letter, all));
    section
}

/// The metrics of the thesis.
fn metrics(letter: &str, trial: &Trial<'_>, all: &[Both]) -> Sheet {
    let header = [
        "scheme",
        "GETs",
        "PUTs",
        "MB down",
        "MB up",
        "runtime, s",
        "read, ms",
        "write, ms",
        "slowdown",
        "outsource ratio",
        "IBM, $",
        "processor, s",
        "share, %",
        "share, ×",
    ];
    let mut sheet = Sheet::new(&format!("real-{}", letter.to_lowercase()), "", header);
    let Some(baseline) = all.first() else { return sheet };
    let share = |both: &Both| both.real.processor.as_secs_f64() / both.real.ran.runtime.as_secs_f64();
    for both in all {
        let ran = both.real.ran;
        let row = Row {
            workload: letter.to_owned(),
            scheme: both.scheme,
            printed: None,
            block_kib: None,
            ran,
            baseline: baseline.real.ran,
            bare_slowdown: f64::NAN,
            filling: CountFilling::Nothing,
            seed: trial.seed,
        };
        let ibm = prices::of_the_thesis().into_iter().find(|provider| provider.name == "IBM");
        let ratio = match ran.local_bytes {
            0 => "–".to_owned(),
            local => format!("{:.1}", trial.oram_bytes as f64 / local as f64),
        };
        let seconds = |time: std::time::Duration| time.as_secs_f64();
        sheet.rows.push(vec![
            both.scheme.to_owned(),
            ran.usage.gets().to_string(),
            ran.usage.puts().to_string(),
            format!("{:.1}", ran.usage.bytes_down as f64 / MEGA),
            format!("{:.1}", ran.usage.bytes_up as f64 / MEGA),
            format!("{:.2}", seconds(ran.runtime)),
            format!("{:.0}", 1000.0 * seconds(ran.read)),
            format!("{:.0}", 1000.0 * seconds(ran.write)),
            format!("{:.2}", seconds(ran.runtime) / seconds(baseline.real.ran.runtime)),
            ratio,
            ibm.map_or_else(String::new, |ibm| format!("{:.4}", row.dollars(&ibm))),
            format!("{:.2}", seconds(both.real.processor)),
            format!("{:.1}", 100.0 * share(both)),
            format!("{:.1}", share(both) / share(baseline)),
        ]);
    }
    sheet
}

/// Real time against virtual time.
fn gaps(letter: &str, all: &[Both]) -> Sheet {
    let caption = "Real time against virtual time (bytes without those of shipped checkpoints, requests without those \
beside slots and buckets):";
    let header = [
        "scheme",
        "accesses",
        "virtual",
        "gap, %",
        "runtime, s",
        "virtual",
        "gap, %",
        "requests",
        "virtual",
        "gap, %",
        "MB",
        "virtual",
        "gap, %",
    ];
    let mut sheet = Sheet::new(&format!("gap-{}", letter.to_lowercase()), caption, header);
    for both in all {
        let computed = both.computed;
        let requests = |ran: &Ran| (ran.usage.slot_reads + ran.usage.bucket_writes) as f64;
        let moved = |ran: &Ran| (ran.usage.bytes_up + ran.usage.bytes_down) as f64 / MEGA;
        let real = both.real.ran;
        let mut cells = vec![both.scheme.to_owned()];
        for (real, computed, digits) in [
            (real.accesses as f64, computed.accesses as f64, 0),
            (real.runtime.as_secs_f64(), computed.runtime.as_secs_f64(), 2),
            (requests(&real), requests(&computed), 0),
            (moved(&real) - both.real.shipped_bytes as f64 / MEGA, moved(&computed), 1),
        ] {
            cells.push(format!("{real:.digits$}"));
            cells.push(format!("{computed:.digits$}"));
            cells.push(format!("{:+.1}", 100.0 * (real / computed - 1.0)));
        }
        sheet.rows.push(cells);
    }
    sheet
}
