//! Clients that are slow on purpose, in virtual time: they take neither places nor connections from others.

use crate::raw::Answer;
use crate::s3::signer::{REGION, Signer};
use crate::s3::test_server::now;
use crate::test_server::user;
use ameles_gateway::auth::identity::{Role, Users};
use ameles_gateway::catalogue::ContainerSettings;
use ameles_gateway::http::listener::Listener;
use ameles_gateway::http::server::{self, serve};
use ameles_gateway::s3::S3Server;
use ameles_gateway::testing::MemoryDevice;
use ameles_gateway::{Gateway, Options};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Connections that wait to be accepted.
struct QueueListener(mpsc::UnboundedReceiver<DuplexStream>);

impl Listener for QueueListener {
    type Stream = DuplexStream;

    async fn accept(&mut self) -> io::Result<(DuplexStream, Option<IpAddr>)> {
        match self.0.recv().await {
            Some(stream) => Ok((stream, None)),
            None => std::future::pending().await,
        }
    }
}

/// A gateway whose accounts `one` and `two` each have a bucket of their own name.
struct SlowServer {
    arrivals: mpsc::UnboundedSender<DuplexStream>,
    end: oneshot::Sender<()>,
    server: JoinHandle<bool>,
}

impl SlowServer {
    async fn start(options: server::Options) -> SlowServer {
        let gateway = Gateway::open(Arc::new(MemoryDevice::new(4096, 4096, 8)), Options::default()).await;
        let gateway = gateway.expect("opened");
        let mut users = Vec::new();
        for name in ["one", "two"] {
            users.push(user(name, "owner", Role::Owner, name, "secret"));
            let created = gateway.account(name).create_container(name, ContainerSettings::default()).await;
            created.expect("made");
        }
        let (arrivals, arrived) = mpsc::unbounded_channel();
        let (end, ended) = oneshot::channel();
        let protocol = S3Server::new(gateway, Arc::new(Users::new(users).expect("two users")));
        let server = tokio::spawn(serve(QueueListener(arrived), protocol, options, async {
            let _ = ended.await;
        }));
        SlowServer { arrivals, end, server }
    }

    fn connect(&self) -> DuplexStream {
        let (client, server) = tokio::io::duplex(16 << 10);
        self.arrivals.send(server).expect("the server runs");
        client
    }

    /// Opens a connection and sends the head of a request of this account on it.
    async fn ask(&self, account: &str, method: &str, key: &str, length: usize) -> DuplexStream {
        let (date, target) = (now(), format!("/{account}/{key}"));
        let signer = Signer { access_key: account, secret: "secret", date: &date, region: REGION };
        let headers = signer.headers_over(method, &target, "gateway", &[], "UNSIGNED-PAYLOAD");
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!(
            "{method} {target} HTTP/1.1\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n"
        );
        let mut stream = self.connect();
        // The server may refuse and close the connection before the whole head was sent.
        let _ = stream.write_all(head.as_bytes()).await;
        stream
    }

    async fn stop(self) {
        let _ = self.end.send(());
        self.server.await.expect("a gentle end");
    }
}

async fn answer(mut stream: DuplexStream) -> Answer {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    Answer::parse(&answer)
}

/// Sends a byte every eight seconds for as long as the server takes them, and returns its answer.
async fn trickle(mut stream: DuplexStream) -> Answer {
    let mut answer = Vec::new();
    loop {
        let _ = stream.write_all(b"x").await;
        let pause = Duration::from_secs(8);
        if tokio::time::timeout(pause, stream.read_to_end(&mut answer)).await.is_ok() {
            return Answer::parse(&answer);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_account_with_500_connections_keeps_no_other_from_being_served_at_once() {
    let server = SlowServer::start(server::Options::default()).await;
    let started = Instant::now();
    let mut slow = Vec::new();
    for number in 0..500 {
        let stream = server.ask("one", "PUT", &number.to_string(), 1000).await;
        slow.push(tokio::spawn(trickle(stream)));
        tokio::task::yield_now().await;
    }
    for number in 0..20 {
        let mut stream = server.ask("two", "PUT", &number.to_string(), 5).await;
        stream.write_all(b"bytes").await.expect("taken");
        assert_eq!(answer(stream).await.verdict(), "200");
        assert_eq!(answer(server.ask("two", "GET", &number.to_string(), 0).await).await.text(), "bytes");
    }
    assert!(started.elapsed() < Duration::from_secs(8), "before the slow ones sent their second byte");
    let mut refused = 0;
    for one in slow {
        match one.await.expect("answered").verdict().as_str() {
            "503 SlowDown" => refused += 1,
            verdict => assert_eq!(verdict, "400 RequestTimeout"),
        }
    }
    assert!((300..450).contains(&refused), "{refused} of 500 were one too many");
    assert!(started.elapsed() < Duration::from_secs(80), "a byte each eight seconds is as good as none");
    server.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_taken_by_single_bytes_is_given_up() {
    let server = SlowServer::start(server::Options::default()).await;
    let large = vec![7; 1 << 20];
    let mut stream = server.ask("one", "PUT", "large", large.len()).await;
    stream.write_all(&large).await.expect("taken");
    assert_eq!(answer(stream).await.verdict(), "200");
    let mut stream = server.ask("one", "GET", "large", 0).await;
    let started = Instant::now();
    let mut byte = [0];
    while stream.read(&mut byte).await.is_ok_and(|bytes| bytes > 0) {
        tokio::time::sleep(Duration::from_secs(8)).await;
        if started.elapsed() > Duration::from_secs(75) {
            break;
        }
    }
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    assert!(rest.len() < large.len() / 2, "{} bytes came", rest.len());
    server.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_of_two_kibibytes_a_second_is_slow_and_served() {
    let server = SlowServer::start(server::Options::default()).await;
    let mut stream = server.ask("one", "PUT", "key", 200 << 10).await;
    let started = Instant::now();
    for _ in 0..100 {
        stream.write_all(&[7; 2 << 10]).await.expect("taken");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(answer(stream).await.verdict(), "200");
    assert!(started.elapsed() >= Duration::from_secs(100));
    server.stop().await;
}
