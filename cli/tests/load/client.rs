//! A client that knows the contents of its objects, and sends requests of every kind.

use crate::content::{Content, SmallRng};
use futures::TryStreamExt;
use object_store::aws::AmazonS3;
use object_store::path::Path;
use object_store::signer::Signer;
use object_store::{ObjectStore, ObjectStoreExt, WriteMultipart};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The number of kinds of requests.
pub(crate) const OPERATIONS: usize = 9;
/// The maximum number of small objects of a client.
const KEYS: u64 = 6;
/// A length just above S3's minimum part size.
const LARGE_LENGTH: usize = (5 << 20) + 12_345;

/// The number of requests of each kind.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) operations: BTreeMap<&'static str, u64>,
    bytes: u64,
    slowest: Duration,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Tally) {
        for (operation, count) in &other.operations {
            *self.operations.entry(operation).or_default() += count;
        }
        self.bytes += other.bytes;
        self.slowest = self.slowest.max(other.slowest);
    }

    pub(crate) fn requests(&self) -> u64 {
        self.operations.values().sum()
    }

    pub(crate) fn print(&self, time: Duration) {
        let counts: Vec<String> =
            self.operations.iter().map(|(operation, count)| format!("{count} × {operation}")).collect();
        println!("{} requests in {} s: {}", self.requests(), time.as_secs(), counts.join(", "));
        println!(
            "{:.1} MiB moved, the slowest request took {:.2} s; errors: 0, or this would not be printed",
            self.bytes as f64 / f64::from(1 << 20),
            self.slowest.as_secs_f64()
        );
    }
}

pub(crate) struct Client {
    number: u64,
    rng: SmallRng,
    store: AmazonS3,
    address: String,
    objects: BTreeMap<u64, Content>,
    puts: u64,
    pub(crate) tally: Tally,
}

impl Client {
    pub(crate) fn new(number: u64, seed: u64, store: AmazonS3, address: &str) -> Self {
        let rng = SmallRng::new(seed.wrapping_mul(1000).wrapping_add(number));
        let (objects, tally) = (BTreeMap::new(), Tally::default());
        Client { number, rng, store, address: address.to_owned(), objects, puts: 0, tally }
    }

    /// Sends requests while `continues` returns true for the number of requests so far.
    pub(crate) async fn run(mut self, continues: impl Fn(u64) -> bool) -> Self {
        while continues(self.tally.requests()) {
            let start = Instant::now();
            let operation = match self.rng.below(100) {
                // Each client with large objects puts one first: by chance alone, some runs would have none.
                _ if self.tally.requests() == 0 && self.has_large_objects() => self.put_in_parts().await,
                0..30 => self.put().await,
                30..55 => self.get().await,
                55..65 => self.get_range().await,
                65..72 => self.list().await,
                72..80 => self.delete().await,
                80..88 => self.copy().await,
                88..90 => self.put_in_parts().await,
                90..95 => self.hang_up_in_a_get().await,
                _ => self.hang_up_in_a_put().await,
            };
            self.tally.slowest = self.tally.slowest.max(start.elapsed());
            *self.tally.operations.entry(operation).or_default() += 1;
        }
        self
    }

    /// Reads and lists all objects of the client; returns their number.
    pub(crate) async fn verify(&self) -> usize {
        self.verify_list().await;
        for (key, content) in &self.objects {
            let got = self.store.get(&self.path(*key)).await.expect("there").bytes().await.expect("read");
            assert!(got == content.bytes(), "an object of client {} holds something else", self.number);
        }
        self.objects.len()
    }

    fn path(&self, key: u64) -> Path {
        Path::from(format!("client {}/{key}", self.number))
    }

    fn new_content(&mut self) -> Content {
        self.puts += 1;
        let length = match self.rng.below(4) {
            0 => self.rng.below(4_000),
            1 => self.rng.below(20_000),
            2 => 16384 * self.rng.below(4),
            _ => self.rng.below(300_000),
        };
        Content { number: self.number << 32 | self.puts, length: length as usize }
    }

    fn random_object(&mut self) -> Option<(u64, Content)> {
        let index = self.rng.next() as usize % self.objects.len().max(1);
        self.objects.iter().nth(index).map(|(key, content)| (*key, *content))
    }

