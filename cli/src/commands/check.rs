//! `ameles check`

use crate::config::Settings;
use crate::config::size::Size;
use crate::report::status_file::{Report, asked};
use crate::runtime::exit::Exit;
use crate::runtime::output::say;
use crate::runtime::progress;
use crate::vault::home::Home;
use anyhow::Result;

/// The rest of the help.
pub(super) const HELP: &str =
    "Every bucket that was ever written is fetched, in the order of the buckets' numbers, and \
authenticated.

Examples:
  ameles check
  ameles check --store s3://my-bucket/ameles";

pub(super) async fn run(settings: Settings) -> Result<Exit> {
    let (vault, meter) = Home::new(&settings).open().await?;
    // It has an eviction to finish first, perhaps, and nobody else waits.
    vault.fail_if_store_is_full();
    let bar = progress::steps("checking buckets", 0);
    let shown = bar.clone();
    let report = vault
        .check(Box::new(move |done, all| {
            shown.set_length(all);
            shown.set_position(done);
        }))
        .await;
    bar.finish_and_clear();
    let closed = vault.close().await;
    let report = report?;
    closed?;
    Report::catch_up(&settings.data, &vault.status());
    let spent = format!("Asked of the store: {}", asked(&meter.usage()));
    if report.faults.is_empty() {
        say!("{} buckets, {} slots, {}: all authentic", report.buckets, report.slots, Size(report.bytes));
        say!("{spent}");
        return Ok(Exit::Success);
    }
    for fault in &report.faults {
        say!("{fault}");
    }
    say!("{} faults were found; {} buckets were read", report.faults.len(), report.buckets);
    say!("{spent}");
    Ok(Exit::Tampering)
}
