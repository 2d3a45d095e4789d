//! `ameles convert`

use super::vault_flags::VaultFlags;
use crate::config::{Config, Journal, Settings, SettingsError, VaultConfig};
use crate::migration::record::MigrationRecord;
use crate::report::recovery_point::PlannedRecoveryPoint;
use crate::report::status_file::Report;
use crate::runtime::exit::Exit;
use crate::runtime::output::print_line;
use crate::vault::closing::close_with_progress;
use crate::vault::home::Home;
use crate::vault::parameters::summary;
use ameles_vault::{JournalPlace, VaultParameters, move_journal};
use anyhow::Result;
use clap::Args;

#[derive(Args)]
#[command(
    after_help = "Stop `ameles serve` first. The command ships a checkpoint, and then exchanges the header of the vault. No block \
moves. If it is interrupted, run it again: the vault has its journal in the old place or in the new one.

Examples:
  ameles convert --journal store --store s3://my-bucket/ameles
  ameles convert --journal store-first
  ameles convert --journal disk"
)]
pub(super) struct Arguments {
    /// The place where a write must be before it is acknowledged
    #[arg(long, value_name = "PLACE")]
    journal: Journal,
    #[command(flatten)]
    vault: VaultFlags,
}

impl Arguments {
    pub(super) fn apply_to(self, config: Config) -> (Config, JournalPlace) {
        (self.vault.apply_to(config), self.journal.into())
    }
}

pub(super) async fn run(settings: Settings, place: JournalPlace) -> Result<Exit> {
    let home = Home::new(&settings);
    if MigrationRecord::load_successor(&settings)?.is_some() {
        let why = "the vault has a successor: let it take over, or cancel it with `ameles migrate --cancel`, and then convert \
                   the vault";
        return Err(SettingsError::Successor(why.into()).into());
    }
    let (vault, meter) = home.open().await?;
    close_with_progress(&vault, vault.close()).await?;
    let (status, parameters) = (vault.status(), vault.header().parameters.clone());
    // Its disk must be free.
    drop(vault);
    let mut converted: VaultParameters = parameters;
    if converted.journal != place {
        converted = converted.with_journal(place);
        home.refuse_used_etcd(&converted).await?;
    }
    let (opening, parameters) = (home.find(&VaultConfig::default()).await?, converted);
    move_journal(opening.into_setup(), place).await?;
    Report::update_opening(&settings.data, &status, &meter.usage());
    let prices = home.prices()?;
    let (store, pace) = (home.store_name(), settings.serve.pace);
    let vault = summary(&parameters, store, false, prices.as_ref(), pace, &settings.serve);
    Report::update_vault(&settings.data, vault);
    print_line!(
        "The vault is converted: from the next opening on, a lost machine {}. Serve it with\n\n  {}\n",
        PlannedRecoveryPoint::of(&parameters, settings.serve.ship_after),
        home.serve_line()
    );
    Ok(Exit::Success)
}
