//! A standby. It has all that was acknowledged when the gateway is gone, and shows nothing that was not announced. `lease` tests
//! that it never answers together with the gateway.

mod conversions;
mod followed;
mod gaps;
mod heartbeats;
mod races;
mod refused;
mod times;

use crate::promises::fixture::VaultFixture;
use crate::support::{frequent_evictions, header};
use ameles_vault::{
    AnyStore, JournalPlace, Setup, Standby, StandbyStage, Vault, VaultError, VaultParameters,
};
use std::sync::mpsc;
use std::time::Duration;

/// The fixture's vault with heartbeats.
pub fn with_heartbeats() -> VaultParameters {
    VaultParameters { journal: JournalPlace::Standby, ship_every: 3, ..frequent_evictions() }
}

async fn fixture() -> VaultFixture {
    VaultFixture::with(header(with_heartbeats(), 1)).await
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
