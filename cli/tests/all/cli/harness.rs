//! Runs the program as its users do, in a folder of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The time that a command may take before it counts as hung.
const PATIENCE: Duration = Duration::from_secs(600);

/// A folder in which commands run.
pub(crate) struct TestFolder {
    folder: tempfile::TempDir,
}

/// The end of a command.
pub(crate) struct Ended {
    /// Its exit code.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) said: String,
    /// Standard error.
    pub(crate) complained: String,
}

impl TestFolder {
    /// An empty one.
    pub(crate) fn new() -> Self {
        TestFolder { folder: tempfile::tempdir().expect("a folder") }
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The command, ready to be started.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new("env");
        // A shell that runs the tests in the background may ignore both, and the command would inherit that.
        command.args(["--default-signal=INT,HUP", env!("CARGO_BIN_EXE_ameles")]);
        command.args(line.split_whitespace()).current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AMELES_")) {
            command.env_remove(name);
        }
        command
    }

    /// Runs `ameles` with these words to its end.
    pub(crate) fn run(&self, line: &str) -> Ended {
        finish(self.command(line).spawn().expect("it starts"))
    }

    /// Runs what must succeed, and returns what it said.
    pub(crate) fn succeed(&self, line: &str) -> String {
        let ended = self.run(line);
        assert_eq!(ended.code, 0, "{line}: {}", ended.complained);
        ended.said
    }

    /// Runs what must fail with this code and one clear error, and returns that.
    pub(crate) fn fail(&self, line: &str, code: i32) -> String {
        let ended = self.run(line);
        assert_eq!(ended.code, code, "{line}: {}{}", ended.said, ended.complained);
        let errors = ended.complained.lines().filter(|text| text.starts_with("error:")).count();
        assert_eq!(errors, 1, "{line}: {}", ended.complained);
        assert!(!ended.complained.contains("panicked"), "{line}: {}", ended.complained);
        ended.complained
    }

    /// Everything in it, down to the bytes, but for the database: opening that writes to it, refused or not.
    pub(crate) fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        collect(self.folder.path(), &mut found);
        found.retain(|path, _| path.extension().is_none_or(|extension| extension != "redb"));
        found
    }
}

/// Waits for the end of a command.
pub(crate) fn finish(mut child: Child) -> Ended {
    let begun = Instant::now();
    while child.try_wait().expect("its state").is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill().expect("killed");
            panic!("a command did not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let Output { status, stdout, stderr } = child.wait_with_output().expect("its output");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Ended { code: status.code().unwrap_or(-1), said: text(stdout), complained: text(stderr) }
}

/// Copies a folder with all that is in it.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let copy = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy_folder(&path, &copy);
        } else {
            std::fs::copy(&path, &copy).expect("copied");
        }
    }
}

fn collect(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.insert(path.clone(), Vec::new());
            collect(&path, found);
        } else {
            let bytes = std::fs::read(&path).expect("a file");
            found.insert(path, bytes);
        }
    }
}
