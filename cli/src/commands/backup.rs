//! `ameles backup`

use crate::config::Settings;
use crate::report::status_file::Report;
use crate::runtime::exit::Exit;
use crate::runtime::output::say;
use crate::vault::home::Home;
use anyhow::Result;

/// The rest of the help.
pub(super) const HELP: &str =
    "The checkpoint and the key are all that `ameles restore` needs. Keep the receipt apart from both: \
with it, a restore notices a store that was rolled back. A vault in service ships checkpoints by itself, \
and prints a receipt when it stops.

Examples:
  ameles backup
  ameles backup --store s3://my-bucket/ameles > receipt.txt";

pub(super) async fn run(settings: Settings) -> Result<Exit> {
    let (vault, _) = Home::new(&settings).open().await?;
    if vault.header().parameters.ships_at_stop() {
        say!("{}", vault.close().await?);
    } else {
        say!("{}", vault.checkpoint().await?);
        vault.close().await?;
    }
    Report::catch_up(&settings.data, &vault.status());
    Ok(Exit::Success)
}
