//! `ameles lab`: its refusals, its output after an interrupt, and its files.

use super::harness::{TestFolder, finish, signal};
use rustix::process::Signal;
use std::fs;
use std::io::{BufRead, BufReader};

#[test]
fn an_impossible_choice_is_a_usage_error_that_names_it_and_changes_no_file() {
    let folder = TestFolder::new();
    fs::write(folder.path("bad.trace"), "10 R 0x40\n3 X 0x80\n").expect("written");
    let memory = include_str!("../../../../simulation/dram/src/usimm.toml");
    fs::write(folder.path("fast.toml"), memory.replace("mhz = 800", "mhz = 3201")).expect("written");
    fs::write(folder.path("short.toml"), memory.replace("t_rcd = 11\n", "")).expect("written");
    fs::write(folder.path("wide.toml"), memory.replace("block_bytes = 64", "block_bytes = 128"))
        .expect("written");
    for (line, parts) in [
        ("--program xz --cores 17", ["--cores: 17 cores are impossible", "choose 1 to 16"]),
        ("--program chess", ["--program chess is unknown", "choose cc1"]),
        ("--program xz --levels 14", ["xz: the 32768 lines of the memory", "choose --levels "]),
        ("--levels 9", ["--levels: the lab has no tree of 9 levels", "choose 11 to 26"]),
        (
            "--part figures,scaling --levels 11",
            ["--levels: the part scaling searches a tree of one level less than 11", "choose 12 to 26"],
        ),
        ("--channels 3", ["--channels: the memory is impossible", "number of channels is 3"]),
        ("--channels 1048576", ["--channels: the memory is impossible", "choose 1 to 64"]),
        ("--dram fast.toml", ["--dram: the memory is impossible", "choose 1 to 3200"]),
        (
            "--dram none.toml",
            ["--dram none.toml: No such file", "choose ddr3, ddr4, ddr5, lpddr5, hbm2, hbm3"],
        ),
        ("--dram short.toml", ["--dram short.toml: ", "in section [timing]: missing field `t_rcd`"]),
        ("--dram wide.toml", ["geometry.block_bytes is 128", "write 64"]),
        ("--dram hbm3 --channels 128", ["number of channels is 128", "choose 1 to 64"]),
        ("--dram bad.trace", ["--dram bad.trace: ", "line 1"]),
        ("--part scaling --frames virtual", ["does not use --frames", "part figures"]),
        ("--part plb --frames virtual", ["--frames", "part figures"]),
        ("--part plb --set plb-ways=2", ["--set plb-ways=2", "part figures"]),
        (
            "--set z=10-99:1",
            ["z: levels 10 to 99 are not a range of levels in memory", "10 ≤ first ≤ last ≤ 24"],
        ),
        ("--set plb-ways=2048", ["plb-ways is 2048", "choose 1 to 1024"]),
        ("--part utilisation --pace free", ["does not use --csv and --pace", "leave them out"]),
        (
            "--part scaling --scheme rho --set z=10-12:1",
            ["--scheme, --csv and --set z=10-12:1", "part figures"],
        ),
        ("--pace instructions:0", ["a T of 0 instructions", "choose 1 or more"]),
        ("--pace fetches:0", ["a T of 0 instructions", "choose 1 or more"]),
        ("--part scaling --pace free,end:1000", ["and more than one rate of --pace", "leave them out"]),
    ] {
        check_refused(&folder, line, &parts);
    }
    let error = folder.fail("lab processor --program scan --pace fetches:0", 2);
    assert_eq!(error.trim_end().lines().count(), 1, "an error is one line, without the usage: {error}");
    assert!(!error.contains("--pace instructions"), "{error}");
    for (line, why) in [
        ("--csv none/figures.csv", "--csv none/figures.csv cannot be written: No such file"),
        ("--csv bad.trace/figures.csv", "--csv bad.trace/figures.csv cannot be written: Not a directory"),
        ("--csv .", "--csv . cannot be written: Is a directory"),
        ("--out bad.trace", "--out bad.trace cannot be written: Not a directory"),
    ] {
        folder.check_refusal(
            &format!("lab processor --program scan --levels 11 {line}"),
            2,
            &[why, "name a "],
        );
    }
    let parts = ["--out .: the folder is not empty", "name a new folder"];
    folder.check_refusal("lab processor --out .", 2, &parts);
}

