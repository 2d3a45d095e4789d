//! `ameles status`

use crate::config::{Config, PricesConfig, Settings};
use crate::report::status_file::Report;
use crate::runtime::exit::Exit;
use crate::runtime::output::write;
use crate::vault::home::Home;
use anyhow::{Result, bail};
use clap::Args;

#[derive(Args)]
#[command(
    after_help = "Shows the figures that the vault's process last wrote to the trusted folder. This takes no request to the store, \
and works while the vault is served.

Examples:
  ameles status
  ameles status --data /srv/ameles-data --prices s3-standard"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    prices: PricesConfig,
}

impl Arguments {
    pub(super) fn apply_to(self, config: Config) -> Config {
        config.overlay(Config { prices: self.prices, ..Config::default() })
    }
}

pub(super) async fn run(settings: Settings) -> Result<Exit> {
    let home = Home::new(&settings);
    let prices = home.prices()?;
    let Some(report) = Report::load(&settings.data)? else {
        if home.database().exists() && !home.is_being_restored() {
            bail!("this vault has no figures yet: `ameles serve` writes them from its start on");
        }
        return Err(home.no_vault());
    };
    write(format_args!("{}", report.render(prices.as_ref())));
    Ok(Exit::Success)
}
