//! The command line: its output, and its errors.

use std::path::Path;
use std::process::{Command, Output};

const CC1: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/short/cc1.trace");

const NOTICE: &str = "cc1: a memory trace of gcc 12.2.0 (GPL-3.0-or-later). The trace: MIT OR Apache-2.0.";

fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ameles-traces"))
        .args(arguments)
        .current_dir(folder)
        .env("RUST_BACKTRACE", "0")
        .output()
        .unwrap()
}

fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_trace_has_the_same_digest_in_either_format() {
    let folder = tempfile::tempdir().unwrap();
    let digest = |trace| {
        let text = printed(folder.path(), &["show", trace]);
        text.lines().find_map(|line| line.trim().strip_prefix("SHA-256 ")).unwrap().trim().to_owned()
    };
    let converted = printed(folder.path(), &["convert", CC1, "cc1.usimm"]);
    assert_eq!(
        converted,
        format!("cc1.usimm: 132768 misses\ncc1.usimm has no place for the notice: {NOTICE}\n")
    );
    assert_eq!(printed(folder.path(), &["convert", "cc1.usimm", "again"]), "again: 132768 misses\n");
    assert_eq!([digest("cc1.usimm"), digest("again")], [digest(CC1), digest(CC1)]);
    let shown = printed(folder.path(), &["show", CC1]);
    assert!(shown.contains("132768 (32768 of them warm the cache)"), "{shown}");
    assert!(shown.contains(&format!("notice        {NOTICE}")), "{shown}");
}

#[test]
fn a_packed_copy_of_a_trace_keeps_its_notice() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(printed(folder.path(), &["convert", CC1, "copy"]), "copy: 132768 misses\n");
    assert_eq!(std::fs::read(folder.path().join("copy")).unwrap(), std::fs::read(CC1).unwrap());
}

#[test]
fn a_fault_is_reported_in_a_line_with_its_place_or_what_exists() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.usimm"), "1 R 0x40 0x0\n1 Q 0x40\n").unwrap();
    std::fs::write(folder.path().join("plugin.so"), "").unwrap();
    let record = ["record", "--out", "out", "--plugin", "plugin.so", "--own"];
    for (arguments, why) in [
        (&["show", "none.trace"][..], "none.trace: the trace cannot be read: No such file"),
        (&["show", "bad.usimm"], "bad.usimm: line 2 of the trace: \"1 Q 0x40\" is not a miss"),
        (&["convert", "bad.usimm", "bad.usimm"], "bad.usimm is the trace itself"),
        (
            &[&record[..], &["plugin.so", "--only", "cc2"]].concat(),
            "\"cc2\": choose from cc1, sqlite3-insert",
        ),
        (&[&record[..], &["none", "--only", "lbm-fill"]].concat(), "none: No such file"),
    ] {
        let output = run(folder.path(), arguments);
        let message = String::from_utf8_lossy(&output.stderr).replace("\n\nCaused by:\n    ", ": ");
        assert!(!output.status.success() && message.contains(why), "{message}");
        assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    }
}
