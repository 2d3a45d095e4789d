//! `ameles serve` while it runs, and what its owner's page shows.

use super::harness::{SERVE, TestFolder, signal};
use super::s3_client::S3Access;
use object_store::aws::AmazonS3;
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command};

/// A running gateway on free ports.
pub(crate) struct TestServer {
    process: Child,
    s3: S3Access,
    page: String,
    cookie: String,
}

/// The counters of one row of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cells {
    pub(crate) reads: Vec<u64>,
    pub(crate) writes: Vec<u64>,
}

impl TestServer {
    /// Starts `serve` with these flags, and opens the page as its owner does.
    pub(crate) fn start(folder: &TestFolder, flags: &str) -> Self {
        Self::spawn(folder, folder.command(&format!("{SERVE} {flags}")))
    }

    /// Starts this command of the folder.
    pub(crate) fn spawn(folder: &TestFolder, command: Command) -> Self {
        Self::spawn_logging(folder, command, "warn")
    }

    /// Starts this command with a log of this level.
    pub(crate) fn spawn_logging(folder: &TestFolder, mut command: Command, level: &str) -> Self {
        let mut process = command.args(["--log", level]).spawn().expect("it starts");
        let mut stdout = BufReader::new(process.stdout.take().expect("piped")).lines();
        let mut word_after = |label: &str| loop {
            let line = stdout.next().expect("more output").expect("text");
            if let Some((_, rest)) = line.split_once(label) {
                break rest.split([' ', ',']).next().expect("a word").to_owned();
            }
        };
        let address = word_after("Serving S3 on http://");
        let file = word_after("The link to the owner's page is in ");
        let file = folder.path(file.trim_end_matches('.'));
        let link = std::fs::read_to_string(&file).expect("the link");
        let s3 = S3Access::for_first_user(address, &file.with_file_name("credentials.toml"));
        let (page, path) =
            link.trim().strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("a link");
        // Later output of the program must find a reader.
        std::thread::spawn(move || stdout.for_each(drop));
        let (page, cookie) = (page.to_owned(), String::new());
        let mut server = TestServer { process, s3, page, cookie };
        let entered = server.request("GET", &format!("/{path}"), "");
        let cookie = entered.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
        server.cookie = cookie.split(';').next().expect("a pair").to_owned();
        server
    }

    /// Returns an S3 client of this bucket.
    pub(crate) fn s3(&self, bucket: &str) -> AmazonS3 {
        self.s3.client(bucket)
    }

    /// Creates a bucket.
    pub(crate) async fn create_bucket(&self, name: &str) {
        self.s3.create_bucket(name).await;
    }

    /// Begins to put an object of this many bytes; see [`S3Access::begin_put`].
    pub(crate) async fn begin_put(&self, bucket: &str, name: &str, bytes: u64) -> tokio::net::TcpStream {
        self.s3.begin_put(bucket, name, bytes).await
    }

    /// Sends a request to the page; returns the head and the body of the answer.
    fn request(&self, method: &str, path: &str, body: &str) -> String {
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

    /// Switches the ORAM on or off; returns the answer.
    pub(crate) fn set_oblivious(&self, oblivious: bool) -> String {
        self.request("POST", "/page/oblivious", &oblivious.to_string())
    }

    /// Returns the figures that the page shows now.
    pub(crate) fn page_figures(&self) -> Value {
        let lines = BufReader::new(self.send("GET", "/page/stream", "")).lines();
        let figures = lines.map(|line| line.expect("text")).find_map(|line| {
            let data = line.strip_prefix("data: ")?;
            // The history comes first, as an array.
            serde_json::from_str(data)
                .map(|figures: Value| figures.is_object().then_some(figures))
                .expect("JSON")
        });
        figures.expect("an event")
    }

    /// Stops the server as Ctrl-C does. Returns its exit code.
    pub(crate) fn stop(self) -> i32 {
        self.stop_with(Signal::INT)
    }

    /// Stops the server with a signal. Returns its exit code.
    pub(crate) fn stop_with(mut self, name: Signal) -> i32 {
        signal(&self.process, name);
        self.process.wait().expect("it ends").code().expect("an exit code")
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        // A failed test must leave no process running.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Cells {
    /// Returns the cells of a row such as `/store/whole`.
    pub(crate) fn of(figures: &Value, row: &str) -> Self {
        let row = figures.pointer(row).expect("a row");
        let cells = |name: &str| serde_json::from_value(row[name].clone()).expect("numbers");
        Cells { reads: cells("reads"), writes: cells("writes") }
    }

    /// Returns the increase of each cell.
    pub(crate) fn changes_since(&self, earlier: &Cells) -> Cells {
        let difference =
            |now: &[u64], before: &[u64]| now.iter().zip(before).map(|(now, before)| now - before).collect();
        Cells {
            reads: difference(&self.reads, &earlier.reads),
            writes: difference(&self.writes, &earlier.writes),
        }
    }
}
