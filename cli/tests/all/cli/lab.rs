//! `ameles lab`: its refusals, what it says when it is interrupted, and the files that it leaves behind.

use super::harness::{TestFolder, finish};
use std::fs;
use std::io::{BufRead, BufReader};

#[test]
fn a_choice_that_cannot_be_run_is_a_usage_error_that_names_it_and_leaves_nothing() {
    let desk = TestFolder::new();
    fs::write(desk.path("bad.trace"), "10 R 0x40\n3 X 0x80\n").expect("written");
    fs::write(desk.path("garbage.trace"), b"\x7fELF").expect("written");
    fs::write(desk.path("cut.trace"), b"ameles trace v1\n\x1f\x8b").expect("written");
    let before = desk.contents();
    for (line, parts) in [
        ("--trace none.trace", ["--trace none.trace: ", "No such file"]),
        ("--trace bad.trace", ["--trace bad.trace: line 2 of the trace", "write such as"]),
        ("--trace garbage.trace", ["byte 0 is of no text", "name a trace"]),
        ("--trace cut.trace", ["the head of the packed trace (byte 0", "copy the trace again"]),
        ("--program chess", ["--program chess is unknown", "choose cc1"]),
        ("--program xz --levels 14", ["xz: the 32768 lines of the memory", "choose --levels "]),
        ("--levels 9", ["--levels: a tree of 9 levels", "choose 11 to 26"]),
        ("--set plb-ways=2048", ["plb-ways is 2048", "choose 1 to 1024"]),
        ("--part utilisation --pace free", ["does not use --csv and --pace", "leave them out"]),
        (
            "--part scaling --scheme rho --set z=10-12:1",
            ["--scheme, --csv and --set z=10-12:1", "part figures"],
        ),
        ("--pace instructions:0", ["a T of 0 instructions", "choose 1 or more"]),
        ("--part scaling --pace free,end:1000", ["and more than one rate of --pace", "leave them out"]),
    ] {
        let error = desk.fail(&format!("lab processor --out new/figures --csv figures.csv {line}"), 2);
        for part in parts {
            assert!(error.contains(part), "{line}: {part:?} is missing in\n{error}");
        }
        assert_eq!(desk.contents(), before, "{line}");
    }
    for (line, why) in [
        ("--csv none/figures.csv", "--csv none/figures.csv cannot be written: No such file"),
        ("--csv bad.trace/figures.csv", "--csv bad.trace/figures.csv cannot be written: Not a directory"),
        ("--csv .", "--csv . cannot be written: Is a directory"),
        ("--out bad.trace", "--out bad.trace cannot be written: Not a directory"),
    ] {
        let error = desk.fail(&format!("lab processor --program scan --levels 11 {line}"), 2);
        assert!(error.contains(why) && error.contains("name a "), "{line}:\n{error}");
        assert_eq!(desk.contents(), before, "{line}");
    }
    let error = desk.fail("lab processor --out .", 2);
    assert!(
        error.contains("--out .: the folder is not empty") && error.contains("name a new one"),
        "{error}"
    );
    assert_eq!(desk.contents(), before);
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_run_leaves_nothing() {
    let desk = TestFolder::new();
    let line = "lab processor --program rand --scheme baseline --levels 20 --full --out new/figures --csv figures.csv";
    let mut child = desk.command(line).spawn().expect("it starts");
    // The table of programs comes when all has been checked.
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut first = String::new();
    output.read_line(&mut first).expect("text");
    assert!(first.starts_with("## Programs"), "{first}");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    assert_ne!(finish(child).code, 0);
    assert!(desk.contents().is_empty(), "{:?}", desk.contents().keys());
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_run_in_real_time_prints_what_it_has() {
    let desk = TestFolder::new();
    let line = "lab thesis --real --workload D --scheme none,blocks,ring --server-time 0s";
    let mut child = desk.command(line).spawn().expect("it starts");
    let faults = BufReader::new(child.stderr.take().expect("a pipe"));
    // The line is about the second scheme: the first is done.
    let is_told = |line: &String| line.contains("1 of 3 done");
    assert!(faults.lines().map(|line| line.expect("text")).any(|line| is_told(&line)));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    let ended = finish(child);
    assert_eq!(ended.code, 130);
    let there = ended.said.lines().filter(|line| line.starts_with("| none ")).count();
    assert_eq!(there, 2, "a row of each table:\n{}", ended.said);
    assert!(ended.said.contains("Interrupted. Not run: "), "{}", ended.said);
}

#[test]
fn a_number_of_seeds_that_makes_no_sense_is_refused() {
    let desk = TestFolder::new();
    let error = desk.fail("lab thesis --quick --workload D --scheme none --seeds 0", 2);
    assert!(error.contains("--seeds") && error.contains("1..=1000"), "{error}");
}
