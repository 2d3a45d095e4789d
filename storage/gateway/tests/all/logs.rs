//! The contents of the logs: verbs and statuses, but no name, credential or signature, at any level.

use ameles_gateway::auth::identity::{AccessKey, User, Users};
use ameles_gateway::catalogue::ContainerSettings;
use ameles_gateway::http::server::{self, serve};
use ameles_gateway::s3::S3Server;
use ameles_gateway::testing::{CapturedLog, MemoryDevice};
use ameles_gateway::{FIRST_ACCOUNT, Gateway, Options};
use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};
use std::sync::Arc;
use tokio::net::TcpListener;

#[test]
fn logs_hold_verbs_and_no_names() {
    let captured = CapturedLog::default();
    let writer = captured.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .with_max_level(tracing::Level::TRACE)
        .finish();
    tracing::subscriber::set_global_default(subscriber).expect("the only one of this process");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("runtime");
    // The client logs its own requests; only the logs of the server's threads count.
    let (address, stop) = {
        let (addresses, address) = std::sync::mpsc::channel();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        runtime.spawn(async move {
            let gateway =
                Gateway::open(MemoryDevice::new(512, 100, 4), Options::default()).await.expect("opened");
            let account = gateway.account(FIRST_ACCOUNT);
            account.create_container("hush-bucket", ContainerSettings::default()).await.expect("made");
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
            addresses.send(listener.local_addr().expect("bound")).expect("awaited");
            let users = vec![User::first(AccessKey::new("hush-access", "hush-secret"))];
            let users = Arc::new(Users::new(users).expect("one user"));
            let stopped = async {
                let _ = stopped.await;
            };
            let protocol = S3Server::new(gateway, users);
            serve(listener, protocol, server::Options::default(), stopped).await;
        });
        (address.recv().expect("bound"), stop)
    };
    let quiet = tracing::subscriber::NoSubscriber::default();
    tracing::subscriber::with_default(quiet, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
        runtime.block_on(async {
            ameles_store::install_tls_provider();
            let builder = AmazonS3Builder::new()
                .with_endpoint(format!("http://{address}"))
                .with_allow_http(true)
                .with_bucket_name("hush-bucket")
                .with_retry(object_store::RetryConfig { max_retries: 0, ..Default::default() })
                .with_access_key_id("hush-access");
            let client = builder.clone().with_secret_access_key("hush-secret").build().expect("a client");
            let path = Path::from("hush-key");
            client.put(&path, PutPayload::from_static(b"hush-body")).await.expect("put");
            client.get(&path).await.expect("got");
            client.get(&Path::from("hush-missing")).await.expect_err("not there");
            client.put(&path, vec![0; 512 * 101].into()).await.expect_err("no room");
            let forged = builder.with_secret_access_key("hush-other").build().expect("a client");
            forged.get(&path).await.expect_err("not let in");
        });
    });
    drop(stop);
    drop(runtime);
    let log = captured.text();
    assert!(log.contains("PutObject") && log.contains("status=200"), "{log}");
    assert!(log.contains("GetObject") && log.contains("status=404"), "{log}");
    assert!(log.contains("status=507") && log.contains("status=403"), "{log}");
    for line in log.lines() {
        assert!(!line.contains("hush"), "a log line holds a name: {line}");
        assert!(!line.contains("Signature"), "a log line holds a signature: {line}");
    }
}
