//! A standby. It has all that was acknowledged when the gateway is gone, and shows nothing that was not announced. `lease`
//! tests that it never answers together with the gateway.

mod conversions;
mod followed;
mod gaps;
mod heartbeats;
mod races;
mod refused;
mod times;

use crate::promises::fixture::VaultFixture;
use crate::support::{frequent_evictions, header};
use ameles_store::{Link, LinkSpeed, VersionedMemory};
use ameles_vault::{
    AnyStore, JournalPlace, Setup, Standby, StandbyStage, Vault, VaultError, VaultParameters,
};
use std::sync::mpsc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// The fixture's vault with heartbeats.
pub fn with_heartbeats() -> VaultParameters {
    VaultParameters { journal: JournalPlace::Standby, ship_every: 3, ..frequent_evictions() }
}

async fn fixture() -> VaultFixture {
    VaultFixture::with(header(with_heartbeats(), 1)).await
}

/// The time of a request over a usual [link].
const DELAY: Duration = Duration::from_millis(20);

/// The store at the other end of a link on which each request takes this long.
fn link(store: &VersionedMemory, delay: Duration) -> Link<VersionedMemory> {
    Link::new(store.clone(), LinkSpeed::unlimited(delay))
}

/// Lets a standby follow for a minute. Returns how it ended, if it did, after the gateway has looked for a newer claim.
async fn follow_for_a_minute(setup: Setup<AnyStore>) -> Option<Result<(), VaultError>> {
    let ended = timeout(seconds(60), stand_by(setup)).await.ok();
    sleep(seconds(25)).await;
    ended.map(|taken| taken.map(drop))
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Follows the vault of this setup, and takes it over. Returns the vault, the future that drives it, and the stages.
pub async fn stand_by(
    setup: Setup<AnyStore>,
) -> Result<(Vault, impl Future<Output = ()>, Vec<StandbyStage>), VaultError> {
    let (report, stages) = mpsc::channel();
    let report = Box::new(move |stage: &StandbyStage| drop(report.send(stage.clone())));
    let (vault, running) = Vault::start_standby(setup, Standby { expect: None, report }).await?;
    Ok((vault, running, stages.try_iter().collect()))
}