    async fn put(&mut self) -> &'static str {
        let (key, content) = (self.rng.below(KEYS), self.new_content());
        self.store.put(&self.path(key), content.bytes().into()).await.expect("put");
        self.objects.insert(key, content);
        self.tally.bytes += content.length as u64;
        "put"
    }

    async fn get(&mut self) -> &'static str {
        let Some((key, content)) = self.random_object() else { return self.put().await };
        let got = self.store.get(&self.path(key)).await.expect("there").bytes().await.expect("read");
        assert!(got == content.bytes(), "an object of client {} holds something else", self.number);
        self.tally.bytes += content.length as u64;
        "get"
    }

    async fn get_range(&mut self) -> &'static str {
        let Some((key, content)) = self.random_object().filter(|(_, content)| content.length > 0) else {
            return self.put().await;
        };
        let start = self.rng.below(content.length as u64);
        let end = start + 1 + self.rng.below(content.length as u64 - start);
        let got = self.store.get_range(&self.path(key), start..end).await.expect("read");
        assert!(got == content.bytes()[start as usize..end as usize], "a range holds something else");
        self.tally.bytes += end - start;
        "get a range"
    }

    async fn list(&mut self) -> &'static str {
        self.verify_list().await;
        "list"
    }

    async fn verify_list(&self) {
        let prefix = Path::from(format!("client {}", self.number));
        let listed = self.store.list(Some(&prefix)).map_ok(|object| (object.location, object.size));
        let listed: BTreeSet<_> = listed.try_collect().await.expect("listed");
        let expected = self.objects.iter().map(|(key, content)| (self.path(*key), content.length as u64));
        assert_eq!(listed, expected.collect());
    }

    async fn delete(&mut self) -> &'static str {
        let Some((key, _)) = self.random_object() else { return self.put().await };
        self.store.delete(&self.path(key)).await.expect("deleted");
        self.objects.remove(&key);
        "delete"
    }

    async fn copy(&mut self) -> &'static str {
        let Some((from, content)) = self.random_object().filter(|(key, _)| *key != KEYS) else {
            return self.put().await;
        };
        // S3 refuses to copy an object onto itself.
        let to = (from + 1 + self.rng.below(KEYS - 1)) % KEYS;
        self.store.copy(&self.path(from), &self.path(to)).await.expect("copied");
        self.objects.insert(to, content);
        self.tally.bytes += 2 * content.length as u64;
        "copy"
    }

    /// Returns whether the client puts large objects. Only few clients do: more would fill the vault.
    fn has_large_objects(&self) -> bool {
        self.number.is_multiple_of(8)
    }

    /// Uses one key for all large objects, so that they do not fill the vault.
    async fn put_in_parts(&mut self) -> &'static str {
        if !self.has_large_objects() {
            return self.put().await;
        }
        self.puts += 1;
        let content = Content { number: self.number << 32 | self.puts, length: LARGE_LENGTH };
        let upload = self.store.put_multipart(&self.path(KEYS)).await.expect("started");
        let mut writer = WriteMultipart::new_with_chunk_size(upload, 5 << 20);
        writer.write(&content.bytes());
        writer.finish().await.expect("completed");
        self.objects.insert(KEYS, content);
        self.tally.bytes += content.length as u64;
        "put in parts"
    }

    async fn send_head(&self, method: http::Method, key: u64, headers: &str) -> TcpStream {
        let minute = Duration::from_secs(60);
        let url = self.store.signed_url(method.clone(), &self.path(key), minute).await.expect("signed");
        let (path, query) = (url.path(), url.query().expect("signed"));
        let head = format!("{method} {path}?{query} HTTP/1.1\r\nhost: {}\r\n{headers}\r\n", self.address);
        let mut stream = TcpStream::connect(&self.address).await.expect("connected");
        stream.write_all(head.as_bytes()).await.expect("sent");
        stream
    }

    async fn hang_up_in_a_get(&mut self) -> &'static str {
        let Some((key, _)) = self.random_object() else { return self.put().await };
        let mut stream = self.send_head(http::Method::GET, key, "").await;
        let mut some = [0; 100];
        stream.read_exact(&mut some).await.expect("at least the head");
        "hang up in a get"
    }

    /// The earlier object must stay, because the body is incomplete.
    async fn hang_up_in_a_put(&mut self) -> &'static str {
        let (key, content) = (self.rng.below(KEYS), self.new_content().bytes());
        let length = format!("content-length: {}\r\n", content.len() + 1);
        let mut stream = self.send_head(http::Method::PUT, key, &length).await;
        stream.write_all(&content).await.expect("sent");
        "hang up in a put"
    }
}
