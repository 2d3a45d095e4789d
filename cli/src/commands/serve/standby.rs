//! `ameles serve --standby`: the time before the takeover.

use crate::config::{Settings, VaultConfig};
use crate::runtime::output::print_line;
use crate::users::file::UsersFile;
use crate::vault::open_vault::{self, OpenVaults};
use ameles_vault::{STANDBY_LEASE, StandbyStage};
use anyhow::{Result, bail};

/// Follows the vault until it is taken over. The users must be there already: clients bring the same keys to both
/// machines.
///
/// # Errors
/// There are no users; the errors of [`open_vault::stand_by`].
pub(super) async fn stand_by(settings: &Settings, requested: &VaultConfig) -> Result<OpenVaults> {
    let path = settings.data.credentials();
    if UsersFile::new(path.clone()).load()?.is_none() {
        bail!(
            "a standby serves the users of its gateway: copy that machine's {} to {} first",
            path.file_name().unwrap_or_default().display(),
            path.display()
        );
    }
    open_vault::stand_by(settings, requested, report).await
}

fn report(stage: &StandbyStage) {
    let lease = STANDBY_LEASE.as_secs();
    match stage {
        StandbyStage::Fetching => print_line!("Standby: fetching the newest checkpoint."),
        StandbyStage::Following(accesses) => print_line!(
            "Standby: following, with everything up to access {accesses}. This machine takes over when the gateway has been \
             silent for {lease} s."
        ),
        StandbyStage::Waiting(why) => print_line!("Standby: cannot follow yet, and tries again: {why}"),
        StandbyStage::TakingOver => print_line!("Standby: the gateway is silent. Taking over."),
    }
}
