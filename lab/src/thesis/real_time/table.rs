//! The tables of a workload in real time.

use super::real_and_virtual::RealAndVirtual;
use crate::prices;
use crate::report::{Section, Sheet};
use crate::thesis::row::{MEGA, Row};
use crate::thesis::run_result::RunResult;
use crate::thesis::trial::Trial;

/// Makes the report's section about a workload.
pub(super) fn workload_section(letter: &str, trial: &Trial<'_>, all: &[RealAndVirtual]) -> Section {
    let title = format!("Workload {letter} in real time");
    let mut section = Section::new(format!("real-{}", letter.to_lowercase()), title);
    section.add_text(format!(
        "{} reads and writes, blocks of {} KiB, an ORAM of {} MiB, by HTTP to an S3 server on loopback behind the link. \
Requests and bytes are those at the S3 server, with a vault's checkpoints and removals; processor time is without the S3 \
server's, and a share of 100 % is one processor. Works of several workers are done one step after the other.",
        trial.job.steps.len(),
        trial.block_bytes >> 10,
        trial.oram_bytes >> 20
    ));
    section.add_table(metrics(letter, trial, all));
    section.add_table(gaps(letter, all));
    section
}

/// The metrics of the thesis.
fn metrics(letter: &str, trial: &Trial<'_>, all: &[RealAndVirtual]) -> Sheet {
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
    let share =
        |pair: &RealAndVirtual| pair.real.processor.as_secs_f64() / pair.real.result.runtime.as_secs_f64();
    for pair in all {
        let result = pair.real.result;
        let row = Row::unprinted(letter, pair.scheme, None, [result, baseline.real.result]);
        let ibm = prices::thesis_providers().into_iter().find(|provider| provider.name == "IBM");
        let ratio = match result.local_bytes {
            0 => "–".to_owned(),
            local => format!("{:.1}", trial.oram_bytes as f64 / local as f64),
        };
        let seconds = |time: std::time::Duration| time.as_secs_f64();
        sheet.rows.push(vec![
            pair.scheme.to_owned(),
            result.usage.gets().to_string(),
            result.usage.puts().to_string(),
            format!("{:.1}", result.usage.bytes_down as f64 / MEGA),
            format!("{:.1}", result.usage.bytes_up as f64 / MEGA),
            format!("{:.2}", seconds(result.runtime)),
            format!("{:.0}", 1000.0 * seconds(result.read)),
            format!("{:.0}", 1000.0 * seconds(result.write)),
            format!("{:.2}", seconds(result.runtime) / seconds(baseline.real.result.runtime)),
            ratio,
            ibm.map_or_else(String::new, |ibm| format!("{:.4}", row.dollars(&ibm))),
            format!("{:.2}", seconds(pair.real.processor)),
            format!("{:.1}", 100.0 * share(pair)),
            format!("{:.1}", share(pair) / share(baseline)),
        ]);
    }
    sheet
}

/// Real time against virtual time.
fn gaps(letter: &str, all: &[RealAndVirtual]) -> Sheet {
    let caption = "Real time against virtual time (bytes without those of shipped checkpoints, requests only \
of slots and buckets):";
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
    for pair in all {
        let simulated = pair.simulated;
        let requests = |result: &RunResult| (result.usage.slot_reads + result.usage.bucket_writes) as f64;
        let moved = |result: &RunResult| (result.usage.bytes_up + result.usage.bytes_down) as f64 / MEGA;
        let real = pair.real.result;
        let mut cells = vec![pair.scheme.to_owned()];
        for (real, simulated, digits) in [
            (real.accesses as f64, simulated.accesses as f64, 0),
            (real.runtime.as_secs_f64(), simulated.runtime.as_secs_f64(), 2),
            (requests(&real), requests(&simulated), 0),
            (moved(&real) - pair.real.shipped_bytes as f64 / MEGA, moved(&simulated), 1),
        ] {
            cells.push(format!("{real:.digits$}"));
            cells.push(format!("{simulated:.digits$}"));
            cells.push(format!("{:+.1}", 100.0 * (real / simulated - 1.0)));
        }
        sheet.rows.push(cells);
    }
    sheet
}
