//! The file with the figures of `ameles status`: nothing else depends on it.

use super::harness::{Finished, SERVING, TestFolder};
use super::migrate::serve_and_stop;

/// Returns the warnings that name the file of figures.
fn warnings_of(finished: &Finished) -> Vec<&str> {
    finished.stderr.lines().filter(|line| line.contains("WARN") && line.contains("status.json")).collect()
}

#[test]
fn a_damaged_file_of_figures_causes_one_warning_and_is_rewritten() {
    for damaged in ["", "{\"taken_at\": 1", "something else entirely"] {
        let folder = TestFolder::with_vault("1MiB");
        let file = folder.path("ameles-data/trusted/status.json");
        std::fs::write(&file, damaged).expect("written");
        let error = folder.fail("status", 1);
        assert!(error.contains("status.json is damaged; the next `ameles serve` rewrites it"), "{error}");
        let backup = folder.run("backup");
        assert_eq!((backup.code, warnings_of(&backup).len()), (0, 1), "{}", backup.stderr);
        let server = serve_and_stop(&folder, "", SERVING);
        assert_eq!((server.code, warnings_of(&server).len()), (0, 1), "{}", server.stderr);
        folder.succeed("status");
    }
}

/// The same happens on a disk that is full or read-only.
#[test]
fn a_file_of_figures_that_cannot_be_written_fails_no_command() {
    let folder = TestFolder::with_vault("1MiB");
    let file = folder.path("ameles-data/trusted/status.json");
    std::fs::remove_file(&file).expect("removed");
    for file in [&file, &folder.path("ameles-data/trusted/page-link")] {
        std::fs::create_dir(file).expect("a folder in its place");
    }
    for command in ["backup", "check"] {
        let finished = folder.run(command);
        assert_eq!((finished.code, warnings_of(&finished).len()), (0, 1), "{command}: {}", finished.stderr);
    }
    let server = serve_and_stop(&folder, "", SERVING);
    assert_eq!(server.code, 0, "{}", server.stderr);
    // `serve` writes both files at least at its start and at its end.
    for file in ["status.json", "page-link"] {
        let cannot = server.stderr.matches(&format!("{file} cannot be written")).count();
        assert_eq!(cannot, 1, "{}", server.stderr);
    }
    assert!(server.stderr.contains("free some space"), "{}", server.stderr);
}
