//! `ameles serve` while it runs, and what its owner's page is told.

use super::harness::TestFolder;
use super::s3_client::S3Access;
use object_store::aws::AmazonS3;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command};

/// A gateway on ports of its own.
pub(crate) struct TestServer {
    process: Child,
    s3: S3Access,
    page: String,
    cookie: String,
}

/// The page's counters of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cells {
    pub(crate) reads: Vec<u64>,
    pub(crate) writes: Vec<u64>,
}

impl TestServer {
    /// Starts `serve` with these words, and opens the page as its owner does.
    pub(crate) fn start(desk: &TestFolder, words: &str) -> Self {
        let line = format!("serve {words} --listen 127.0.0.1:0 --admin 127.0.0.1:0 --swift 127.0.0.1:0");
        Self::spawn(desk, desk.command(&line))
    }

    /// Starts this command, of a desk.
    pub(crate) fn spawn(desk: &TestFolder, command: Command) -> Self {
        Self::spawn_logging(desk, command, "warn")
    }

    /// The same, with a log of this level.
    pub(crate) fn spawn_logging(desk: &TestFolder, mut command: Command, level: &str) -> Self {
        let mut process = command.args(["--log", level]).spawn().expect("it starts");
        let mut said = BufReader::new(process.stdout.take().expect("piped")).lines();
        let mut after = |what: &str| loop {
            let line = said.next().expect("it goes on").expect("text");
            if let Some((_, rest)) = line.split_once(what) {
                break rest.split([' ', ',']).next().expect("a word").to_owned();
            }
        };
        let address = after("Serving S3 on http://");
        let file = after("The link to the owner's page is in ");
        let file = desk.path(file.trim_end_matches('.'));
        let link = std::fs::read_to_string(&file).expect("the link");
        let s3 = S3Access::of_first_user(address, &file.with_file_name("credentials.toml"));
        let (page, path) =
            link.trim().strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("a link");
        // Later output of the program must find a reader.
        std::thread::spawn(move || said.for_each(drop));
        let (page, cookie) = (page.to_owned(), String::new());
        let mut served = TestServer { process, s3, page, cookie };
        let entered = served.ask("GET", &format!("/{path}"), "");
        let cookie = entered.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
        served.cookie = cookie.split(';').next().expect("a pair").to_owned();
        served
    }

    /// A client of S3.
    pub(crate) fn s3(&self, bucket: &str) -> AmazonS3 {
        self.s3.client(bucket)
    }

    /// Makes a bucket.
    pub(crate) async fn make_bucket(&self, name: &str) {
        self.s3.make_bucket(name).await;
    }

    /// Sends a request to the page; its answer, head and body.
    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut answer = String::new();
        self.send(method, path, body).read_to_string(&mut answer).expect("an answer");
        answer
    }

    fn send(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.page).expect("connected");
        let (page, cookie, length) = (&self.page, &self.cookie, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {page}\r\ncookie: {cookie}\r\nconnection: close\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(head.as_bytes()).expect("sent");
        stream
    }

    /// Turns the switch; the answer.
    pub(crate) fn set_oblivious(&self, oblivious: bool) -> String {
        self.ask("POST", "/page/oblivious", &oblivious.to_string())
    }

    /// The figures that the page is told now.
    pub(crate) fn told(&self) -> Value {
        let lines = BufReader::new(self.send("GET", "/page/stream", "")).lines();
        let told = lines.map(|line| line.expect("text")).find_map(|line| {
            let data = line.strip_prefix("data: ")?;
            // The history comes before, as an array.
            serde_json::from_str(data).map(|told: Value| told.is_object().then_some(told)).expect("JSON")
        });
        told.expect("an event")
    }

    /// Asks it to end as Ctrl-C does; its exit code.
    pub(crate) fn stop(self) -> i32 {
        self.end_by(Signal::INT)
    }

    /// Sends it a signal that ends it; its exit code.
    pub(crate) fn end_by(mut self, signal: Signal) -> i32 {
        kill_process(Pid::from_child(&self.process), signal).expect("it runs");
        self.process.wait().expect("it ends").code().expect("it ends by itself")
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        // A test that has failed leaves nothing running.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Cells {
    /// The cells of a row such as `/store/whole`.
    pub(crate) fn of(told: &Value, row: &str) -> Self {
        let row = told.pointer(row).expect("a row");
        let cells = |name: &str| serde_json::from_value(row[name].clone()).expect("numbers");
        Cells { reads: cells("reads"), writes: cells("writes") }
    }

    /// The bytes that they have grown by.
    pub(crate) fn since(&self, earlier: &Cells) -> Cells {
        let grown =
            |now: &[u64], before: &[u64]| now.iter().zip(before).map(|(now, before)| now - before).collect();
        Cells { reads: grown(&self.reads, &earlier.reads), writes: grown(&self.writes, &earlier.writes) }
    }
}
