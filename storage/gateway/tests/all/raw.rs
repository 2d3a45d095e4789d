//! Raw HTTP requests, for what a client would not send, and the answers as they were received.

use std::fmt::Display;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Headers that a test adds to a request.
pub type Headers<'a> = &'a [(&'a str, &'a str)];

/// All headers of a request.
pub type AllHeaders = [(String, String)];

/// An answer, its body without the lengths of chunks.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    /// Parses the bytes that were received until the connection ended.
    pub fn parse(answer: &[u8]) -> Self {
        let end = answer.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
        let head = std::str::from_utf8(&answer[..end]).expect("text");
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("a status");
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let mut answer = Answer { status, headers, body: answer[end + 4..].to_vec() };
        if answer.header("transfer-encoding") == Some("chunked") {
            answer.body = unchunk(&answer.body);
        }
        answer
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }

    /// The first element of this name in a body of XML.
    pub fn element(&self, name: &str) -> Option<&str> {
        let after = self.text().split_once(&format!("<{name}>"))?.1;
        Some(after.split_once(&format!("</{name}>"))?.0)
    }

    /// Status and code, such as `403 AccessDenied`; only the status if the body names no code.
    pub fn verdict(&self) -> String {
        match (self.status >= 400).then(|| self.element("Code")).flatten() {
            Some(code) => format!("{} {code}", self.status),
            None => self.status.to_string(),
        }
    }

    /// Returns the answer if this is its verdict.
    #[track_caller]
    pub fn expect(self, verdict: impl Display) -> Self {
        assert_eq!(self.verdict(), verdict.to_string(), "{}", String::from_utf8_lossy(&self.body));
        self
    }
}

/// Decodes a body that came in chunks.
fn unchunk(mut chunks: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = chunks.windows(2).position(|window| window == b"\r\n").expect("the length of a chunk");
        let length = std::str::from_utf8(&chunks[..end]).expect("text");
        let length = usize::from_str_radix(length, 16).expect("a length");
        if length == 0 {
            return body;
        }
        body.extend_from_slice(&chunks[end + 2..][..length]);
        chunks = &chunks[end + 2 + length + 2..];
    }
}

/// Sends a request on a connection of its own; the caller reads the answer from it.
pub async fn begin(
    address: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(impl AsRef<str>, impl AsRef<str>)],
    body: &[u8],
) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("connected");
    let mut head = format!("{method} {target} HTTP/1.1\r\nconnection: close\r\n");
    for (name, value) in headers {
        head += &format!("{}: {}\r\n", name.as_ref(), value.as_ref());
    }
    if !headers.iter().any(|(name, _)| name.as_ref() == "host") {
        head += &format!("host: {address}\r\n");
    }
    head += &format!("content-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await.expect("sent");
    // The server may refuse and close the connection before the whole body was sent.
    let _ = stream.write_all(body).await;
    stream
}

/// Sends a request on a connection of its own, and returns the answer.
pub async fn ask(
    address: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(impl AsRef<str>, impl AsRef<str>)],
    body: &[u8],
) -> Answer {
    let mut stream = begin(address, method, target, headers, body).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    Answer::parse(&answer)
}
