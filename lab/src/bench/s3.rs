//! A gateway that serves S3 on loopback, and clients of S3.

use ameles_gateway::auth::identity::{AccessKey, User, Users};
use ameles_gateway::catalogue::ContainerSettings;
use ameles_gateway::http::loopback::Loopback;
use ameles_gateway::http::server;
use ameles_gateway::{AnyDevice, FIRST_ACCOUNT, Gateway, Options, serve_s3};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::{ClientOptions, RetryConfig};
use std::error::Error;
use std::sync::Arc;

type Failure = Box<dyn Error + Send + Sync>;

/// A bucket, and the key that opens it.
#[derive(Clone, Copy)]
pub(crate) struct BucketAccess {
    pub(crate) bucket: &'static str,
    pub(crate) key: &'static str,
    pub(crate) secret: &'static str,
}

impl BucketAccess {
    /// A client that sends each request once and waits for its answer without a limit.
    pub(crate) fn client(self, endpoint: &str) -> Result<AmazonS3, Failure> {
        ameles_store::install_tls_provider();
        let client = AmazonS3Builder::new()
            .with_endpoint(endpoint)
            .with_allow_http(true)
            .with_bucket_name(self.bucket)
            .with_region("us-east-1")
            .with_access_key_id(self.key)
            .with_secret_access_key(self.secret)
            .with_client_options(ClientOptions::new().with_allow_http(true).with_timeout_disabled())
            .with_retry(RetryConfig { max_retries: 0, ..RetryConfig::default() });
        Ok(client.build()?)
    }
}

/// A gateway that serves a bucket on loopback.
pub(crate) struct RunningGateway {
    gateway: Gateway,
    server: Loopback,
    access: BucketAccess,
}

impl RunningGateway {
    /// Opens a gateway over a device, creates the bucket and serves it.
    pub(crate) async fn start(device: AnyDevice, access: BucketAccess) -> Result<Self, Failure> {
        let gateway = Gateway::open(device, Options::default()).await?;
        let account = gateway.account(FIRST_ACCOUNT);
        account.create_container(access.bucket, ContainerSettings::default()).await?;
        let users = Arc::new(Users::new(vec![User::first(AccessKey::new(access.key, access.secret))])?);
        let served = gateway.clone();
        let server =
            Loopback::run(|listener, end| serve_s3(listener, served, users, server::Options::default(), end));
        Ok(RunningGateway { gateway, server: server.await?, access })
    }

    /// A client of the bucket.
    pub(crate) fn client(&self) -> Result<AmazonS3, Failure> {
        self.access.client(&format!("http://{}", self.server.address()))
    }

    /// Stops serving, and waits for what the gateway still does.
    pub(crate) async fn stop(self) {
        // All figures are taken: a failure of the server no longer matters.
        let _ = self.server.end().await;
        self.gateway.settle().await;
    }
}
