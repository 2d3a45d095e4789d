//! Objects whose time is over give their rows and blocks back, by their own date or by a rule of their S3 bucket.

use ameles_gateway::{Gateway, Lifecycle};
use std::time::Duration;

/// The time between two sweeps. Those with a date of their own are gone for readers before that.
const EVERY: Duration = Duration::from_secs(10);
/// The most of them that go in one commit.
const AT_A_TIME: usize = 500;

/// Sweeps again and again. Makes no access.
pub(super) async fn sweep(gateway: Gateway) {
    let mut lifecycle = Lifecycle::default();
    loop {
        tokio::time::sleep(EVERY).await;
        loop {
            match gateway.sweep_expired(AT_A_TIME).await {
                Ok(AT_A_TIME) => {}
                Ok(_) => break,
                Err(error) => {
                    tracing::warn!(%error, "objects whose time is over could not be swept away");
                    break;
                }
            }
        }
        if let Err(error) = lifecycle.carry_out(&gateway, AT_A_TIME).await {
            tracing::warn!(%error, "lifecycle rules could not be carried out");
        }
    }
}
