//! Tests of a run of the workloads.

use super::job::QUICK_STEPS;
use super::schemes::SCHEMES;
use super::*;
use crate::bench::{Sample, Silent};
use crate::virtual_time::ServerTime;
use std::ops::Range;
use std::time::Duration;

fn quick(workload: &str, schemes: &[&str]) -> Options {
    Options {
        workloads: vec![workload.to_owned()],
        schemes: schemes.iter().map(|name| (*name).to_owned()).collect(),
        quick: true,
        ..Options::standard()
    }
}

fn csv(options: &Options) -> String {
    let mut text = Vec::new();
    run(options, &Silent).unwrap().write_csv(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_digits() {
    let options = quick("C", &["blocks", "ring-thesis", "ring", "path", "practical-os"]);
    assert_eq!(csv(&options), csv(&options));
    assert_ne!(csv(&options), csv(&Options { seed: 2, ..options.clone() }));
}

#[test]
fn several_seeds_are_rows_of_their_own_and_tables_of_medians_with_ranges() {
    let of = |seed, seeds| run(&Options { seed, seeds, ..quick("D", &["blocks"]) }, &Silent).unwrap();
    let (all, each) = (of(1, 3), [1, 2, 3].map(|seed| of(seed, 1)));
    let rows: Vec<Row> = each.iter().flat_map(|report| report.rows.clone()).collect();
    assert_eq!(all.rows, rows);
    let mut slowdowns: Vec<f64> =
        rows.iter().filter(|row| row.scheme == "blocks").map(Row::slowdown).collect();
    slowdowns.sort_by(f64::total_cmp);
    let cell = format!("{:.2} [{:.2}–{:.2}]", slowdowns[1], slowdowns[0], slowdowns[2]);
    let text = all.sections[0].text();
    assert!(text.contains("Medians over the seeds 1 to 3"), "{text}");
    assert!(text.contains(&cell), "{cell} is not in\n{text}");
}

#[test]
fn a_verdict_is_of_the_medians_and_no_lucky_draw_decides_it() {
    let mut report = run(&quick("D", &["curious-thesis"]), &Silent).unwrap();
    let row = report.rows.remove(1);
    let slow = |seconds| {
        let result = RunResult { runtime: Duration::from_secs(seconds), ..row.result };
        Row { result, baseline: RunResult { runtime: Duration::from_secs(1), ..row.baseline }, ..row.clone() }
    };
    let word = |seconds: [u64; 3]| verdicts::section(&seconds.map(slow)).text();
    // 4 is the limit of D.
    assert!(word([1, 9, 9]).contains(" impractical |"), "{}", word([1, 9, 9]));
    assert!(!word([1, 1, 9]).contains(" impractical |"), "{}", word([1, 1, 9]));
}

#[test]
fn every_scheme_does_the_whole_job() {
    let report = run(&quick("C", &[]), &Silent).unwrap();
    assert_eq!(report.rows.len(), SCHEMES.len());
    for row in &report.rows {
        assert!(row.result.runtime >= row.baseline.runtime, "{}", row.scheme);
        assert_eq!(row.result.emergencies, 0, "{}", row.scheme);
        let accesses = report.rows[1].result.accesses;
        assert!(row.block_kib.is_none() || row.result.accesses.abs_diff(accesses) <= 1, "{}", row.scheme);
    }
    let hierarchical = run(&quick("C", &["hierarchical"]), &Silent).unwrap();
    assert_eq!(hierarchical.rows[1].scheme, "hierarchical");
}

#[test]
fn the_link_alone_carries_what_whole_objects_need() {
    let mut options = quick("C", &["none"]);
    (options.server, options.application_time) = (ServerTime::default(), Some(Duration::ZERO));
    let report = run(&options, &Silent).unwrap();
    let row = &report.rows[0];
    let (_, job) = workload_runs::workload_job(&options, "C").unwrap();
    let main = &job.steps[job.prepared..];
    let bytes: u64 = main.iter().map(|step| step.bytes(&job.sizes)).sum();
    let by_hand = bytes as f64 * 8.0 / 510.4e6 + main.len() as f64 * 0.0236;
    assert!((row.result.runtime.as_secs_f64() - by_hand).abs() < 1e-3, "{:?}, {by_hand}", row.result.runtime);
    assert_eq!(row.result.usage.requests(), QUICK_STEPS as u64);
}

#[test]
fn the_stated_times_make_the_baselines_meet_the_printed_ones_in_the_median_of_many_seeds() {
    let mut off = Vec::new();
    for (letter, printed) in [("A", 10.0), ("B", 5.0), ("C", 70.0), ("D", 5.0), ("E", 47.0)] {
        let options = Options { quick: false, seeds: 20, ..quick(letter, &["none"]) };
        let rows = run(&options, &Silent).unwrap().rows;
        let seconds: Vec<f64> = rows.iter().map(|row| row.result.runtime.as_secs_f64()).collect();
        let Sample { median, .. } = Sample::of(&seconds);
        if (median / printed - 1.0).abs() > 0.2 {
            off.push(format!("{letter}: {median:.2} s, printed {printed} s"));
        }
    }
    assert!(off.is_empty(), "{}", off.join("; "));
}

#[test]
fn a_short_job_of_a_ring_oram_in_use_is_done_until_evictions_count() {
    let options = whole("D", "ring", 64 << 10);
    let result = run(&options, &Silent).unwrap().rows[1].result;
    assert!(
        result.accesses < result.period,
        "{} accesses between evictions {} apart",
        result.accesses,
        result.period
    );
    assert!(!result.is_short());
    // An access moves what its parameters predict for a long run.
    let (_, job) = workload_runs::workload_job(&options, "D").unwrap();
    let trial = workload_runs::workload_trial(&options, "D", &job, &SCHEMES[0], Some(64));
    let expected = ring_variants::parameters_for_bill(&trial).traffic();
    let slot = ((64 << 10) + 32) as f64;
    let slots = result.usage.bytes_down as f64 / slot / result.accesses as f64;
    assert!((slots / expected.slots_read - 1.0).abs() < 0.15, "{slots} slots, {}", expected.slots_read);
}

/// A whole workload over one scheme, in blocks of one size.
fn whole(letter: &str, scheme: &str, block_bytes: u64) -> Options {
    Options { block_bytes: vec![block_bytes], quick: false, ..quick(letter, &[scheme]) }
}

/// The figures that the thesis prints of a job: GETs, PUTs without those of the filling, MiB down and up, and accesses.
struct Printed {
    gets: f64,
    puts: f64,
    mib_down: f64,
    mib_up: f64,
    accesses: f64,
}

impl Printed {
    /// Asserts that our figures and those of the thesis, each for an access, have a ratio in the range.
    fn assert_matches(&self, result: &RunResult, range: Range<f64>) {
        let RunResult { usage, accesses, .. } = result;
        for (name, ours, theirs) in [
            ("GETs", usage.gets(), self.gets),
            ("PUTs", usage.puts(), self.puts),
            ("bytes down", usage.bytes_down, self.mib_down * 1_048_576.0),
            ("bytes up", usage.bytes_up, self.mib_up * 1_048_576.0),
        ] {
            let ratio = ours as f64 / *accesses as f64 / (theirs / self.accesses);
            assert!(range.contains(&ratio), "{name}: {ratio}");
        }
    }
}

#[test]
fn ring_oram_with_the_thesis_s_parameters_moves_what_the_thesis_prints_for_each_access() {
    let result = run(&whole("B", "ring-thesis", 64 << 10), &Silent).unwrap().rows[1].result;
    // Accesses of 12 buckets.
    let puts = 16_337.0 - 2.0 * 4095.0;
    let printed = Printed { gets: 31_568.0, puts, mib_down: 1521.75, mib_up: 1024.59, accesses: 662.9 };
    printed.assert_matches(&result, 0.9..1.1);
    assert_eq!(result.filling.requests, 2 * 4095);
}

#[test]
fn curious_moves_what_the_thesis_prints_for_each_access() {
    let result = run(&whole("C", "curious-thesis", 4 << 20), &Silent).unwrap().rows[1].result;
    // 2088 GETs of 5 blocks in 522 accesses, as many PUTs and one of the log; 36 trees of 40 buckets are filled.
    let puts = 2088.0 + 522.0;
    let printed = Printed { gets: 2088.0, puts, mib_down: 41_759.94, mib_up: 43_847.94, accesses: 522.0 };
    printed.assert_matches(&result, 0.98..1.02);
}

#[test]
fn the_trusted_side_of_partitions_is_its_peak() {
    let local_blocks = |scheme: &str, letter: &str| {
        run(&whole(letter, scheme, 4 << 20), &Silent).unwrap().rows[1].result.local_bytes >> 22
    };
    // A bound does not depend on the job: D has a fifth of C's accesses.
    for scheme in ["curious-thesis", "oblivistore-thesis"] {
        assert!(local_blocks(scheme, "D") < local_blocks(scheme, "C"), "{scheme}");
    }
    // 36 partitions, whose last level of 56 blocks is rebuilt in the run: its blocks, and twice as many slots.
    assert!(local_blocks("oblivistore-thesis", "C") >= 3 * 56);
}

#[test]
fn an_unknown_name_is_refused_with_the_known_ones() {
    let refused = |options: Options| run(&options, &Silent).unwrap_err().to_string();
    assert!(refused(quick("F", &[])).contains("the workload F is unknown: choose A, B, C, D, E, or a file"));
    assert!(refused(quick("A", &["rings"])).contains("blocks-together, curious-thesis"));
    let options = Options { block_bytes: vec![1000], ..quick("A", &[]) };
    assert!(refused(options).contains("the block of 1000 bytes"));
}

#[test]
fn a_file_of_cosbench_is_run_like_a_workload_of_the_thesis() {
    let text = include_str!("../../workloads/d.xml").replace("WorkloadD", "mine");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.xml");
    std::fs::write(&path, text).unwrap();
    let report = run(&quick(path.to_str().unwrap(), &["ring"]), &Silent).unwrap();
    assert_eq!((report.rows[1].workload.as_str(), report.rows[1].block_kib), ("mine", Some(1024)));
    let mut shipped = quick("D", &["ring"]);
    shipped.block_bytes = vec![1 << 20];
    assert_eq!(report.rows[1].result, run(&shipped, &Silent).unwrap().rows[1].result);
    let missing = run(&quick("missing.xml", &[]), &Silent).unwrap_err().to_string();
    assert!(missing.contains("missing.xml cannot be read"), "{missing}");
}
