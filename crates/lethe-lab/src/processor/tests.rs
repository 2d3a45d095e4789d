//! The lab from end to end, on a small tree.

use super::*;
use crate::bench::Silent;
use std::fs;

fn options(programs: &[&str], schemes: &[&str]) -> Options {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Options {
        levels: 18,
        programs: names(programs),
        schemes: names(schemes),
        misses: 300,
        threads: 2,
        ..Options::quick()
    }
}

fn csv(options: &Options) -> String {
    let report = run(options, &Silent).unwrap();
    let mut csv = Vec::new();
    report.write_csv(&mut csv).unwrap();
    String::from_utf8(csv).unwrap()
}

#[test]
fn three_short_traces_come_to_the_digits_that_were_kept() {
    let found = csv(&options(&["cc1", "xz", "recommender"], &["baseline", "ir-oram", "llc-d"]));
    assert_eq!(
        found,
        include_str!("golden.csv"),
        "the simulation has changed: see what did, then keep the new digits"
    );
}

#[test]
fn the_number_of_threads_changes_no_digit_and_the_seed_does() {
    let two = options(&["zipf", "picosat"], &["baseline"]);
    let one = Options { threads: 1, ..two.clone() };
    assert_eq!(csv(&two), csv(&one));
    assert_ne!(csv(&two), csv(&Options { seed: 2, ..two.clone() }));
}

#[test]
fn a_trace_in_usimm_s_text_runs_and_a_bad_one_is_one_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.trace");
    let trace = Options { trace: Some(path.clone()), ..options(&[], &["baseline"]) };
    fs::write(&path, "10 R 0x7fff0040 0x400000\n3 W 0x10000\n").unwrap();
    assert!(csv(&trace).lines().nth(1).unwrap().starts_with("mine,baseline,end:1000,"));
    fs::write(&path, "10 R 0x7fff0040 0x400000\n3 X 0x10000\n").unwrap();
    let said = run(&trace, &Silent).err().unwrap().to_string();
    assert!(said.contains("mine.trace") && said.contains("line 2"), "{said}");
}

#[test]
fn a_name_that_is_unknown_is_refused_with_those_that_there_are() {
    let said = run(&options(&["chess"], &[]), &Silent).err().unwrap().to_string();
    assert!(said.contains("program chess is unknown: choose cc1"), "{said}");
}
