//! `ameles upgrade`

use crate::config::Settings;
use crate::report::left::{Report, asked};
use crate::runtime::exit::Exit;
use crate::runtime::output::say;
use crate::vault::device::VaultDevice;
use crate::vault::home::Home;
use ameles_gateway::{FIRST_ACCOUNT, Gateway};
use anyhow::Result;

/// The rest of the help.
pub(super) const HELP: &str = "The rows of the catalogue are rewritten in one step: all of them or none. No block is touched, and the \
store sees a vault that is opened, ships a checkpoint and is closed. Older versions of ameles cannot serve the vault \
afterwards: `ameles backup` with the older version first, if in doubt.

Examples:
  ameles upgrade
  ameles upgrade --store s3://my-bucket/ameles";

pub(super) async fn run(settings: Settings) -> Result<Exit> {
    let (vault, meter) = Home::new(&settings).open().await?;
    let upgraded = Gateway::upgrade(&VaultDevice::Alone(vault.clone()), FIRST_ACCOUNT).await;
    let closed = vault.close().await;
    if upgraded? {
        say!(
            "The catalogue is of the present format now; what it held belongs to the account {FIRST_ACCOUNT}."
        );
    } else {
        say!("Nothing to do: the catalogue is of the present format.");
    }
    say!("Receipt of the last checkpoint in the store:\n  {}", closed?);
    Report::catch_up(&settings.data, &vault.status());
    say!("Asked of the store: {}", asked(&meter.usage()));
    Ok(Exit::Success)
}
