//! Runs the program as its users do, in a temporary folder.

use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The longest time that a command may take.
const TIMEOUT: Duration = Duration::from_secs(600);

/// `ameles serve` on free ports.
pub(crate) const SERVE: &str = "serve --listen 127.0.0.1:0 --admin 127.0.0.1:0 --swift 127.0.0.1:0";

/// The last line that `ameles serve` prints at its start.
pub(crate) const SERVING: &str = "Press Ctrl-C to stop.";

/// A folder in which commands run.
pub(crate) struct TestFolder {
    folder: tempfile::TempDir,
}

/// The result of a command.
pub(crate) struct Finished {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl TestFolder {
    /// Creates an empty folder.
    pub(crate) fn new() -> Self {
        TestFolder { folder: tempfile::tempdir().expect("a folder") }
    }

    /// Creates a folder with a new vault of this capacity.
    pub(crate) fn with_new_vault(capacity: &str) -> Self {
        let folder = TestFolder::new();
        folder.succeed(&format!("init --capacity {capacity} --block-size 4KiB"));
        folder
    }

    /// Creates a folder with a vault of this capacity that was opened once.
    pub(crate) fn with_vault(capacity: &str) -> Self {
        let folder = Self::with_new_vault(capacity);
        folder.succeed("backup");
        folder
    }

    /// Returns the path of a file in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the command, ready to start.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new("env");
        // A shell that runs the tests in the background may ignore both signals; the command would inherit that.
        command.args(["--default-signal=INT,HUP", env!("CARGO_BIN_EXE_ameles")]);
        command.args(line.split_whitespace()).current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AMELES_")) {
            command.env_remove(name);
        }
        command
    }

    /// Runs `ameles` with these arguments and waits until it ends.
    pub(crate) fn run(&self, line: &str) -> Finished {
        self.run_with(line, &[])
    }

    /// Runs `ameles` with these arguments and environment variables, and waits until it ends.
    pub(crate) fn run_with(&self, line: &str, variables: &[(&str, &str)]) -> Finished {
        finish(self.command(line).envs(variables.iter().copied()).spawn().expect("it starts"))
    }

    /// Runs a command that must succeed; returns its standard output.
    pub(crate) fn succeed(&self, line: &str) -> String {
        self.succeed_with(line, &[])
    }

    /// Runs a command that must succeed with these environment variables; returns its standard output.
    pub(crate) fn succeed_with(&self, line: &str, variables: &[(&str, &str)]) -> String {
        let finished = self.run_with(line, variables);
        assert_eq!(finished.code, 0, "{line}: {}", finished.stderr);
        finished.stdout
    }

    /// Runs a command that must fail with this code and one clear error; returns its standard error.
    pub(crate) fn fail(&self, line: &str, code: i32) -> String {
        self.fail_with(line, &[], code)
    }

    /// Runs a command that must fail with these environment variables; see [`fail`](Self::fail).
    pub(crate) fn fail_with(&self, line: &str, variables: &[(&str, &str)], code: i32) -> String {
        let finished = self.run_with(line, variables);
        assert_eq!(finished.code, code, "{line}: {}{}", finished.stdout, finished.stderr);
        let errors = finished.stderr.lines().filter(|text| text.starts_with("error:")).count();
        assert_eq!(errors, 1, "{line}: {}", finished.stderr);
        assert!(!finished.stderr.contains("panicked"), "{line}: {}", finished.stderr);
        finished.stderr
    }

    /// Runs a command that must fail with this code, name all these parts in its error, and change no file.
    pub(crate) fn check_refusal(&self, line: &str, code: i32, parts: &[&str]) {
        let before = self.contents();
        let error = self.fail(line, code);
        for part in parts {
            assert!(error.contains(part), "{line}: {part:?} is missing in\n{error}");
        }
        assert!(self.contents() == before, "{line} changed files: {:?}", self.contents().keys());
    }

    /// Returns the contents of all files except databases: opening a database writes to it, even for a refused command.
    pub(crate) fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        collect(self.folder.path(), &mut found);
        found.retain(|path, _| path.extension().is_none_or(|extension| extension != "redb"));
        found
    }
}

/// Waits until a command ends.
pub(crate) fn finish(mut child: Child) -> Finished {
    let start = Instant::now();
    while child.try_wait().expect("its state").is_none() {
        if start.elapsed() > TIMEOUT {
            child.kill().expect("killed");
            panic!("a command did not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let Output { status, stdout, stderr } = child.wait_with_output().expect("its output");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Finished { code: status.code().unwrap_or(-1), stdout: text(stdout), stderr: text(stderr) }
}

/// Sends a signal to a running command.
pub(crate) fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("it runs");
}

/// Reads standard output until it contains `until` or ends; returns the text and the rest of the output.
pub(crate) fn read_until(child: &mut Child, until: &str) -> (String, impl Read + use<>) {
    let mut stdout = String::new();
    let mut output = BufReader::new(child.stdout.take().expect("piped"));
    while !stdout.contains(until) && output.read_line(&mut stdout).expect("text") > 0 {}
    (stdout, output)
}

/// Copies a folder and everything in it.
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
