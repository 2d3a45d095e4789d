//! TLS: a real client, a certificate that is renewed while the server runs, and pairs that the server cannot use.

use crate::test_server::{TestServer, body, start, within};
use ameles_gateway::http::server::{self, Limits};
use ameles_gateway::{Tls, TlsError};
use object_store::aws::AmazonS3;
use object_store::path::Path;
use object_store::{Certificate, ClientOptions, ObjectStoreExt};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A self-signed certificate and its key, in files.
struct Files {
    folder: TempDir,
}

/// The certificate that a client needs in order to trust the server.
type Pem = String;

impl Files {
    fn new() -> Self {
        Files { folder: tempfile::tempdir().expect("a folder") }
    }

    fn certificate(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    fn write_certificate(&self, text: &str) {
        fs::write(self.certificate(), text).expect("written");
    }

    fn write_key(&self, text: &str) {
        fs::write(self.key(), text).expect("written");
        self.set_mode(0o640);
    }

    fn set_mode(&self, mode: u32) {
        fs::set_permissions(self.key(), Permissions::from_mode(mode)).expect("changed");
    }

    /// Creates a new pair, valid from one year to another.
    fn renew(&self, from: i32, to: i32) -> Pem {
        let (certificate, key) = pair(from, to);
        self.write_certificate(&certificate);
        self.write_key(&key);
        certificate
    }

    fn load(&self) -> Result<Tls, TlsError> {
        Tls::load(&self.certificate(), &self.key())
    }
}

fn pair(from: i32, to: i32) -> (Pem, String) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec!["127.0.0.1".into()]).expect("a name");
    params.not_before = date_time_ymd(from, 1, 1);
    params.not_after = date_time_ymd(to, 1, 1);
    (params.self_signed(&key).expect("signed").pem(), key.serialize_pem())
}

async fn start_over(tls: &Tls) -> TestServer {
    start(server::Options { tls: Some(tls.clone()), ..Default::default() }).await
}

fn client_that_trusts(server: &TestServer, pem: &str) -> AmazonS3 {
    let certificate = Certificate::from_pem(pem.as_bytes()).expect("a certificate");
    let options = ClientOptions::new().with_root_certificate(certificate);
    server.builder().with_client_options(options).build().expect("a client")
}

#[tokio::test]
async fn a_client_that_trusts_the_certificate_is_served_and_another_is_not() {
    let files = Files::new();
    let pem = files.renew(2000, 4000);
    let server = start_over(&files.load().expect("a pair")).await;
    let client = client_that_trusts(&server, &pem);
    let (path, content) = (Path::from("key"), body(3 << 20));
    client.put(&path, content.clone().into()).await.expect("put");
    assert!(client.get(&path).await.expect("got").bytes().await.expect("read") == content);
    server.client().get(&path).await.expect_err("nobody vouches for the certificate");
    server.stop().await;
}

#[tokio::test]
async fn a_renewed_certificate_is_served_without_a_restart_and_a_bad_one_is_not() {
    let files = Files::new();
    let old = files.renew(2000, 4000);
    let tls = files.load().expect("a pair");
    let server = start_over(&tls).await;
    let path = Path::from("key");
    client_that_trusts(&server, &old).put(&path, body(10).into()).await.expect("put");

    let new = files.renew(2000, 4000);
    client_that_trusts(&server, &old).get(&path).await.expect("not renewed yet");
    tls.reload().expect("a pair");
    client_that_trusts(&server, &new).get(&path).await.expect("renewed");
    client_that_trusts(&server, &old).get(&path).await.expect_err("another certificate");

    let (_, foreign) = pair(2000, 4000);
    files.write_key(&foreign);
    assert!(matches!(tls.reload(), Err(TlsError::Mismatch { .. })));
    client_that_trusts(&server, &new).get(&path).await.expect("as before");
    server.stop().await;
}

#[tokio::test]
async fn a_pair_that_cannot_be_served_with_is_refused_with_its_reason() {
    let files = Files::new();
    let refusal = |files: &Files| files.load().expect_err("refused").to_string();
    let named = |path: PathBuf| path.display().to_string();
    assert!(refusal(&files).contains(&format!("{} cannot be read", named(files.certificate()))));

    files.renew(2000, 2001);
    let text = refusal(&files);
    assert!(
        text.contains("is valid from Jan") && text.contains("2001") && text.contains("renew it"),
        "{text}"
    );
    files.renew(3999, 4000);
    assert!(matches!(files.load(), Err(TlsError::OutOfDate { .. })));

    let pem = files.renew(2000, 4000);
    files.set_mode(0o644);
    assert!(refusal(&files).contains("has mode 0644") && refusal(&files).contains("chmod o="));
    files.set_mode(0o640);
    files.load().expect("the group may read it");

    files.write_key(&pem);
    assert!(refusal(&files).contains(&format!("{} holds no private key", named(files.key()))));
    let (other, key) = pair(2000, 4000);
    files.write_key(&key);
    assert!(refusal(&files).contains("does not belong to the first certificate of"));
    files.write_certificate(&other);
    files.load().expect("they belong together");

    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for text in ["", "no PEM at all", &key, broken] {
        files.write_certificate(text);
        let refusal = refusal(&files);
        assert!(
            refusal.contains(&format!("{} holds no certificate", named(files.certificate()))),
            "{refusal}"
        );
        assert!(!refusal.contains("BEGIN"), "an error quotes no file: {refusal}");
    }
}

#[tokio::test]
async fn a_client_without_tls_gets_no_answer_and_delays_nobody() {
    let files = Files::new();
    let pem = files.renew(2000, 4000);
    let hour = Duration::from_secs(3600);
    let limits = Limits { connections: 4, handshake: hour, head: hour, grace: hour, ..Limits::default() };
    let tls = Some(files.load().expect("a pair"));
    let server = start(server::Options { limits, tls, ..Default::default() }).await;
    let mut plain = TcpStream::connect(server.address).await.expect("connected");
    plain.write_all(b"GET /bucket/key HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("sent");
    let mut answer = Vec::new();
    let _ = within(plain.read_to_end(&mut answer)).await;
    assert!(!answer.starts_with(b"HTTP"), "{}", String::from_utf8_lossy(&answer));
    // Connections in a handshake count, and are closed to make room for others.
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(TcpStream::connect(server.address).await.expect("connected"));
    }
    let client = client_that_trusts(&server, &pem);
    within(client.put(&Path::from("key"), body(10).into())).await.expect("put");
    server.stop().await;
}

#[tokio::test]
async fn a_handshake_that_is_never_finished_is_given_up() {
    let files = Files::new();
    files.renew(2000, 4000);
    let limits = Limits { handshake: Duration::from_millis(50), ..Limits::default() };
    let tls = Some(files.load().expect("a pair"));
    let server = start(server::Options { limits, tls, ..Default::default() }).await;
    let mut silent = TcpStream::connect(server.address).await.expect("connected");
    let mut answer = Vec::new();
    within(silent.read_to_end(&mut answer)).await.expect("closed");
    assert!(answer.is_empty());
    server.stop().await;
}
