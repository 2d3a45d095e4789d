//! `ameles backup`

use crate::config::Settings;
use crate::report::status_file::Report;
use crate::runtime::exit::Exit;
use crate::runtime::output::print_line;
use crate::vault::closing::close_with_progress;
use crate::vault::home::Home;
use anyhow::Result;

/// The last part of the help.
pub(super) const HELP: &str =
    "`ameles restore` needs only the checkpoint and the key. Keep the receipt apart from both: with it, a restore \
detects a store that was rolled back. A running vault ships checkpoints by itself and prints a receipt when it stops.

Examples:
  ameles backup
  ameles backup --store s3://my-bucket/ameles > receipt.txt";

pub(super) async fn run(settings: Settings) -> Result<Exit> {
    let (vault, meter) = Home::new(&settings).open().await?;
    print_line!("{}", close_with_progress(&vault, vault.close()).await?);
    Report::update_opening(&settings.data, &vault.status(), &meter.usage());
    Ok(Exit::Success)
}
