//! The figures of `ameles status`: nothing else depends on the file in which they are left.

use super::harness::{Ended, TestFolder};
use super::migrate::serve_and_stop;

/// A vault that was open once.
fn vault() -> TestFolder {
    let desk = TestFolder::new();
    desk.succeed("init --capacity 1MiB --block-size 4KiB");
    desk.succeed("backup");
    desk
}

/// The warnings that name the file of the figures.
fn warnings_of(ended: &Ended) -> Vec<&str> {
    ended.complained.lines().filter(|line| line.contains("WARN") && line.contains("status.json")).collect()
}

#[test]
fn figures_that_make_no_sense_are_warned_of_in_a_line_and_begun_anew() {
    for garbled in ["", "{\"taken_at\": 1", "something else entirely"] {
        let desk = vault();
        let file = desk.path("ameles-data/trusted/status.json");
        std::fs::write(&file, garbled).expect("written");
        let told = desk.fail("status", 1);
        assert!(told.contains("status.json is damaged; the next `ameles serve` rewrites it"), "{told}");
        let backup = desk.run("backup");
        assert_eq!((backup.code, warnings_of(&backup).len()), (0, 1), "{}", backup.complained);
        let served = serve_and_stop(&desk, "", "Press Ctrl-C to stop.");
        assert_eq!((served.code, warnings_of(&served).len()), (0, 1), "{}", served.complained);
        desk.succeed("status");
    }
}

/// As a full disk, or one that became read-only, would have it.
#[test]
fn figures_that_cannot_be_written_end_no_command() {
    let desk = vault();
    let file = desk.path("ameles-data/trusted/status.json");
    std::fs::remove_file(&file).expect("removed");
    for file in [&file, &desk.path("ameles-data/trusted/page-link")] {
        std::fs::create_dir(file).expect("a folder in its place");
    }
    for command in ["backup", "check"] {
        let ended = desk.run(command);
        assert_eq!((ended.code, warnings_of(&ended).len()), (0, 1), "{command}: {}", ended.complained);
    }
    let served = serve_and_stop(&desk, "", "Press Ctrl-C to stop.");
    assert_eq!(served.code, 0, "{}", served.complained);
    // It writes them at the start and at the end, at least.
    for file in ["status.json", "page-link"] {
        let cannot = served.complained.matches(&format!("{file} cannot be written")).count();
        assert_eq!(cannot, 1, "{}", served.complained);
    }
    assert!(served.complained.contains("free some space"), "{}", served.complained);
}
