//! `ameles serve` over a folder, as its users run it.

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
/// Enough for all of them at once, each with a copy.
const TRANSFERS: &str = "128MiB";

pub(crate) struct Server {
    folder: TempDir,
    process: Child,
    s3: S3Access,
    stated: u64,
}

/// Bytes of memory that the process has, and the most that it had.
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
        let mut said = BufReader::new(process.stdout.take().expect("piped")).lines();
        let mut after = |what: &str| loop {
            let line = said.next().expect("it goes on").expect("text");
            if let Some((_, rest)) = line.split_once(what) {
                break rest.to_owned();
            }
        };
        let line = after("  whole process ");
        let (_, stated) = line.split_once("at most ").expect("a bound");
        let stated = stated.parse::<Size>().expect("a size").0;
        let address = after("Serving S3 on http://");
        let address = address.split([' ', ',']).next().unwrap_or_default().to_owned();
        // By then it has made its first user.
        after("Press Ctrl-C to stop");
        let users = folder.path().join("ameles-data/trusted/credentials.toml");
        let s3 = S3Access::of_first_user(address, &users);
        // Later output of the program must find a reader.
        std::thread::spawn(move || said.for_each(drop));
        s3.make_bucket(BUCKET).await;
        Server { folder, process, s3, stated }
    }

    pub(crate) fn address(&self) -> &str {
        &self.s3.address
    }

    /// A client.
    pub(crate) fn store(&self) -> AmazonS3 {
        self.s3.client(BUCKET)
    }

    /// The most memory that it said at its start, in bytes.
    pub(crate) fn stated(&self) -> u64 {
        self.stated
    }

    pub(crate) fn memory(&self) -> Memory {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let status = status.expect("it runs");
        let of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("Linux says so");
            let kibibytes: u64 = line.trim_end_matches(" kB").trim().parse().expect("a number");
            kibibytes << 10
        };
        Memory { resident: of("VmRSS:"), peak: of("VmHWM:") }
    }

    /// Stops it as Ctrl-C does, and has everything in the store read and authenticated.
    pub(crate) fn stop_and_check(mut self) {
        kill_process(Pid::from_child(&self.process), Signal::INT).expect("it runs");
        assert!(self.process.wait().expect("it ends").success());
        let checked = ameles(&self.folder).arg("check").output().expect("it starts");
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A test that has failed leaves nothing running.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
