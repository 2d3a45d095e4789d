//! `ameles serve` with its store in a folder, as its users run it.

use super::s3_client::S3Access;
use ameles::config::size::Size;
use object_store::aws::AmazonS3;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

pub(crate) const BUCKET: &str = "load";
const CAPACITY: &str = "512MiB";
const BLOCK_SIZE: &str = "16KiB";
/// The memory for transfers: enough for all clients at once, including a copy for each.
const TRANSFERS: &str = "128MiB";

pub(crate) struct Server {
    folder: TempDir,
    process: Child,
    s3: S3Access,
    stated_memory: u64,
}

/// The current and the peak resident memory of the process, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) resident: u64,
    pub(crate) peak: u64,
}

fn ameles(folder: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ameles"));
    command.current_dir(folder.path()).stdin(Stdio::null());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AMELES_")) {
        command.env_remove(name);
    }
    command
}

impl Server {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = ameles(&folder);
        command.args(["serve", "--capacity", CAPACITY, "--block-size", BLOCK_SIZE, "--log", "warn"]);
        command.args(["--transfer-memory", TRANSFERS]);
        command.args(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--swift", "127.0.0.1:0"]);
        let mut process = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let mut output = BufReader::new(process.stdout.take().expect("piped")).lines();
        let mut text_after = |label: &str| loop {
            let line = output.next().expect("more output").expect("text");
            if let Some((_, rest)) = line.split_once(label) {
                break rest.to_owned();
            }
        };
        let line = text_after("  whole process ");
        let (_, stated_memory) = line.split_once("at most ").expect("a bound");
        let stated_memory = stated_memory.parse::<Size>().expect("a size").0;
        let address = text_after("Serving S3 on http://");
        let address = address.split([' ', ',']).next().unwrap_or_default().to_owned();
        // The first user exists when this line is printed.
        text_after("Press Ctrl-C to stop");
        let users = folder.path().join("ameles-data/trusted/credentials.toml");
        let s3 = S3Access::for_first_user(address, &users);
        // Later output of the program must find a reader.
        std::thread::spawn(move || output.for_each(drop));
        s3.create_bucket(BUCKET).await;
        Server { folder, process, s3, stated_memory }
    }

    pub(crate) fn address(&self) -> &str {
        &self.s3.address
    }

    /// Returns a client of the bucket.
    pub(crate) fn store(&self) -> AmazonS3 {
        self.s3.client(BUCKET)
    }

    /// Returns the memory bound that the server printed at its start, in bytes.
    pub(crate) fn stated_memory(&self) -> u64 {
        self.stated_memory
    }

    pub(crate) fn memory(&self) -> Memory {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let status = status.expect("it runs");
        let kibibytes_of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
            let kibibytes: u64 = line.trim_end_matches(" kB").trim().parse().expect("a number");
            kibibytes << 10
        };
        Memory { resident: kibibytes_of("VmRSS:"), peak: kibibytes_of("VmHWM:") }
    }

    /// Stops the server as Ctrl-C does, then runs `ameles check`, which reads and authenticates the whole store.
    pub(crate) fn stop_and_check(mut self) {
        kill_process(Pid::from_child(&self.process), Signal::INT).expect("it runs");
        assert!(self.process.wait().expect("it ends").success());
        let checked = ameles(&self.folder).arg("check").output().expect("it starts");
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A failed test must leave no process running.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
