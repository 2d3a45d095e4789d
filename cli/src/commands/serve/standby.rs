//! `ameles serve --standby`: the time before the takeover.

use crate::config::Settings;
use crate::runtime::output::print_line;
use ameles_gateway::auth::identity::User;
use ameles_vault::{STANDBY_LEASE, StandbyStage};
use anyhow::{Result, ensure};

/// Refuses a standby without users: clients bring the same keys to both machines.
///
/// # Errors
/// There are no users; the error says where to put them.
pub(super) fn require_users(settings: &Settings, users: Option<&[User]>) -> Result<()> {
    let path = settings.data.credentials();
    ensure!(
        users.is_some(),
        "a standby serves the users of its gateway: copy that machine's {} to {} first",
        path.file_name().unwrap_or_default().display(),
        path.display()
    );
    Ok(())
}

/// Prints a stage.
pub(super) fn report(stage: &StandbyStage) {
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
