//! A client of both servers. Each request opens a new connection.

use super::signer::{REGION, Signer};
use std::net::SocketAddr;
use time::OffsetDateTime;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub const ACCESS_KEY: &str = "AMLS";
pub const SECRET: &str = "secret";
pub const PASSWORD: &str = "password";
/// The container that holds all keys.
pub const CONTAINER: &str = "both";

/// The protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    S3,
    Swift,
}

impl Protocol {
    pub const BOTH: [Protocol; 2] = [Protocol::S3, Protocol::Swift];
}

/// The addresses of the servers, and a token for Swift.
#[derive(Clone, Debug)]
pub struct Client {
    pub s3: SocketAddr,
    pub swift: SocketAddr,
    pub token: String,
}

/// The answer to a request.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    head: String,
    pub body: Vec<u8>,
}

/// The connection ended before the end of the answer.
#[derive(Debug)]
pub struct ConnectionLost;

impl Answer {
    /// Returns the body, or `None` if the object does not exist.
    pub fn object(self) -> Option<Vec<u8>> {
        match self.status {
            200 | 206 => Some(self.body),
            404 => None,
            status => panic!("{status}: {}", String::from_utf8_lossy(&self.body)),
        }
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(header, _)| header.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

impl Client {
    /// Logs in at the Swift server.
    pub async fn log_in(s3: SocketAddr, swift: SocketAddr) -> Result<Client, ConnectionLost> {
        let headers = [("x-auth-user", "ameles:owner"), ("x-auth-key", PASSWORD)].map(owned).to_vec();
        let answer = exchange(swift, "GET", "/auth/v1.0", &headers, &[]).await?;
        let token = answer.header("x-auth-token").expect("a token").to_owned();
        Ok(Client { s3, swift, token })
    }

    pub async fn create_container(&self) -> Result<Answer, ConnectionLost> {
        self.send(Protocol::Swift, "PUT", "", &[], &[]).await
    }

    pub async fn put(&self, protocol: Protocol, key: &str, body: &[u8]) -> Result<Answer, ConnectionLost> {
        self.send(protocol, "PUT", key, &[], body).await
    }

    pub async fn get(&self, protocol: Protocol, key: &str) -> Result<Answer, ConnectionLost> {
        self.send(protocol, "GET", key, &[], &[]).await
    }

    pub async fn get_range(
        &self,
        protocol: Protocol,
        key: &str,
        first: usize,
        last: usize,
    ) -> Result<Answer, ConnectionLost> {
        self.send(protocol, "GET", key, &[("range", &format!("bytes={first}-{last}"))], &[]).await
    }

    pub async fn delete(&self, protocol: Protocol, key: &str) -> Result<Answer, ConnectionLost> {
        self.send(protocol, "DELETE", key, &[], &[]).await
    }

    pub async fn copy(&self, protocol: Protocol, from: &str, to: &str) -> Result<Answer, ConnectionLost> {
        match protocol {
            Protocol::S3 => {
                let source = format!("/{CONTAINER}/{from}");
                self.send(protocol, "PUT", to, &[("x-amz-copy-source", &source)], &[]).await
            }
            Protocol::Swift => {
                let to = format!("{CONTAINER}/{to}");
                self.send(protocol, "COPY", from, &[("destination", &to)], &[]).await
            }
        }
    }

    /// Lists all keys in order.
    pub async fn list(&self, protocol: Protocol) -> Result<Vec<String>, ConnectionLost> {
        let answer = self.send(protocol, "GET", "", &[], &[]).await?;
        let text = String::from_utf8(answer.body).expect("text");
        Ok(match (protocol, answer.status) {
            (Protocol::Swift, 200 | 204) => text.lines().map(str::to_owned).collect(),
            (Protocol::S3, 200) => {
                let keys = text.split("<Key>").skip(1);
                keys.filter_map(|rest| rest.split_once("</Key>")).map(|(key, _)| key.to_owned()).collect()
            }
            (protocol, status) => panic!("{protocol:?}: {status}: {text}"),
        })
    }

    async fn send(
        &self,
        protocol: Protocol,
        method: &str,
        key: &str,
        more: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, ConnectionLost> {
        let joint = if key.is_empty() { "" } else { "/" };
        match protocol {
            Protocol::S3 => {
                let target = format!("/{CONTAINER}{joint}{key}");
                let (date, host) = (now(), self.s3.to_string());
                let signer = Signer { access_key: ACCESS_KEY, secret: SECRET, date: &date, region: REGION };
                let headers = signer.headers(method, &target, &host, more, body);
                exchange(self.s3, method, &target, &headers, body).await
            }
            Protocol::Swift => {
                let target = format!("/v1/AUTH_ameles/{CONTAINER}{joint}{key}");
                let host = self.swift.to_string();
                let auth = [("x-auth-token", self.token.as_str()), ("host", host.as_str())];
                let headers: Vec<(String, String)> = auth.iter().chain(more).copied().map(owned).collect();
                exchange(self.swift, method, &target, &headers, body).await
            }
        }
    }
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// Returns the current time in the format of a signature.
fn now() -> String {
    let now = OffsetDateTime::now_utc();
    let (month, (hour, minute, second)) = (u8::from(now.month()), now.to_hms());
    format!("{:04}{month:02}{:02}T{hour:02}{minute:02}{second:02}Z", now.year(), now.day())
}

async fn exchange(
    address: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(String, String)],
    body: &[u8],
) -> Result<Answer, ConnectionLost> {
    let mut stream = TcpStream::connect(address).await.map_err(|_| ConnectionLost)?;
    // HTTP 1.0 has no chunked answers.
    let mut head = format!("{method} {target} HTTP/1.0\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("content-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await.map_err(|_| ConnectionLost)?;
    // The server may refuse before it has read the body.
    let _ = stream.write_all(body).await;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.map_err(|_| ConnectionLost)?;
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").ok_or(ConnectionLost)?;
    let body = answer.split_off(end + 4);
    let head = String::from_utf8(answer).expect("text");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let answer = Answer { status, head, body };
    let length = answer.header("content-length").map(|length| length.parse::<usize>().expect("a number"));
    match length {
        Some(length) if length != answer.body.len() => Err(ConnectionLost),
        _ => Ok(answer),
    }
}
