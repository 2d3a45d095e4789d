//! `ameles init`

use super::vault_flags::ShapeFlags;
use crate::config::{Config, KeySettings, PaceOnly, PricesConfig, Settings};
use crate::report::status_file::{Continued, Report};
use crate::runtime::exit::Exit;
use crate::runtime::output::print_line;
use crate::vault::home::Home;
use crate::vault::parameters::summary;
use ameles_store::Usage;
use ameles_vault::Status;
use anyhow::Result;
use clap::Args;

#[derive(Args)]
#[command(after_help = "Examples:
  ameles init
  ameles init --capacity 10GiB --store s3://my-bucket/ameles --prices s3-standard
  ameles init --capacity 1GiB --block-size 16KiB --scheme path --passphrase")]
pub(super) struct Arguments {
    #[command(flatten)]
    shape: ShapeFlags,
    #[command(flatten)]
    pace: PaceOnly,
    #[command(flatten)]
    prices: PricesConfig,
}

impl Arguments {
    pub(super) fn apply_to(self, config: Config) -> Config {
        let Arguments { shape, pace, prices } = self;
        shape.apply_to(config).overlay(Config { serve: pace.serve(), prices, ..Config::default() })
    }
}

pub(super) async fn run(settings: Settings) -> Result<Exit> {
    let home = Home::new(&settings);
    let prices = home.prices()?;
    let (vault, _interrupts) = home.create().await?;
    let header = vault.header;
    let summary = summary(
        &header.parameters,
        home.store_name(),
        true,
        prices.as_ref(),
        settings.serve.pace,
        &settings.serve,
    );
    let status = Status::default();
    Report::now(&summary, &status, &Usage::default(), &Continued::default(), None)
        .write_or_warn(&settings.data);
    print_line!("A new vault\n{}", summary.render());
    let key = match &settings.key {
        KeySettings::File(file) => format!("its key, {}", file.display()),
        KeySettings::Env(variable) => format!("its key, from {variable}"),
        KeySettings::Passphrase(_) => "its passphrase".into(),
    };
    let flag = settings.data.flag();
    print_line!("Serve it with `ameles serve{flag}`. Keep {key}: without it, the data cannot be read.");
    Ok(Exit::Success)
}
