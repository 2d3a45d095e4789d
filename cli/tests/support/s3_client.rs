//! An S3 client that never retries, and creates buckets.

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::signer::Signer;
use object_store::{ClientOptions, RetryConfig};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The address of a gateway, and the key of one of its users.
pub(crate) struct S3Access {
    pub(crate) address: String,
    pub(crate) access_key: String,
    pub(crate) secret_key: String,
}

impl S3Access {
    /// Reads the first key of the first user in a file of users.
    pub(crate) fn for_first_user(address: String, users: &std::path::Path) -> Self {
        let users = std::fs::read_to_string(users).expect("the users");
        let users: toml::Table = users.parse().expect("TOML");
        let key = |name: &str| users["users"][0]["keys"][0][name].as_str().expect("text").to_owned();
        S3Access { address, access_key: key("access_key_id"), secret_key: key("secret_access_key") }
    }

    /// Returns a client of this bucket.
    pub(crate) fn client(&self, bucket: &str) -> AmazonS3 {
        ameles_store::install_tls_provider();
        AmazonS3Builder::new()
            .with_endpoint(format!("http://{}", self.address))
            .with_allow_http(true)
            .with_bucket_name(bucket)
            .with_access_key_id(&self.access_key)
            .with_secret_access_key(&self.secret_key)
            .with_client_options(ClientOptions::new().with_allow_http(true).with_timeout_disabled())
            .with_retry(RetryConfig { max_retries: 0, ..RetryConfig::default() })
            .build()
            .expect("a client")
    }

    /// Creates a bucket.
    pub(crate) async fn create_bucket(&self, name: &str) {
        let mut stream = self.begin_put(name, "", 0).await;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    /// Sends the head of a request that puts an object of this many bytes, or a bucket. The body is to follow.
    pub(crate) async fn begin_put(&self, bucket: &str, name: &str, bytes: u64) -> TcpStream {
        let minute = Duration::from_secs(60);
        let url = self.client(bucket).signed_url(http::Method::PUT, &Path::from(name), minute).await;
        let url = url.expect("signed");
        let (path, query, host) = (url.path(), url.query().expect("signed"), &self.address);
        let end = format!("connection: close\r\ncontent-length: {bytes}\r\n\r\n");
        let head = format!("PUT {path}?{query} HTTP/1.1\r\nhost: {host}\r\n{end}");
        let mut stream = TcpStream::connect(&self.address).await.expect("connected");
        stream.write_all(head.as_bytes()).await.expect("sent");
        stream
    }
}
