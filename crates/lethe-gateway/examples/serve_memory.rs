//! An S3 server over a device in memory, to try a client against: nothing is sealed, hidden or kept.
//!
//!     cargo run -p lethe-gateway --example serve_memory -- 127.0.0.1:9000
//!     AWS_ACCESS_KEY_ID=access AWS_SECRET_ACCESS_KEY=secret aws --endpoint-url http://127.0.0.1:9000 s3 ls

use lethe_gateway::s3::Credentials;
use lethe_gateway::server::{Limits, serve};
use lethe_gateway::testing::MemoryDevice;
use lethe_gateway::{Gateway, Options};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9000".into());
    let device = MemoryDevice::new(64 << 10, 1 << 14, 16);
    let gateway = Gateway::open(device, Options::default()).await?;
    let listener = tokio::net::TcpListener::bind(address).await?;
    let ended = async {
        // Without a signal handler there is no gentle end; the process then ends as the system has it.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    };
    serve(listener, gateway, Credentials::new("access", "secret"), Limits::default(), ended).await;
    Ok(())
}
