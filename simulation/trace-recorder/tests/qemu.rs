//! The recorder in the real QEMU, on a program whose misses are known. Needs `qemu-x86_64` (Debian's package
//! qemu-user) and `cc`.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use ameles_processor::trace::{Kind, Miss, packed};
use ameles_processor::units::Line;
use std::ffi::OsString;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The address at which the linker puts the lines that the program walks over.
const BUFFER: u64 = 0x1000_0000;
/// The number of lines that the program walks over.
const LINES: u64 = 8192;
/// The lines that the first-level cache holds.
const CACHED: u64 = 4096;

/// Assembles and links the program.
fn walk(folder: &Path) -> PathBuf {
    let program = folder.join("walk");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/walk.s");
    let linked = Command::new("cc")
        .args(["-nostdlib", "-static", "-no-pie", &format!("-Wl,--section-start=.bss={BUFFER:#x}"), "-o"])
        .args([&program, &source])
        .status()
        .unwrap_or_else(|error| panic!("cc cannot be started ({error}): install a C compiler"));
    assert!(linked.success(), "cc cannot link {}", source.display());
    program
}

/// The plugin, which cargo puts into the folder of the tests.
fn plugin() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.with_file_name("libameles_trace_recorder.so")
}

/// Runs the program in QEMU with the plugin's settings.
fn recorded(folder: &Path, settings: &str) -> Output {
    let mut words = OsString::from(plugin());
    words.push(settings);
    let mut qemu = Command::new("qemu-x86_64");
    qemu.arg("-plugin").arg(words).arg(walk(folder)).current_dir(folder);
    qemu.output().unwrap_or_else(|error| {
        panic!("qemu-x86_64 cannot be started ({error}): on Debian and Ubuntu, apt-get install qemu-user")
    })
}

fn trace(folder: &Path, settings: &str) -> Vec<Miss> {
    let output = recorded(folder, &format!(",out=walk.trace{settings}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let file = BufReader::new(File::open(folder.join("walk.trace")).unwrap());
    packed::read(file).unwrap().collect::<Result<_, _>>().unwrap()
}

/// All misses of the program.
fn expected() -> Vec<Miss> {
    let miss = |instructions, kind, nth: u64| Miss { instructions, kind, line: Line(BUFFER / 64 + nth) };
    // Three instructions end an iteration of a loop, and two more begin the next loop.
    let before = |nth, first| if nth == 0 { first } else { 3 };
    let loads = (0..LINES).map(|nth| miss(before(nth, 2), Kind::Load, nth));
    let stores = (0..LINES).flat_map(|nth| {
        let evicted = nth.checked_sub(CACHED).map(|nth| miss(0, Kind::Store, nth));
        [Some(miss(before(nth, 5), Kind::Store, nth)), evicted].into_iter().flatten()
    });
    loads.chain(stores).collect()
}

#[test]
fn each_miss_of_a_program_is_recorded_with_the_instructions_before_it() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(trace(folder.path(), ""), expected());
}

#[test]
fn a_recording_begins_after_the_instructions_to_skip_and_ends_with_the_misses_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    // Two instructions begin the loop, and each of its turns has four.
    let skip = 2 + 4 * 100;
    let found = trace(folder.path(), &format!(",skip={skip},misses=50"));
    let warm = |miss: &Miss| Miss { instructions: 0, ..*miss };
    let warm_up: Vec<Miss> = expected()[..=100].iter().map(warm).collect();
    assert_eq!(found, [&warm_up, &expected()[101..150]].concat());
}

#[test]
fn wrong_settings_are_refused_and_the_program_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    for (settings, why) in [
        ("", "the name of the output is missing: write out=FILE"),
        (",out=walk.trace,jump=5", "\"jump=5\" is not a setting"),
        (",out=none/walk.trace", "none/walk.trace cannot be written"),
    ] {
        let output = recorded(folder.path(), settings);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && message.contains(why), "{message}");
    }
}