#[test]
fn an_unreadable_trace_is_a_usage_error_that_says_where_and_changes_no_file() {
    let folder = TestFolder::new();
    fs::write(folder.path("bad.trace"), "10 R 0x40\n3 X 0x80\n").expect("written");
    fs::write(folder.path("garbage.trace"), b"\x7fELF").expect("written");
    fs::write(folder.path("cut.trace"), b"ameles trace v1\n\x1f\x8b").expect("written");
    fs::write(folder.path("small.trace"), "0x40 write 1\n").expect("written");
    fs::write(folder.path("a,b.trace"), "3 X 0x80\n").expect("written");
    for (line, parts) in [
        ("--trace none.trace", ["--trace none.trace: ", "No such file"]),
        ("--trace a,b.trace", ["--trace a,b.trace: line 1 of the trace", "not the beginning of a trace"]),
        ("--trace bad.trace", ["--trace bad.trace: line 2 of the trace", "write for example"]),
        ("--trace garbage.trace", ["byte 0 is not text", "name a trace"]),
        ("--trace cut.trace", ["the head of the packed trace (byte 0", "copy the trace again"]),
        (
            "--trace small.trace",
            ["line 1 of the trace: \"0x40 write 1\" may be of several", "give --trace-format dramsim3 or"],
        ),
        (
            "--trace small.trace --trace-format usimm",
            ["small.trace: line 1 of the trace", "write for example \"12 R"],
        ),
        ("--trace small.trace --trace-format zip", ["--trace-format", "choose packed, usimm, champsim"]),
    ] {
        check_refused(&folder, line, &parts);
    }
}

/// Checks that a line is refused with a message of these parts.
fn check_refused(folder: &TestFolder, line: &str, parts: &[&str]) {
    folder.check_refusal(&format!("lab processor --out new/figures --csv figures.csv {line}"), 2, parts);
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_run_leaves_no_file() {
    let folder = TestFolder::new();
    let line = "lab processor --program rand --scheme baseline --levels 20 --full --out new/figures --csv figures.csv";
    let mut child = folder.command(line).spawn().expect("it starts");
    // The program prints the table of programs after its checks.
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut first = String::new();
    output.read_line(&mut first).expect("text");
    assert!(first.starts_with("## Programs"), "{first}");
    signal(&child, Signal::INT);
    assert_ne!(finish(child).code, 0);
    assert!(folder.contents().is_empty(), "{:?}", folder.contents().keys());
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_run_in_real_time_prints_its_results_so_far() {
    let folder = TestFolder::new();
    let line = "lab thesis --real --workload D --scheme none,blocks,ring --server-time 0s";
    let mut child = folder.command(line).spawn().expect("it starts");
    let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    // The first scheme is done; the line reports the second one.
    let reports_progress = |line: &String| line.contains("1 of 3 done");
    assert!(stderr.lines().map(|line| line.expect("text")).any(|line| reports_progress(&line)));
    signal(&child, Signal::INT);
    let finished = finish(child);
    assert_eq!(finished.code, 130);
    let rows = finished.stdout.lines().filter(|line| line.starts_with("| none ")).count();
    assert_eq!(rows, 2, "a row of each table:\n{}", finished.stdout);
    assert!(finished.stdout.contains("Interrupted. Not run: "), "{}", finished.stdout);
}

#[test]
fn a_number_of_seeds_out_of_range_is_refused() {
    let folder = TestFolder::new();
    let error = folder.fail("lab thesis --quick --workload D --scheme none --seeds 0", 2);
    assert!(error.contains("--seeds") && error.contains("1..=1000"), "{error}");
}
