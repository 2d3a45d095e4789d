//! The expiry of objects, by their own date or by a lifecycle rule of their S3 bucket: it frees their rows and blocks.

use ameles_gateway::{Gateway, Lifecycle};
use std::time::Duration;

/// The time between two sweeps. Readers no longer see an object with a date of its own from that date on.
const INTERVAL: Duration = Duration::from_secs(10);
/// The maximum number of objects that expire in one commit.
const MAX_PER_COMMIT: usize = 500;

/// Removes expired objects repeatedly. It makes no access.
pub(super) async fn sweep(gateway: Gateway) {
    let mut lifecycle = Lifecycle::default();
    loop {
        tokio::time::sleep(INTERVAL).await;
        loop {
            match gateway.sweep_expired(MAX_PER_COMMIT).await {
                Ok(MAX_PER_COMMIT) => {}
                Ok(_) => break,
                Err(error) => {
                    tracing::warn!(%error, "cannot remove expired objects");
                    break;
                }
            }
        }
        if let Err(error) = lifecycle.carry_out(&gateway, MAX_PER_COMMIT).await {
            tracing::warn!(%error, "cannot apply lifecycle rules");
        }
    }
}
